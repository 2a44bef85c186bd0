package prompts

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// HasLabel reports whether text begins with something that looks like a label of
// c or of a built-in catalogue: in any letter case, spacing and width, behind
// white space, invisible characters and the marks of Markdown. Such a text could
// be taken for an answer of the guard.
func (c *Catalogue) HasLabel(text string) bool {
	text = strings.TrimLeftFunc(text, ornament)
	first, _ := firstVisible(text)
	first = appearance(first)
	return c.labelled(text, first) || English().labelled(text, first) || Chinese().labelled(text, first)
}

// labelled holds a text that first appears as it does against the labels. Nearly
// every text differs from all of them in its first character.
func (c *Catalogue) labelled(text string, first rune) bool {
	return c.mayOpen(first) &&
		slices.ContainsFunc(c.looks, func(look string) bool { return resembles(text, look) })
}

func (c *Catalogue) mayOpen(first rune) bool {
	if first < utf8.RuneSelf {
		return c.opens[first]
	}
	return strings.ContainsRune(c.openings, first)
}

// ornament reports what may stand before a label without hiding it.
func ornament(r rune) bool { return invisible(r) || strings.ContainsRune("*_#>`~-", r) }

func invisible(r rune) bool {
	if '!' <= r && r <= '~' {
		return false // at once, as nearly every character is one of these
	}
	return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || unicode.IsControl(r)
}

// deriveLooks prepares the labels for labelled.
func (c *Catalogue) deriveLooks() {
	for _, label := range c.labels {
		look := lookOf(label)
		first, size := utf8.DecodeRuneInString(look)
		if size == 0 {
			continue // nothing would resemble it, or everything
		}
		c.looks = append(c.looks, look)
		switch {
		case first < utf8.RuneSelf:
			c.opens[first] = true
		case !c.mayOpen(first):
			c.openings += string(first)
		}
	}
}

// lookOf returns what is seen of a label.
func lookOf(label string) string {
	var look []rune
	for _, r := range label {
		if !invisible(r) {
			look = append(look, appearance(r))
		}
	}
	return string(look)
}

// resembles compares the beginning of text with what is seen of a label.
func resembles(text, look string) bool {
	for _, want := range look {
		r, size := firstVisible(text)
		if size == 0 || appearance(r) != want {
			return false
		}
		text = text[size:]
	}
	return true
}

// firstVisible returns the first character that is not invisible, and where it
// ends; the size is 0 if there is none.
func firstVisible(text string) (r rune, end int) {
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		if end += size; !invisible(r) {
			return r, end
		}
	}
	return 0, 0
}

// appearance gives characters that look alike the same form: letters of any
// case, full-width ASCII, brackets of any kind.
func appearance(r rune) rune {
	if r >= '\uff01' && r <= '\uff5e' {
		r -= '\uff01' - '!'
	}
	switch r {
	case '【', '〔', '〖', '「', '『', '⟦', '❲':
		return '['
	case '】', '〕', '〗', '」', '』', '⟧', '❳':
		return ']'
	}
	return unicode.ToLower(r)
}

// AppendLine appends text from elsewhere so that it stays inside its line: line
// ends and control characters become spaces, what hides or reorders text goes,
// and what looks like a label of the guard loses its bracket. What it appends is
// valid UTF-8.
func (c *Catalogue) AppendLine(dst []byte, text string) []byte {
	return c.appendForeign(dst, text, false)
}

// appendQuotable is AppendLine for a text that must not close its quotation.
func (c *Catalogue) appendQuotable(dst []byte, text string) []byte {
	return c.appendForeign(dst, text, true)
}

func (c *Catalogue) appendForeign(dst []byte, text string, quoted bool) []byte {
	plain := plainPrefix(text)
	dst, text = append(dst, text[:plain]...), text[plain:]
	for i, r := range text {
		switch {
		case r == '\u2028', r == '\u2029', unicode.IsControl(r):
			dst = append(dst, ' ')
		case r >= utf8.RuneSelf && unicode.Is(unicode.Cf, r):
		case quoted && strings.ContainsRune("\"“”„‟「」『』«»＂", r):
			dst = append(dst, '\'')
		case appearance(r) == '[' && c.HasLabel(text[i:]):
			dst = append(dst, '(')
		case r == utf8.RuneError:
			dst = append(dst, "\uFFFD"...)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

// plainPrefix returns how much of text is printable ASCII that means nothing.
func plainPrefix(text string) int {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '[' || c == '"' {
			return i
		}
	}
	return len(text)
}
