package strictjson

import (
	"unicode/utf16"
	"unicode/utf8"
)

// plain marks the bytes that mean themselves inside a string.
var plain = func() (table [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		table[c] = c != '"' && c != '\\'
	}
	return table
}()

// str moves past the string at pos and reports whether it has escapes.
func (p *parser) str() (escaped bool, err *Error) {
	text := p.doc.Text
	p.pos++
	for {
		i := p.pos
		for i < len(text) && plain[text[i]] {
			i++
		}
		p.pos = i
		if i == len(text) {
			return escaped, p.fail(ReasonTruncated)
		}
		switch c := text[i]; {
		case c == '"':
			p.pos++
			return escaped, nil
		case c == '\\':
			escaped = true
			err = p.escape()
		case c < ' ':
			err = p.fail(ReasonControlChar)
		default:
			err = p.multibyte()
		}
		if err != nil {
			return escaped, err
		}
	}
}

// multibyte moves past one character of two to four bytes.
func (p *parser) multibyte() *Error {
	rest := p.doc.Text[p.pos:]
	_, size := utf8.DecodeRune(rest)
	switch {
	case size > 1:
		p.pos += size
		return nil
	case !utf8.FullRune(rest): // a cut-off text is cut anywhere
		p.pos = len(p.doc.Text)
		return p.fail(ReasonTruncated)
	}
	return p.fail(ReasonInvalidUTF8)
}

// escape moves past the escape at pos, a surrogate pair being one.
func (p *parser) escape() *Error {
	start := p.pos
	p.pos++
	switch p.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		p.pos++
		return nil
	case 'u':
	default:
		return p.unexpected()
	}
	unit, err := p.unit()
	if err != nil || !utf16.IsSurrogate(unit) {
		return err
	}
	if unit < lowSurrogate {
		return p.low(start)
	}
	p.pos = start
	return p.fail(ReasonLoneSurrogate)
}

const lowSurrogate = 0xDC00

// low moves past the second half of a pair that began at start.
func (p *parser) low(start int) *Error {
	for _, c := range []byte{'\\', 'u'} {
		if p.pos == len(p.doc.Text) {
			return p.fail(ReasonTruncated)
		}
		if p.peek() != c {
			p.pos = start
			return p.fail(ReasonLoneSurrogate)
		}
		p.pos++
	}
	p.pos--
	unit, err := p.unit()
	if err == nil && (unit < lowSurrogate || !utf16.IsSurrogate(unit)) {
		p.pos = start
		return p.fail(ReasonLoneSurrogate)
	}
	return err
}

// unit parses the u and the four hexadecimal digits at pos.
func (p *parser) unit() (rune, *Error) {
	var unit rune
	for range 4 {
		p.pos++
		digit, ok := hex(p.peek())
		if !ok {
			return 0, p.unexpected()
		}
		unit = unit<<4 | digit
	}
	p.pos++
	return unit, nil
}

func hex(c byte) (rune, bool) {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0'), true
	case 'a' <= c && c <= 'f':
		return rune(c-'a') + 10, true
	case 'A' <= c && c <= 'F':
		return rune(c-'A') + 10, true
	}
	return 0, false
}
