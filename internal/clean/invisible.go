package clean

import (
	"unicode"
	"unicode/utf8"
)

// A visibility says what becomes of a character beyond ASCII.
type visibility uint8

const (
	visible  visibility = iota
	hidden              // never stays
	joiner              // stays between characters that join
	selector            // stays once behind a visible character
)

// class sorts characters. The first line is for speed: nearly all text beyond
// Latin lies in that range.
func class(r rune) visibility {
	switch {
	case r >= 0x3000 && r < 0xfe00:
		return visible
	case r < 0x200b:
		return classLow(r)
	case r == 0x200c || r == 0x200d:
		return joiner
	case r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return hidden
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef:
		return selector
	case r == 0xfeff, r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r < 0xe0100:
		return hidden
	}
	return visible
}

// classLow sorts what comes before the general punctuation.
func classLow(r rune) visibility {
	switch r {
	case 0xad, 0x61c, 0x180e: // soft hyphen, Arabic letter mark, Mongolian separator
		return hidden
	}
	return visible
}

// reveal drops characters that nobody sees but a model reads, or that make
// people see another text than the model.
func reveal(s string, t *tally) string {
	i := nextSpecial(s, 0)
	if i == len(s) {
		return s
	}
	out := make([]byte, 0, len(s))
	for at := 0; ; i = nextSpecial(s, at) {
		out = append(out, s[at:i]...)
		if i == len(s) {
			return string(out)
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		at = i + n
		if next, _ := utf8.DecodeRuneInString(s[at:]); stays(r, out, next) {
			out = append(out, s[i:at]...)
		} else {
			t.add(Invisible, 1, n, "")
		}
	}
}

// nextSpecial returns the position of the next character that is not visible.
func nextSpecial(s string, i int) int {
	for i < len(s) {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if class(r) != visible {
			break
		}
		i += n
	}
	return i
}

// stays decides about a special character between what is kept and next.
func stays(r rune, kept []byte, next rune) bool {
	last, _ := utf8.DecodeLastRune(kept)
	switch class(r) {
	case joiner:
		return joinsLetters(last) || joinsEmoji(last) && isSymbol(next)
	case selector:
		return len(kept) > 0 && last > ' ' && class(last) == visible
	}
	return false
}

// joiningScripts shape letters by joiners: a Persian plural, an Indic half form.
var joiningScripts = []*unicode.RangeTable{
	unicode.Arabic, unicode.Bengali, unicode.Devanagari, unicode.Gujarati, unicode.Gurmukhi, unicode.Kannada,
	unicode.Khmer, unicode.Malayalam, unicode.Mongolian, unicode.Myanmar, unicode.Oriya, unicode.Sinhala,
	unicode.Syriac, unicode.Tamil, unicode.Telugu, unicode.Tibetan,
}

// joinsLetters reports a letter or mark of a script that joins.
func joinsLetters(r rune) bool {
	return r > 0x600 && (unicode.IsLetter(r) || unicode.IsMark(r)) && unicode.In(r, joiningScripts...)
}

// joinsEmoji reports an emoji, its colour or its selector.
func joinsEmoji(r rune) bool { return isSymbol(r) || r == 0xfe0f || unicode.Is(unicode.Sk, r) }

// isSymbol reports what an emoji is built from.
func isSymbol(r rune) bool { return r > 0x2000 && unicode.Is(unicode.So, r) }
