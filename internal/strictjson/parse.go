package strictjson

import "bytes"

// Parse reads exactly one JSON value with white space around it (RFC 8259).
// What is valid JSON and unambiguous is accepted, any kind of value at the top
// level included; the rest is refused with an [*Error].
//
// The Doc keeps text, which must not change afterwards. When an error is
// returned the Doc has no nodes, and only [Doc.Preview] and [Doc.IsObject]
// are of use.
func Parse(text []byte, limits Limits) (Doc, error) {
	p := parser{limits: limits.OrDefault(), doc: Doc{Text: text}}
	if len(text) > p.limits.MaxBytes {
		return p.doc, &Error{Reason: ReasonSize, Limit: p.limits.MaxBytes, Size: len(text)}
	}
	if string(text) == "{}" { // a call without arguments
		return Doc{Text: text, Nodes: emptyObject[:]}, nil
	}
	p.doc.Nodes = make([]Node, 0, estimate(text))
	if err := p.document(); err != nil {
		return Doc{Text: text}, err
	}
	return p.doc, nil
}

// emptyObject is what there is to say about {}; a Doc does not change.
var emptyObject = [...]Node{{Kind: Object, End: 2, Next: 1}}

// estimate is an upper bound of the nodes in an ordinary text. It is capped
// because a hostile string may hold any number of commas.
func estimate(text []byte) int {
	n := 1 + bytes.Count(text, []byte{','}) + bytes.Count(text, []byte{'{'}) + bytes.Count(text, []byte{'['})
	return min(n, 1024)
}

type parser struct {
	doc    Doc // Text, and the nodes so far; an open node has Next 0
	pos    int
	depth  int
	limits Limits
}

func (p *parser) document() *Error {
	p.space()
	if p.pos == len(p.doc.Text) {
		return p.fail(ReasonEmpty)
	}
	if err := p.value(Node{}); err != nil {
		return err
	}
	p.space()
	if p.pos < len(p.doc.Text) {
		return p.fail(ReasonTrailing)
	}
	return nil
}

// value parses the value at pos. The node brings the member name, if any.
func (p *parser) value(n Node) *Error {
	i := int32(len(p.doc.Nodes))
	n.Start = int32(p.pos)
	p.doc.Nodes = append(p.doc.Nodes, n)
	var err *Error
	switch c := p.peek(); c {
	case '"':
		p.doc.Nodes[i].Kind = String
		p.doc.Nodes[i].Escaped, err = p.str()
	case '{':
		p.doc.Nodes[i].Kind = Object
		err = p.object(i)
	case '[':
		p.doc.Nodes[i].Kind = Array
		err = p.array(i)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		p.doc.Nodes[i].Kind = Number
		err = p.number()
	default:
		p.doc.Nodes[i].Kind, err = p.literal(c)
	}
	if err != nil {
		return err
	}
	closed := &p.doc.Nodes[i]
	closed.End = int32(p.pos)
	closed.Next = int32(len(p.doc.Nodes))
	return nil
}

func (p *parser) object(i int32) *Error {
	done, err := p.open('}')
	for !done && err == nil {
		p.doc.Nodes[i].Len++
		if err = p.member(); err == nil {
			done, err = p.more('}')
		}
	}
	if err != nil {
		return err
	}
	return p.unique(i)
}

func (p *parser) array(i int32) *Error {
	done, err := p.open(']')
	for !done && err == nil {
		p.doc.Nodes[i].Len++
		if err = p.value(Node{}); err == nil {
			done, err = p.more(']')
		}
	}
	return err
}

func (p *parser) member() *Error {
	if p.peek() != '"' {
		return p.badName()
	}
	n := Node{KeyStart: int32(p.pos)}
	var err *Error
	if n.KeyEscaped, err = p.str(); err != nil {
		return err
	}
	n.KeyEnd = int32(p.pos)
	p.space()
	if p.peek() != ':' {
		return p.unexpected()
	}
	p.pos++
	p.space()
	return p.value(n)
}

// open enters the array or object at pos and reports whether it is empty.
func (p *parser) open(closing byte) (done bool, err *Error) {
	if p.depth++; p.depth > p.limits.MaxDepth {
		return false, p.exceeds(ReasonDepth, p.limits.MaxDepth, p.depth)
	}
	p.pos++
	p.space()
	if p.peek() != closing {
		return false, nil
	}
	p.pos++
	p.depth--
	return true, nil
}

// more moves past what follows a child: a comma, or the end of the parent.
func (p *parser) more(closing byte) (done bool, err *Error) {
	p.space()
	switch p.peek() {
	case closing:
		p.pos++
		p.depth--
		return true, nil
	case ',':
		p.pos++
		p.space()
		if p.peek() == closing {
			return false, p.fail(ReasonTrailingComma)
		}
		return false, nil
	}
	return false, p.unexpected()
}

func (p *parser) space() {
	text, i := p.doc.Text, p.pos
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	p.pos = i
}

// peek returns the byte at pos, or 0, which no rule accepts, at the end.
func (p *parser) peek() byte {
	if p.pos < len(p.doc.Text) {
		return p.doc.Text[p.pos]
	}
	return 0
}
