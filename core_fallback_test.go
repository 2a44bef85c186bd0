package toolguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// lookUp is a read-only tool of that name.
func lookUp(name string, f run) plain {
	tool := toolOf(toolguard.ReadOnly, f)
	tool.info.Name = name
	return tool
}

// Alternatives are tried in order, each through its own gates, and the answer says
// where it comes from and what it lacks.
func TestAlternativesAnswerInOrder(t *testing.T) {
	t.Parallel()
	inBubble(t, "the third of four", func(t *testing.T) {
		var order []string
		goes := func(name string, f run) plain {
			return lookUp(name, func(ctx context.Context) (toolguard.Result, error) {
				order = append(order, name)
				return f(ctx)
			})
		}
		forbidden := guardOf(t, goes("forbidden", answers("secret")), &toolguard.Options{
			Authorize: func(context.Context, json.RawMessage) error { return toolguard.Permission("no") },
		})
		events := &eventLog{}
		g := guardOf(t, goes("weather", fails(errDown)), &toolguard.Options{Retry: once, Observer: events, Fallback: &toolguard.Fallback{Alternatives: []toolguard.Alternative{
			{Tool: forbidden}, {Tool: goes("down", fails(errDown))},
			{Tool: goes("almanac", answers("\x1b[1mmild\x1b[0m")), Missing: []string{"wind", "rain"}}, {Tool: goes("never", answers("cold"))},
		}}})
		env := do(g)
		assert.Equal(t, "ok", verdict(env))
		assert.Equal(t, "mild", env.Result.Text)
		assert.Equal(t, &toolguard.Degraded{Source: "almanac", Missing: []string{"wind", "rain"}}, env.Degraded)
		for _, said := range []string{"almanac", "wind", "rain", "substitute"} {
			assert.Contains(t, env.ForModel(), said)
		}
		assert.Equal(t, []toolguard.NoteKind{"degraded", "ansi_removed"}, noteKinds(env), "what the alternative says of its answer is passed on")
		assert.Equal(t, 1, env.Attempts)
		assert.Equal(t, []string{"weather", "down", "down", "down", "almanac"}, order)

		call := events.of(toolguard.EventCall)
		last := call[len(call)-1]
		assert.Equal(t, []any{"weather", toolguard.DecisionFallback, "almanac", toolguard.StageRecover, true},
			[]any{last.Tool, last.Decision, last.Why, last.Stage, last.OK})
		stats := g.Stats()
		assert.Equal(t, []uint64{1, 1, 1, 0}, []uint64{stats.Calls, stats.Succeeded, stats.Degraded, stats.Failed})
	})
}

// Where nobody has an answer, the event tells of the failure and where that was decided.
func TestAFailedFallbackChangesNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, "all are down", func(t *testing.T) {
		events := &eventLog{}
		do(guardOf(t, lookUp("weather", fails(errDown)), &toolguard.Options{Retry: once, Observer: events, Fallback: &toolguard.Fallback{
			LastGood: time.Hour, Alternatives: []toolguard.Alternative{{Tool: lookUp("almanac", fails(errDown))}},
		}}))
		calls := events.of(toolguard.EventCall)
		last := calls[len(calls)-1]
		assert.Equal(t, []any{"weather", toolguard.StageConfirm, false}, []any{last.Tool, last.Stage, last.OK})
	})
}

// Where the arguments of one cannot be made, the next is asked.
func TestAlternativesWithoutArgumentsAreSkipped(t *testing.T) {
	t.Parallel()
	inBubble(t, "the first of two", func(t *testing.T) {
		skipped, log := inOrder(answers("never")), &eventLog{}
		env := do(guardOf(t, lookUp("weather", fails(errDown)), &toolguard.Options{Retry: once, Observer: log, Fallback: &toolguard.Fallback{Alternatives: []toolguard.Alternative{
			{Tool: lookUp("map", skipped.call), Args: func(json.RawMessage) (json.RawMessage, error) { return nil, errors.New("no place") }},
			{Tool: lookUp("almanac", answers("mild"))},
		}}}))
		require.True(t, env.OK)
		assert.Equal(t, "almanac", env.Degraded.Source)
		assert.Zero(t, skipped.count())
		calls := log.of(toolguard.EventCall)
		require.Len(t, calls, 2, "the almanac's, then that of the call it is in")
		assert.Equal(t, "without arguments, passed over: map", calls[1].Detail)
	})
}

// The host's control flow out of a stand-in leaves open what that one did.
func TestControlFlowOfAStandInIsItsOwn(t *testing.T) {
	t.Parallel()
	inBubble(t, "refund by post", func(t *testing.T) {
		errAsk := errors.New("ask somebody")
		g := guardOf(t, toolOf(toolguard.NonIdempotent, fails(errDown)), &toolguard.Options{
			Retry: once, PassThrough: func(err error) bool { return errors.Is(err, errAsk) },
			Fallback: &toolguard.Fallback{Alternatives: []toolguard.Alternative{{Tool: toolOf(toolguard.NonIdempotent, fails(errAsk)), SameEffect: true}}},
		})
		env := do(g)
		assert.Equal(t, "control_flow/unknown", verdict(env))
		assert.ErrorIs(t, env.Control(), errAsk)
	})
}

// Only an outage is answered from elsewhere: what was refused stays refused, and who
// left is not waited on.
func TestOnlyOutagesFallBack(t *testing.T) {
	t.Parallel()
	for code := range toolguard.Codes() {
		category := code.Category()
		inBubble(t, string(code), func(t *testing.T) {
			g := guardOf(t, lookUp("weather", fails(codeErr(code))), &toolguard.Options{
				Retry: once, Fallback: &toolguard.Fallback{Alternatives: []toolguard.Alternative{{Tool: lookUp("almanac", answers("mild"))}}},
			})
			env := do(g)
			outage := category == toolguard.CategoryTimeout || category == toolguard.CategoryUnavailable
			assert.Equal(t, outage, env.OK)
			assert.Equal(t, outage, env.Degraded != nil)
		})
	}
	down := func(context.Context, json.RawMessage) error { return errDown }
	for name, tt := range map[string]struct {
		opts toolguard.Options
		run  run
		ctx  func(context.Context) context.Context
		want string
	}{
		"permission cannot be asked for": {opts: toolguard.Options{Authorize: down}, run: answers("fine"), want: "service_unavailable/not_started"},
		"a rule cannot be looked up":     {opts: toolguard.Options{Check: down}, run: answers("fine"), want: "service_unavailable/not_started"},
		"an open breaker":                {run: answers("fine"), want: "ok"},
		"the caller left": {run: fails(errDown), want: "canceled/not_started", ctx: func(ctx context.Context) context.Context {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx
		}},
		"the caller's time is over": {run: obeys, want: "caller_deadline/failed", ctx: func(ctx context.Context) context.Context {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			context.AfterFunc(ctx, cancel)
			return ctx
		}},
		"control flow": {opts: toolguard.Options{PassThrough: func(err error) bool { return errors.Is(err, errDown) }}, run: fails(errDown), want: "control_flow/not_started"},
	} {
		inBubble(t, name, func(t *testing.T) {
			asked := inOrder(answers("mild"))
			tt.opts.Retry, tt.opts.Fallback = once, &toolguard.Fallback{LastGood: time.Hour, Alternatives: []toolguard.Alternative{{Tool: lookUp("almanac", asked.call)}}}
			g := guardOf(t, lookUp("weather", tt.run), &tt.opts)
			if name == "an open breaker" {
				g.ForceBreaker(toolguard.BreakerOpen)
			}
			ctx := t.Context()
			if tt.ctx != nil {
				ctx = tt.ctx(ctx)
			}
			env := doIn(ctx, g)
			assert.Equal(t, tt.want, verdict(env))
			assert.Equal(t, env.Degraded != nil, asked.count() == 1)
		})
	}
}

// The last good result is the asker's own, for the same arguments, no older than
// allowed, and says how old it is.
func TestTheLastGoodResultIsOnesOwn(t *testing.T) {
	t.Parallel()
	inBubble(t, "an hour", func(t *testing.T) {
		healthy := true
		tool := plain{info: toolguard.Info{Name: "weather", Effect: toolguard.ReadOnly}, call: func(_ context.Context, args json.RawMessage) (toolguard.Result, error) {
			if !healthy {
				return toolguard.Result{}, errDown
			}
			return toolguard.Result{Text: "mild for " + string(args)}, nil
		}}
		g := guardOf(t, tool, &toolguard.Options{Retry: once, Breaker: toolguard.BreakerPolicy{Off: true}, Fallback: &toolguard.Fallback{LastGood: time.Hour}})
		ask := func(tenant, principal string, n int) toolguard.Envelope {
			ctx := toolguard.WithScope(t.Context(), toolguard.Scope{Tenant: tenant, Principal: principal})
			return g.Do(ctx, toolguard.Call{Args: fmt.Appendf(nil, `{"n":%d}`, n)})
		}
		require.True(t, ask("a", "jo", 1).OK)
		synctest.Wait()
		time.Sleep(10 * time.Minute)
		healthy = false
		env := ask("a", "jo", 1)
		require.Equal(t, "ok", verdict(env))
		assert.Equal(t, `mild for {"n":1}`, env.Result.Text)
		assert.Equal(t, &toolguard.Degraded{Source: toolguard.LastKnownGood, Age: 10 * time.Minute}, env.Degraded)
		assert.Contains(t, env.ForModel(), "10 min")
		assert.EqualValues(t, 1, g.Stats().Degraded)
		for name, other := range map[string]toolguard.Envelope{
			"other arguments": ask("a", "jo", 2), "another person": ask("a", "al", 1), "another customer": ask("b", "jo", 1),
		} {
			assert.Equal(t, "service_unavailable/not_started", verdict(other), name)
		}
		time.Sleep(50*time.Minute - 1)
		assert.True(t, ask("a", "jo", 1).OK)
		time.Sleep(time.Nanosecond)
		assert.Equal(t, "service_unavailable/not_started", verdict(ask("a", "jo", 1)), "an hour is too old")
	})
}
