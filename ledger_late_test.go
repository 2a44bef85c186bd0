package toolguard_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// tenSeconds is the time of an attempt.
var tenSeconds = toolguard.TimeoutPolicy{Attempt: 10 * time.Second}

// taking does something once a while is over, whatever its context says.
func taking(d time.Duration, then run) run {
	return func(ctx context.Context) (toolguard.Result, error) {
		pass(d)
		return then(ctx)
	}
}

// A result that comes late is held against the same as one that comes in time.
func TestALateResultIsChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		schema string
		check  func(context.Context, toolguard.Result) error
	}{
		"by the host":   {"", toolguard.Failed},
		"by its schema": {`{"type":"object","required":["receipt"]}`, nil},
	} {
		inBubble(t, name, func(t *testing.T) {
			tool := toolOf(toolguard.NonIdempotent, taking(minute, answers(`{"ok":false}`)))
			tool.info.OutputSchema = []byte(c.schema)
			j := toolguard.NewMemoryJournal()
			g := guardOf(t, tool, &toolguard.Options{Journal: j, CheckResult: c.check, Timeout: tenSeconds})
			assert.Equal(t, "abandoned/unknown", verdict(doIn(inTurn("1"), g)))
			pass(2 * minute)
			assert.Equal(t, toolguard.StateUnknown, entry(t, j).State)
		})
	}
}

// What is written down is for others, too: the caller's end does not make a success of it.
func TestAResultIsCheckedThoughTheCallerHasLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := toolguard.NewMemoryJournal()
		g := guardOf(t, toolOf(toolguard.NonIdempotent, taking(1500*time.Millisecond, answers(`{"ok":false}`))), &toolguard.Options{Journal: j, CheckResult: toolguard.Failed})
		ctx, cancel := context.WithTimeout(inTurn("1"), time.Second)
		defer cancel()
		assert.False(t, doIn(ctx, g).OK)
		assert.Equal(t, toolguard.StateUnknown, entry(t, j).State)
	})
}

// forgetful is a service that honours keys for a while, and when it is asked knows of
// none. Each attempt is one of the steps.
func forgetful(ttl time.Duration, steps ...run) *toolguard.Typed[struct{}] {
	s := inOrder(steps...)
	tool := toolguard.Func(toolguard.Info{Name: "tool", Effect: toolguard.IdempotentByKey, KeyTTL: ttl}, func(ctx context.Context, _ struct{}) (toolguard.Result, error) {
		return s.call(ctx)
	})
	tool.Status = func(context.Context, string, struct{}) (toolguard.Outcome, toolguard.Result, error) {
		return toolguard.OutcomeNotStarted, toolguard.Result{}, nil
	}
	return tool
}

// That the last attempt did nothing after all says nothing of those before it, also
// when the key is no longer honoured.
func TestALateFailureIsOfOneAttempt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := toolguard.NewMemoryJournal()
		g := guardOf(t, forgetful(5*minute,
			fails(toolguard.NoEffect(errLost)), // the entry is older than what follows
			fails(toolguard.Unavailable("it may have happened")),
			taking(20*time.Second, fails(toolguard.NotStarted(errLost))),
		), &toolguard.Options{Journal: j, Timeout: tenSeconds})
		require.Equal(t, toolguard.OutcomeFailed, doIn(inStep("1"), g).Error.Outcome)
		pass(10 * minute)
		assert.Equal(t, "abandoned/unknown", verdict(doIn(inStep("1"), g)))
		pass(minute)
		assert.Equal(t, toolguard.StateUnknown, entry(t, j).State)
	})
}

// An attempt that was given up may act at any time, whoever has claimed its key since.
func TestWhatMayActYetIsNotForgotten(t *testing.T) {
	steps := func() []run {
		return []run{taking(time.Hour, answers("late")), fails(toolguard.MaybeDone(errLost)), answers("again")}
	}
	t.Parallel()
	inBubble(t, "by the journal", func(t *testing.T) {
		j := toolguard.NewMemoryJournal()
		g := guardOf(t, forgetful(2*time.Hour, steps()...), &toolguard.Options{Journal: j, Timeout: tenSeconds})
		for range 2 {
			assert.Equal(t, toolguard.OutcomeUnknown, doIn(inTurn("1"), g).Error.Outcome)
		}
		pass(10 * minute)
		r, err := toolguard.NewRecoverer(j, nil, g)
		require.NoError(t, err)
		assert.Equal(t, 1, once1(t, r).Waiting)
		pass(time.Hour)
	})
	inBubble(t, "by a conversation", func(t *testing.T) {
		g := guardOf(t, forgetful(2*minute, steps()...), &toolguard.Options{Sessions: sessionsOf(t, toolguard.SessionPolicy{}), Timeout: tenSeconds})
		for range 2 {
			assert.Equal(t, toolguard.OutcomeUnknown, doIn(inTurn("1"), g).Error.Outcome)
		}
		pass(10 * minute)
		assert.Equal(t, "in_doubt/unknown", verdict(doIn(inTurn("1"), g)))
		pass(time.Hour)
	})
}
