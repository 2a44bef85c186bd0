package normalize

import (
	"bytes"
	"slices"
	"unicode"

	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// TextOptions say which repairs of [Text] are sound for a tool.
type TextOptions struct {
	// NothingRequired allows null for "no arguments".
	NothingRequired bool
	// AllowControlChars escapes raw control bytes inside strings. A cut or
	// mixed-up transfer produces them too, so tools with side effects go without.
	AllowControlChars bool
	// Limits are those of the parse before and after.
	Limits strictjson.Limits
}

// Text returns the text that raw was meant to be, and what had to be changed;
// nil and nil if it knows of nothing to change. Call it only after raw did not
// parse strictly, or parsed to something other than an object: a correct
// object needs no repair, whatever its strings look like.
//
// The text is not promised to parse. Where it does, every string, number and
// literal is one that stood in raw. It takes time linear in raw, which is not
// modified, and accepts any bytes.
func Text(raw []byte, opts TextOptions) ([]byte, []Change) {
	if len(raw) > opts.Limits.OrDefault().MaxBytes {
		return nil, nil
	}
	e := editor{opts: opts, text: raw}
	e.whiteSpace()
	e.fence()
	e.gluedObject()
	e.tokens()
	e.stringDocument()
	e.noArguments()
	if len(e.changes) == 0 {
		return nil, nil
	}
	return e.text, e.changes
}

// An editor holds the text so far. Until tokens ran it is a part of the
// original, beginning at offset.
type editor struct {
	opts    TextOptions
	text    []byte
	offset  int
	changes []Change
}

func (e *editor) changed(kind Kind, offset int, from, to []byte) {
	for i := range e.changes {
		if e.changes[i].Kind == kind {
			e.changes[i].Count++
			return
		}
	}
	e.changes = append(e.changes, Change{Kind: kind, Offset: offset}.bounded(from, to))
}

const jsonSpace = " \t\r\n"

func isSpace(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }

// whiteSpace cuts space off both ends. Only what JSON would have refused is a
// change: vertical tabs, no-break spaces, byte order marks.
func (e *editor) whiteSpace() {
	right := bytes.TrimRightFunc(e.text, isSpace)
	text := bytes.TrimLeftFunc(right, isSpace)
	before, after := e.text[:len(right)-len(text)], e.text[len(right):]
	if len(bytes.Trim(before, jsonSpace)) > 0 {
		e.changed(WhiteSpace, e.offset, before, nil)
	}
	if len(bytes.Trim(after, jsonSpace)) > 0 {
		e.changed(WhiteSpace, e.offset+len(right), after, nil)
	}
	e.offset += len(before)
	e.text = text
}

// languages are the info strings a fence around arguments carries. They are
// listed because a fence around the word null must not lose it.
var languages = []string{"json5", "jsonc", "json", "javascript", "js", ""}

// fence removes one code fence: a run of at least three back-ticks before and
// the same run after the document.
func (e *editor) fence() {
	inner := bytes.TrimLeft(e.text, "`")
	run := len(e.text) - len(inner)
	marks := e.text[:run]
	if run < 3 || !bytes.HasSuffix(inner, marks) {
		return
	}
	inner = bytes.TrimSuffix(inner, marks)
	for _, language := range languages {
		if len(inner) >= len(language) && bytes.EqualFold(inner[:len(language)], []byte(language)) {
			inner = inner[len(language):]
			run += len(language)
			break
		}
	}
	e.changed(CodeFence, e.offset, e.text[:run], nil)
	e.offset += run
	e.text = inner
	e.whiteSpace()
}

// gluedObject removes an exact {} directly in front of another object: an
// adapter put the initial value of a stream before the arguments. Anything
// longer in front would be a choice between two sets of arguments.
func (e *editor) gluedObject() {
	if bytes.HasPrefix(e.text, []byte("{}{")) {
		e.changed(GluedObject, e.offset, []byte("{}"), nil)
		e.offset += 2
		e.text = e.text[2:]
	}
}

// stringDocument decodes a document that is one string holding an object.
// Once: an object that was quoted twice was quoted on purpose.
func (e *editor) stringDocument() {
	if !bytes.HasPrefix(bytes.TrimLeft(e.text, jsonSpace), []byte{'"'}) {
		return
	}
	doc, err := strictjson.Parse(e.text, e.opts.Limits)
	if err != nil {
		return
	}
	text := []byte(doc.Str(0))
	if inner, err := strictjson.Parse(text, e.opts.Limits); err == nil && inner.IsObject() {
		e.changed(StringDocument, e.offset, e.text, text)
		e.text = text
	}
}

// noArguments turns the ways to say "no arguments" into an empty object.
func (e *editor) noArguments() {
	text := bytes.Trim(e.text, jsonSpace)
	switch {
	case len(text) == 0:
		e.changed(EmptyText, e.offset, e.text, []byte("{}"))
	case string(text) == "null" && e.opts.NothingRequired:
		e.changed(NullText, e.offset, text, []byte("{}"))
	default:
		return
	}
	e.text = []byte("{}")
}

// tokens repairs what stands between tokens and the spelling of strings.
func (e *editor) tokens() {
	s := scanner{editor: e, comma: -1, out: make([]byte, 0, len(e.text))}
	before := len(e.changes)
	s.run()
	if len(e.changes) > before {
		e.text = slices.Clip(s.out)
	}
}
