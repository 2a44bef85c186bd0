package toolguardtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/toolguard-go/toolguard"
)

// Answer describes an envelope for a test of code that reads envelopes. The zero
// value is a success with an empty text.
type Answer struct {
	// Tool is the tool's name. If empty, "tool".
	Tool string
	// CallID is the call's. If empty, "call_1".
	CallID string
	// Effect is the tool's. If zero, NonIdempotent.
	Effect toolguard.Effect
	// Text is the result of a success.
	Text string
	// Code makes it a failure.
	Code toolguard.Code
	// Outcome of a failure. If zero, unknown, but for a ReadOnly tool failed.
	Outcome toolguard.Outcome
	// Message is the author's sentence. If empty, the code's own words.
	Message string
	// RetryAfter is the wait that was asked for.
	RetryAfter time.Duration
	// Cause is the tool's own error, for errors.Is.
	Cause error
	// Locale of the words. If empty, "en".
	Locale string
}

// Envelope makes the envelope. It comes out of a guard, so that its words, its next
// step, its rendering and Err are the real ones. It says of a refusal, such as
// [toolguard.CodeBreakerOpen], that the tool did not run.
func (a Answer) Envelope(t testing.TB) toolguard.Envelope {
	t.Helper()
	if a.Tool == "" {
		a.Tool = "tool"
	}
	if a.CallID == "" {
		a.CallID = "call_1"
	}
	tool := NewTool(t, toolguard.Info{Name: a.Tool, Effect: a.Effect}, a.step())
	guard, err := toolguard.New(tool, &toolguard.Options{Retry: toolguard.RetryPolicy{Off: true}, Render: toolguard.RenderPolicy{Locale: a.Locale}})
	if err != nil {
		t.Fatalf("toolguardtest: Answer makes no sense: %v", err)
	}
	env := guard.Do(context.Background(), toolguard.Call{ID: a.CallID, Args: json.RawMessage(`{}`)})
	if env.Error != nil {
		env.Error.Incident = "test0000"
		if env.Error.Outcome == toolguard.OutcomeNotStarted {
			env.Attempts = 0
		}
	}
	return env
}

func (a Answer) step() Step {
	if a.Code == "" {
		return OK(a.Text)
	}
	err := error(&toolguard.Error{Code: a.Code, Outcome: a.Outcome, Message: a.Message, RetryAfter: a.RetryAfter, Cause: a.Cause})
	if a.Outcome == toolguard.OutcomeUnknown && a.Effect != toolguard.ReadOnly {
		err = toolguard.MaybeDone(err)
	}
	return Fail(err)
}

// Read reads what a model reads back into an envelope: a JSON rendering, or a bare
// result, which is a success. What a rendering leaves out, such as Attempts and Key,
// is zero; of the notes there are only the texts, of the violations the messages. A
// text rendering, which has no fields, is an error.
func Read(text string) (toolguard.Envelope, error) {
	var w written
	if err := json.Unmarshal([]byte(text), &w); err != nil || w.OK == nil {
		if label(text) {
			return toolguard.Envelope{}, errors.New("toolguardtest: this is an envelope in labelled text; render it as JSON (RenderPolicy.Format) where code has to read it")
		}
		return toolguard.Envelope{OK: true, Result: toolguard.Result{Text: text}}, nil
	}
	env := toolguard.Envelope{OK: *w.OK, CallID: w.CallID, Tool: w.Tool, Suggestion: w.Suggestion}
	for _, n := range w.Notes {
		env.Notes = append(env.Notes, toolguard.Note{Text: n})
	}
	switch {
	case env.OK != (w.Error == nil):
		return env, fmt.Errorf("toolguardtest: ok is %t, but error is %t", env.OK, w.Error != nil)
	case env.OK:
		env.Result = w.result()
		return env, nil
	}
	var err error
	env.Error, err = w.Error.failure()
	return env, err
}

// written is an envelope as JSON has it.
type written struct {
	OK         *bool           `json:"ok"`
	CallID     string          `json:"call_id"`
	Tool       string          `json:"tool"`
	Result     json.RawMessage `json:"result"`
	Error      *writtenFailure `json:"error"`
	Suggestion string          `json:"suggestion"`
	Notes      []string        `json:"notes"`
}

type writtenFailure struct {
	Category   string          `json:"category"`
	Code       toolguard.Code  `json:"code"`
	Retryable  bool            `json:"retryable"`
	Outcome    string          `json:"outcome"`
	RetryAfter int64           `json:"retry_after_ms"`
	Message    string          `json:"message"`
	Quote      string          `json:"quote"`
	Violations []string        `json:"violations"`
	More       int             `json:"more_violations"`
	Example    json.RawMessage `json:"example"`
	Incident   string          `json:"incident"`
}

func (w *written) result() toolguard.Result {
	var text string
	if json.Unmarshal(w.Result, &text) == nil {
		return toolguard.Result{Text: text}
	}
	return toolguard.Result{JSON: w.Result}
}

func (w *writtenFailure) failure() (*toolguard.Failure, error) {
	f := &toolguard.Failure{
		Code: w.Code, Retryable: w.Retryable, RetryAfter: time.Duration(w.RetryAfter) * time.Millisecond,
		Message: w.Message, Quote: w.Quote, More: w.More, Example: w.Example, Incident: w.Incident,
	}
	for _, v := range w.Violations {
		f.Violations = append(f.Violations, toolguard.Violation{Message: v})
	}
	return f, errors.Join(f.Category.UnmarshalText([]byte(w.Category)), f.Outcome.UnmarshalText([]byte(w.Outcome)))
}

// label reports whether text begins as a text rendering does, in a built-in
// language.
func label(text string) bool {
	for _, begin := range []string{"[TOOL ", "[OUTCOME", "【"} {
		if len(text) >= len(begin) && text[:len(begin)] == begin {
			return true
		}
	}
	return false
}
