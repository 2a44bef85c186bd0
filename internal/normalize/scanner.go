package normalize

import (
	"bytes"
	"fmt"
	"slices"
)

// A scanner copies a text that may be anything, and knows at every byte
// whether a strict parser would be inside a string: quotes and backslashes
// decide that alone, and it never changes one inside a string. Hence what it
// changes between strings is between strings for the parser as well.
type scanner struct {
	*editor
	out []byte
	// last is the last byte outside strings that is not space, '"' for a
	// string, 0 at the beginning.
	last byte
	// comma is where in out a comma stands that follows a value and is
	// followed by nothing but space so far, or -1.
	comma, commaOffset int
}

func (s *scanner) run() {
	for i := 0; i < len(s.text); {
		switch c := s.text[i]; c {
		case '"':
			i += s.str(i)
			s.token('"')
		case ' ', '\t', '\r', '\n':
			s.out = append(s.out, c)
			i++
		case '\\':
			i += s.backslash(i)
		default:
			s.byte(c, i)
			i++
		}
	}
}

// byte copies a byte of a token other than a string.
func (s *scanner) byte(c byte, i int) {
	if (c == '}' || c == ']') && s.comma >= 0 {
		s.out = slices.Delete(s.out, s.comma, s.comma+1)
		s.changed(TrailingComma, s.commaOffset, []byte{','}, nil)
	}
	follows := s.last != 0 && bytes.IndexByte([]byte("{[,:"), s.last) < 0
	s.token(c)
	s.out = append(s.out, c)
	if c == ',' && follows {
		s.comma, s.commaOffset = len(s.out)-1, s.offset+i
	}
}

func (s *scanner) token(c byte) {
	s.last, s.comma = c, -1
}

// backslash replaces a written line end or tab outside strings, where no
// backslash is ever legal, by a space: not by nothing, which would join two
// numbers. Any other backslash stays and is refused.
func (s *scanner) backslash(i int) int {
	if i+1 < len(s.text) && bytes.IndexByte([]byte("nrt"), s.text[i+1]) >= 0 {
		s.out = append(s.out, ' ')
		s.changed(LiteralSpace, s.offset+i, s.text[i:i+2], []byte{' '})
		return 2
	}
	s.byte('\\', i)
	return 1
}

// str copies the string at i, to the end of the text if it is not closed, and
// returns its length.
func (s *scanner) str(i int) int {
	start, at := i, len(s.out)
	s.out = append(s.out, '"')
	controls := 0
	for i++; i < len(s.text) && s.text[i] != '"'; i++ {
		switch c := s.text[i]; {
		case c == '\\' && i+1 < len(s.text):
			s.out = append(s.out, c, s.text[i+1])
			i++
		case c < ' ' && s.opts.AllowControlChars:
			s.out = appendEscape(s.out, c)
			controls++
		default:
			s.out = append(s.out, c)
		}
	}
	if i < len(s.text) {
		s.out = append(s.out, '"')
		i++
	}
	if controls > 0 {
		s.changed(ControlChars, s.offset+start, s.text[start:i], s.out[at:])
	}
	return i - start
}

func appendEscape(dst []byte, c byte) []byte {
	if short := bytes.IndexByte([]byte("\b\f\n\r\t"), c); short >= 0 {
		return append(dst, '\\', "bfnrt"[short])
	}
	return fmt.Appendf(dst, `\u%04x`, c)
}
