package redact

import (
	"strings"
	"unicode/utf8"
)

// maxLevels is how many layers of escapes are undone: JSON in JSON in a URL.
const maxLevels = 3

// A view is a text with escapes undone, and what nobody sees left out, with the
// way back to the original. The rules read views, so none of them needs to know
// about \" or %3D, or about a colour in the middle of a name: where a text is
// shown without it, a secret in pieces is whole again.
type view struct {
	text   string
	origin []int32 // offset in the original of each byte of text, and of its end
	level  int
}

// decode undoes one more level of JSON string escapes and percent-encoding, and
// leaves out what is not seen. It reports false, and leaves the view alone, if
// there is none of either.
func (v *view) decode() bool {
	if v.level == maxLevels || !hasEscape(v.text) {
		return false
	}
	v.level++
	text := make([]byte, 0, len(v.text))
	origin := make([]int32, 0, len(v.text)+1)
	for i := 0; i < len(v.text); {
		r, size := unescape(v.text[i:])
		before := len(text)
		text = appendUnescaped(text, r, v.text[i])
		for range len(text) - before {
			origin = append(origin, v.back(i))
		}
		i += size
	}
	v.origin = append(origin, v.back(len(v.text)))
	v.text = string(text)
	return true
}

// back returns the offset in the original of what stands at i.
func (v *view) back(i int) int32 {
	if v.origin == nil {
		return int32(i)
	}
	return v.origin[i]
}

// translate turns spans of the view into spans of the original. A span that
// ends inside an escape takes all of it.
func (v *view) translate(found []span) {
	for k := range found {
		s := &found[k]
		end := s.end
		for end < len(v.text) && v.origin[end] == v.origin[end-1] {
			end++
		}
		s.start, s.end = int(v.origin[s.start]), int(v.origin[end])
	}
}

// hasEscape reports anything to undo. Text without is not copied.
func hasEscape(text string) bool {
	for i := 0; i < len(text); i++ {
		if !mayEscape.has(text[i]) {
			continue
		}
		if r, _ := unescape(text[i:]); r != literal {
			return true
		}
	}
	return false
}

// literal is what unescape returns for a byte that stands for itself, unseen for
// what is left out; rawByte marks a byte that came from percent-encoding.
const (
	literal = -1
	unseen  = -2
	rawByte = 1 << 24
)

// unescape reads the escape, or what is not seen, at the start of text.
func unescape(text string) (r rune, size int) {
	if size = unseenPrefix(text); size > 0 {
		return unseen, size
	}
	switch {
	case len(text) > 2 && text[0] == '%' && hex.has(text[1]) && hex.has(text[2]):
		return rawByte | hexValue(text[1:3]), 3
	case len(text) > 1 && text[0] == '\\':
		return unescapeJSON(text)
	}
	return literal, 1
}

// unescapeJSON reads an escape of JSON. An unknown one stands for itself: text
// is not always JSON, and a Windows path has backslashes too.
func unescapeJSON(text string) (r rune, size int) {
	const names, values = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if k := strings.IndexByte(names, text[1]); k >= 0 {
		return rune(values[k]), 2
	}
	if len(text) >= 6 && text[1] == 'u' && hex.run(text, 2, 4) == 6 {
		return hexValue(text[2:6]), 6
	}
	return literal, 1
}

// hexValue returns the value of hexadecimal digits.
func hexValue(digits string) (n rune) {
	for i := 0; i < len(digits); i++ {
		c := fold(digits[i])
		if c >= 'a' {
			c -= 'a' - '9' - 1
		}
		n = n<<4 | rune(c-'0')
	}
	return n
}

// appendUnescaped appends what unescape read, where c is the byte it read from.
func appendUnescaped(text []byte, r rune, c byte) []byte {
	switch {
	case r == unseen:
		return text
	case r == literal:
		return append(text, c)
	case r&rawByte != 0:
		return append(text, byte(r))
	}
	return utf8.AppendRune(text, r)
}
