package toolguardtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
	tgt "github.com/toolguard-go/toolguard/toolguardtest"
)

func TestSoundTool(t *testing.T) {
	t.Parallel()
	tgt.TestTool(t, func(testing.TB) toolguard.Tool { return refund(infoOf(toolguard.NonIdempotent)) }, orderArgs)
}

// expectFailures runs each obligation under a subject that is broken in the way
// named by the obligation, and expects it to say something.
func expectFailures(t *testing.T, obligations func(owes string) []tgt.Obligation, says map[string]string) {
	t.Helper()
	names := map[string]bool{}
	for _, o := range obligations("") {
		names[o.Owes] = true
		assert.Contains(t, says, o.Owes, "no mutant")
	}
	for owes, part := range says {
		assert.True(t, names[owes], "no obligation %q", owes)
		for _, o := range obligations(owes) {
			if o.Owes == owes {
				synctest.Test(t, func(t *testing.T) { assertSays(t, failing(t, o.Check), part) })
			}
		}
	}
}

// changing returns another info each time.
type changing struct {
	toolguard.Tool
	mu sync.Mutex
	n  int
}

func (c *changing) Info() toolguard.Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	info := c.Tool.Info()
	info.Description = strings.Repeat("x", c.n)
	return info
}

func brokenTool(owes string) func(t testing.TB) toolguard.Tool {
	info := toolguard.Info{Name: "refund", Effect: toolguard.NonIdempotent}
	with := func(step tgt.Step) func(t testing.TB) toolguard.Tool {
		return func(t testing.TB) toolguard.Tool { return tgt.Always(t, info, step) }
	}
	switch owes {
	case "returns from Info the same value every time, without blocking":
		return func(testing.TB) toolguard.Tool { return &changing{Tool: refund(info)} }
	case "is accepted by New with all of its schema":
		info.Schema = json.RawMessage(`{"order_id":{"type":"string"},"cents":{"type":"integer"}}`)
		return with(tgt.OK("done"))
	case "says what running it again may do":
		info.Effect = toolguard.EffectUnknown
		return with(tgt.OK("done"))
	case "answers valid arguments with a result or an error that can be classified":
		return with(tgt.Fail(errors.New("something")))
	case "returns no nil pointer as its error":
		return with(tgt.NilError("done"))
	case "returns JSON that is JSON":
		return with(tgt.JSON(`{"half`))
	case "may be called concurrently":
		return with(tgt.Flaky(1, tgt.OK("done"), tgt.Panic("second call")))
	case "stops soon when its context has ended":
		return with(tgt.Ignore(tgt.OK("late")))
	}
	return with(tgt.OK("done"))
}

func TestTheToolSuiteCanFail(t *testing.T) {
	t.Parallel()
	expectFailures(t, func(owes string) []tgt.Obligation { return tgt.ToolObligations(brokenTool(owes), `{}`) }, map[string]string{
		"returns from Info the same value every time, without blocking":            "Info has returned two values",
		"is accepted by New with all of its schema":                                "checks none of the arguments",
		"says what running it again may do":                                        "Info.Effect is not set",
		"answers valid arguments with a result or an error that can be classified": "return an error that says what went wrong",
		"returns no nil pointer as its error":                                      "return nil itself",
		"returns JSON that is JSON":                                                "Result.JSON is no JSON",
		"may be called concurrently":                                               "panics: second call",
		"stops soon when its context has ended":                                    "does not return within",
	})
}

type observe func(context.Context, toolguard.Event)

func (f observe) Observe(ctx context.Context, e toolguard.Event) { f(ctx, e) }

// spans is an observer of spans made of functions.
type spans struct {
	observe
	start func(context.Context, toolguard.Event) (context.Context, func(toolguard.Event))
}

func (s spans) Start(ctx context.Context, e toolguard.Event) (context.Context, func(toolguard.Event)) {
	return s.start(ctx, e)
}

func nothing(context.Context, toolguard.Event) {}

func TestSoundObservers(t *testing.T) {
	t.Parallel()
	t.Run("logger", func(t *testing.T) {
		tgt.TestObserver(t, func(testing.TB) toolguard.Observer {
			null, _ := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
			return toolguard.LogObserver(slog.New(slog.NewJSONHandler(null, &slog.HandlerOptions{Level: slog.LevelDebug})))
		})
	})
	t.Run("spans", func(t *testing.T) {
		tgt.TestObserver(t, func(testing.TB) toolguard.Observer {
			return spans{nothing, func(ctx context.Context, _ toolguard.Event) (context.Context, func(toolguard.Event)) {
				return context.WithValue(ctx, spanKey{}, 1), func(toolguard.Event) {}
			}}
		})
	})
}

func brokenObserver(owes string) toolguard.Observer {
	same := func(ctx context.Context, _ toolguard.Event) (context.Context, func(toolguard.Event)) { return ctx, nil }
	switch owes {
	case "may be called concurrently":
		var once sync.Once
		first := false
		return observe(func(context.Context, toolguard.Event) {
			once.Do(func() { first = true })
			if first {
				panic("twice")
			}
		})
	case "returns soon, whatever is in the event":
		return observe(func(_ context.Context, e toolguard.Event) { _ = e.Transitions[0] })
	case "survives causes that hurt":
		return observe(func(_ context.Context, e toolguard.Event) { _ = e.Err.Error() })
	case "loses no event and changes no answer":
		return observe(func(_ context.Context, e toolguard.Event) {
			if e.Code == toolguard.CodePanic {
				panic("no such code")
			}
		})
	case "returns from Start a context that comes from its own":
		return spans{nothing, func(context.Context, toolguard.Event) (context.Context, func(toolguard.Event)) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			time.AfterFunc(100*time.Millisecond, cancel)
			return ctx, nil
		}}
	case "lets spans end or be dropped":
		return spans{nothing, func(ctx context.Context, _ toolguard.Event) (context.Context, func(toolguard.Event)) {
			return ctx, func(e toolguard.Event) { _ = e.Err.Error() }
		}}
	}
	return spans{nothing, same}
}

func TestTheObserverSuiteCanFail(t *testing.T) {
	t.Parallel()
	expectFailures(t, func(owes string) []tgt.Obligation {
		return tgt.ObserverObligations(func(testing.TB) toolguard.Observer { return brokenObserver(owes) })
	}, map[string]string{
		"may be called concurrently":                           "Observe panics: twice",
		"returns soon, whatever is in the event":               "Observe panics: runtime error: index out of range",
		"survives causes that hurt":                            "Observe of a cause that hurts panics",
		"loses no event and changes no answer":                 "events were lost: the observer panics",
		"returns from Start a context that comes from its own": "has lost the values",
		"lets spans end or be dropped":                         "the end of a span panics",
	})
}

// limit approves refunds below an amount.
type limit struct{ cents int }

func (l limit) Approve(_ context.Context, r toolguard.ApprovalRequest) (toolguard.Answer, error) {
	var in order
	if err := json.Unmarshal(r.Args, &in); err != nil {
		return toolguard.Answer{}, err
	}
	switch {
	case in.Cents > 10*l.cents:
		return toolguard.Answer{Verdict: toolguard.ApprovalPending}, nil
	case in.Cents > l.cents:
		return toolguard.Answer{Verdict: toolguard.ApprovalDenied, By: "policy", Why: "above the limit"}, nil
	case in.Cents < 0:
		return toolguard.Answer{Verdict: toolguard.ApprovalEdited, By: "policy", Args: json.RawMessage(`{"cents":0}`)}, nil
	}
	return toolguard.Answer{Verdict: toolguard.ApprovalGranted, By: "policy"}, nil
}

var approvals = []toolguard.ApprovalRequest{
	{Tool: "refund", Args: json.RawMessage(`{"cents":10}`)}, {Tool: "refund", Args: json.RawMessage(`{"cents":200}`)},
	{Tool: "refund", Args: json.RawMessage(`{"cents":2000}`)}, {Tool: "refund", Args: json.RawMessage(`{"cents":-1}`)},
}

func TestSoundApprover(t *testing.T) {
	t.Parallel()
	tgt.TestApprover(t, func(testing.TB) toolguard.Approver { return limit{100} }, approvals...)
}

type approve func(context.Context, toolguard.ApprovalRequest) (toolguard.Answer, error)

func (f approve) Approve(ctx context.Context, r toolguard.ApprovalRequest) (toolguard.Answer, error) {
	return f(ctx, r)
}

func brokenApprover(t testing.TB, owes string) toolguard.Approver {
	sound := limit{100}
	changed := func(f func(*toolguard.Answer)) approve {
		return func(ctx context.Context, r toolguard.ApprovalRequest) (toolguard.Answer, error) {
			a, err := sound.Approve(ctx, r)
			f(&a)
			return a, err
		}
	}
	switch owes {
	case "may be called concurrently":
		var mu sync.Mutex
		n := 0
		return approve(func(context.Context, toolguard.ApprovalRequest) (toolguard.Answer, error) {
			mu.Lock()
			defer mu.Unlock()
			if n++; n > 1 {
				panic("twice")
			}
			return toolguard.Answer{}, nil
		})
	case "returns soon":
		return approve(func(ctx context.Context, _ toolguard.ApprovalRequest) (toolguard.Answer, error) {
			<-ctx.Done() // waits for a person
			return toolguard.Answer{}, ctx.Err()
		})
	case "returns soon when the context has ended":
		released := make(chan struct{})
		t.Cleanup(func() { close(released) })
		return approve(func(_ context.Context, _ toolguard.ApprovalRequest) (toolguard.Answer, error) {
			<-released
			return toolguard.Answer{}, nil
		})
	case "gives a verdict that exists, with arguments only if it edits":
		return changed(func(a *toolguard.Answer) { a.Args = json.RawMessage(`{}`) })
	case "says who has decided":
		return changed(func(a *toolguard.Answer) { a.By = "" })
	case "decides on Args, whatever Line and Redacted show":
		return approve(func(ctx context.Context, r toolguard.ApprovalRequest) (toolguard.Answer, error) {
			r.Args = json.RawMessage(r.Redacted)
			return sound.Approve(ctx, r)
		})
	case "leaves the request as it is":
		return approve(func(ctx context.Context, r toolguard.ApprovalRequest) (toolguard.Answer, error) {
			copy(r.Args, `{ }`)
			return toolguard.Answer{}, nil
		})
	}
	return sound
}

func TestTheApproverSuiteCanFail(t *testing.T) {
	t.Parallel()
	expectFailures(t, func(owes string) []tgt.Obligation {
		return tgt.ApproverObligations(func(t testing.TB) toolguard.Approver { return brokenApprover(t, owes) }, approvals[1])
	}, map[string]string{
		"may be called concurrently":                                   "Approve panics: twice",
		"returns soon":                                                 "does not return within",
		"returns soon when the context has ended":                      "does not return within",
		"gives a verdict that exists, with arguments only if it edits": "but there are new Args",
		"says who has decided":                                         "By does not say who has decided",
		"decides on Args, whatever Line and Redacted show":             "the verdict is denied, and granted",
		"leaves the request as it is":                                  "has changed the request's Args",
	})
}

type spanKey struct{}
