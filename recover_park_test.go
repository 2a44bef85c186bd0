package toolguard_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// What a recoverer parks because it does not know the tool, one that does settles
// later, in the scope of the call.
func TestAnotherRecovererKnowsTheTool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, j := new(bank), toolguard.NewMemoryJournal()
		crashed(t, j, b, 1)
		time.Sleep(minute)
		knowsNone, err := toolguard.NewRecoverer(j, nil)
		require.NoError(t, err)
		require.Equal(t, 1, once1(t, knowsNone).Parked)
		tool := refundTool(b, toolguard.NonIdempotent)
		var asked toolguard.Scope
		tool.Status = func(ctx context.Context, key string, in refundIn) (toolguard.Outcome, toolguard.Result, error) {
			asked = toolguard.ScopeFrom(ctx)
			return b.status(ctx, key, in)
		}
		r, err := toolguard.NewRecoverer(j, nil, guardOf(t, tool, &toolguard.Options{Journal: j}))
		require.NoError(t, err)
		time.Sleep(10 * minute)
		assert.Equal(t, 1, once1(t, r).Succeeded)
		assert.Equal(t, toolguard.StateSucceeded, entry(t, j).State)
		assert.Equal(t, toolguard.ScopeFrom(inTurn("1")), asked)
	})
}

// A tool that may run again, and cannot be asked, needs no person: until its
// downstream has forgotten the key.
func TestWhatMayRunAgainIsParkedOnceItMayNot(t *testing.T) {
	t.Parallel()
	for effect, want := range map[toolguard.Effect]toolguard.State{
		toolguard.IdempotentByKey: toolguard.StateParked, toolguard.Idempotent: toolguard.StateUnknown,
	} {
		inBubble(t, effect.String(), func(t *testing.T) {
			b, j := &bank{loses: true}, toolguard.NewMemoryJournal()
			g := guardOf(t, refundTool(b, effect), &toolguard.Options{Journal: j, Retry: toolguard.RetryPolicy{Off: true}})
			refundOf(inTurn("1"), g, "A")
			r, err := toolguard.NewRecoverer(j, nil, g)
			require.NoError(t, err)
			for range 23 {
				time.Sleep(time.Hour)
				once1(t, r)
				require.Equal(t, toolguard.StateUnknown, entry(t, j).State)
			}
			time.Sleep(2 * time.Hour)
			once1(t, r)
			assert.Equal(t, want, entry(t, j).State)
		})
	}
}
