package clean

import "unicode/utf8"

// plain reports that s needs none of the stages of scrub. It may say no to a
// text that turns out to need none.
func plain(s string) bool {
	return printable(s) && !hasLongRun(s)
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// printable reports valid UTF-8 without anything to take out, in words of
// eight bytes where the text is ASCII.
func printable(s string) bool {
	for i := 0; i < len(s); {
		if i+8 <= len(s) && printable8(load8(s, i)) {
			i += 8
			continue
		}
		n := printableRune(s[i:])
		if n == 0 {
			return false
		}
		i += n
	}
	return true
}

// load8 returns the eight bytes of s at i. The compiler makes one load of it.
func load8(s string, i int) uint64 {
	_ = s[i+7]
	return uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
		uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
}

// printable8 reports that all of eight bytes are printable ASCII. It works on
// all of them at once; below ASCII's top bit the subtractions cannot borrow
// from a neighbour without being noticed.
func printable8(x uint64) bool {
	del := x ^ ones*0x7f
	return (x|(x-ones*0x20)|(del-ones))&highs == 0
}

// printableRune returns the length of the character at the start of s if it may
// stay wherever it stands, 0 if it must be looked at.
func printableRune(s string) int {
	if c := s[0]; c < utf8.RuneSelf {
		if c >= ' ' && c != 0x7f || c == '\n' || c == '\t' {
			return 1
		}
		return 0
	}
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 || isC1(r) || class(r) != visible {
		return 0
	}
	return size
}

// isC1 reports an eight-bit control character.
func isC1(r rune) bool { return r >= 0x80 && r <= 0x9f }
