package toolguard_test

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
)

// calls is a tool that calls a guard.
func calls(name string, effect toolguard.Effect, g **toolguard.Guard) plain {
	return plain{info: toolguard.Info{Name: name, Effect: effect}, call: func(ctx context.Context, args json.RawMessage) (toolguard.Result, error) {
		env := (*g).Do(ctx, toolguard.Call{Args: args})
		return env.Result, env.Err()
	}}
}

func leafOf(effect toolguard.Effect, f run) plain {
	leaf := toolOf(effect, f)
	leaf.info.Name, leaf.info.Dependency = "leaf", "crm"
	return leaf
}

// Invariant 2, through guards inside guards.
func TestNoAttemptOverOneThatRunsInside(t *testing.T) {
	for name, ends := range map[string]time.Duration{"abandoned for good": time.Hour, "in its grace period": 10*time.Second + 800*time.Millisecond} {
		inBubble(t, name, func(t *testing.T) {
			var live, peak, ran atomic.Int32
			leaf := guardOf(t, leafOf(toolguard.Idempotent, func(context.Context) (toolguard.Result, error) {
				peak.Store(max(peak.Load(), live.Add(1)))
				ran.Add(1)
				time.Sleep(ends)
				live.Add(-1)
				return toolguard.Result{}, nil
			}), &toolguard.Options{Timeout: toolguard.TimeoutPolicy{Attempt: time.Minute, Grace: 900 * time.Millisecond}})
			log := &eventLog{}
			agent := toolOf(toolguard.Idempotent, func(ctx context.Context) (toolguard.Result, error) {
				go doIn(ctx, leaf) // nobody waits for it
				env := doIn(ctx, leaf)
				return toolguard.Result{}, env.Err()
			})
			if ends < time.Hour {
				agent = toolOf(toolguard.Idempotent, func(ctx context.Context) (toolguard.Result, error) {
					go doIn(ctx, leaf)
					<-ctx.Done()
					return toolguard.Result{}, ctx.Err()
				})
			}
			g := guardOf(t, agent, &toolguard.Options{
				Observer: log,
				Timeout:  toolguard.TimeoutPolicy{Attempt: 10 * time.Second, Budget: 40 * time.Second},
			})
			env := do(g)
			assert.Equal(t, 1, env.Attempts)
			assert.Equal(t, toolguard.WhyRunning, log.of(toolguard.EventCall)[0].Why)
			assert.Equal(t, ran.Load(), peak.Load(), "all of one attempt")
			if ends == time.Hour {
				assert.Equal(t, toolguard.DecisionStop, log.of(toolguard.EventAttempt)[0].Decision, "no wait for what cannot come")
			}
			time.Sleep(2 * time.Hour)
			assert.Zero(t, leaf.Stats().Abandoned)
			assert.Greater(t, do(g).Attempts, 0, "another call is free to run")
			time.Sleep(2 * time.Hour)
		})
	}
}

func TestAnAttemptFollowsOnceWhatRanInsideHasEnded(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		leaf := guardOf(t, leafOf(toolguard.Idempotent, obeys), nil)
		g := guardOf(t, calls("agent", toolguard.Idempotent, &leaf), &toolguard.Options{Timeout: toolguard.TimeoutPolicy{Attempt: 10 * time.Second, Budget: time.Minute}})
		assert.Equal(t, 3, do(g).Attempts)
	})
}

// A probe that passes through two guards of one dependency is one probe.
func TestASharedBreakerClosesAgainUnderNestedGuards(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		deps, down := &toolguard.Dependencies{}, atomic.Bool{}
		down.Store(true)
		opts := &toolguard.Options{Dependencies: deps, Retry: toolguard.RetryPolicy{Off: true}}
		inner := guardOf(t, leafOf(toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) {
			if down.Load() {
				return toolguard.Result{}, toolguard.Unavailable("down")
			}
			return toolguard.Result{Text: "up"}, nil
		}), opts)
		outer := guardOf(t, inner, opts)
		for n := range 5 {
			assert.Equal(t, n, streak(outer), "a failure is one, however many guards see it")
			assert.Equal(t, toolguard.CodeServiceUnavailable, codeOf(do(outer)))
		}
		assert.Equal(t, toolguard.CodeBreakerOpen, codeOf(do(outer)))
		time.Sleep(time.Minute)
		assert.Equal(t, toolguard.CodeServiceUnavailable, codeOf(do(outer)), "the probe fails")
		down.Store(false)
		time.Sleep(time.Minute)
		assert.True(t, do(outer).OK, "the probe closes it")
		assert.Equal(t, toolguard.BreakerClosed, inner.Stats().Breakers[0].State)
	})
}

func streak(g *toolguard.Guard) int {
	if b := g.Stats().Breakers; len(b) > 0 {
		return b[0].Streak
	}
	return 0
}

// What an attempt has, a call inside it does not wait for.
func TestNestedCallsShareTheirPlace(t *testing.T) {
	text := json.RawMessage(`{"order":1}`)
	for name, opts := range map[string]toolguard.Options{
		"a dependency's limit": {Dependencies: &toolguard.Dependencies{Max: map[string]int{"crm": 1}}},
		"the tool's":           {Concurrency: toolguard.ConcurrencyPolicy{Max: 1}},
		"a resource":           {Concurrency: toolguard.ConcurrencyPolicy{SerializeBy: []string{"order"}}},
	} {
		inBubble(t, name, func(t *testing.T) {
			var g *toolguard.Guard
			depth := 0
			leaf := leafOf(toolguard.ReadOnly, nil)
			leaf.call = func(ctx context.Context, _ json.RawMessage) (toolguard.Result, error) {
				if depth++; depth == 3 {
					return toolguard.Result{Text: "deep"}, nil
				}
				env := g.Do(ctx, toolguard.Call{Args: text})
				return env.Result, env.Err()
			}
			g = guardOf(t, leaf, &opts)
			for range 3 { // nothing is lost or given back twice
				depth = 0
				var env toolguard.Envelope
				assert.Zero(t, took(func() { env = g.Do(t.Context(), toolguard.Call{Args: text}) }))
				assert.True(t, env.OK, verdict(env))
			}
		})
	}
}

// Calls that are not inside each other still wait.
func TestASharedPlaceIsNobodyElses(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		var live, peak atomic.Int32
		inner := guardOf(t, leafOf(toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) {
			peak.Store(max(peak.Load(), live.Add(1)))
			time.Sleep(100 * time.Millisecond)
			live.Add(-1)
			return toolguard.Result{}, nil
		}), &toolguard.Options{Concurrency: toolguard.ConcurrencyPolicy{Max: 2}})
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { assert.True(t, do(guardOf(t, inner, nil)).OK) })
		}
		wg.Wait()
		assert.EqualValues(t, 2, peak.Load())
	})
}

// With no bound on attempts there is still one on those that may be abandoned.
func TestAbandonedAttemptsAreBoundedWithoutAnyLimit(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		g := guardOf(t, toolOf(toolguard.ReadOnly, hangs(t)), &toolguard.Options{
			Concurrency: toolguard.ConcurrencyPolicy{Off: true}, Timeout: toolguard.TimeoutPolicy{Attempt: time.Second},
			Retry: toolguard.RetryPolicy{Off: true}, Breaker: toolguard.BreakerPolicy{Off: true},
		})
		for range 1500 {
			go do(g)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, 1024, g.Stats().Abandoned)
		assert.Equal(t, toolguard.CodeToolStuck, codeOf(do(g)))
	})
}

// An attempt that obeys is not counted as abandoned, not even for an instant.
func TestObedientAttemptsNeverLookAbandoned(t *testing.T) {
	t.Parallel()
	g := guardOf(t, toolOf(toolguard.ReadOnly, obeys), &toolguard.Options{
		Timeout: toolguard.TimeoutPolicy{Attempt: time.Millisecond, Grace: 100 * time.Millisecond},
		Retry:   toolguard.RetryPolicy{Off: true}, Breaker: toolguard.BreakerPolicy{Off: true},
	})
	var seen atomic.Int32
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
				seen.Add(int32(g.Stats().Abandoned))
			}
		}
	}()
	for range 300 {
		do(g)
	}
	close(stop)
	if g.Stats().EverAbandoned == 0 {
		assert.Zero(t, seen.Load())
	}
}

// A tool that calls itself without end ends.
func TestEndlessRecursionEnds(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		for name, policy := range map[string]toolguard.ConcurrencyPolicy{"the tool's places": {}, "a resource": {Max: 1000, SerializeBy: []string{"order"}}} {
			var g *toolguard.Guard
			var ran atomic.Int32
			leaf := leafOf(toolguard.ReadOnly, nil)
			leaf.call = func(ctx context.Context, args json.RawMessage) (toolguard.Result, error) {
				ran.Add(1)
				env := g.Do(ctx, toolguard.Call{Args: args})
				return env.Result, env.Err()
			}
			g = guardOf(t, leaf, &toolguard.Options{Concurrency: policy, Retry: once})
			env := g.Do(t.Context(), toolguard.Call{Args: json.RawMessage(`{"order":1}`)})
			assert.Equal(t, "service_unavailable/failed", verdict(env), name)
			assert.Less(t, ran.Load(), int32(200), name)
			assert.Zero(t, g.Stats().InProgress, name)
		}
	})
}
