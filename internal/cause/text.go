package cause

import (
	"strings"
	"unicode/utf8"
)

// Unavailable stands for a text that could not be had. It is for developers.
const Unavailable = "(error text not available)"

// Text returns at most limit bytes of err's text, as valid UTF-8, or
// [Unavailable] if the error panics, exits, takes longer than [Patience] or is a
// typed nil. Plain and standard errors are asked directly, others on a goroutine.
func Text(err error, limit int) string {
	return text(err, limit, 0)
}

func text(err error, limit, depth int) string {
	switch kind := kindOf(err, nil); {
	case kind == KindNil || depth == Limit:
		return Unavailable
	case kind == KindJoin:
		return joined(err, limit, depth)
	case kind.Plain():
		return clip(err.Error(), limit)
	case kind == KindStandard && !Known(err, nil).Foreign():
		return ask(err, limit)
	}
	answer := ""
	if !Within(func() { answer = ask(err, limit) }) {
		return Unavailable
	}
	return answer
}

// joined is what the Error of a join does, member by member.
func joined(err error, limit, depth int) string {
	var b strings.Builder
	_, members := unwrap(err)
	for i, member := range members {
		left := limit - b.Len()
		if left <= 0 {
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text(member, left, depth+1))
	}
	return clip(b.String(), limit)
}

func ask(err error, limit int) (s string) {
	defer func() {
		if recover() != nil {
			s = Unavailable
		}
	}()
	return clip(err.Error(), limit)
}

// clip copies what it cuts out, so that a huge text can be collected.
func clip(s string, limit int) string {
	if len(s) > limit {
		end := max(limit, 0)
		for end > 0 && end > limit-utf8.UTFMax && !utf8.RuneStart(s[end]) {
			end--
		}
		s = strings.Clone(s[:end])
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
