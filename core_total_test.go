package toolguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// Invariant 1: one envelope for each call, within the budget plus grace,
// whatever anybody's code does.

// shortTime makes the bounds of a call differ from each other and from 10 s.
var shortTime = toolguard.TimeoutPolicy{Attempt: 20 * time.Second, Budget: 40 * time.Second, Grace: 2 * time.Second}

const shortBound = 42 * time.Second

type panics struct{}

func (panics) Error() string { panic("no text") }

type exits struct{ die func() }

func (e exits) Error() string { e.die(); return "" }

type huge struct{}

func (huge) Error() string { return strings.Repeat("x", 50<<20) }

type cyclic struct{ next error }

func (c *cyclic) Error() string { return "cyclic" }
func (c *cyclic) Unwrap() error { return c.next }

type uncomparable []string

func (uncomparable) Error() string   { return "list" }
func (u uncomparable) Unwrap() error { return u }

type holes struct{}

func (holes) Error() string   { return "holes" }
func (holes) Unwrap() []error { return []error{nil, nil} }

type badUnwrap struct{ do func() }

func (badUnwrap) Error() string     { return "chain" }
func (b badUnwrap) Unwrap() error   { b.do(); return nil }
func (b badUnwrap) Is(error) bool   { b.do(); return true }
func (b badUnwrap) As(any) bool     { b.do(); return true }
func (b badUnwrap) Timeout() bool   { b.do(); return true }
func (b badUnwrap) StatusCode() int { b.do(); return 500 }

// cases f01, f04, f05, e01
func TestTotalWhateverTheToolDoes(t *testing.T) {
	t.Parallel()
	loop := &cyclic{}
	loop.next = fmt.Errorf("around: %w", loop)
	tests := map[string]struct {
		body func(t *testing.T) run
		want string
	}{
		"answers":         {func(*testing.T) run { return answers("fine") }, "ok"},
		"hangs, obeying":  {func(*testing.T) run { return obeys }, "attempt_timeout/unknown"},
		"hangs, ignoring": {hangs, "abandoned/unknown"},
		"nil map write": {func(*testing.T) run {
			return func(context.Context) (toolguard.Result, error) {
				var m map[string]int
				//lint:ignore SA5000 the panic is the point
				m["x"] = 1
				return toolguard.Result{}, nil
			}
		}, "panic/unknown"},
		"panic of nil":      {func(*testing.T) run { return func(context.Context) (toolguard.Result, error) { panic(any(nil)) } }, "panic/unknown"},
		"panic of an error": {func(*testing.T) run { return func(context.Context) (toolguard.Result, error) { panic(panics{}) } }, "panic/unknown"},
		"goexit":            {func(t *testing.T) run { return dies(t, "goexit") }, "exited/unknown"},
		"typed nil": {func(*testing.T) run {
			return func(context.Context) (toolguard.Result, error) {
				var e *cyclic
				return toolguard.Result{Text: "fine"}, e
			}
		}, "ok"},
		"50 MB of text":     {func(*testing.T) run { return fails(huge{}) }, "unknown_error/unknown"},
		"cyclic chain":      {func(*testing.T) run { return fails(loop) }, "unknown_error/unknown"},
		"unwraps to itself": {func(*testing.T) run { return fails(uncomparable{"a"}) }, "unknown_error/unknown"},
		"chain of nils":     {func(*testing.T) run { return fails(holes{}) }, "unknown_error/unknown"},
		"text panics":       {func(*testing.T) run { return fails(panics{}) }, "unknown_error/unknown"},
		"text exits":        {func(t *testing.T) run { return fails(exits{badWays(t)["goexit"]}) }, "unknown_error/unknown"},
		"text blocks":       {func(t *testing.T) run { return fails(exits{untilReleased(t)}) }, "unknown_error/unknown"},
		"methods panic":     {func(t *testing.T) run { return fails(badUnwrap{badWays(t)["panic"]}) }, "unknown_error/unknown"},
		"methods exit":      {func(t *testing.T) run { return fails(badUnwrap{badWays(t)["goexit"]}) }, "unknown_error/unknown"},
		"methods block":     {func(t *testing.T) run { return fails(badUnwrap{untilReleased(t)}) }, "unknown_error/unknown"},
		"joined, blocking":  {func(t *testing.T) run { return fails(errors.Join(errors.New("a"), exits{untilReleased(t)})) }, "unknown_error/unknown"},
		"joined, panicking": {func(t *testing.T) run { return fails(errors.Join(panics{}, badUnwrap{badWays(t)["panic"]})) }, "unknown_error/unknown"},
	}
	for name, tt := range tests {
		inBubble(t, name, func(t *testing.T) {
			events := &eventLog{}
			g := guardOf(t, toolOf(toolguard.NonIdempotent, tt.body(t)), &toolguard.Options{Timeout: shortTime, Observer: events})
			var env toolguard.Envelope
			assert.LessOrEqual(t, took(func() { env = do(g) }), shortBound)
			requireEnvelope(t, env)
			assert.Equal(t, tt.want, verdict(env))
			assert.Len(t, events.of(toolguard.EventAttempt), 1)
			assert.Len(t, events.of(toolguard.EventCall), 1)
			assert.NotContains(t, env.String(), "SELECT")
		})
	}
}

// dies is a tool that fails to return in one of the bad ways.
func dies(t *testing.T, way string) run {
	do := badWays(t)[way]
	return func(context.Context) (toolguard.Result, error) { do(); return toolguard.Result{}, nil }
}

// spans is a SpanObserver of two functions.
type spans struct {
	eventLog
	start func(context.Context, toolguard.Event) (context.Context, func(toolguard.Event))
}

func (s *spans) Start(ctx context.Context, e toolguard.Event) (context.Context, func(toolguard.Event)) {
	return s.start(ctx, e)
}

type noJSON struct{ do func() }

func (n noJSON) MarshalJSON() ([]byte, error) { n.do(); return []byte(`{}`), nil }

var errDown = toolguard.NotStarted(toolguard.Unavailable("The store is closed."))

// badPlaces are all the places where code of the host runs inside a call, each
// with what becomes of a call when that code panics, exits or hangs.
var badPlaces = map[string]struct {
	effect toolguard.Effect
	body   run
	opts   func(t *testing.T, bad func(), o *toolguard.Options)
	want   map[string]string // by bad way; "" for all others
	ran    int
}{
	"authorize": {body: answers("fine"), ran: 0, want: map[string]string{"": "check_failed/not_started"},
		opts: func(_ *testing.T, bad func(), o *toolguard.Options) {
			o.Authorize = func(context.Context, json.RawMessage) error { bad(); return nil }
		}},
	"check": {body: answers("fine"), ran: 0, want: map[string]string{"": "check_failed/not_started"},
		opts: func(_ *testing.T, bad func(), o *toolguard.Options) {
			o.Check = func(context.Context, json.RawMessage) error { bad(); return nil }
		}},
	"check's error": {body: answers("fine"), ran: 0, want: map[string]string{"": "business_rule/not_started"},
		opts: func(_ *testing.T, bad func(), o *toolguard.Options) {
			o.Check = func(context.Context, json.RawMessage) error { return badUnwrap{bad} }
		}},
	"check result": {body: answers("fine"), ran: 1, want: map[string]string{"": "ok"},
		opts: func(_ *testing.T, bad func(), o *toolguard.Options) {
			o.CheckResult = func(context.Context, toolguard.Result) error { bad(); return nil }
		}},
	"classifier": {body: fails(errDown), ran: 1, want: map[string]string{"": "service_unavailable/not_started"},
		opts: func(_ *testing.T, bad func(), o *toolguard.Options) {
			o.Retry.Off = true
			o.Classifier = func(context.Context, error) (toolguard.Verdict, bool) { bad(); return toolguard.Verdict{}, false }
		}},
	"refresh": {body: fails(&toolguard.Error{Code: toolguard.CodeAuthExpired, Outcome: toolguard.OutcomeNotStarted}), ran: 1,
		want: map[string]string{"": "auth_expired/not_started"},
		opts: func(_ *testing.T, bad func(), o *toolguard.Options) {
			o.Refresh = func(context.Context) error { bad(); return nil }
		}},
	"pass through": {body: fails(errDown), ran: 1, want: map[string]string{"": "service_unavailable/not_started"},
		opts: func(_ *testing.T, bad func(), o *toolguard.Options) {
			o.Retry.Off = true
			o.PassThrough = func(error) bool { bad(); return true }
		}},
	"observer": {body: answers("fine"), ran: 1, want: map[string]string{"": "ok"},
		opts: func(_ *testing.T, bad func(), o *toolguard.Options) {
			o.Observer = observe(func(context.Context, toolguard.Event) { bad() })
		}},
	"span start": {body: answers("fine"), ran: 1, want: map[string]string{"": "ok"},
		opts: func(_ *testing.T, bad func(), o *toolguard.Options) {
			o.Observer = &spans{start: func(ctx context.Context, _ toolguard.Event) (context.Context, func(toolguard.Event)) {
				bad()
				return ctx, nil
			}}
		}},
	"span end": {body: answers("fine"), ran: 1, want: map[string]string{"": "ok"},
		opts: func(_ *testing.T, bad func(), o *toolguard.Options) {
			o.Observer = &spans{start: func(ctx context.Context, _ toolguard.Event) (context.Context, func(toolguard.Event)) {
				return ctx, func(toolguard.Event) { bad() }
			}}
		}},
	"alternative": {effect: toolguard.ReadOnly, body: fails(errDown), ran: 1, want: map[string]string{"": "service_unavailable/not_started"},
		opts: func(_ *testing.T, bad func(), o *toolguard.Options) {
			o.Retry.Off = true
			other := toolOf(toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) { bad(); return toolguard.Result{}, nil })
			o.Fallback = &toolguard.Fallback{Alternatives: []toolguard.Alternative{{Tool: other}}}
		}},
	"alternative's arguments": {effect: toolguard.ReadOnly, body: fails(errDown), ran: 1, want: map[string]string{"": "service_unavailable/not_started"},
		opts: func(_ *testing.T, bad func(), o *toolguard.Options) {
			o.Retry.Off = true
			o.Fallback = &toolguard.Fallback{Alternatives: []toolguard.Alternative{{
				Tool: toolOf(toolguard.ReadOnly, answers("other")),
				Args: func(a json.RawMessage) (json.RawMessage, error) { bad(); return a, nil },
			}}}
		}},
	"redact": {body: fails(errors.New("the cat is not in the bag")), ran: 1, want: map[string]string{"": "unknown_error/unknown"},
		opts: func(_ *testing.T, bad func(), o *toolguard.Options) {
			o.Redact = func(string) string { bad(); return "" }
		}},
}

func TestTotalWhateverTheHostsCodeDoes(t *testing.T) {
	t.Parallel()
	for place, p := range badPlaces {
		for _, way := range []string{"panic", "goexit", "hang"} {
			inBubble(t, place+" "+way, func(t *testing.T) {
				body := inOrder(p.body)
				opts := &toolguard.Options{Timeout: shortTime}
				p.opts(t, badWays(t)[way], opts)
				g := guardOf(t, toolOf(p.effect, body.call), opts)
				var env toolguard.Envelope
				assert.LessOrEqual(t, took(func() { env = do(g) }), shortBound)
				requireEnvelope(t, env)
				want, special := p.want[way]
				if !special {
					want = p.want[""]
				}
				assert.Equal(t, want, verdict(env))
				assert.Equal(t, p.ran, body.count())
				assert.NotContains(t, env.String(), "SELECT")
				assert.Zero(t, g.Stats().InProgress)
			})
		}
	}
}

// The typed functions beside a tool fail as closed as those of Options, and a
// status query that fails leaves the outcome unknown.
func TestTotalWhateverTypedFunctionsDo(t *testing.T) {
	t.Parallel()
	type in struct{}
	for _, way := range []string{"panic", "goexit", "hang"} {
		for place, tt := range map[string]struct {
			set  func(tool *toolguard.Typed[in], bad func())
			want string
		}{
			"authorize": {func(tool *toolguard.Typed[in], bad func()) {
				tool.Authorize = func(context.Context, in) error { bad(); return nil }
			}, "check_failed/not_started"},
			"check": {func(tool *toolguard.Typed[in], bad func()) {
				tool.Check = func(context.Context, in) error { bad(); return nil }
			}, "check_failed/not_started"},
			"status": {func(tool *toolguard.Typed[in], bad func()) {
				tool.Status = func(context.Context, string, in) (toolguard.Outcome, toolguard.Result, error) {
					bad()
					return toolguard.OutcomeSucceeded, toolguard.Result{}, nil
				}
			}, "server_error/unknown"},
		} {
			inBubble(t, place+" "+way, func(t *testing.T) {
				tool := toolguard.Action(toolguard.Info{Name: "pay"}, func(context.Context, in) error {
					return &toolguard.Error{Code: toolguard.CodeServerError}
				})
				tt.set(tool, badWays(t)[way])
				g := guardOf(t, tool, &toolguard.Options{Timeout: shortTime})
				var env toolguard.Envelope
				assert.LessOrEqual(t, took(func() { env = do(g) }), shortBound)
				requireEnvelope(t, env)
				assert.Equal(t, tt.want, verdict(env))
			})
		}
	}
}

// case f06
func TestAResultThatCannotBeWrittenIsStillASuccess(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		out  func(t *testing.T) any
		want string
	}{
		"a function":      {func(*testing.T) any { return func() {} }, "ok"},
		"a channel":       {func(*testing.T) any { return make(chan int) }, "ok"},
		"marshals, panic": {func(t *testing.T) any { return noJSON{badWays(t)["panic"]} }, "ok"},
		// The tool's goroutine is gone, but the function had returned.
		"marshals, goexit": {func(t *testing.T) any { return noJSON{badWays(t)["goexit"]} }, "ok"},
		"marshals, hang":   {func(t *testing.T) any { return noJSON{badWays(t)["hang"]} }, "abandoned/unknown"},
	} {
		inBubble(t, name, func(t *testing.T) {
			tool := toolguard.Func(toolguard.Info{Name: "pay"}, func(context.Context, struct{}) (any, error) { return tt.out(t), nil })
			g := guardOf(t, tool, &toolguard.Options{Timeout: shortTime})
			var env toolguard.Envelope
			assert.LessOrEqual(t, took(func() { env = do(g) }), shortBound)
			requireEnvelope(t, env)
			assert.Equal(t, tt.want, verdict(env))
		})
	}
}

// A redactor that hangs is waited for, but not once for each text.
func TestAHangingRedactorIsAskedOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, "violations", func(t *testing.T) {
		wait := untilReleased(t)
		tool := toolOf(toolguard.ReadOnly, answers("fine"))
		tool.info.Schema = json.RawMessage(`{"type":"object","additionalProperties":{"type":"integer"}}`)
		g := guardOf(t, tool, &toolguard.Options{Timeout: shortTime, Redact: func(string) string { wait(); return "" }})
		args := map[string]string{}
		for i := range 100 {
			args[fmt.Sprintf("field%d", i)] = fmt.Sprintf("%d", i) // each is read as a number, and noted
		}
		text, err := json.Marshal(args)
		require.NoError(t, err)
		var env toolguard.Envelope
		assert.LessOrEqual(t, took(func() { env = g.Do(t.Context(), toolguard.Call{Args: text}) }), shortBound)
		requireEnvelope(t, env)
	})
}

// Every call of a stuck host function is bounded by what is left of the budget,
// also where that is less than the 10 s such code is given.
func TestHostCodeIsBoundedByTheBudget(t *testing.T) {
	t.Parallel()
	inBubble(t, "short budget", func(t *testing.T) {
		wait := untilReleased(t)
		g := guardOf(t, toolOf(toolguard.ReadOnly, answers("fine")), &toolguard.Options{
			Timeout: toolguard.TimeoutPolicy{Attempt: time.Second, Budget: 2 * time.Second},
			Check:   func(context.Context, json.RawMessage) error { wait(); return nil },
		})
		assert.Equal(t, 2*time.Second, took(func() { do(g) }))
	})
	inBubble(t, "no timeout", func(t *testing.T) {
		wait := untilReleased(t)
		g := guardOf(t, toolOf(toolguard.ReadOnly, answers("fine")), &toolguard.Options{
			Timeout: toolguard.TimeoutPolicy{Off: true},
			Check:   func(context.Context, json.RawMessage) error { wait(); return nil },
		})
		assert.Equal(t, 10*time.Second, took(func() { do(g) }))
	})
	inBubble(t, "pass through without a timeout", func(t *testing.T) {
		wait := untilReleased(t)
		g := guardOf(t, toolOf(toolguard.NonIdempotent, fails(errors.New("no"))), &toolguard.Options{
			Timeout:     toolguard.TimeoutPolicy{Off: true},
			PassThrough: func(error) bool { wait(); return true },
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // or the test would hang where the guard does
		defer cancel()
		var env toolguard.Envelope
		assert.Equal(t, 10*time.Second, took(func() { env = g.Do(ctx, toolguard.Call{}) }))
		assert.Equal(t, "unknown_error/unknown", verdict(env))
	})
}

func TestDoWithoutAContext(t *testing.T) {
	t.Parallel()
	g := guardOf(t, toolOf(toolguard.ReadOnly, answers("fine")), nil)
	assert.NotPanics(t, func() {
		var none context.Context
		requireEnvelope(t, g.Do(none, toolguard.Call{}))
	})
}
