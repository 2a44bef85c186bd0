package toolguard

import "unicode/utf8"

// The size of a failure in JSON, whatever comes from elsewhere: without
// violations, and with them.
const (
	maxFailure = 1 << 10
	maxRefusal = 2 << 10
)

// leastMessage is what is left of a text that is cut, in bytes.
const leastMessage = 160

// fit shortens a failure that is too long, beginning with what is needed least:
// foreign text, the example, violations beyond the first, the rest of the
// message, and only then the next step.
func (c *call) fit(e *Envelope) {
	over := e.excess()
	if over <= 0 {
		return
	}
	f := e.Error
	if f.Quote != "" {
		f.Quote = c.quote(e.words, maxQuote-over)
	}
	if over = e.excess(); over > 0 {
		f.Quote, f.Example = "", nil
	}
	for over = e.excess(); over > 0 && len(f.Violations) > 1; over = e.excess() {
		f.Violations = f.Violations[:len(f.Violations)-1]
		f.More++
	}
	if len(f.Violations) > 0 {
		shorten(&f.Violations[0].Message, e.excess(), leastMessage)
	}
	shorten(&f.Message, e.excess(), leastMessage)
	shorten(&e.Suggestion, e.excess(), leastMessage)
}

// shorten takes off what is over, in escaped bytes, and leaves the least.
func shorten(text *string, over, least int) {
	if size := escapedSize(*text); over > 0 && size > least {
		*text = cutEscaped(*text, max(size-over, least))
	}
}

// excess is by how much the answer is too long in JSON. Most are so short that
// nothing needs to be written to see it.
func (e *Envelope) excess() int {
	limit, f := maxFailure, e.Error
	if len(f.Violations) > 0 {
		limit = maxRefusal
	}
	names := min(len(e.CallID), maxCallID) + len(e.Tool) // up to six bytes a byte
	most := 400 + 2*(names+len(f.Code)+len(f.Message)+len(f.Quote)+len(e.Suggestion)) + len(f.Example)
	for i := range f.Violations {
		most += 2 * len(f.Violations[i].Message)
	}
	for i := range e.Notes {
		most += 2 * len(e.Notes[i].Text)
	}
	if most+4*names <= limit || most <= limit && roughly(e.CallID) && roughly(e.Tool) {
		return most - limit
	}
	room := rooms.Get().(*[]byte)
	b := e.appendJSON((*room)[:0])
	over := len(b) - limit
	*room = b
	rooms.Put(room)
	return over
}

// roughly reports a name that takes at most twice its length in JSON.
func roughly(name string) bool { return escapedSize(name) <= 2*len(name) }

// escapedSize returns how long text is inside a JSON string.
func escapedSize(text string) (n int) {
	for _, r := range text {
		n += escapedRune(r)
	}
	return n
}

func escapedRune(r rune) int {
	switch {
	case r == '"', r == '\\', r == '\n', r == '\r', r == '\t', r == '\b', r == '\f':
		return 2
	case r < ' ':
		return len(`\u0000`)
	}
	return utf8.RuneLen(r)
}

// cutEscaped cuts text between characters so that it takes at most limit bytes
// inside a JSON string, the ellipsis included.
func cutEscaped(text string, limit int) string {
	if len(text) <= limit && escapedSize(text) <= limit {
		return text
	}
	size := len("…")
	for i, r := range text {
		if size += escapedRune(r); size > limit {
			return text[:i] + "…"
		}
	}
	return text
}
