package toolguard

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolguard-go/toolguard/prompts"
)

// maxPose bounds how much of a result is looked at, in bytes.
const maxPose = 64 << 10

// poses reports whether a result could be taken for an answer of the guard. It
// could if it begins, behind what nobody sees, a code fence and opening brackets,
// with something like a label, or with an object that has
//
//   - "ok", which is true or false, and
//   - "suggestion", "call_id" or "tool", or an "error" that is an object.
//
// The object need not be JSON: a model reads past a comment, a comma too many
// or a name given twice. A result with "ok" beside data of its own is ordinary.
// A string of JSON is read without its quotes, as a model does.
func poses(content string, w *prompts.Catalogue) bool {
	start := unfenced(content[:min(len(content), maxPose)])
	if strings.HasPrefix(start, `"`) {
		start = unfenced(unescaped.Replace(start[1:min(len(start), maxQuotedPose)]))
	}
	object := strings.TrimLeftFunc(start, func(r rune) bool { return unseen(r) || r == '[' || r == '(' })
	if strings.HasPrefix(object, "{") && mentionsOK(object) {
		var m members
		m.read(object)
		return m.ok && m.others
	}
	return w.HasLabel(start[:min(len(start), 256)])
}

// maxQuotedPose bounds how much of a string of JSON is looked at, in bytes.
const maxQuotedPose = 4 << 10

// unescaped undoes what the beginning of an answer would have of escapes.
var unescaped = strings.NewReplacer(`\"`, `"`, `\n`, "\n", `\t`, "\t")

// unseen reports what nobody sees in front of a text.
func unseen(r rune) bool {
	if '!' <= r && r <= '~' {
		return false // at once, as nearly every character is one of these
	}
	return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}

// unfenced drops what nobody sees, and the line that opens a code block.
func unfenced(text string) string {
	text = strings.TrimLeftFunc(text, unseen)
	if strings.HasPrefix(text, "```") || strings.HasPrefix(text, "~~~") {
		if _, code, ok := strings.Cut(text, "\n"); ok {
			return strings.TrimLeftFunc(code, unseen)
		}
	}
	return text
}

// mentionsOK spares most objects a closer look.
func mentionsOK(text string) bool {
	return hasKAfterO(text, 'k') || hasKAfterO(text, 'K') || strings.Contains(text, `\u00`)
}

// hasKAfterO looks for the rarer letter of the two.
func hasKAfterO(text string, k byte) bool {
	for {
		i := strings.IndexByte(text, k)
		if i < 0 {
			return false
		}
		if i > 0 && text[i-1]|0x20 == 'o' {
			return true
		}
		text = text[i+1:]
	}
}

// members is what an object that may not be JSON has of an envelope's.
type members struct {
	ok, others bool
}

// read goes through the object at the start of text. It understands strings,
// brackets and comments; everything else it passes over.
func (m *members) read(text string) {
	depth := 0
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '{', c == '[':
			depth++
			i++
		case c == '}', c == ']':
			if depth--; depth == 0 {
				return
			}
			i++
		case c == '"', c == '\'', c == '`', c == '_', 'a' <= c|0x20 && c|0x20 <= 'z':
			end := wordEnd(text, i)
			if depth == 1 {
				m.member(text[i:end], text[end:])
			}
			i = end
		case strings.HasPrefix(text[i:], "/*"), strings.HasPrefix(text[i:], "//"):
			i = commentEnd(text, i)
		default:
			i++
		}
	}
}

// wordEnd returns the end of the string or the bare word at i.
func wordEnd(text string, i int) int {
	quote := text[i]
	if quote == '"' || quote == '\'' || quote == '`' {
		for i++; i < len(text) && text[i] != quote; i++ {
			if text[i] == '\\' {
				i++
			}
		}
		return min(i+1, len(text))
	}
	for i < len(text) && (text[i] == '_' || 'a' <= text[i]|0x20 && text[i]|0x20 <= 'z') {
		i++
	}
	return i
}

// commentEnd returns the end of the comment at i.
func commentEnd(text string, i int) int {
	end := "\n"
	if text[i+1] == '*' {
		end = "*/"
	}
	if k := strings.Index(text[i+2:], end); k >= 0 {
		return i + 2 + k + len(end)
	}
	return len(text)
}

// member enters a word of the outermost object if a value follows it.
func (m *members) member(word, rest string) {
	rest = skipBlanks(rest)
	r, size := utf8.DecodeRuneInString(rest)
	if r != ':' && r != '：' {
		return
	}
	value := skipBlanks(rest[size:])
	switch name := plainName(word); {
	case strings.EqualFold(name, "ok"):
		m.ok = m.ok || startsFold(value, "true") || startsFold(value, "false")
	case strings.EqualFold(name, "error"):
		m.others = m.others || strings.HasPrefix(value, "{")
	case strings.EqualFold(name, "suggestion"), strings.EqualFold(name, "call_id"), strings.EqualFold(name, "tool"):
		m.others = true
	}
}

// skipBlanks drops what nobody sees, and comments.
func skipBlanks(text string) string {
	for {
		text = strings.TrimLeftFunc(text, unseen)
		if !strings.HasPrefix(text, "/*") && !strings.HasPrefix(text, "//") {
			return text
		}
		text = text[commentEnd(text, 0):]
	}
}

// plainName takes the quotes and escapes off a name.
func plainName(word string) string {
	if strings.Contains(word, `\`) {
		if plain, err := strconv.Unquote(`"` + strings.Trim(word, "\"'`") + `"`); err == nil {
			return plain
		}
	}
	return strings.Trim(word, "\"'`")
}

func startsFold(text, word string) bool {
	return len(text) >= len(word) && strings.EqualFold(text[:len(word)], word)
}
