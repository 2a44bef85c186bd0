package prompts

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// HasLabel reports whether text, after white space and invisible characters,
// begins with a label of c or of a built-in catalogue, in any letter case. Such
// a text could be taken for an answer of the guard.
func (c *Catalogue) HasLabel(text string) bool {
	text = strings.TrimLeftFunc(text, invisible)
	return hasPrefixOf(text, c.labels) || hasPrefixOf(text, English().labels) || hasPrefixOf(text, Chinese().labels)
}

func invisible(r rune) bool {
	return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || unicode.IsControl(r)
}

func hasPrefixOf(text string, labels []string) bool {
	for _, label := range labels {
		if len(text) >= len(label) && strings.EqualFold(text[:len(label)], label) {
			return true
		}
	}
	return false
}

// appendQuotable appends foreign text so that it stays inside its quotation: it
// cannot close it, break the line, or show a label of the guard.
func (c *Catalogue) appendQuotable(dst []byte, text string) []byte {
	for i, r := range text {
		switch {
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			dst = append(dst, ' ')
		case strings.ContainsRune("\"“”„‟「」『』«»＂", r):
			dst = append(dst, '\'')
		case (r == '[' || r == '【') && c.HasLabel(text[i:]):
			dst = append(dst, '(')
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}
