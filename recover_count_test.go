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

// picky is a journal that cannot write one entry.
type picky struct {
	toolguard.Journal
	key string
}

func (p *picky) Write(ctx context.Context, was toolguard.Version, e toolguard.Entry, r ...toolguard.Record) (toolguard.Entry, bool, error) {
	if e.Key == p.key {
		return toolguard.Entry{}, false, errDisk
	}
	return p.Journal.Write(ctx, was, e, r...)
}

// An entry that cannot be written keeps a recoverer from none of the others.
func TestOneEntryThatCannotBeWrittenHoldsNoOtherUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, m := &bank{loses: true}, toolguard.NewMemoryJournal()
		g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: m})
		bad := refundOf(inTurn("1"), g, "A").Key
		for _, order := range []string{"B", "C"} {
			refundOf(inTurn("1"), g, order)
		}
		time.Sleep(minute)
		r, err := toolguard.NewRecoverer(&picky{m, bad}, nil, g)
		require.NoError(t, err)
		n, err := r.Once(context.Background())
		assert.ErrorIs(t, err, errDisk)
		assert.ErrorContains(t, err, bad[:20])
		assert.Equal(t, toolguard.Recovered{Parked: 2}, n)
	})
}

// What somebody else decided meanwhile stands, and is no work of the recoverer's.
func TestARecovererCountsWhatItDid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		approver toolguard.Approver
		verdict  toolguard.RulingVerdict
	}{
		"in doubt": {nil, toolguard.RulingSucceeded},
		"awaiting": {pendingDesk(), toolguard.RulingDeny},
	} {
		inBubble(t, name, func(t *testing.T) {
			b, m := &bank{loses: true}, toolguard.NewMemoryJournal()
			g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: m, Approver: c.approver})
			key := refundOf(inTurn("1"), g, "A").Key
			time.Sleep(25 * time.Hour)
			faster := &faulty{Journal: m, before: func(int) error {
				decide(t, m, toolguard.Ruling{Key: key, Verdict: c.verdict})
				return nil
			}}
			r, err := toolguard.NewRecoverer(faster, nil, g)
			require.NoError(t, err)
			assert.Equal(t, toolguard.Recovered{}, once1(t, r))
		})
	}
}
