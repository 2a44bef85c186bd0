package cause

import (
	"strings"
	"unicode/utf8"

	"github.com/toolguard-go/toolguard/internal/isolate"
)

// Unavailable stands for a text that could not be had. It is for developers.
const Unavailable = "(error text not available)"

// Text returns at most limit bytes of err's text, as valid UTF-8, or
// [Unavailable] if the error panics, exits, takes longer than [Patience], wraps
// itself or is a typed nil. Plain and standard errors are asked directly, others
// on a goroutine that goes on the account.
func Text(account *isolate.Account, err error, limit int) string {
	kind := kindOf(err, nil)
	switch {
	case kind.Plain() && kind != KindJoin: // made of strings that are there already
		return clip(err.Error(), limit)
	case !Known(err, nil).Foreign():
		return tell(err, limit)
	}
	answer := ""
	if !Within(account, func() { answer = tell(err, limit) }) {
		return Unavailable
	}
	return answer
}

// tell does by hand what the Error of a join does, so that one member's panic
// costs only that member's text.
func tell(err error, limit int) string {
	if kindOf(err, nil) != KindJoin {
		return ask(err, limit)
	}
	var b strings.Builder
	members, _ := unwrap(err)
	for i, member := range members {
		if b.Len() >= limit {
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(tell(member, limit))
	}
	return clip(b.String(), limit)
}

// ask keeps away from cycles: the text of an error mostly includes that of its
// cause, and a stack that overflows cannot be recovered.
func ask(err error, limit int) (s string) {
	defer func() {
		if recover() != nil {
			s = Unavailable
		}
	}()
	if IsNil(err) || Walk(err, nil).Cyclic {
		return Unavailable
	}
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
