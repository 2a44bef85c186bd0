package toolguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/toolguard-go/toolguard"
)

var once = toolguard.RetryPolicy{Off: true}

// changesOf collects the transitions of all events, in order.
func changesOf(l *eventLog) []string {
	var all []string
	for _, e := range l.of(toolguard.EventAttempt) {
		for _, c := range e.Transitions {
			all = append(all, fmt.Sprintf("%v→%v", c.From, c.To))
		}
	}
	return all
}

func stateOf(g *toolguard.Guard) toolguard.BreakerState { return g.Stats().Breakers[0].State }

func TestBreakerOpensAndCloses(t *testing.T) {
	t.Parallel()
	inBubble(t, "a streak of five", func(t *testing.T) {
		events := &eventLog{}
		healthy := false
		g := guardOf(t, toolOf(toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) {
			if healthy {
				return toolguard.Result{Text: "fine"}, nil
			}
			return toolguard.Result{}, codeErr(toolguard.CodeServerError)
		}), &toolguard.Options{Retry: once, Observer: events})
		for i := range 5 {
			assert.Equal(t, toolguard.BreakerClosed, stateOfOrClosed(g), "after %d", i)
			assert.Equal(t, "server_error/failed", verdict(do(g)))
		}
		env := do(g)
		assert.Equal(t, "breaker_open/not_started", verdict(env))
		assert.Equal(t, 30*time.Second, env.Error.RetryAfter)
		assert.Contains(t, env.ForModel(), `"retry_after_ms":30000`)
		assert.Zero(t, env.Attempts)

		time.Sleep(29 * time.Second)
		assert.Equal(t, time.Second, do(g).Error.RetryAfter)
		time.Sleep(time.Second)
		assert.Equal(t, "server_error/failed", verdict(do(g)), "the probe")
		assert.Equal(t, 30*time.Second, do(g).Error.RetryAfter)

		time.Sleep(30 * time.Second)
		healthy = true
		assert.Equal(t, "ok", verdict(do(g)))
		assert.Equal(t, toolguard.BreakerClosed, stateOf(g))
		assert.Equal(t, []string{"closed→open", "open→half_open", "half_open→open", "open→half_open", "half_open→closed"}, changesOf(events))
		assert.Len(t, events.of(toolguard.EventAttempt), 7, "a refusal is no attempt")
	})
	inBubble(t, "a rate", func(t *testing.T) {
		n := 0
		g := guardOf(t, toolOf(toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) {
			if n++; n%2 == 0 {
				return toolguard.Result{}, codeErr(toolguard.CodeServerError)
			}
			return toolguard.Result{Text: "fine"}, nil
		}), &toolguard.Options{Retry: once, Breaker: toolguard.BreakerPolicy{Rate: 0.5}})
		for range 10 {
			assert.NotEqual(t, toolguard.CodeBreakerOpen, codeOf(do(g)))
		}
		assert.Equal(t, "breaker_open/not_started", verdict(do(g)))
	})
	inBubble(t, "a success in between", func(t *testing.T) {
		n := 0
		g := guardOf(t, toolOf(toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) {
			if n++; n%5 == 0 {
				return toolguard.Result{Text: "fine"}, nil
			}
			return toolguard.Result{}, codeErr(toolguard.CodeServerError)
		}), &toolguard.Options{Retry: once})
		for range 50 {
			assert.NotEqual(t, toolguard.CodeBreakerOpen, codeOf(do(g)))
		}
	})
}

func stateOfOrClosed(g *toolguard.Guard) toolguard.BreakerState {
	if len(g.Stats().Breakers) == 0 {
		return toolguard.BreakerClosed
	}
	return stateOf(g)
}

// Only timeouts and unavailability count. What the tool refuses is a sign of
// life; what the guard refuses, who leaves, a rate limit and an error nobody can
// classify say nothing.
// cases n01, n04, n05
func TestWhatTheBreakerCounts(t *testing.T) {
	t.Parallel()
	counted := map[toolguard.Code]bool{
		toolguard.CodeDownstreamTimeout: true, toolguard.CodeAttemptTimeout: true, toolguard.CodeAbandoned: true,
		toolguard.CodeConnectionRefused: true, toolguard.CodeConnectionLost: true, toolguard.CodeDNSFailure: true,
		toolguard.CodeTLSFailure: true, toolguard.CodeServiceUnavailable: true, toolguard.CodeServerError: true,
		toolguard.CodeResourceExhausted: true, toolguard.CodeNotInstalled: true,
	}
	neutral := map[toolguard.Code]bool{
		toolguard.CodeInvalidJSON: true, toolguard.CodeTruncated: true, toolguard.CodeSchemaViolation: true, toolguard.CodeUnknownTool: true,
		toolguard.CodeCallerDeadline: true, toolguard.CodeBudgetExhausted: true, toolguard.CodeBreakerOpen: true,
		toolguard.CodeOverloaded: true, toolguard.CodeToolStuck: true, toolguard.CodeShuttingDown: true,
		toolguard.CodeToolDisabled: true, toolguard.CodeDuplicateCallID: true, toolguard.CodeLimitReached: true, toolguard.CodeBatchStopped: true,
		toolguard.CodeCanceled: true, toolguard.CodeControlFlow: true, toolguard.CodeInternalError: true, toolguard.CodeCheckFailed: true,
		toolguard.CodeRateLimited: true, toolguard.CodePanic: true, toolguard.CodeExited: true, toolguard.CodeBadResponse: true,
		toolguard.CodeCommandFailed: true, toolguard.CodeUnknownError: true,
		toolguard.CodeLoopDetected: true, toolguard.CodePolledTooSoon: true,
		toolguard.CodeKeyConflict: true, toolguard.CodeAborted: true, toolguard.CodeJournalUnavailable: true,
		toolguard.CodeApprovalPending: true, toolguard.CodeApprovalDenied: true, toolguard.CodeApprovalStale: true, toolguard.CodeApprovalExpired: true,
		toolguard.CodeInDoubt: true, toolguard.CodeInProgress: true, toolguard.CodeNoEntry: true, toolguard.CodeResultUnavailable: true,
	}
	for code := range toolguard.Codes() {
		inBubble(t, string(code), func(t *testing.T) {
			failure := codeErr(toolguard.CodeServerError)
			g := guardOf(t, toolOf(toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) { return toolguard.Result{}, failure }), &toolguard.Options{Retry: once})
			for range 4 {
				do(g)
			}
			failure = codeErr(code)
			do(g)
			info := g.Stats().Breakers[0]
			switch {
			case counted[code]:
				assert.Equal(t, toolguard.BreakerOpen, info.State)
			case neutral[code]:
				assert.Equal(t, 4, info.Streak, "neither good nor bad")
			default:
				assert.Zero(t, info.Streak, "a sign of life")
			}
		})
	}
	inBubble(t, "ten who leave", func(t *testing.T) {
		g := guardOf(t, toolOf(toolguard.ReadOnly, func(ctx context.Context) (toolguard.Result, error) {
			<-ctx.Done()
			return toolguard.Result{}, errors.New("driver: bad luck") // says nothing of the context
		}), nil)
		for range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			assert.Equal(t, "canceled/failed", verdict(doIn(ctx, g)))
		}
		assert.Equal(t, toolguard.BreakerClosed, stateOf(g))
		assert.Zero(t, g.Stats().Breakers[0].Streak)
	})
	inBubble(t, "a deadline with less than half the time", func(t *testing.T) {
		// The wait for a place leaves the second attempt 8 s of its 20.
		g := guardOf(t, toolOf(toolguard.ReadOnly, obeys), &toolguard.Options{
			Retry: once, Timeout: toolguard.TimeoutPolicy{Attempt: 20 * time.Second, Budget: 28 * time.Second},
			Concurrency: toolguard.ConcurrencyPolicy{Max: 1, Wait: time.Hour},
		})
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { do(g) })
		}
		all.Wait()
		assert.Equal(t, 1, g.Stats().Breakers[0].Streak)
	})
}

// One probe per open period, given back on every path. case n03
func TestTheProbeIsGivenBack(t *testing.T) {
	t.Parallel()
	probes := map[string]struct {
		body   func(t *testing.T) run
		cancel time.Duration
		after  toolguard.BreakerState
	}{
		"succeeds":         {func(*testing.T) run { return answers("fine") }, 0, toolguard.BreakerClosed},
		"fails":            {func(*testing.T) run { return fails(codeErr(toolguard.CodeServerError)) }, 0, toolguard.BreakerOpen},
		"is refused":       {func(*testing.T) run { return fails(toolguard.Business("no")) }, 0, toolguard.BreakerClosed},
		"panics":           {func(t *testing.T) run { return dies(t, "panic") }, 0, toolguard.BreakerHalfOpen},
		"exits":            {func(t *testing.T) run { return dies(t, "goexit") }, 0, toolguard.BreakerHalfOpen},
		"is abandoned":     {hangs, 0, toolguard.BreakerOpen},
		"runs out":         {func(*testing.T) run { return obeys }, 0, toolguard.BreakerOpen},
		"is canceled":      {func(*testing.T) run { return obeys }, time.Second, toolguard.BreakerHalfOpen},
		"is left for ever": {hangs, time.Second, toolguard.BreakerHalfOpen},
	}
	for name, tt := range probes {
		inBubble(t, name, func(t *testing.T) {
			body := fails(codeErr(toolguard.CodeServerError))
			events := &eventLog{}
			g := guardOf(t, toolOf(toolguard.ReadOnly, func(ctx context.Context) (toolguard.Result, error) { return body(ctx) }), &toolguard.Options{
				Retry: once, Timeout: shortTime, Observer: events,
			})
			for range 5 {
				do(g)
			}
			time.Sleep(30 * time.Second)
			body = tt.body(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.cancel > 0 {
				time.AfterFunc(tt.cancel, cancel)
			}
			done := make(chan struct{})
			go func() { doIn(ctx, g); close(done) }()
			synctest.Wait()
			select {
			case <-done:
			default:
				env := do(g)
				assert.Equal(t, "breaker_open/not_started", verdict(env), "one probe at a time")
				assert.GreaterOrEqual(t, env.Error.RetryAfter, time.Millisecond, "never in the past")
			}
			<-done
			assert.Equal(t, tt.after, stateOf(g))
			time.Sleep(30 * time.Second)
			body = answers("fine")
			assert.Equal(t, "ok", verdict(do(g)), "the next call is let through")
			assert.Equal(t, toolguard.BreakerClosed, stateOf(g))
			changes := changesOf(events)
			for i := 1; i < len(changes); i++ {
				assert.NotEqual(t, changes[i-1], changes[i], "each is told once")
			}
		})
	}
}

// case n07
func TestBreakerKeys(t *testing.T) {
	t.Parallel()
	tenant := func(name string) context.Context {
		return toolguard.WithScope(context.Background(), toolguard.Scope{Tenant: name})
	}
	inBubble(t, "tenants apart", func(t *testing.T) {
		g := guardOf(t, toolOf(toolguard.ReadOnly, func(ctx context.Context) (toolguard.Result, error) {
			if toolguard.ScopeFrom(ctx).Tenant == "a" {
				return toolguard.Result{}, codeErr(toolguard.CodeServerError)
			}
			return toolguard.Result{Text: "fine"}, nil
		}), &toolguard.Options{Retry: once})
		for range 10 {
			doIn(tenant("a"), g)
		}
		assert.Equal(t, "breaker_open/not_started", verdict(doIn(tenant("a"), g)))
		assert.Equal(t, "ok", verdict(doIn(tenant("b"), g)))
		assert.Equal(t, "ok", verdict(do(g)))
		assert.Len(t, g.Stats().Breakers, 3)
	})
	inBubble(t, "tools of one dependency together", func(t *testing.T) {
		shared := &toolguard.Dependencies{Breaker: toolguard.BreakerPolicy{Failures: 3}}
		guards := map[string]*toolguard.Guard{}
		for name, dependency := range map[string]string{"a": "db", "b": "db", "c": "mail", "d": ""} {
			tool := toolOf(toolguard.ReadOnly, fails(codeErr(toolguard.CodeServerError)))
			tool.info.Name, tool.info.Dependency = name, dependency
			guards[name] = guardOf(t, tool, &toolguard.Options{Retry: once, Dependencies: shared})
		}
		do(guards["a"])
		do(guards["b"])
		do(guards["a"])
		for name, want := range map[string]toolguard.Code{"a": toolguard.CodeBreakerOpen, "b": toolguard.CodeBreakerOpen, "c": toolguard.CodeServerError, "d": toolguard.CodeServerError} {
			assert.Equal(t, want, codeOf(do(guards[name])), name)
		}
	})
	inBubble(t, "one's own, by the name of the dependency", func(t *testing.T) {
		tool := toolOf(toolguard.ReadOnly, fails(codeErr(toolguard.CodeServerError)))
		tool.info.Dependency = "db"
		first, second := guardOf(t, tool, &toolguard.Options{Retry: once}), guardOf(t, tool, &toolguard.Options{Retry: once})
		for range 5 {
			do(first)
		}
		assert.Equal(t, "breaker_open/not_started", verdict(do(first)))
		assert.Equal(t, "server_error/failed", verdict(do(second)), "nothing is shared")
		assert.Equal(t, "db", first.Stats().Breakers[0].Target)
	})
	inBubble(t, "bounded", func(t *testing.T) {
		g := guardOf(t, toolOf(toolguard.ReadOnly, fails(codeErr(toolguard.CodeServerError))), &toolguard.Options{Retry: once, Breaker: toolguard.BreakerPolicy{MaxKeys: 10}})
		for i := range 1000 {
			doIn(tenant(fmt.Sprint(i)), g)
		}
		s := g.Stats()
		assert.Len(t, s.Breakers, 10)
		assert.EqualValues(t, 990, s.EvictedBreakers)
	})
}

func TestForcedBreaker(t *testing.T) {
	t.Parallel()
	inBubble(t, "open and closed", func(t *testing.T) {
		body := inOrder(fails(codeErr(toolguard.CodeServerError)))
		g := guardOf(t, toolOf(toolguard.ReadOnly, body.call), &toolguard.Options{Retry: once})
		g.ForceBreaker(toolguard.BreakerOpen)
		assert.Equal(t, []toolguard.BreakerInfo{{Target: "tool", State: toolguard.BreakerOpen, Forced: true}}, g.Stats().Breakers, "before anybody calls")
		env := do(g)
		assert.Equal(t, "breaker_open/not_started", verdict(env))
		assert.Positive(t, env.Error.RetryAfter)
		assert.Zero(t, body.count())

		g.ForceBreaker(toolguard.BreakerClosed)
		for range 20 {
			assert.Equal(t, "server_error/failed", verdict(do(g)))
		}
		g.ReleaseBreaker()
		for range 5 {
			assert.Equal(t, "server_error/failed", verdict(do(g)), "what happened meanwhile did not count")
		}
		assert.Equal(t, "breaker_open/not_started", verdict(do(g)))
		g.ForceBreaker(toolguard.BreakerClosed)
		info := g.Stats().Breakers[0]
		assert.Equal(t, toolguard.BreakerInfo{Target: "tool", State: toolguard.BreakerClosed, Forced: true, Streak: info.Streak}, info)
	})
	inBubble(t, "off", func(t *testing.T) {
		g := guardOf(t, toolOf(toolguard.ReadOnly, fails(codeErr(toolguard.CodeServerError))), &toolguard.Options{Retry: once, Breaker: noBreaker})
		g.ForceBreaker(toolguard.BreakerOpen)
		g.ReleaseBreaker()
		for range 20 {
			assert.Equal(t, "server_error/failed", verdict(do(g)))
		}
		assert.Empty(t, g.Stats().Breakers)
	})
}

// machine is a breaker as one would write it on a napkin.
type machine struct {
	state    toolguard.BreakerState
	streak   int
	openedAt time.Duration
}

func (m *machine) admits(now time.Duration, openFor time.Duration) bool {
	if m.state == toolguard.BreakerOpen && now-m.openedAt >= openFor {
		m.state, m.streak = toolguard.BreakerHalfOpen, 0
	}
	return m.state != toolguard.BreakerOpen
}

func (m *machine) learn(kind string, now time.Duration, failures int) {
	switch kind {
	case "good":
		if m.state == toolguard.BreakerHalfOpen {
			m.state = toolguard.BreakerClosed
		}
		m.streak = 0
	case "bad":
		m.streak++
		if m.state == toolguard.BreakerHalfOpen || m.streak >= failures {
			m.state, m.openedAt, m.streak = toolguard.BreakerOpen, now, 0
		}
	}
}

// Any sequence of calls and pauses is answered as the reference answers it, and
// every change of state is told exactly once.
func TestBreakerAgainstReference(t *testing.T) {
	t.Parallel()
	const openFor, failures = 10 * time.Second, 3
	type move struct {
		Kind  string
		Pause time.Duration
	}
	answer := map[string]run{
		"good": answers("fine"), "bad": fails(codeErr(toolguard.CodeServerError)),
		"neutral": fails(codeErr(toolguard.CodeCanceled)),
	}
	rapid.Check(t, func(rt *rapid.T) {
		moves := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) move {
			return move{
				rapid.SampledFrom([]string{"good", "bad", "bad", "neutral"}).Draw(rt, "kind"),
				rapid.SampledFrom([]time.Duration{0, time.Second, 9 * time.Second, 10 * time.Second}).Draw(rt, "pause"),
			}
		}), 1, 40).Draw(rt, "moves")
		var got, want []string
		var told int
		synctest.Test(t, func(t *testing.T) {
			events := &eventLog{}
			var now run
			g := guardOf(t, toolOf(toolguard.ReadOnly, func(ctx context.Context) (toolguard.Result, error) { return now(ctx) }), &toolguard.Options{
				Retry: once, Observer: events, Breaker: toolguard.BreakerPolicy{Failures: failures, OpenFor: openFor},
			})
			began := time.Now()
			for _, m := range moves {
				time.Sleep(m.Pause)
				now = answer[m.Kind]
				code := codeOf(do(g))
				got = append(got, fmt.Sprintf("%t %v", code != toolguard.CodeBreakerOpen, stateOf(g)))
			}
			_ = began
			told = len(changesOf(events))
		})
		var ref machine
		var at time.Duration
		changes := 0
		for _, m := range moves {
			at += m.Pause
			before := ref.state
			admitted := ref.admits(at, openFor)
			if ref.state != before {
				changes++
			}
			if before = ref.state; admitted {
				ref.learn(m.Kind, at, failures)
			}
			if ref.state != before {
				changes++
			}
			want = append(want, fmt.Sprintf("%t %v", admitted, ref.state))
		}
		require.Equal(rt, want, got)
		require.Equal(rt, changes, told)
	})
}

func TestPermitsUnderLoad(t *testing.T) {
	t.Parallel()
	inBubble(t, "half-open", func(t *testing.T) {
		ran := 0
		var mu sync.Mutex
		down := true
		g := guardOf(t, plain{info: toolguard.Info{Name: "tool", Effect: toolguard.ReadOnly}, call: func(context.Context, json.RawMessage) (toolguard.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			ran++
			if down {
				return toolguard.Result{}, codeErr(toolguard.CodeServerError)
			}
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			return toolguard.Result{Text: "fine"}, nil
		}}, &toolguard.Options{Retry: once})
		for range 5 {
			do(g)
		}
		time.Sleep(30 * time.Second)
		down, ran = false, 0
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() { do(g) })
		}
		all.Wait()
		assert.Equal(t, 1, ran, "one probe, whoever comes")
	})
}

// ofShop guards a tool that depends on the shop.
func ofShop(t *testing.T, opts *toolguard.Options, name string, f run) *toolguard.Guard {
	tool := toolOf(toolguard.ReadOnly, f)
	tool.info.Name, tool.info.Dependency = name, "shop"
	return guardOf(t, tool, opts)
}

// Whoever would be refused by an open breaker does not wait for a slot first.
func TestAnOpenBreakerIsNotQueuedFor(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		opts := &toolguard.Options{
			Dependencies: &toolguard.Dependencies{Breaker: toolguard.BreakerPolicy{Failures: 1}},
			Concurrency:  toolguard.ConcurrencyPolicy{Max: 1}, Retry: toolguard.RetryPolicy{Off: true},
		}
		slow := ofShop(t, opts, "slow", obeys)
		go do(slow)
		synctest.Wait()
		do(ofShop(t, opts, "down", fails(toolguard.Unavailable("down"))))
		assert.Zero(t, took(func() { assert.Equal(t, toolguard.CodeBreakerOpen, codeOf(do(slow))) }))
		time.Sleep(40 * time.Second) // it lets one through now, and the slot is taken
		assert.Positive(t, took(func() { assert.Equal(t, toolguard.CodeOverloaded, codeOf(do(slow))) }))
		slow.ForceBreaker(toolguard.BreakerOpen)
		assert.Zero(t, took(func() { assert.Equal(t, toolguard.CodeBreakerOpen, codeOf(do(slow))) }))
		time.Sleep(time.Minute) // the first call ends
	})
}

// What an attempt does is covered by its permit, whatever became of the breaker.
func TestACallInsideAnAttemptHasItsPermit(t *testing.T) {
	for name, journal := range map[string]toolguard.Journal{"": nil, "with a journal": toolguard.NewMemoryJournal()} {
		inBubble(t, name, func(t *testing.T) {
			opts := toolguard.Options{Dependencies: &toolguard.Dependencies{Breaker: toolguard.BreakerPolicy{Failures: 1}}, Retry: toolguard.RetryPolicy{Off: true}}
			down := ofShop(t, &opts, "down", fails(toolguard.Unavailable("down")))
			outer := ofShop(t, &opts, "outer", func(ctx context.Context) (toolguard.Result, error) {
				tool := toolOf(toolguard.NonIdempotent, answers("fine"))
				tool.info.Name, tool.info.Dependency = "inner", "shop"
				opts.Journal = journal
				inner := guardOf(t, tool, &opts)
				do(down)
				assert.Equal(t, toolguard.CodeBreakerOpen, codeOf(do(inner)), "it is open for everybody else")
				env := doIn(ctx, inner)
				assert.True(t, env.OK)
				return env.Result, nil
			})
			assert.True(t, do(outer).OK)
		})
	}
}
