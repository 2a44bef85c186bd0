package toolguard

import (
	"context"
	"strings"
	"time"
	"unicode"

	"github.com/toolguard-go/toolguard/internal/cause"
	"github.com/toolguard-go/toolguard/internal/isolate"
	"github.com/toolguard-go/toolguard/internal/redact"
)

// Redactor makes foreign text fit to be recorded: without credentials, internal
// hosts and addresses, file paths, stack traces and SQL, in one line, and bounded.
// It is for observers, which get an [Event] as it is. A nil one redacts like one
// made by NewRedactor(nil). It is safe for concurrent use.
type Redactor struct {
	also     func(string) string
	redactor *redact.Redactor
	hanging  isolate.Account // errors and the host's function, given up on
}

// NewRedactor returns a Redactor. The function, if not nil, is applied before the
// built-in redaction; a text it panics on, or takes longer than 1 s for, is left
// out altogether.
func NewRedactor(also func(text string) string) *Redactor {
	return &Redactor{also: also, redactor: redact.New(redact.Options{})}
}

// Text returns at most limit characters of text, redacted before it is cut.
func (r *Redactor) Text(text string, limit int) string {
	if text == "" {
		return ""
	}
	if r.also != nil && !r.apply(&text) {
		return "[redacted]"
	}
	out, _ := r.redactor.Cut(strings.ToValidUTF8(text, "\uFFFD"), limit)
	return oneLine(out)
}

// Error returns the text of err like Text; "" if err is nil. Methods of err that
// panic, exit or hang cost its text and nothing else.
func (r *Redactor) Error(err error, limit int) string {
	if err == nil {
		return ""
	}
	return r.Text(cause.Text(&r.hanging, err, 8*limit), limit)
}

func (r *Redactor) apply(text *string) bool {
	out := ""
	err := r.hanging.Run(context.Background(), time.Second, func(context.Context) error {
		out = r.also(*text)
		return nil
	})
	if err != nil {
		return false
	}
	*text = out
	return true
}

// oneLine replaces what a terminal or a log could take for something else.
func oneLine(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || c == '\u2028' || c == '\u2029' {
			return ' '
		}
		return c
	}, text)
}

// frames names the functions of a stack with the base names of their files: paths
// and addresses are nobody's business, and arguments may be secrets.
func frames(stack []byte) string {
	var b strings.Builder
	function := ""
	for line := range strings.Lines(string(stack)) {
		line = strings.TrimRight(line, "\n")
		if file, ok := strings.CutPrefix(line, "\t"); ok {
			file, _, _ = strings.Cut(file[strings.LastIndexByte(file, '/')+1:], " ")
			b.WriteString(function + " (" + file + ")\n")
			continue
		}
		function = line
		if open := strings.LastIndexByte(line, '('); open > 0 {
			function = line[:open]
		}
		if i := strings.LastIndexByte(function, '/'); i >= 0 {
			function = function[i+1:]
		}
	}
	return b.String()
}
