package toolguard_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/toolguard-go/toolguard"
)

// behaviours are what a tool of the property below may do in one attempt.
func behaviours(release <-chan struct{}) map[string]run {
	return map[string]run{
		"answers":    answers("fine"),
		"down":       fails(codeErr(toolguard.CodeServerError)),
		"refused":    fails(toolguard.Business("no")),
		"unplaced":   fails(errDown),
		"limited":    fails(toolguard.RateLimited(time.Second)),
		"limited 1h": fails(toolguard.RateLimited(time.Hour)),
		"odd":        fails(errors.New("odd")),
		"obeys":      obeys,
		"slow": func(context.Context) (toolguard.Result, error) {
			time.Sleep(21 * time.Second)
			return toolguard.Result{}, nil
		},
		"slower": func(context.Context) (toolguard.Result, error) {
			time.Sleep(25 * time.Second)
			return toolguard.Result{}, nil
		},
		"hangs":     func(context.Context) (toolguard.Result, error) { <-release; return toolguard.Result{}, nil },
		"panics":    func(context.Context) (toolguard.Result, error) { panic("x") },
		"exits":     func(context.Context) (toolguard.Result, error) { runtime.Goexit(); return toolguard.Result{}, nil },
		"typed nil": func(context.Context) (toolguard.Result, error) { var e *cyclic; return toolguard.Result{}, e },
	}
}

// Invariant 11: whatever the tool does, and whoever leaves, there is one event
// for each attempt, one for each call, and one for each late answer; and they
// say what the envelopes said.
func TestEventsOfAnyCalls(t *testing.T) {
	t.Parallel()
	type scene struct {
		Effect toolguard.Effect
		Calls  [][]string
		Leave  []time.Duration
		Args   []string
		Queue  int
	}
	names := []string{"answers", "down", "refused", "unplaced", "limited", "limited 1h", "odd", "obeys", "slow", "slower", "hangs", "panics", "exits", "typed nil"}
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(rt, "calls")
		s := scene{Effect: toolguard.Effect(rapid.IntRange(1, 4).Draw(rt, "effect")), Queue: rapid.SampledFrom([]int{0, 100}).Draw(rt, "queue")}
		for range n {
			s.Calls = append(s.Calls, rapid.SliceOfN(rapid.SampledFrom(names), 1, 3).Draw(rt, "script"))
			s.Leave = append(s.Leave, rapid.SampledFrom([]time.Duration{time.Hour, time.Hour, 0, time.Millisecond, 21 * time.Second}).Draw(rt, "leave"))
			s.Args = append(s.Args, rapid.SampledFrom([]string{"{}", "{}", "{}", "[1]", `{"a":`, ""}).Draw(rt, "args"))
		}
		var envs []toolguard.Envelope
		var ran, began int
		events := &eventLog{}
		var stats toolguard.Stats
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			do := behaviours(release)
			var mu sync.Mutex
			var script []string
			at := 0
			g := guardOf(t, toolOf(s.Effect, func(ctx context.Context) (toolguard.Result, error) {
				mu.Lock()
				step := do[script[min(at, len(script)-1)]]
				at++
				ran++
				mu.Unlock()
				return step(ctx)
			}), &toolguard.Options{Timeout: shortTime, Observer: events, Observe: toolguard.ObservePolicy{Queue: s.Queue}})
			for i := range s.Calls {
				mu.Lock()
				script, at = s.Calls[i], 0
				mu.Unlock()
				ctx, cancel := context.WithTimeout(context.Background(), s.Leave[i])
				envs = append(envs, g.Do(ctx, toolguard.Call{ID: fmt.Sprint(i), Args: []byte(s.Args[i])}))
				cancel()
				began++
			}
			close(release)
			time.Sleep(time.Hour)
			synctest.Wait()
			stats = g.Stats()
		})
		calls, attempts, late := events.of(toolguard.EventCall), events.of(toolguard.EventAttempt), events.of(toolguard.EventLate)
		require.Len(rt, calls, len(envs))
		require.Len(rt, attempts, ran)
		require.Len(rt, late, int(stats.EverAbandoned))
		require.Zero(rt, stats.LostEvents)
		require.Zero(rt, stats.Abandoned)
		require.EqualValues(rt, ran, stats.Attempts)
		require.EqualValues(rt, len(envs), stats.Succeeded+stats.Failed)
		made := 0
		for i, env := range envs {
			e := calls[i]
			require.Equal(rt, fmt.Sprint(i), e.CallID)
			require.Equal(rt, env.OK, e.OK)
			require.Equal(rt, codeOf(env), e.Code)
			require.Equal(rt, env.Attempts, e.Attempts)
			require.Zero(rt, e.Lost)
			if !env.OK {
				require.NotEmpty(rt, env.Error.Incident)
				require.Equal(rt, env.Error.Incident, e.Incident)
				require.Equal(rt, env.Error.Outcome, e.Outcome)
			}
			for n := range env.Attempts {
				a := attempts[made+n]
				require.Equal(rt, e.CallID, a.CallID)
				require.Equal(rt, n+1, a.Attempt)
				if n+1 < env.Attempts {
					require.Equal(rt, toolguard.DecisionRetry, a.Decision)
				}
			}
			made += env.Attempts
		}
		require.Equal(rt, ran, made)
	})
}

// An observer that hangs costs its patience once, and events, which are
// counted; never an answer.
func TestAStuckObserver(t *testing.T) {
	t.Parallel()
	inBubble(t, "stuck for good", func(t *testing.T) {
		wait := untilReleased(t)
		g := guardOf(t, toolOf(toolguard.ReadOnly, answers("fine")), &toolguard.Options{
			Observer: observe(func(context.Context, toolguard.Event) { wait() }),
			Observe:  toolguard.ObservePolicy{Patience: 3 * time.Second},
		})
		var env toolguard.Envelope
		assert.Equal(t, 3*time.Second, took(func() { env = do(g) }))
		assert.True(t, env.OK)
		assert.Zero(t, took(func() {
			for range 10 {
				assert.True(t, do(g).OK)
			}
		}), "nobody waits for it twice")
		assert.EqualValues(t, 22, g.Stats().LostEvents, "an attempt's and a call's each time")
	})
	inBubble(t, "back after a while", func(t *testing.T) {
		release := make(chan struct{})
		var mu sync.Mutex
		var seen []toolguard.Event
		g := guardOf(t, toolOf(toolguard.ReadOnly, answers("fine")), &toolguard.Options{Observer: observe(func(_ context.Context, e toolguard.Event) {
			<-release
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, e)
		})})
		do(g)
		do(g)
		close(release)
		synctest.Wait()
		assert.EqualValues(t, 2, g.Stats().LostEvents, "those of the call that did not wait")
		do(g)
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, seen, 4)
		assert.EqualValues(t, 2, seen[3].Lost)
	})
	inBubble(t, "between attempts", func(t *testing.T) {
		wait := untilReleased(t)
		g := guardOf(t, toolOf(toolguard.ReadOnly, fails(codeErr(toolguard.CodeRateLimited))), &toolguard.Options{
			Retry:    toolguard.RetryPolicy{RateLimitDelay: 1},
			Observer: observe(func(context.Context, toolguard.Event) { wait() }),
			Observe:  toolguard.ObservePolicy{Patience: 3 * time.Second},
		})
		assert.InDelta(t, 3*time.Second, took(func() { do(g) }), 100)
		assert.EqualValues(t, 4, g.Stats().LostEvents)
	})
}

// An observer that fails at one event has not seen that one; the rest goes on.
func TestAnObserverThatFailsLosesOneEvent(t *testing.T) {
	t.Parallel()
	for _, queue := range []int{0, 10} {
		for _, way := range []string{"panic", "goexit"} {
			for _, at := range []toolguard.EventKind{toolguard.EventAttempt, toolguard.EventCall} {
				inBubble(t, fmt.Sprintf("queue %d, %s, %v", queue, way, at), func(t *testing.T) {
					bad := badWays(t)[way]
					events := &eventLog{}
					g := guardOf(t, toolOf(toolguard.ReadOnly, answers("fine")), &toolguard.Options{
						Observe: toolguard.ObservePolicy{Queue: queue},
						Observer: observe(func(ctx context.Context, e toolguard.Event) {
							if e.Kind == at {
								bad()
							}
							events.Observe(ctx, e)
						}),
					})
					for range 3 {
						assert.True(t, do(g).OK)
					}
					synctest.Wait()
					seen := len(events.of(toolguard.EventAttempt)) + len(events.of(toolguard.EventCall))
					assert.Equal(t, 3, seen)
					assert.EqualValues(t, 3, g.Stats().LostEvents)
				})
			}
		}
	}
}

// Events that are being delivered are not lost.
func TestLostCountsOnlyWhatIsLost(t *testing.T) {
	t.Parallel()
	inBubble(t, "ten at once", func(t *testing.T) {
		events := &eventLog{}
		g := guardOf(t, toolOf(toolguard.ReadOnly, answers("fine")), &toolguard.Options{Observer: observe(func(ctx context.Context, e toolguard.Event) {
			events.Observe(ctx, e)
			time.Sleep(100 * time.Millisecond)
		})})
		all(g, times(10, `{}`)...)
		for _, e := range events.of(toolguard.EventCall) {
			assert.Zero(t, e.Lost)
		}
		assert.Zero(t, g.Stats().LostEvents)
	})
}

func TestQueue(t *testing.T) {
	t.Parallel()
	inBubble(t, "does not hold a call up", func(t *testing.T) {
		events := &eventLog{}
		g := guardOf(t, toolOf(toolguard.ReadOnly, answers("fine")), &toolguard.Options{
			Observe: toolguard.ObservePolicy{Queue: 8},
			Observer: observe(func(ctx context.Context, e toolguard.Event) {
				time.Sleep(time.Minute)
				events.Observe(ctx, e)
			}),
		})
		assert.Zero(t, took(func() {
			for range 10 {
				do(g)
			}
		}))
		time.Sleep(time.Hour)
		synctest.Wait() // the bubble's end shows that the goroutine has ended
		seen := len(events.of(toolguard.EventAttempt)) + len(events.of(toolguard.EventCall))
		assert.Less(t, seen, 20)
		assert.EqualValues(t, 20-seen, g.Stats().LostEvents)
		do(g)
		time.Sleep(time.Hour)
		assert.EqualValues(t, 20-seen, g.Stats().LostEvents, "it starts again")
	})
	inBubble(t, "shutdown delivers", func(t *testing.T) {
		events := &eventLog{}
		g := guardOf(t, toolOf(toolguard.ReadOnly, answers("fine")), &toolguard.Options{
			Observe:  toolguard.ObservePolicy{Queue: 8},
			Observer: observe(func(ctx context.Context, e toolguard.Event) { time.Sleep(time.Second); events.Observe(ctx, e) }),
		})
		do(g)
		assert.Equal(t, 2*time.Second, took(func() { require.NoError(t, g.Shutdown(t.Context())) }))
		assert.Len(t, events.of(toolguard.EventCall), 1)
	})
}

// The events of a call an inner guard answered carry the incident the model
// reads.
func TestIncidentOfAnInnerGuard(t *testing.T) {
	t.Parallel()
	inBubble(t, "adopted", func(t *testing.T) {
		outside, inside := &eventLog{}, &eventLog{}
		inner := guardOf(t, toolOf(toolguard.ReadOnly, fails(toolguard.Business("no"))), &toolguard.Options{Observer: inside})
		env := do(guardOf(t, inner, &toolguard.Options{Observer: outside}))
		id := env.Error.Incident
		assert.NotEmpty(t, id)
		for _, l := range []*eventLog{inside, outside} {
			assert.Equal(t, id, l.of(toolguard.EventCall)[0].Incident)
			assert.Equal(t, id, l.of(toolguard.EventAttempt)[0].Incident)
		}
	})
}

// A span adds values to the context; it cannot take the caller's away, nor the
// caller's leave.
func TestSpans(t *testing.T) {
	t.Parallel()
	type mark struct{}
	inBubble(t, "values", func(t *testing.T) {
		var started, ended []toolguard.EventKind
		var seen any
		g := guardOf(t, toolOf(toolguard.ReadOnly, func(ctx context.Context) (toolguard.Result, error) {
			seen = ctx.Value(mark{})
			return toolguard.Result{}, nil
		}), &toolguard.Options{Observer: &spans{start: func(ctx context.Context, e toolguard.Event) (context.Context, func(toolguard.Event)) {
			started = append(started, e.Kind)
			return context.WithValue(ctx, mark{}, e.Kind), func(e toolguard.Event) { ended = append(ended, e.Kind) }
		}}})
		do(g)
		assert.Equal(t, toolguard.EventAttempt, seen)
		assert.Equal(t, []toolguard.EventKind{toolguard.EventCall, toolguard.EventAttempt}, started)
		assert.Equal(t, []toolguard.EventKind{toolguard.EventAttempt, toolguard.EventCall}, ended)
	})
	for name, odd := range map[string]func(context.Context) context.Context{
		"somebody else's context": func(context.Context) context.Context { return context.Background() },
		"a canceled one": func(ctx context.Context) context.Context {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx
		},
		"none": func(context.Context) context.Context { return nil },
	} {
		inBubble(t, name, func(t *testing.T) {
			start := func(ctx context.Context, _ toolguard.Event) (context.Context, func(toolguard.Event)) {
				return odd(ctx), func(toolguard.Event) {}
			}
			g := guardOf(t, toolOf(toolguard.ReadOnly, answers("fine")), &toolguard.Options{Observer: &spans{start: start}})
			assert.Equal(t, "ok", verdict(do(g)))

			g = guardOf(t, toolOf(toolguard.ReadOnly, obeys), &toolguard.Options{Observer: &spans{start: start}, Timeout: shortTime})
			ctx, cancel := context.WithTimeout(toolguard.WithScope(t.Context(), toolguard.Scope{Tenant: "a"}), time.Second)
			defer cancel()
			assert.Equal(t, "caller_deadline/failed", verdict(doIn(ctx, g)))
		})
	}
}

func TestEventContents(t *testing.T) {
	t.Parallel()
	inBubble(t, "arguments and results", func(t *testing.T) {
		for _, asked := range []bool{false, true} {
			events := &eventLog{}
			g := guardOf(t, toolOf(toolguard.ReadOnly, answers("fine")), &toolguard.Options{Observer: events, Observe: toolguard.ObservePolicy{Arguments: asked, Results: asked}})
			g.Do(toolguard.WithScope(t.Context(), toolguard.Scope{Tenant: "a", Model: "m"}), toolguard.Call{ID: "c7", Args: []byte(`{"a":1}`)})
			e := events.of(toolguard.EventCall)[0]
			assert.Equal(t, asked, len(e.Arguments) > 0)
			assert.Equal(t, asked, e.Result != "")
			assert.Equal(t, toolguard.Scope{Tenant: "a", Model: "m"}, e.Scope)
			assert.Equal(t, "c7", e.CallID)
			assert.NotZero(t, e.Digest)
		}
	})
	inBubble(t, "the cause is whole", func(t *testing.T) {
		cause := errors.New("dial tcp 10.0.0.5:5432")
		events := &eventLog{}
		do(guardOf(t, toolOf(toolguard.ReadOnly, fails(cause)), &toolguard.Options{Observer: events}))
		assert.ErrorIs(t, events.of(toolguard.EventAttempt)[0].Err, cause)
		assert.ErrorIs(t, events.of(toolguard.EventCall)[0].Err, cause)
	})
	inBubble(t, "off", func(t *testing.T) {
		events := &eventLog{}
		do(guardOf(t, toolOf(toolguard.ReadOnly, answers("fine")), &toolguard.Options{Observer: events, Observe: toolguard.ObservePolicy{Off: true}}))
		assert.Empty(t, events.events)
	})
}
