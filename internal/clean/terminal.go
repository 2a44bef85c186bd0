package clean

import (
	"strings"
	"unicode/utf8"
)

const esc = 0x1b

// A screen draws text the way a terminal would, as far as a text needs it:
// sequences vanish, a carriage return starts the line over, a backspace takes
// the last character back.
type screen struct {
	out      []byte
	line     int  // where the current line starts in out
	returned bool // the next character overwrites the line
	tally    *tally
}

// draw returns valid UTF-8 s without escape sequences, overwritten states and
// control characters.
func draw(s string, t *tally) string {
	i := nextControl(s, 0)
	if i == len(s) {
		return s
	}
	sc := screen{out: make([]byte, 0, len(s)), tally: t}
	for at := 0; ; i = nextControl(s, at) {
		sc.print(s[at:i])
		if i == len(s) {
			return string(sc.out)
		}
		at = i + sc.control(s[i:])
	}
}

// nextControl returns the position of the next control character at or after
// i, tabs aside.
func nextControl(s string, i int) int {
	for ; i < len(s); i++ {
		c := s[i]
		if c < ' ' && c != '\t' || c == 0x7f || c == 0xc2 && isC1At(s, i) {
			break
		}
	}
	return i
}

// isC1At reports a two-byte control character at i, which in UTF-8 begins with
// the byte 0xC2.
func isC1At(s string, i int) bool { return i+1 < len(s) && s[i+1] <= 0x9f && s[i+1] >= 0x80 }

// print appends text, over the line if the cursor has returned.
func (sc *screen) print(s string) {
	if s == "" {
		return
	}
	if sc.returned {
		sc.tally.add(Overwritten, 1, len(sc.out)-sc.line, "")
		sc.out = sc.out[:sc.line]
		sc.returned = false
	}
	sc.out = append(sc.out, s...)
}

// control obeys the control character at the start of s and returns how much
// of s belongs to it.
func (sc *screen) control(s string) int {
	switch s[0] {
	case '\n', '\f', '\v':
		sc.newline()
		return 1
	case '\r':
		sc.restart()
		return 1
	case '\b':
		sc.back()
		return 1
	case esc:
		return sc.escape(s)
	case 0xc2:
		return sc.c1(s)
	}
	sc.tally.add(Controls, 1, 1, "")
	return 1
}

// newline keeps the line as it is. After it nothing can overwrite it.
func (sc *screen) newline() {
	sc.out = append(sc.out, '\n')
	sc.line, sc.returned = len(sc.out), false
}

// restart makes what follows overwrite the line. Nothing is lost if nothing
// follows, as before a newline.
func (sc *screen) restart() { sc.returned = len(sc.out) > sc.line }

// back takes the last character of the line back. Man pages print bold text
// as a letter, a backspace and the letter again.
func (sc *screen) back() {
	if _, n := utf8.DecodeLastRune(sc.out[sc.line:]); n > 0 && !sc.returned {
		sc.out = sc.out[:len(sc.out)-n]
		sc.tally.add(Overwritten, 1, n, "")
	}
}

// c1 obeys an eight-bit control character: some are short for ESC and a letter.
func (sc *screen) c1(s string) int {
	switch s[1] {
	case 0x85: // next line
		sc.newline()
		return 2
	case 0x90, 0x98, 0x9b, 0x9d, 0x9e, 0x9f:
		return sc.escape(s)
	}
	sc.tally.add(Controls, 1, 2, "")
	return 2
}

// escape drops the sequence at the start of s. Those that erase the line or go
// back to its start have to be obeyed, or a progress bar repeats itself.
func (sc *screen) escape(s string) int {
	n := sequence(s)
	sc.tally.add(Escapes, 1, n, "")
	if body := s[1:n]; strings.HasSuffix(body, "G") || strings.HasSuffix(body, "2K") {
		sc.restart()
	}
	return n
}

// sequence returns the length of the escape sequence at the start of s, as
// ECMA-48 has it. One that is cut off is as long as what is there of it; one
// that carries text to an end that never comes is just its introducer.
func sequence(s string) int {
	if len(s) == 1 {
		return 1
	}
	introducer := s[1]
	if s[0] != esc {
		introducer -= 0x40
	}
	switch introducer {
	case '[':
		return final(s, span(s, span(s, 2, 0x30, 0x3f), 0x20, 0x2f), 0x40)
	case ']', 'P', 'X', '^', '_':
		return stringEnd(s)
	}
	if i := span(s, 1, 0x20, 0x2f); i > 1 {
		return final(s, i, 0x30)
	}
	if introducer >= 0x30 && introducer < 0x7f {
		return 2
	}
	return 1
}

// span returns the end of the bytes from lo to hi at i.
func span(s string, i int, lo, hi byte) int {
	for i < len(s) && s[i] >= lo && s[i] <= hi {
		i++
	}
	return i
}

// final includes the byte at i if it ends a sequence.
func final(s string, i int, lo byte) int {
	if i < len(s) && s[i] >= lo && s[i] < 0x7f {
		return i + 1
	}
	return i
}

// stringEnd returns the end of a control string: behind BEL or ST. Any other
// control character means that the end is missing.
func stringEnd(s string) int {
	i := nextControl(s, 2)
	switch {
	case i == len(s):
		return 2
	case s[i] == '\a':
		return i + 1
	case strings.HasPrefix(s[i:], "\x1b\\"), strings.HasPrefix(s[i:], "\u009c"):
		return i + 2
	}
	return 2
}
