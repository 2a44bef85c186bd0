package toolguard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// The core tests speak to the package as its users do. Where time matters they
// run in a bubble, whose clock stands still while anybody works.

// plain is a tool of nothing but info and a function.
type plain struct {
	info toolguard.Info
	call func(context.Context, json.RawMessage) (toolguard.Result, error)
}

func (p plain) Info() toolguard.Info { return p.info }

func (p plain) Call(ctx context.Context, args json.RawMessage) (toolguard.Result, error) {
	return p.call(ctx, args)
}

// run is the body of a tool that needs no arguments.
type run = func(context.Context) (toolguard.Result, error)

func toolOf(effect toolguard.Effect, f run) plain {
	return plain{
		info: toolguard.Info{Name: "tool", Effect: effect},
		call: func(ctx context.Context, _ json.RawMessage) (toolguard.Result, error) { return f(ctx) },
	}
}

func guardOf(t testing.TB, tool toolguard.Tool, opts *toolguard.Options) *toolguard.Guard {
	t.Helper()
	g, err := toolguard.New(tool, opts)
	require.NoError(t, err)
	return g
}

func answers(text string) run {
	return func(context.Context) (toolguard.Result, error) { return toolguard.Result{Text: text}, nil }
}

func fails(err error) run {
	return func(context.Context) (toolguard.Result, error) { return toolguard.Result{}, err }
}

// script plays its steps one call after the other, the last one for ever.
type script struct {
	mu    sync.Mutex
	steps []run
	ran   int
}

func (s *script) call(ctx context.Context) (toolguard.Result, error) {
	s.mu.Lock()
	step := s.steps[min(s.ran, len(s.steps)-1)]
	s.ran++
	s.mu.Unlock()
	return step(ctx)
}

func (s *script) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ran
}

func inOrder(steps ...run) *script { return &script{steps: steps} }

// untilReleased returns what blocks until the test is over: a bubble cannot end
// while anything hangs in it.
func untilReleased(t *testing.T) func() {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	return func() { <-release }
}

// hangs ignores its context.
func hangs(t *testing.T) run {
	wait := untilReleased(t)
	return func(context.Context) (toolguard.Result, error) {
		wait()
		return toolguard.Result{Text: "late"}, nil
	}
}

// obeys hangs until its context ends.
func obeys(ctx context.Context) (toolguard.Result, error) {
	<-ctx.Done()
	return toolguard.Result{}, ctx.Err()
}

// badWays are the three ways foreign code can fail to return.
func badWays(t *testing.T) map[string]func() {
	return map[string]func(){
		"panic":  func() { panic("SELECT secret FROM db-7.internal") },
		"goexit": runtime.Goexit,
		"hang":   untilReleased(t),
	}
}

// bubble runs the rest of a test in parallel, with a clock of its own.
func bubble(t *testing.T, f func(*testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

// pass lets time go by, which costs none in a bubble.
func pass(d time.Duration) { time.Sleep(d) }

// inBubble runs f as a subtest in a bubble.
func inBubble(t *testing.T, name string, f func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { bubble(t, f) })
}

// took runs f and returns how long it took by the bubble's clock.
func took(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

// eventLog is an observer that keeps every event.
type eventLog struct {
	mu     sync.Mutex
	events []toolguard.Event
}

func (l *eventLog) Observe(_ context.Context, e toolguard.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

func (l *eventLog) of(kind toolguard.EventKind) []toolguard.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []toolguard.Event
	for _, e := range l.events {
		if e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

// observe is an observer made of a function.
type observe func(context.Context, toolguard.Event)

func (f observe) Observe(ctx context.Context, e toolguard.Event) { f(ctx, e) }

// requireEnvelope holds what is true of every answer: its two renderings are
// sound, and it says either yes or no.
func requireEnvelope(t assert.TestingT, env toolguard.Envelope) {
	text, err := json.Marshal(env)
	assert.NoError(t, err)
	assert.True(t, json.Valid(text), "%s", text)
	assert.NotEmpty(t, env.String())
	assert.Equal(t, env.OK, env.Error == nil)
	assert.Equal(t, env.OK, env.Err() == nil)
	if !env.OK {
		assert.NotEmpty(t, env.Error.Code)
		assert.NotEmpty(t, env.Error.Message)
		assert.NotEmpty(t, env.Suggestion, "every failure has a next step")
	}
}

// codeOf is an envelope's code, "" for a success.
func codeOf(env toolguard.Envelope) toolguard.Code {
	if env.OK {
		return ""
	}
	return env.Error.Code
}

// verdict is what most tests want to know of an answer.
func verdict(env toolguard.Envelope) string {
	if env.OK {
		return "ok"
	}
	return fmt.Sprintf("%v/%v", env.Error.Code, env.Error.Outcome)
}

func do(g *toolguard.Guard) toolguard.Envelope { return doIn(context.Background(), g) }

func doIn(ctx context.Context, g *toolguard.Guard) toolguard.Envelope {
	return g.Do(ctx, toolguard.Call{ID: "c1", Args: json.RawMessage(`{}`)})
}
