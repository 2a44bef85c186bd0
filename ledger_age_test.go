package toolguard_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// What a person or a recoverer finds out of an effect makes it no younger: the age
// that the model reads is that of the effect.
func TestAReplayIsAsOldAsTheEffect(t *testing.T) {
	t.Parallel()
	for name, settle := range map[string]func(*testing.T, toolguard.Journal, *bank, string){
		"a person": func(t *testing.T, j toolguard.Journal, _ *bank, key string) {
			decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingSucceeded, Result: toolguard.Result{Text: "seen"}})
		},
		"a recoverer": func(t *testing.T, j toolguard.Journal, b *bank, _ string) {
			tool := refundTool(b, toolguard.NonIdempotent)
			tool.Status = b.status
			r, err := toolguard.NewRecoverer(j, nil, guardOf(t, tool, &toolguard.Options{Journal: j}))
			require.NoError(t, err)
			assert.Equal(t, 1, once1(t, r).Succeeded)
		},
		"a call that asks": func(t *testing.T, j toolguard.Journal, b *bank, _ string) {
			tool := refundTool(b, toolguard.NonIdempotent)
			tool.Status = b.status
			assert.True(t, hasNote(refundOf(inTurn("1"), guardOf(t, tool, &toolguard.Options{Journal: j}), "A"), "confirmed"))
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			b, j := &bank{loses: true}, toolguard.NewMemoryJournal()
			g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j})
			key := refundOf(inTurn("1"), g, "A").Key
			time.Sleep(2 * time.Hour)
			settle(t, j, b, key)
			time.Sleep(time.Hour)
			again := refundOf(inTurn("1"), g, "A")
			require.True(t, again.OK)
			require.NotEmpty(t, again.Notes)
			assert.Equal(t, 3*time.Hour, again.Notes[len(again.Notes)-1].Age)
			b.set(false, nil)
			later := refundOf(inTurn("2"), g, "A")
			assert.Equal(t, 3*time.Hour, later.Notes[0].Age, "so is that of an earlier turn's")
		})
	}
}

// A question that has no answer is no sign of life: the settle delay goes on.
func TestTheSettleDelayCountsFromTheDoubt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, j := new(bank), toolguard.NewMemoryJournal()
		b.set(false, toolguard.MaybeDone(errLost))
		info := toolguard.Info{Name: "refund", Effect: toolguard.NonIdempotent, SettleDelay: 30 * time.Second}
		tool := toolguard.Func(info, b.refund)
		tool.Status = b.status
		g := guardOf(t, tool, &toolguard.Options{Journal: j})
		refundOf(inTurn("1"), g, "A")
		r, err := toolguard.NewRecoverer(j, nil, g)
		require.NoError(t, err)
		ask := func(after time.Duration) toolguard.State {
			time.Sleep(after)
			once1(t, r)
			return entry(t, j).State
		}
		assert.Equal(t, toolguard.StateUnknown, ask(5*time.Second))
		assert.Equal(t, toolguard.StateUnknown, ask(10*time.Second))
		assert.Equal(t, toolguard.StateFailed, ask(20*time.Second), "it is 35 s since the tool ran")
	})
}

// From a lease that has run out it counts anew: until then the tool may have run.
func TestTheSettleDelayCountsFromTheLostLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, j := new(bank), toolguard.NewMemoryJournal()
		b.set(false, toolguard.MaybeDone(errLost))
		crashed(t, j, b, 1)
		tool := refundTool(b, toolguard.NonIdempotent)
		tool.Status = b.status
		g := guardOf(t, tool, &toolguard.Options{Journal: j})
		r, err := toolguard.NewRecoverer(j, nil, g)
		require.NoError(t, err)
		time.Sleep(2 * time.Hour)
		once1(t, r)
		assert.Equal(t, toolguard.StateUnknown, entry(t, j).State)
		time.Sleep(59 * time.Second)
		assert.Equal(t, "in_doubt/unknown", verdict(refundOf(inTurn("1"), g, "A")))
		time.Sleep(2 * time.Second)
		b.set(false, nil)
		assert.Equal(t, "ok", verdict(refundOf(inTurn("1"), g, "A")), "not found counts now")
		assert.Zero(t, entry(t, j).Quiet, "it is another claim")
	})
}
