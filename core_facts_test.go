package toolguard_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// A wait beyond five minutes is named as a time; up to there it is one to be waited for.
func TestALongWaitIsATime(t *testing.T) {
	t.Parallel()
	for wait, long := range map[time.Duration]bool{5 * time.Minute: false, 10 * time.Minute: true} {
		inBubble(t, wait.String(), func(t *testing.T) {
			env := do(guardOf(t, toolOf(toolguard.ReadOnly, fails(toolguard.RateLimited(wait))), nil))
			at := time.Now().Add(wait)
			assert.True(t, at.Equal(env.RetryAt))
			named := at.Format("2006-01-02 15:04")
			assert.Equal(t, long, strings.Contains(env.Suggestion, named), env.Suggestion)
			assert.Equal(t, !long, env.Error.Retryable)
		})
	}
}

// A call that gets its place when nothing is left but what a status query is due says so.
func TestABudgetThatIsUsedUpWaiting(t *testing.T) {
	t.Parallel()
	inBubble(t, "for a slot", func(t *testing.T) {
		type in struct{}
		tool := toolguard.Action(toolguard.Info{Name: "pay"}, func(context.Context, in) error {
			time.Sleep(1700 * time.Millisecond)
			return nil
		})
		tool.Status = func(context.Context, string, in) (toolguard.Outcome, toolguard.Result, error) {
			return toolguard.OutcomeUnknown, toolguard.Result{}, nil
		}
		g := guardOf(t, tool, &toolguard.Options{
			Timeout:     toolguard.TimeoutPolicy{Attempt: 1800 * time.Millisecond, Budget: 2 * time.Second},
			Concurrency: toolguard.ConcurrencyPolicy{Max: 1},
		})
		go do(g)
		synctest.Wait()
		env := do(g)
		assert.Equal(t, "budget_exhausted/not_started", verdict(env))
		assert.Equal(t, toolguard.CategoryTimeout, env.Error.Category)
		assert.Zero(t, env.Attempts)
	})
}

// What an outer guard of the same tool passes on is the inner one's failure, all of it.
func TestAnAdoptedFailureIsWhole(t *testing.T) {
	t.Parallel()
	inBubble(t, "a business rule", func(t *testing.T) {
		errRule := errors.New("rule 7")
		inner := guardOf(t, toolOf(toolguard.NonIdempotent, fails(&toolguard.Error{Code: toolguard.CodeBusinessRule, Message: "No.", Cause: errRule})), nil)
		events := &eventLog{}
		env := do(guardOf(t, inner, &toolguard.Options{Observer: events}))
		assert.Equal(t, "business_rule/unknown", verdict(env))
		assert.ErrorIs(t, env.Err(), errRule)
		assert.NotEmpty(t, env.Error.Incident)
		assert.Equal(t, env.Error.Incident, events.of(toolguard.EventCall)[0].Incident)
		assert.NotEmpty(t, env.Key)
	})
}

// A tool that does not end says how many of its attempts still run.
func TestAStuckToolCountsItsAttempts(t *testing.T) {
	t.Parallel()
	inBubble(t, "three", func(t *testing.T) {
		g := guardOf(t, toolOf(toolguard.NonIdempotent, hangs(t)), &toolguard.Options{
			Timeout: toolguard.TimeoutPolicy{Attempt: time.Second, MaxAbandoned: 3}, Breaker: toolguard.BreakerPolicy{Off: true},
		})
		for range 3 {
			assert.Equal(t, "abandoned/unknown", verdict(do(g)))
		}
		env := do(g)
		assert.Equal(t, "tool_stuck/not_started", verdict(env))
		assert.Contains(t, env.Error.Message, "3")
		stats := g.Stats()
		assert.Equal(t, []uint64{3, 4, 1}, []uint64{stats.Unknown, stats.Failed, stats.Refused})
		assert.Equal(t, 3, stats.Abandoned)
	})
}

// Describe says what is remembered of a side effect, and whose breaker it is.
func TestDescribeSaysWhatIsShared(t *testing.T) {
	t.Parallel()
	tool := toolOf(toolguard.NonIdempotent, answers("fine"))
	tool.info.Dependency = "db"
	remembers := func(o toolguard.Options) string { return guardOf(t, tool, &o).Describe().Remembers }
	sessions, err := toolguard.NewSessions(toolguard.SessionPolicy{})
	require.NoError(t, err)
	assert.Contains(t, remembers(toolguard.Options{Sessions: sessions}), "a conversation")
	assert.Contains(t, remembers(toolguard.Options{Journal: toolguard.NewMemoryJournal()}), "a journal whose durability is")
	assert.Equal(t, "nothing after the call", remembers(toolguard.Options{Journal: toolguard.NewMemoryJournal(), Journaling: toolguard.JournalPolicy{Off: true}}))

	d := guardOf(t, tool, &toolguard.Options{Dependencies: &toolguard.Dependencies{Breaker: toolguard.BreakerPolicy{Failures: 9}}}).Describe()
	assert.True(t, d.SharedBreaker)
	assert.Equal(t, 9, d.Breaker.Failures)
	assert.Equal(t, 20*time.Minute, d.Breaker.Window)
}

// logOf is what a logger of that level wrote while f ran.
func logOf(t *testing.T, level slog.Level, tool toolguard.Tool, f func(*toolguard.Guard)) string {
	var b bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: level}))
	g := guardOf(t, tool, &toolguard.Options{Observer: toolguard.LogObserver(logger), Retry: once})
	f(g)
	return b.String()
}

// A log at Info has nothing of ordinary successes, one at Debug has them; a breaker
// that opens warns, and one that closes informs.
func TestLogLevels(t *testing.T) {
	t.Parallel()
	fine := toolOf(toolguard.ReadOnly, answers("fine"))
	assert.Empty(t, logOf(t, slog.LevelInfo, fine, func(g *toolguard.Guard) { do(g) }))
	debug := logOf(t, slog.LevelDebug, fine, func(g *toolguard.Guard) { do(g) })
	assert.Equal(t, 2, strings.Count(debug, "level=DEBUG"), debug)
	for _, absent := range []string{"wait=", "lost_events=", "not_enforced=", "breaker=", "error="} {
		assert.NotContains(t, debug, absent)
	}
	inBubble(t, "a breaker", func(t *testing.T) {
		healthy := false
		tool := toolOf(toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) {
			if healthy {
				return toolguard.Result{Text: "fine"}, nil
			}
			return toolguard.Result{}, codeErr(toolguard.CodeServerError)
		})
		lines := strings.Split(logOf(t, slog.LevelDebug, tool, func(g *toolguard.Guard) {
			for range 5 {
				do(g)
			}
			time.Sleep(30 * time.Second)
			healthy = true
			do(g)
		}), "\n")
		var opened, closed []string
		for _, line := range lines {
			switch {
			case strings.Contains(line, "breaker=open"):
				opened = append(opened, line)
			case strings.Contains(line, "breaker=closed"):
				closed = append(closed, line)
			}
		}
		require.Len(t, opened, 1)
		require.Len(t, closed, 1)
		assert.Contains(t, opened[0], "level=WARN")
		assert.Contains(t, closed[0], "level=INFO")
	})
}
