package prompts

import (
	"fmt"
	"strings"
)

// phrase is a parsed template.
type phrase struct {
	source string
	parts  []part
	uses   varSet // every placeholder, clauses included
	bare   varSet // placeholders that render even without a value
}

// part is one step of rendering.
type part struct {
	op   op
	id   varID
	skip int // for clauses: how many parts belong to it
	text string
}

type op uint8

const (
	opText    op = iota
	opValue      // {x}
	opPresent    // {?x}
	opAbsent     // {!x}
)

// templateParser builds the parts of one phrase.
type templateParser struct {
	phrase
	open []int // indices of the clauses that are not closed yet
	// sealed is the number of parts that must not be extended, because a
	// clause begins or ends there.
	sealed int
}

// parseTemplate reads a template; see the package comment for its syntax.
func parseTemplate(source string) (phrase, error) {
	p := templateParser{phrase: phrase{source: source}}
	for rest := source; rest != ""; {
		n, err := p.next(rest)
		if err != nil {
			return phrase{}, err
		}
		rest = rest[n:]
	}
	if len(p.open) > 0 {
		id := p.parts[p.open[len(p.open)-1]].id
		return phrase{}, fmt.Errorf("clause {%s} is not closed by {/%[1]s}", varNames[id])
	}
	return p.phrase, nil
}

// next consumes the text, brace or tag that rest begins with.
func (p *templateParser) next(rest string) (consumed int, err error) {
	brace := strings.IndexAny(rest, "{}")
	switch {
	case brace < 0:
		p.literal(rest)
		return len(rest), nil
	case brace > 0:
		p.literal(rest[:brace])
		return brace, nil
	case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
		p.literal(rest[:1])
		return 2, nil
	}
	end := strings.IndexByte(rest, '}')
	if rest[0] == '}' || end < 0 {
		return 0, fmt.Errorf("unpaired brace %.12q; a literal one is doubled", rest)
	}
	return end + 1, p.tag(rest[1:end])
}

func (p *templateParser) literal(text string) {
	if last := len(p.parts) - 1; last >= p.sealed && p.parts[last].op == opText {
		p.parts[last].text += text
		return
	}
	p.parts = append(p.parts, part{op: opText, text: text})
}

// tag handles what stands between a pair of braces.
func (p *templateParser) tag(body string) error {
	name := strings.TrimLeft(body, "?!/")
	id, ok := varIndex[name]
	if !ok || len(body)-len(name) > 1 {
		return fmt.Errorf("unknown placeholder {%s}", body)
	}
	p.uses |= setOf(id)
	switch body[0] {
	case '?':
		p.begin(opPresent, id)
	case '!':
		p.begin(opAbsent, id)
	case '/':
		return p.end(id)
	default:
		if id.isFlag() {
			return fmt.Errorf("{%s} has no text; it can only begin a clause", name)
		}
		p.value(id)
	}
	return nil
}

func (p *templateParser) begin(o op, id varID) {
	p.open = append(p.open, len(p.parts))
	p.parts = append(p.parts, part{op: o, id: id})
	p.sealed = len(p.parts)
}

func (p *templateParser) end(id varID) error {
	last := len(p.open) - 1
	if last < 0 || p.parts[p.open[last]].id != id {
		return fmt.Errorf("{/%s} closes no open clause", varNames[id])
	}
	begin := p.open[last]
	p.parts[begin].skip = len(p.parts) - begin - 1
	p.open = p.open[:last]
	p.sealed = len(p.parts)
	return nil
}

func (p *templateParser) value(id varID) {
	p.parts = append(p.parts, part{op: opValue, id: id})
	if !p.guarded(id) {
		p.bare |= setOf(id)
	}
}

// guarded reports whether an open clause makes sure that id has a value.
func (p *templateParser) guarded(id varID) bool {
	for _, i := range p.open {
		if p.parts[i].op == opPresent && p.parts[i].id == id {
			return true
		}
	}
	return false
}
