package strictjson

import (
	"unicode/utf16"
	"unicode/utf8"
)

// DecodeRune returns the first character of content, the inside of a string
// that [Parse] accepted, and how many bytes spell it: a surrogate pair is one
// character of twelve bytes. Content must not be empty.
func DecodeRune(content []byte) (r rune, size int) {
	switch c := content[0]; {
	case c >= utf8.RuneSelf:
		return utf8.DecodeRune(content)
	case c != '\\':
		return rune(c), 1
	case content[1] != 'u':
		return shortEscape(content[1]), 2
	}
	r = fourHex(content[2:6])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	return utf16.DecodeRune(r, fourHex(content[8:12])), 12
}

func shortEscape(c byte) rune {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return rune(c) // the quote, the backslash and the slash name themselves
}

func fourHex(digits []byte) (r rune) {
	for _, c := range digits {
		digit, _ := hex(c)
		r = r<<4 | digit
	}
	return r
}

func appendDecoded(dst, content []byte) []byte {
	for len(content) > 0 {
		r, n := DecodeRune(content)
		dst = utf8.AppendRune(dst, r)
		content = content[n:]
	}
	return dst
}

func decoded(content []byte, escaped bool) string {
	if !escaped {
		return string(content)
	}
	return string(appendDecoded(make([]byte, 0, len(content)), content))
}

// equal compares without allocating.
func equal(content []byte, escaped bool, s string) bool {
	if !escaped {
		return string(content) == s
	}
	for len(content) > 0 && len(s) > 0 {
		r, n := DecodeRune(content)
		want, m := utf8.DecodeRuneInString(s)
		if r != want || r == utf8.RuneError && m == 1 {
			return false
		}
		content, s = content[n:], s[m:]
	}
	return len(content) == 0 && len(s) == 0
}
