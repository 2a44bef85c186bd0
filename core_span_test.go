package toolguard_test

import (
	"context"
	"encoding/json"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// lateSpans starts spans when somebody looks for them, and writes down when that
// was: "call", "attempt", and "end of call", "end of attempt".
type lateSpans struct {
	eventLog
	mu     sync.Mutex
	story  []string
	starts []toolguard.Event
	bad    func() // done before each start
	blind  bool   // it does not look what is around
}

type spanMark struct{}

func (*lateSpans) StartsLate() bool { return true }

func (l *lateSpans) Start(ctx context.Context, e toolguard.Event) (context.Context, func(toolguard.Event)) {
	if l.bad != nil {
		l.bad()
	}
	outer := ""
	if !l.blind {
		outer, _ = ctx.Value(spanMark{}).(string)
	}
	l.mu.Lock()
	l.starts = append(l.starts, e)
	l.mu.Unlock()
	l.tell(e.Kind.String())
	return context.WithValue(ctx, spanMark{}, outer+"/"+e.Kind.String()), func(e toolguard.Event) { l.tell("end of " + e.Kind.String()) }
}

func (l *lateSpans) tell(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.story = append(l.story, what)
}

func TestSpansThatNobodyLooksForStartWhenTheyEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &lateSpans{blind: true}
		steps := inOrder(fails(errDown), func(ctx context.Context) (toolguard.Result, error) {
			time.Sleep(time.Second)
			derived, cancel := context.WithTimeout(ctx, time.Minute) // looks for the context package's own
			defer cancel()
			l.tell("the tool")
			return toolguard.Result{}, derived.Err()
		})
		g := guardOf(t, toolOf(toolguard.ReadOnly, steps.call), &toolguard.Options{Observer: l, Retry: toolguard.RetryPolicy{BaseDelay: 1, MaxDelay: 1}})
		began := time.Now()
		assert.True(t, do(g).OK)
		assert.Equal(t, []string{"call", "attempt", "end of attempt", "the tool", "attempt", "end of attempt", "end of call"}, l.story)
		assert.WithinDuration(t, began, l.starts[0].Time, time.Millisecond, "the call began before it was told of")
		assert.WithinDuration(t, began, l.starts[2].Time, time.Millisecond, "and so did the attempt")
		assert.Equal(t, "c1", l.starts[0].CallID)
		assert.Zero(t, g.Stats().LostEvents)
	})
}

func TestASpanStartsWhenItIsLookedFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &lateSpans{}
		var kept context.Context
		g := guardOf(t, toolOf(toolguard.ReadOnly, func(ctx context.Context) (toolguard.Result, error) {
			kept = ctx
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() { assert.Equal(t, "/call/attempt", ctx.Value(spanMark{})) })
			}
			all.Wait()
			l.tell("the tool")
			return toolguard.Result{}, nil
		}), &toolguard.Options{Observer: l})
		assert.True(t, do(g).OK)
		assert.Equal(t, []string{"call", "attempt", "the tool", "end of attempt", "end of call"}, l.story, "once each, inside one another")
		assert.Equal(t, "/call/attempt", kept.Value(spanMark{}), "it is still found when all is over")
		assert.Len(t, l.starts, 2)
	})
}

// Whoever comes first asks: what the tool left running, or the delivery of the event.
func TestASpanStartsOnceWhoeverAsks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &lateSpans{}
		var all sync.WaitGroup
		g := guardOf(t, toolOf(toolguard.ReadOnly, func(ctx context.Context) (toolguard.Result, error) {
			for range 4 {
				all.Go(func() { assert.Equal(t, "/call/attempt", ctx.Value(spanMark{})) })
			}
			return toolguard.Result{}, nil
		}), &toolguard.Options{Observer: l})
		for range 200 {
			assert.True(t, do(g).OK)
		}
		all.Wait()
		assert.Len(t, l.starts, 400)
		assert.Len(t, l.story, 800, "and ends once")
		assert.Zero(t, g.Stats().LostEvents)
	})
}

// The call's own span can be looked for before there is an attempt.
func TestAChecksSpanIsTheCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &lateSpans{}
		g := guardOf(t, toolOf(toolguard.ReadOnly, answers("ok")), &toolguard.Options{
			Observer: l,
			Authorize: func(ctx context.Context, _ json.RawMessage) error {
				assert.Equal(t, "/call", ctx.Value(spanMark{}))
				return toolguard.Permission("no")
			},
		})
		assert.Equal(t, "permission_denied/not_started", verdict(do(g)))
		assert.Equal(t, []string{"call", "end of call"}, l.story)
	})
}

func TestSpansOfCallsInsideCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &lateSpans{}
		opts := &toolguard.Options{Observer: l}
		inner := guardOf(t, plain{
			info: toolguard.Info{Name: "inner"},
			call: func(ctx context.Context, _ json.RawMessage) (toolguard.Result, error) {
				return toolguard.Result{Text: ctx.Value(spanMark{}).(string)}, nil
			},
		}, opts)
		outer := guardOf(t, toolOf(toolguard.Idempotent, func(ctx context.Context) (toolguard.Result, error) {
			env := doIn(ctx, inner)
			return toolguard.Result{Text: env.Result.Text}, nil
		}), opts)
		assert.Equal(t, "/call/attempt/call/attempt", do(outer).Result.Text)
		assert.Len(t, l.starts, 4)
	})
}

// Spans that start late are no reason to trust whoever starts them.
func TestALateStartChangesNoAnswer(t *testing.T) {
	t.Parallel()
	looks := func(ctx context.Context) (toolguard.Result, error) {
		found := "nothing"
		if v, ok := ctx.Value(spanMark{}).(string); ok {
			found = v
		}
		return toolguard.Result{Text: found}, nil
	}
	for way := range badWays(t) {
		inBubble(t, way, func(t *testing.T) {
			for _, body := range []run{looks, answers("nothing")} {
				l := &lateSpans{bad: badWays(t)[way]}
				g := guardOf(t, toolOf(toolguard.ReadOnly, body), &toolguard.Options{Observer: l})
				var env toolguard.Envelope
				assert.LessOrEqual(t, took(func() { env = do(g) }), time.Second, "its patience, once")
				assert.Equal(t, "nothing", env.Result.Text)
				synctest.Wait()
				told := len(l.of(toolguard.EventCall)) + len(l.of(toolguard.EventAttempt))
				assert.EqualValues(t, 2, g.Stats().LostEvents+uint64(told), "told or lost, and counted")
			}
		})
	}
}

func TestAQueuedObserverStartsSpansLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &lateSpans{}
		g := guardOf(t, toolOf(toolguard.ReadOnly, answers("ok")), &toolguard.Options{Observer: l, Observe: toolguard.ObservePolicy{Queue: 10}})
		do(g)
		synctest.Wait()
		assert.Equal(t, []string{"call", "attempt", "end of attempt", "end of call"}, l.story)
	})
}

// One observer that cannot wait is enough for none to.
func TestObserversStartLateTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &lateSpans{}
		run := func(o toolguard.Observer) []string {
			l.story = nil
			do(guardOf(t, toolOf(toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) {
				l.tell("the tool")
				return toolguard.Result{}, nil
			}), &toolguard.Options{Observer: o}))
			return l.story
		}
		assert.Equal(t, "the tool", run(toolguard.Observers(&eventLog{}, l))[0])
		assert.Equal(t, "call", run(toolguard.Observers(l, &spanner{}))[0])
	})
}

// What one observer does in Start ends no span of another, and begins none that
// never ends.
func TestObserversStartsMisbehave(t *testing.T) {
	for name, bad := range map[string]func(){"panics": func() { panic("no") }, "exits": runtime.Goexit} {
		inBubble(t, name, func(t *testing.T) {
			var began, ended int
			good := &spans{start: func(ctx context.Context, _ toolguard.Event) (context.Context, func(toolguard.Event)) {
				began++
				return ctx, func(toolguard.Event) { ended++ }
			}}
			evil := &spans{start: func(ctx context.Context, _ toolguard.Event) (context.Context, func(toolguard.Event)) {
				bad()
				return ctx, nil
			}}
			g := guardOf(t, toolOf(toolguard.ReadOnly, answers("fine")), &toolguard.Options{Observer: toolguard.Observers(good, evil, good)})
			assert.True(t, do(g).OK)
			synctest.Wait()
			assert.Positive(t, began)
			assert.Equal(t, began, ended)
			if name == "panics" {
				assert.Equal(t, 4, began, "two each of the call and its attempt")
			}
		})
	}
}

// What the caller does to its envelope changes no event that is still to come.
func TestEventsShareNothingWithTheEnvelope(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		log := &eventLog{}
		release := make(chan struct{})
		tool := toolOf(toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) { <-release; return toolguard.Result{}, nil })
		g := guardOf(t, tool, &toolguard.Options{Observer: log, Observe: toolguard.ObservePolicy{Arguments: true}})
		env := g.Do(t.Context(), toolguard.Call{Args: []byte(`{"a":1}`)})
		copy(env.Args, `{"b":2}`)
		close(release)
		synctest.Wait()
		require.Len(t, log.of(toolguard.EventLate), 1)
		assert.Equal(t, `{"a":1}`, string(log.of(toolguard.EventLate)[0].Arguments))

		quiet := guardOf(t, toolOf(toolguard.ReadOnly, answers("")), &toolguard.Options{Observer: log, Observe: toolguard.ObservePolicy{Queue: 8}})
		env = do(quiet)
		require.NotEmpty(t, env.Notes)
		text := env.Notes[0].Text
		env.Notes[0].Text = "mine"
		synctest.Wait()
		calls := log.of(toolguard.EventCall)
		assert.Equal(t, text, calls[len(calls)-1].Notes[0].Text)
	})
}
