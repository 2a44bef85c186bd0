package prompts

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// maxPhrase bounds a template, in bytes, so that an answer stays bounded too.
const maxPhrase = 1024

// maxSystem bounds the lines of the system prompt.
const maxSystem = 64

// marks is the punctuation of a locale.
type marks struct{ gap, unitGap, comma, or, and string }

// Parse reads a complete document, such as a translation: JSON with every
// section and id that [English] has. The error names all that is wrong.
func Parse(data []byte) (*Catalogue, error) { return load(data, nil, English()) }

// With returns a catalogue in which the phrases of a partial document replace
// those of c, which stays as it is. "system" is replaced as a whole. The error
// names all that is wrong.
func (c *Catalogue) With(data []byte) (*Catalogue, error) { return load(data, c, English()) }

func load(data []byte, base, known *Catalogue) (*Catalogue, error) {
	doc, err := readDocument(data)
	if err != nil {
		return nil, fmt.Errorf("prompts: %w", err)
	}
	return build(doc, base, known)
}

// build makes a catalogue of doc over base, which may be nil. The ids of known are
// the ones that may occur, and, without a base, that must; nil is for the document
// that defines them.
func build(doc *document, base, known *Catalogue) (*Catalogue, error) {
	c := base.clone()
	problems := c.take(doc, known)
	c.derive()
	problems = append(problems, c.holes()...)
	if known != nil {
		problems = append(problems, c.missing(known)...)
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("prompts: %w", errors.Join(problems...))
	}
	return c, nil
}

// clone copies what may be replaced; of nil it makes an empty catalogue.
func (c *Catalogue) clone() *Catalogue {
	n := new(Catalogue)
	if c != nil {
		n.locale, n.system = c.locale, c.system
	}
	for s := range n.phrases {
		n.phrases[s] = map[string]*phrase{}
		if c != nil {
			maps.Copy(n.phrases[s], c.phrases[s])
		}
	}
	return n
}

// take puts the phrases of doc into c and returns what it had to refuse.
func (c *Catalogue) take(doc *document, known *Catalogue) (problems []error) {
	if doc.locale != "" {
		c.locale = doc.locale
	}
	if doc.system != nil {
		c.system = doc.system
		problems = append(problems, checkSystem(doc.system)...)
	}
	for s := range sectionCount {
		for _, key := range slices.Sorted(maps.Keys(doc.phrases[s])) {
			p, err := compile(s, key, doc.phrases[s][key], known)
			if err != nil {
				problems = append(problems, err)
			}
			c.phrases[s][key] = &p
		}
	}
	return problems
}

// compile checks one phrase and parses it.
func compile(s section, key, text string, known *Catalogue) (phrase, error) {
	if known != nil {
		if _, ok := known.phrases[s][key]; !ok {
			return phrase{}, fmt.Errorf("unknown id %q", s.id(key))
		}
	}
	p, err := parseTemplate(text)
	if err == nil {
		err = checkPhrase(s, p)
	}
	if err != nil {
		return phrase{}, fmt.Errorf("%s: %w", s.id(key), err)
	}
	return p, nil
}

func checkPhrase(s section, p phrase) error {
	switch {
	case len(p.source) > maxPhrase:
		return fmt.Errorf("%d bytes are more than %d", len(p.source), maxPhrase)
	case !s.plain() && strings.TrimSpace(p.source) == "":
		return errors.New("is empty")
	case strings.ContainsFunc(p.source, unicode.IsControl):
		return errors.New("contains a control character")
	}
	for id := range varID(varSlots) {
		if p.uses.has(id) && !sectionVars[s].has(id) {
			return fmt.Errorf("placeholder {%s} has no value here", varNames[id])
		}
	}
	return nil
}

func checkSystem(lines []string) (problems []error) {
	if len(lines) == 0 || len(lines) > maxSystem {
		problems = append(problems, fmt.Errorf("system: %d lines are not between 1 and %d", len(lines), maxSystem))
	}
	for i, line := range lines {
		if len(line) > maxPhrase || strings.ContainsFunc(line, unicode.IsControl) {
			problems = append(problems, fmt.Errorf("system[%d]: longer than %d bytes, or contains a control character", i, maxPhrase))
		}
	}
	return problems
}

// derive fills the fields that make rendering fast.
func (c *Catalogue) derive() {
	word := func(s section, key string) string { return string(c.render(nil, c.phrase(s, key, ""), nil)) }
	for i, name := range varNames {
		c.absent[i] = word(absent, name)
	}
	for i, name := range unitNames {
		c.units[i] = word(units, name)
	}
	c.marks = marks{
		gap: word(punctuation, "gap"), unitGap: word(punctuation, "unit_gap"),
		comma: word(punctuation, "comma"), or: word(punctuation, "or"), and: word(punctuation, "and"),
	}
	c.more = *c.phrase(frames, string(FrameMore), "")
	for _, key := range slices.Sorted(maps.Keys(c.phrases[labels])) {
		c.labels = append(c.labels, word(labels, key))
	}
	c.deriveLooks()
}

// holes returns the placeholders that could render as nothing.
func (c *Catalogue) holes() (problems []error) {
	for s := range sectionCount {
		for _, key := range slices.Sorted(maps.Keys(c.phrases[s])) {
			for id := range varID(varSlots) {
				_, hasWord := c.phrases[absent][varNames[id]]
				if c.phrases[s][key].bare.has(id) && !id.isNumber() && !hasWord {
					problems = append(problems, fmt.Errorf("%s: {%s} may have no value: put it between {?%[2]s} and {/%[2]s}", s.id(key), varNames[id]))
				}
			}
		}
	}
	return problems
}

// missing returns the ids of known that c lacks.
func (c *Catalogue) missing(known *Catalogue) (problems []error) {
	if c.locale == "" {
		problems = append(problems, errors.New(`"locale" is missing`))
	}
	if len(c.system) == 0 {
		problems = append(problems, errors.New(`"system" is missing`))
	}
	for s := range sectionCount {
		for _, key := range slices.Sorted(maps.Keys(known.phrases[s])) {
			if _, ok := c.phrases[s][key]; !ok {
				problems = append(problems, fmt.Errorf("%s is missing", s.id(key)))
			}
		}
	}
	return problems
}
