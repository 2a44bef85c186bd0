package redact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// mayEscape are the bytes that an escape, or what is not seen, may begin with.
var mayEscape = func() byteSet {
	set := complement(bytesOf("")) // all
	for c := range 256 {
		if c >= ' ' && c < 0x7f && c != '\\' && c != '%' || c == '\t' || c == '\n' || c == '\r' {
			set[c>>6] &^= 1 << (c & 63)
		}
	}
	return set
}()

// unseenPrefix returns the length of what stands at the start of text and shows
// nothing: a terminal's sequence, a control character, a character that formats,
// such as a zero-width space or a soft hyphen. White space is seen, and a bell,
// which ends a text of the terminal's.
func unseenPrefix(text string) int {
	c := text[0]
	switch {
	case c == 0x1b:
		return sequence(text)
	case c >= utf8.RuneSelf:
		return unseenRune(text)
	case c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\a' || c == 0x7f:
		return 1
	}
	return 0
}

// formatting are the first bytes of the characters that unseenRune looks for.
var formatting = bytesOf("\xc2\xd8\xdb\xdc\xe0\xe1\xe2\xef\xf0\xf3")

// unseenRune returns the length of the character at the start of text if it is
// one beyond ASCII that is not seen.
func unseenRune(text string) int {
	if !formatting.has(text[0]) {
		return 0
	}
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case r == 0x9b:
		return parameters(text, size)
	case r < 0xa0 && unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
		return size
	}
	return 0
}

// sequence returns the length of the terminal's sequence at the start of text. What
// begins or ends a text of the terminal's own, as a bell does, parts words and stays.
func sequence(text string) int {
	switch {
	case len(text) == 1:
		return 1
	case text[1] == '[':
		return parameters(text, 2)
	case strings.IndexByte(`]P^_X\`, text[1]) >= 0:
		return 0
	}
	return 1
}

// csi are the bytes between a CSI and the letter that ends it.
var csi = bytesOf("0123456789:;<=>? !\"#$%&'()*+,-./")

// parameters returns the end of a CSI whose parameters begin at i.
func parameters(text string, i int) int {
	if i = csi.run(text, i, 64); i < len(text) && text[i] >= '@' && text[i] < 0x7f {
		return i + 1
	}
	return i
}
