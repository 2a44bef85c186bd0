package toolguard

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/toolguard-go/toolguard/internal/canonical"
	"github.com/toolguard-go/toolguard/prompts"
)

// Envelope is the one answer to a call: the tool's result, or a failure with
// its next step. It is a value; what it refers to must not be changed.
type Envelope struct {
	OK     bool
	CallID string
	Tool   string
	// Result is the tool's, made safe to read, or a fallback's.
	Result Result
	// Error is set if and only if OK is false.
	Error *Failure
	// Suggestion is the one next step after a failure.
	Suggestion string
	// Notes say what is true of the answer beside what it says.
	Notes []Note
	// Args are the arguments as they ran: normalised, so that the host's history
	// holds what was executed. Nil if they could not be read.
	Args json.RawMessage
	// Key is the idempotency key, if the call needed one.
	Key string
	// RetryAt is when the same call may be sent again, if a wait is known.
	RetryAt time.Time
	// Attempts is how often the tool ran.
	Attempts int
	// Degraded says where the answer comes from, if not from the tool.
	Degraded *Degraded

	past     pastAnswer
	cause    error
	control  bool   // cause is the host's control flow
	identity string // of the tool
	format   Format
	words    *prompts.Catalogue
}

// Failure is what a model reads of a call that failed.
type Failure struct {
	Category Category
	Code     Code
	// Retryable says that the model may usefully send the same call again, after
	// RetryAfter if that is set.
	Retryable  bool
	Outcome    Outcome
	RetryAfter time.Duration
	Message    string
	// Quote is foreign text, redacted and bounded, framed as data.
	Quote string
	// Violations are what is wrong with the arguments, all at once.
	Violations []Violation
	// More is the number of violations that are not listed.
	More int
	// Example is a minimal valid example of the arguments.
	Example json.RawMessage
	// Incident ties the envelope to the event that has everything.
	Incident string
}

// Violation is one thing wrong with the arguments.
type Violation struct {
	// Path is a JSON pointer; "" is the whole document.
	Path string
	// Rule is the rule that is broken, such as required or type.
	Rule string
	// Message says it in words.
	Message string
}

// Note is something a model or a host should know beside the answer.
type Note struct {
	Kind NoteKind
	// Path is the argument concerned, if one is.
	Path string
	// From and To are what was changed, bounded.
	From, To string
	// Count and Bytes measure what was left out or changed.
	Count, Bytes int
	// Media is the MIME type of what was left out.
	Media string
	// Age is how old an answer is that was given before.
	Age time.Duration
	// Limit is the bound that Count comes close to.
	Limit int
	// Text says it in words.
	Text string
}

// NoteKind is the kind of a [Note]: the name of its words, in lower_snake.
type NoteKind = prompts.Note

// Degraded tells of an answer from elsewhere.
type Degraded struct {
	// Source is the tool that answered, or "last known good".
	Source string
	// Age is how old a stored answer is.
	Age time.Duration
	// Missing are the fields the answer lacks.
	Missing []string
}

// Format is how an envelope is rendered for a model.
type Format uint8

const (
	// FormatJSON renders one JSON object.
	FormatJSON Format = iota
	// FormatText renders text under a label.
	FormatText
)

var formatNames = names{"json", "text"}

// String returns the lower-case name, or Format(n) for a value outside the set.
func (f Format) String() string { return formatNames.text("Format", uint8(f)) }

// MarshalText implements [encoding.TextMarshaler].
func (f Format) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText accepts the names that String returns.
func (f *Format) UnmarshalText(b []byte) error { return formatNames.parse("Format", b, (*uint8)(f)) }

// Err returns nil for a success, else an *[Error] with the tool's own error
// underneath, for [errors.Is] and [errors.As]. A tool may return it, or wrap it:
// its own guard then knows that something the tool needs failed, but takes the
// outcome for that call's, not for the tool's.
func (e Envelope) Err() error {
	if e.OK {
		return nil
	}
	return &Error{
		Code: e.Error.Code, Outcome: e.Error.Outcome, Message: e.Error.Message,
		RetryAfter: e.Error.RetryAfter, Cause: ending(e.cause), guarded: true,
	}
}

// Cause returns the tool's own error, or nil. It is for the host: its text may
// hold anything.
func (e Envelope) Cause() error { return e.cause }

// Control returns the error the host declared as control flow, untouched, or
// nil. A host that uses Options.PassThrough looks here first.
func (e Envelope) Control() error {
	if e.control {
		return e.cause
	}
	return nil
}

// ForModel returns the text to hand to the model, in the guard's format: the
// bare result where there is nothing to add, else the envelope.
func (e Envelope) ForModel() string {
	if e.bare() {
		return e.Result.content()
	}
	return string(e.appendForModel(nil))
}

func (e *Envelope) appendForModel(b []byte) []byte {
	if e.format == FormatText {
		return e.appendText(b)
	}
	return e.appendJSON(b)
}

// MarshalJSON returns the JSON rendering, whatever the format.
func (e Envelope) MarshalJSON() ([]byte, error) { return e.appendJSON(nil), nil }

// String returns the labelled text rendering, whatever the format.
func (e Envelope) String() string { return string(e.appendText(nil)) }

func (e *Envelope) bare() bool { return e.OK && len(e.Notes) == 0 }

// content is what a model reads of a result.
func (r *Result) content() string {
	if len(r.JSON) > 0 {
		return string(r.JSON)
	}
	return r.Text
}

func (e *Envelope) appendJSON(b []byte) []byte {
	b = append(b, `{"ok":`...)
	b = strconv.AppendBool(b, e.OK)
	b = appendMember(b, "call_id", cutEscaped(e.CallID, maxCallID))
	b = appendMember(b, "tool", e.Tool)
	if e.OK {
		b = e.Result.appendJSON(b)
	} else {
		b = append(b, `,"error":`...)
		b = e.Error.appendJSON(b)
		b = appendMember(b, "suggestion", e.Suggestion)
	}
	return append(e.appendNotes(b), '}')
}

func (r *Result) appendJSON(b []byte) []byte {
	switch {
	case len(r.JSON) > 0 && json.Valid(r.JSON):
		return append(append(b, `,"result":`...), r.JSON...)
	case len(r.JSON) > 0:
		return appendMember(b, "result", string(r.JSON))
	case r.Text != "":
		return appendMember(b, "result", r.Text)
	}
	return b
}

func (f *Failure) appendJSON(b []byte) []byte {
	b = append(b, `{"category":"`...)
	b = append(b, f.Category.String()...)
	b = append(b, `","code":`...)
	b = canonical.AppendString(b, cutEscaped(string(f.Code), maxCode))
	b = append(b, `,"retryable":`...)
	b = strconv.AppendBool(b, f.Retryable)
	b = append(b, `,"outcome":"`...)
	b = append(b, f.Outcome.String()...)
	b = append(b, '"')
	if f.RetryAfter > 0 {
		b = append(b, `,"retry_after_ms":`...)
		b = strconv.AppendInt(b, ceilMillis(f.RetryAfter), 10)
	}
	b = appendMember(b, "message", f.Message)
	b = appendMember(b, "quote", f.Quote)
	b = f.appendViolations(b)
	return append(appendMember(b, "incident", f.Incident), '}')
}

func (f *Failure) appendViolations(b []byte) []byte {
	if len(f.Violations) == 0 {
		return b
	}
	b = append(b, `,"violations":[`...)
	for i, v := range f.Violations {
		if i > 0 {
			b = append(b, ',')
		}
		b = canonical.AppendString(b, v.Message)
	}
	b = append(b, ']')
	if f.More > 0 {
		b = append(b, `,"more_violations":`...)
		b = strconv.AppendInt(b, int64(f.More), 10)
	}
	if len(f.Example) > 0 {
		b = append(append(b, `,"example":`...), f.Example...)
	}
	return b
}

func (e *Envelope) appendNotes(b []byte) []byte {
	if len(e.Notes) == 0 {
		return b
	}
	b = append(b, `,"notes":[`...)
	for i, text := range e.noteTexts() {
		if i > 0 {
			b = append(b, ',')
		}
		b = canonical.AppendString(b, text)
	}
	return append(b, ']')
}

const (
	maxCallID   = 128 // what a model reads of its own id, in bytes once escaped
	maxCode     = 64  // of a code
	maxNoteText = 400 // of all notes together
)

// noteTexts are the notes a model reads: as many as fit, and how many do not.
// Envelope.Notes has all of them.
func (e *Envelope) noteTexts() []string {
	var texts []string
	size, limit := 0, maxNoteText
	if !e.OK {
		limit /= 2
	}
	for i := range e.Notes {
		if size += escapedSize(e.Notes[i].Text); size > limit && i > 0 {
			more := e.catalogue().AppendFrame(nil, prompts.FrameMore, &prompts.Vars{Count: len(e.Notes) - i})
			return append(texts, string(more))
		}
		texts = append(texts, cutEscaped(e.Notes[i].Text, limit))
	}
	return texts
}

// catalogue returns the envelope's words; the zero envelope has English ones.
func (e *Envelope) catalogue() *prompts.Catalogue {
	if e.words == nil {
		return prompts.English()
	}
	return e.words
}

// bounded cuts s between characters.
func bounded(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}

// appendMember appends a string member unless it is empty.
func appendMember(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":`...)
	return canonical.AppendString(b, value)
}

// ceilMillis rounds up: a wait that is named must be long enough.
func ceilMillis(d time.Duration) int64 {
	ms := int64(d / time.Millisecond)
	if d%time.Millisecond > 0 {
		ms++
	}
	return ms
}

// GoString keeps %#v short.
func (e Envelope) GoString() string {
	return fmt.Sprintf("toolguard.Envelope{OK: %t, Tool: %q, Error: %+v}", e.OK, e.Tool, e.Error)
}
