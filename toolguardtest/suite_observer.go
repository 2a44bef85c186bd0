package toolguardtest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolguard-go/toolguard"
)

// observerSuite is an observer under test.
type observerSuite struct {
	newObserver func(t testing.TB) toolguard.Observer
}

// TestObserver checks what a [toolguard.Observer] owes, and a
// [toolguard.SpanObserver] beyond it. newObserver makes one for each obligation. The
// observer:
//
//   - may be called concurrently (run with -race);
//   - returns soon, whatever is in the event;
//   - survives events that hold next to nothing, and causes whose methods panic,
//     block, or return megabytes of what is no text;
//   - loses no event of a guard, and changes no answer;
//   - returns from Start a context that comes from the one it got;
//   - lets whoever got the function from Start call it, or drop it.
func TestObserver(t *testing.T, newObserver func(t testing.TB) toolguard.Observer) {
	t.Helper()
	if newObserver == nil {
		t.Fatalf("toolguardtest: TestObserver has no observer: give it a function that makes one")
	}
	meet(t, observerSuite{newObserver}, false, observerObligations)
}

var observerObligations = []obligation[observerSuite]{
	{"may be called concurrently", observerSuite.concurrent},
	{"returns soon, whatever is in the event", observerSuite.odd},
	{"survives causes that hurt", observerSuite.hostile},
	{"loses no event and changes no answer", observerSuite.harmless},
	{"returns from Start a context that comes from its own", observerSuite.derived},
	{"lets spans end or be dropped", observerSuite.spans},
}

func (s observerSuite) concurrent(t testing.TB) {
	o := s.newObserver(t)
	together(t, "Observe", 32, func(i int) {
		o.Observe(t.Context(), toolguard.Event{Kind: toolguard.EventKind(i % 3), Tool: "tool", CallID: "c", Attempt: i, OK: i%2 == 0, Time: time.Now()})
	})
}

func (s observerSuite) odd(t testing.TB) {
	o := s.newObserver(t)
	for _, e := range []toolguard.Event{
		{},
		{Kind: 99, Stage: 99, Decision: 99, Outcome: 99, Category: 99, Effect: 99, Code: "no_such_code"},
		{Tool: "caf\xe9\xff", CallID: strings.Repeat("x", 1<<16), Why: "\x00\n\x1b[31m", Detail: "\xff"},
		{Duration: -1, Wait: -1, Attempt: -1, Attempts: -1, Requests: -1, Lost: ^uint64(0)},
		{Arguments: json.RawMessage(`{"broken`), Result: "\xff\xfe"},
		{Transitions: []toolguard.Transition{{}}, Notes: []toolguard.Note{{}}, NotEnforced: []string{""}},
	} {
		within(t, "Observe", func() { o.Observe(t.Context(), e) })
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	within(t, "Observe with a context that has ended", func() { o.Observe(ctx, toolguard.Event{}) })
}

func (s observerSuite) hostile(t testing.TB) {
	o := s.newObserver(t)
	released := make(chan struct{})
	defer close(released)
	circle := &cyclicError{}
	circle.next = circle
	for _, err := range []error{
		panickingError{}, circle, &hugeError{strings.Repeat("x", 1<<20)}, (*typedNilError)(nil), blockingError{released},
		errors.Join(errors.New("caf\xe9"), nil),
	} {
		within(t, "Observe of a cause that hurts", func() {
			o.Observe(t.Context(), toolguard.Event{Kind: toolguard.EventAttempt, Err: err, Time: time.Now()})
		})
	}
}

// story is a few calls of every kind.
func (s observerSuite) story(t testing.TB, o toolguard.Observer) (codes []toolguard.Code, lost uint64) {
	tool := NewTool(t, toolguard.Info{Name: "tool", Effect: toolguard.Idempotent},
		Slow(time.Millisecond, OK("done")), FaultError(toolguard.CodeConnectionLost), OK("done"), Panic("odd"), Fail(toolguard.Business("No."))).Then(OK("done"))
	guard, err := toolguard.New(tool, &toolguard.Options{
		Observer: o, Observe: toolguard.ObservePolicy{Patience: soon}, Retry: toolguard.RetryPolicy{BaseDelay: time.Millisecond},
	})
	if err != nil {
		t.Fatalf("toolguardtest: %v", err)
	}
	for _, args := range []string{`{}`, `{}`, `{}`, `{}`, `{"broken`, `{}`} {
		env := guard.Do(t.Context(), toolguard.Call{ID: "c", Args: json.RawMessage(args)})
		code := toolguard.Code("")
		if env.Error != nil {
			code = env.Error.Code
		}
		codes = append(codes, code)
	}
	return codes, guard.Stats().LostEvents
}

func (s observerSuite) harmless(t testing.TB) {
	want, _ := s.story(t, nil)
	got, lost := s.story(t, s.newObserver(t))
	if lost > 0 {
		t.Errorf("toolguardtest: %d events were lost: the observer panics, or takes longer than %v", lost, soon)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("toolguardtest: call %d ends as %q with the observer, as %q without: its Start must not end the context, and must return one that comes from its own", i+1, got[i], want[i])
		}
	}
}

type probeKey struct{}

func (s observerSuite) derived(t testing.TB) {
	o, ok := s.newObserver(t).(toolguard.SpanObserver)
	if !ok {
		return
	}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), probeKey{}, "here"))
	var got context.Context
	var end func(toolguard.Event)
	within(t, "Start", func() { got, end = o.Start(ctx, toolguard.Event{Kind: toolguard.EventAttempt, Tool: "tool"}) })
	switch {
	case got == nil:
		t.Fatalf("toolguardtest: Start returns no context")
	case got.Value(probeKey{}) != "here":
		t.Errorf("toolguardtest: the context from Start has lost the values of the one it got")
	case got.Err() != nil:
		t.Errorf("toolguardtest: the context from Start has ended already: %v", got.Err())
	}
	cancel()
	within(t, "the end of the context from Start", func() { <-got.Done() })
	if end != nil {
		within(t, "the end of a span", func() { end(toolguard.Event{}) })
	}
}

func (s observerSuite) spans(t testing.TB) {
	o, ok := s.newObserver(t).(toolguard.SpanObserver)
	if !ok {
		return
	}
	together(t, "Start and the end of a span", 16, func(i int) {
		_, end := o.Start(t.Context(), toolguard.Event{Kind: toolguard.EventKind(i % 2), Tool: "tool"})
		if end != nil && i%3 > 0 {
			end(toolguard.Event{Kind: toolguard.EventKind(i % 2), Tool: "tool", Err: panickingError{}, Code: toolguard.CodePanic})
		}
	})
}
