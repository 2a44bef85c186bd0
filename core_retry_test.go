package toolguard_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

var noBreaker = toolguard.BreakerPolicy{Off: true}

func codeErr(code toolguard.Code) *toolguard.Error { return &toolguard.Error{Code: code} }

// retriedByDefault are the codes after which a tool that may be repeated runs
// again; of all others the first answer stands.
var retriedByDefault = map[toolguard.Code]int{
	toolguard.CodeDownstreamTimeout: 3, toolguard.CodeAttemptTimeout: 3,
	toolguard.CodeConnectionRefused: 3, toolguard.CodeConnectionLost: 3, toolguard.CodeDNSFailure: 3,
	toolguard.CodeServiceUnavailable: 3, toolguard.CodeServerError: 3, toolguard.CodeRateLimited: 3,
	toolguard.CodeResourceExhausted: 3, toolguard.CodeRolledBack: 3, toolguard.CodeBadResponse: 3,
}

// The decision table: code × effect × outcome. A tool that is not repeatable
// runs again only after a proof that nothing was done.
func TestRetryTable(t *testing.T) {
	t.Parallel()
	claims := map[string]func(error) error{
		"unsaid": func(err error) error { return err }, "not started": toolguard.NotStarted,
		"no effect": toolguard.NoEffect, "maybe done": toolguard.MaybeDone,
	}
	for code := range toolguard.Codes() {
		for effect := toolguard.ReadOnly; effect <= toolguard.NonIdempotent; effect++ {
			for said, claim := range claims {
				inBubble(t, fmt.Sprintf("%s %v %s", code, effect, said), func(t *testing.T) {
					body := inOrder(fails(claim(codeErr(code))))
					g := guardOf(t, toolOf(effect, body.call), nil)
					want := max(1, retriedByDefault[code])
					if code == toolguard.CodeUnknownError && said == "not started" {
						want = 3 // nothing is lost by another try
					}
					if effect == toolguard.NonIdempotent && said != "not started" && said != "no effect" {
						want = 1
					}
					env := do(g)
					assert.Equal(t, want, body.count())
					assert.Equal(t, want, env.Attempts)
					assert.Equal(t, code, codeOf(env), "the last error stays the answer")
					if !env.OK && effect == toolguard.NonIdempotent && env.Error.Outcome == toolguard.OutcomeUnknown {
						assert.False(t, env.Error.Retryable)
					}
				})
			}
		}
	}
}

// retryRow is one tool that fails always or some time, and how often it runs.
type retryRow struct {
	effect toolguard.Effect
	steps  []run
	policy toolguard.RetryPolicy
	time   toolguard.TimeoutPolicy
	want   string
	ran    int
	why    string
}

func TestRetryDecisions(t *testing.T) {
	t.Parallel()
	down := fails(codeErr(toolguard.CodeServiceUnavailable))
	lost := fails(codeErr(toolguard.CodeConnectionLost))
	nothing := fails(toolguard.NotStarted(errors.New("no place")))
	unplaced := fails(toolguard.NotStarted(toolguard.Unavailable("Full.")))
	limited := func(d time.Duration) run { return fails(toolguard.RateLimited(d)) }
	for name, tt := range map[string]retryRow{
		"heals":                     {effect: toolguard.ReadOnly, steps: []run{down, down, answers("fine")}, want: "ok", ran: 3},
		"attempts count the first":  {effect: toolguard.ReadOnly, steps: []run{down}, policy: toolguard.RetryPolicy{MaxAttempts: 2}, want: "service_unavailable/failed", ran: 2, why: toolguard.WhyAttempts},
		"one attempt":               {effect: toolguard.ReadOnly, steps: []run{down}, policy: toolguard.RetryPolicy{MaxAttempts: 1}, want: "service_unavailable/failed", ran: 1, why: toolguard.WhyFinal},
		"off":                       {effect: toolguard.ReadOnly, steps: []run{down}, policy: toolguard.RetryPolicy{Off: true}, want: "service_unavailable/failed", ran: 1, why: toolguard.WhyFinal},
		"unsure":                    {effect: toolguard.NonIdempotent, steps: []run{lost}, want: "connection_lost/unknown", ran: 1, why: toolguard.WhyUnsure},
		"zero effect is unsure too": {steps: []run{lost}, want: "connection_lost/unknown", ran: 1, why: toolguard.WhyUnsure},
		"proven, whatever it was":   {steps: []run{nothing}, want: "unknown_error/not_started", ran: 3, why: toolguard.WhyAttempts},
		"proven":                    {steps: []run{unplaced, unplaced, answers("fine")}, want: "ok", ran: 3},
		"proven, three at most":     {steps: []run{unplaced}, policy: toolguard.RetryPolicy{MaxAttempts: 9, BudgetFloor: 100}, want: "service_unavailable/not_started", ran: 3, why: toolguard.WhyAttempts},
		"repeatable, nine":          {effect: toolguard.Idempotent, steps: []run{down}, policy: toolguard.RetryPolicy{MaxAttempts: 9, BudgetFloor: 100, BaseDelay: 1}, want: "service_unavailable/unknown", ran: 9, why: toolguard.WhyAttempts},

		// Invariant 3: an unknown sticks, whatever later attempts say, and a
		// success settles it.
		"unsure for good":           {effect: toolguard.Idempotent, steps: []run{lost, unplaced}, want: "service_unavailable/unknown", ran: 3, why: toolguard.WhyAttempts},
		"unsure, then refused":      {effect: toolguard.Idempotent, steps: []run{lost, fails(toolguard.Business("no"))}, want: "business_rule/unknown", ran: 2, why: toolguard.WhyFinal},
		"unsure, then done":         {effect: toolguard.IdempotentByKey, steps: []run{lost, answers("fine")}, want: "ok", ran: 2},
		"sure, then unsure":         {steps: []run{unplaced, lost, unplaced}, want: "connection_lost/unknown", ran: 2, why: toolguard.WhyUnsure},
		"read only is never unsure": {effect: toolguard.ReadOnly, steps: []run{lost}, want: "connection_lost/failed", ran: 3, why: toolguard.WhyAttempts},

		// cases g04, g08
		"asks too long":           {effect: toolguard.ReadOnly, steps: []run{limited(31 * time.Second)}, want: "rate_limited/failed", ran: 1, why: toolguard.WhyLongWait},
		"asks for weeks":          {effect: toolguard.ReadOnly, steps: []run{limited(1382400 * time.Second)}, want: "rate_limited/failed", ran: 1, why: toolguard.WhyLongWait},
		"asks for ever":           {effect: toolguard.ReadOnly, steps: []run{limited(math.MaxInt64)}, want: "rate_limited/failed", ran: 1, why: toolguard.WhyLongWait},
		"asks a negative":         {effect: toolguard.ReadOnly, steps: []run{limited(-1)}, want: "rate_limited/failed", ran: 3, why: toolguard.WhyAttempts}, // case g01
		"asks past the time left": {effect: toolguard.ReadOnly, steps: []run{limited(29 * time.Second)}, time: toolguard.TimeoutPolicy{Attempt: 10 * time.Second}, want: "rate_limited/failed", ran: 1, why: toolguard.WhyNoTime},
		"allowed to ask long":     {effect: toolguard.ReadOnly, steps: []run{limited(time.Hour), answers("fine")}, policy: toolguard.RetryPolicy{MaxRetryAfter: time.Hour}, time: toolguard.TimeoutPolicy{Budget: 3 * time.Hour}, want: "ok", ran: 2},

		"a rule for a code":            {effect: toolguard.ReadOnly, steps: []run{fails(errors.New("odd"))}, policy: toolguard.RetryPolicy{Rules: map[string]toolguard.RetryRule{"unknown_error": {Attempts: 2}}}, want: "unknown_error/failed", ran: 2, why: toolguard.WhyAttempts},
		"a rule for a category":        {effect: toolguard.ReadOnly, steps: []run{down}, policy: toolguard.RetryPolicy{Rules: map[string]toolguard.RetryRule{"unavailable": {Attempts: 2}}}, want: "service_unavailable/failed", ran: 2, why: toolguard.WhyAttempts},
		"the code's before it":         {effect: toolguard.ReadOnly, steps: []run{down}, policy: toolguard.RetryPolicy{BudgetFloor: 9, Rules: map[string]toolguard.RetryRule{"unavailable": {Attempts: 2}, "service_unavailable": {Attempts: 4}}}, want: "service_unavailable/failed", ran: 4, why: toolguard.WhyAttempts},
		"a category's not for final":   {effect: toolguard.ReadOnly, steps: []run{fails(codeErr(toolguard.CodePanic))}, policy: toolguard.RetryPolicy{Rules: map[string]toolguard.RetryRule{"unknown": {Attempts: 3}}}, want: "panic/failed", ran: 1, why: toolguard.WhyFinal},
		"no rule overrules the effect": {steps: []run{fails(errors.New("odd"))}, policy: toolguard.RetryPolicy{Rules: map[string]toolguard.RetryRule{"unknown_error": {Attempts: 2}}}, want: "unknown_error/unknown", ran: 1, why: toolguard.WhyUnsure},
		"the ready-made table":         {effect: toolguard.ReadOnly, steps: []run{down}, policy: toolguard.RetryPolicy{BudgetFloor: 9, Rules: toolguard.RetryTable()}, want: "service_unavailable/failed", ran: 4, why: toolguard.WhyAttempts},
	} {
		inBubble(t, name, func(t *testing.T) {
			body := inOrder(tt.steps...)
			events := &eventLog{}
			g := guardOf(t, toolOf(tt.effect, body.call), &toolguard.Options{Retry: tt.policy, Timeout: tt.time, Observer: events, Breaker: noBreaker})
			env := do(g)
			requireEnvelope(t, env)
			assert.Equal(t, tt.want, verdict(env))
			assert.Equal(t, tt.ran, body.count())
			call := events.of(toolguard.EventCall)[0]
			assert.Equal(t, tt.why, call.Why)
			assert.Equal(t, tt.ran, call.Attempts)
			assert.EqualValues(t, tt.ran-1, g.Stats().Retries)
		})
	}
}

// A retry is counted when it runs, not when it is planned.
func TestARefusedRetryIsNoRetry(t *testing.T) {
	t.Parallel()
	inBubble(t, "by the breaker", func(t *testing.T) {
		body := inOrder(fails(codeErr(toolguard.CodeServiceUnavailable)))
		g := guardOf(t, toolOf(toolguard.ReadOnly, body.call), &toolguard.Options{Breaker: toolguard.BreakerPolicy{Failures: 1}})
		env := do(g)
		assert.Equal(t, "service_unavailable/failed", verdict(env), "it says more than the refusal")
		assert.Positive(t, env.Error.RetryAfter, "and knows of the wait")
		assert.Equal(t, 1, body.count())
		assert.Zero(t, g.Stats().Retries)
	})
	inBubble(t, "by a caller who left", func(t *testing.T) {
		g := guardOf(t, toolOf(toolguard.ReadOnly, fails(toolguard.RateLimited(10*time.Second))), nil)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		doIn(ctx, g)
		assert.Zero(t, g.Stats().Retries)
	})
}

// Retry-After is never undercut, its jitter only goes up. cases g01, g02, g05
func TestRetryAfterIsNeverUndercut(t *testing.T) {
	t.Parallel()
	for _, asked := range []time.Duration{1, time.Millisecond, 7 * time.Second, 30 * time.Second} {
		inBubble(t, asked.String(), func(t *testing.T) {
			for range 30 {
				var at []time.Time
				g := guardOf(t, toolOf(toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) {
					at = append(at, time.Now())
					return toolguard.Result{}, toolguard.RateLimited(asked)
				}), &toolguard.Options{Retry: toolguard.RetryPolicy{MaxAttempts: 2}})
				env := do(g)
				require.Len(t, at, 2)
				assert.GreaterOrEqual(t, at[1].Sub(at[0]), asked)
				assert.LessOrEqual(t, at[1].Sub(at[0]), asked+asked/10)
				assert.Equal(t, asked, env.Error.RetryAfter)
				assert.Equal(t, asked, time.Until(env.RetryAt))
			}
		})
	}
	inBubble(t, "in the rendering", func(t *testing.T) {
		for asked, want := range map[time.Duration]string{
			1:                       `"retry_after_ms":1,`,
			time.Millisecond + 1:    `"retry_after_ms":2,`,
			1200 * time.Millisecond: `"retry_after_ms":1200,`,
			math.MaxInt64:           `"retry_after_ms":9223372036855,`,
		} {
			g := guardOf(t, toolOf(toolguard.ReadOnly, fails(toolguard.RateLimited(asked))), &toolguard.Options{Retry: toolguard.RetryPolicy{Off: true}})
			assert.Contains(t, do(g).ForModel(), want)
		}
	})
	inBubble(t, "beyond the cap", func(t *testing.T) {
		g := guardOf(t, toolOf(toolguard.ReadOnly, fails(toolguard.RateLimited(3*time.Hour))), nil)
		var env toolguard.Envelope
		assert.Zero(t, took(func() { env = do(g) }))
		assert.Equal(t, time.Now().Add(3*time.Hour), env.RetryAt)
		assert.False(t, env.Error.Retryable, "no model waits for hours")
	})
	inBubble(t, "up to five minutes", func(t *testing.T) {
		for asked, retryable := range map[time.Duration]bool{5 * time.Minute: true, 5*time.Minute + 1: false} {
			g := guardOf(t, toolOf(toolguard.ReadOnly, fails(toolguard.RateLimited(asked))), nil)
			assert.Equal(t, retryable, do(g).Error.Retryable, "%v", asked)
		}
	})
}

// Full jitter: somewhere between nothing and the schedule, never above its cap.
// case g10
func TestBackoff(t *testing.T) {
	t.Parallel()
	waits := func(t *testing.T, policy toolguard.RetryPolicy, err error) []time.Duration {
		var at []time.Time
		g := guardOf(t, toolOf(toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) {
			at = append(at, time.Now())
			return toolguard.Result{}, err
		}), &toolguard.Options{Retry: policy, Timeout: toolguard.TimeoutPolicy{Off: true}, Breaker: noBreaker})
		do(g)
		var gaps []time.Duration
		for i := range len(at) - 1 {
			gaps = append(gaps, at[i+1].Sub(at[i]))
		}
		return gaps
	}
	for name, tt := range map[string]struct {
		policy toolguard.RetryPolicy
		code   toolguard.Code
		caps   []time.Duration
	}{
		"default":     {toolguard.RetryPolicy{}, toolguard.CodeServerError, []time.Duration{200 * time.Millisecond, 400 * time.Millisecond}},
		"rate limit":  {toolguard.RetryPolicy{}, toolguard.CodeRateLimited, []time.Duration{time.Second, 2 * time.Second}},
		"capped":      {toolguard.RetryPolicy{BaseDelay: 15 * time.Second}, toolguard.CodeServerError, []time.Duration{15 * time.Second, 20 * time.Second}},
		"a rule's":    {toolguard.RetryPolicy{Rules: map[string]toolguard.RetryRule{"server_error": {Attempts: 3, Delay: time.Second, Factor: 3}}}, toolguard.CodeServerError, []time.Duration{time.Second, 3 * time.Second}},
		"rule's zero": {toolguard.RetryPolicy{Rules: map[string]toolguard.RetryRule{"server_error": {Attempts: 3}}}, toolguard.CodeServerError, []time.Duration{200 * time.Millisecond, 400 * time.Millisecond}},
	} {
		inBubble(t, name, func(t *testing.T) {
			longest := make([]time.Duration, len(tt.caps))
			for range 40 {
				got := waits(t, tt.policy, codeErr(tt.code))
				require.Len(t, got, len(tt.caps))
				for i := range got {
					assert.Less(t, got[i], tt.caps[i])
					longest[i] = max(longest[i], got[i])
				}
			}
			for i := range longest { // it is jitter over the whole range
				assert.Greater(t, longest[i], tt.caps[i]/2)
			}
		})
	}
	inBubble(t, "does not overflow", func(t *testing.T) {
		got := waits(t, toolguard.RetryPolicy{MaxAttempts: 80, BaseDelay: time.Second, Factor: 100, BudgetFloor: 1000}, codeErr(toolguard.CodeServerError))
		require.Len(t, got, 79)
		for _, d := range got {
			assert.Less(t, d, 20*time.Second)
		}
	})
	inBubble(t, "the longest of all", func(t *testing.T) {
		got := waits(t, toolguard.RetryPolicy{MaxAttempts: 5, BaseDelay: math.MaxInt64, MaxDelay: time.Hour, Factor: 100}, codeErr(toolguard.CodeServerError))
		for _, d := range got {
			assert.Less(t, d, time.Hour)
		}
	})
}

// Waiting past the deadline would only lose the reason. case g08
func TestRetryIsDeadlineAware(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		deadline time.Duration
		asked    time.Duration
		ran      int
	}{
		"no time for the wait":              {500 * time.Millisecond, time.Second, 1},
		"no time for half an attempt after": {20 * time.Second, 15 * time.Second, 1},
		"time enough":                       {20 * time.Second, 5 * time.Second, 2},
	} {
		inBubble(t, name, func(t *testing.T) {
			body := inOrder(fails(toolguard.RateLimited(tt.asked)), answers("fine"))
			g := guardOf(t, toolOf(toolguard.ReadOnly, body.call), nil)
			ctx, cancel := context.WithTimeout(t.Context(), tt.deadline)
			defer cancel()
			var env toolguard.Envelope
			spent := took(func() { env = doIn(ctx, g) })
			assert.Equal(t, tt.ran, body.count())
			if tt.ran == 1 {
				assert.Zero(t, spent)
				assert.Equal(t, "rate_limited/failed", verdict(env))
				assert.Equal(t, tt.asked, env.Error.RetryAfter)
			}
		})
	}
	inBubble(t, "the caller leaves while it waits", func(t *testing.T) { // case e08
		body := inOrder(fails(toolguard.RateLimited(10*time.Second)), answers("fine"))
		g := guardOf(t, toolOf(toolguard.ReadOnly, body.call), nil)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		assert.Equal(t, 3*time.Second, took(func() { doIn(ctx, g) }))
		assert.Equal(t, 1, body.count())
	})
}

// Invariant 13: nested guards of one tool do not multiply attempts. case g06
func TestOneLayerRetries(t *testing.T) {
	t.Parallel()
	down := fails(codeErr(toolguard.CodeServerError))
	nest := func(t *testing.T, outer, inner string) *script {
		body := inOrder(down)
		core := toolOf(toolguard.ReadOnly, body.call)
		core.info.Name = inner
		g := guardOf(t, core, &toolguard.Options{Breaker: noBreaker, Retry: toolguard.RetryPolicy{BudgetFloor: 9}})
		around := plain{info: toolguard.Info{Name: outer, Effect: toolguard.ReadOnly}, call: g.Call}
		env := do(guardOf(t, around, nil))
		assert.Equal(t, toolguard.CodeServerError, codeOf(env))
		return body
	}
	inBubble(t, "the same tool", func(t *testing.T) { assert.Equal(t, 3, nest(t, "tool", "tool").count()) })
	inBubble(t, "an agent used as a tool", func(t *testing.T) { assert.Equal(t, 9, nest(t, "agent", "tool").count()) })
	inBubble(t, "a guard in a guard", func(t *testing.T) {
		body := inOrder(down)
		inner := guardOf(t, toolOf(toolguard.ReadOnly, body.call), nil)
		env := do(guardOf(t, inner, nil))
		assert.Equal(t, 3, body.count())
		assert.Equal(t, "server_error/failed", verdict(env))
	})
	inBubble(t, "through another tool", func(t *testing.T) {
		body := inOrder(down)
		leaf := guardOf(t, toolOf(toolguard.ReadOnly, body.call), &toolguard.Options{Breaker: noBreaker})
		middle := plain{info: toolguard.Info{Name: "middle", Effect: toolguard.ReadOnly}, call: leaf.Call}
		g := guardOf(t, middle, &toolguard.Options{Retry: toolguard.RetryPolicy{Off: true}})
		outer := plain{info: toolguard.Info{Name: "tool", Effect: toolguard.ReadOnly}, call: g.Call}
		do(guardOf(t, outer, nil))
		assert.Equal(t, 3, body.count())
	})
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	expired := fails(toolguard.NotStarted(codeErr(toolguard.CodeAuthExpired)))
	for name, tt := range map[string]struct {
		steps     []run
		refresh   func() error
		want      string
		ran       int
		refreshed int
	}{
		"renews":              {[]run{expired, answers("fine")}, func() error { return nil }, "ok", 2, 1},
		"renews once":         {[]run{expired}, func() error { return nil }, "auth_expired/not_started", 2, 1},
		"cannot renew":        {[]run{expired}, func() error { return errors.New("no") }, "auth_expired/not_started", 1, 1},
		"nobody renews":       {[]run{expired}, nil, "auth_expired/not_started", 1, 0},
		"other errors do not": {[]run{fails(toolguard.Permission("no"))}, func() error { return nil }, "permission_denied/failed", 1, 0},
		"not after an effect": {[]run{fails(toolguard.MaybeDone(codeErr(toolguard.CodeAuthExpired)))}, func() error { return nil }, "auth_expired/unknown", 1, 0},
	} {
		inBubble(t, name, func(t *testing.T) {
			body, refreshed := inOrder(tt.steps...), 0
			opts := &toolguard.Options{}
			if tt.refresh != nil {
				opts.Refresh = func(context.Context) error { refreshed++; return tt.refresh() }
			}
			env := do(guardOf(t, toolOf(toolguard.NonIdempotent, body.call), opts))
			assert.Equal(t, tt.want, verdict(env))
			assert.Equal(t, tt.ran, body.count())
			assert.Equal(t, tt.refreshed, refreshed)
		})
	}
	inBubble(t, "once, whatever the rules", func(t *testing.T) {
		refreshed := 0
		g := guardOf(t, toolOf(toolguard.ReadOnly, expired), &toolguard.Options{
			Retry:   toolguard.RetryPolicy{BudgetFloor: 9, Rules: map[string]toolguard.RetryRule{"permission": {Attempts: 5}}},
			Refresh: func(context.Context) error { refreshed++; return nil },
		})
		do(g)
		assert.Equal(t, 1, refreshed)
	})
}

// Retries are a share of the recent calls, with a floor.
func TestRetryBudget(t *testing.T) {
	t.Parallel()
	retriesOf := func(t *testing.T, policy toolguard.RetryPolicy, calls int, pause time.Duration) int {
		policy.MaxAttempts = 2
		g := guardOf(t, toolOf(toolguard.ReadOnly, fails(codeErr(toolguard.CodeRateLimited))), &toolguard.Options{Retry: policy})
		for range calls {
			do(g)
			time.Sleep(pause)
		}
		return int(g.Stats().Retries)
	}
	inBubble(t, "the floor", func(t *testing.T) { assert.Equal(t, 3, retriesOf(t, toolguard.RetryPolicy{RateLimitDelay: 1}, 10, 0)) })
	inBubble(t, "the share", func(t *testing.T) {
		assert.Equal(t, 20, retriesOf(t, toolguard.RetryPolicy{RateLimitDelay: 1}, 100, 0))
	})
	inBubble(t, "a larger share", func(t *testing.T) {
		assert.Equal(t, 50, retriesOf(t, toolguard.RetryPolicy{RateLimitDelay: 1, Budget: 0.5}, 100, 0))
	})
	inBubble(t, "all of them", func(t *testing.T) {
		assert.Equal(t, 100, retriesOf(t, toolguard.RetryPolicy{RateLimitDelay: 1, Budget: 1}, 100, 0))
	})
	inBubble(t, "comes back after a minute", func(t *testing.T) {
		assert.Equal(t, 10, retriesOf(t, toolguard.RetryPolicy{RateLimitDelay: 1}, 10, time.Minute))
	})
	inBubble(t, "and is not all forgotten before", func(t *testing.T) {
		g := guardOf(t, toolOf(toolguard.ReadOnly, fails(codeErr(toolguard.CodeRateLimited))), &toolguard.Options{Retry: toolguard.RetryPolicy{MaxAttempts: 2, RateLimitDelay: 1}})
		for range 4 {
			do(g)
		}
		time.Sleep(29 * time.Second)
		do(g)
		assert.EqualValues(t, 3, g.Stats().Retries)
	})
}

// An IdempotentByKey tool is repeatable for as long as the downstream remembers
// the key.
func TestKeyTTL(t *testing.T) {
	t.Parallel()
	inBubble(t, "forgotten", func(t *testing.T) {
		body := inOrder(func(context.Context) (toolguard.Result, error) {
			time.Sleep(10 * time.Second)
			return toolguard.Result{}, codeErr(toolguard.CodeServerError)
		})
		tool := toolOf(toolguard.IdempotentByKey, body.call)
		tool.info.KeyTTL = 15 * time.Second
		env := do(guardOf(t, tool, nil))
		assert.Equal(t, 2, body.count())
		assert.Equal(t, "server_error/unknown", verdict(env))
		assert.False(t, env.Error.Retryable)
	})
	inBubble(t, "the same key in every attempt", func(t *testing.T) {
		var keys []string
		g := guardOf(t, toolOf(toolguard.IdempotentByKey, func(ctx context.Context) (toolguard.Result, error) {
			keys = append(keys, toolguard.Key(ctx))
			return toolguard.Result{}, codeErr(toolguard.CodeServerError)
		}), nil)
		env := do(g)
		require.Len(t, keys, 3)
		assert.NotEmpty(t, keys[0])
		assert.Equal(t, []string{env.Key, env.Key, env.Key}, keys)
	})
	synctest.Test(t, func(t *testing.T) { assert.Empty(t, toolguard.Key(t.Context())) })
}
