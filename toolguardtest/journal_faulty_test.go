package toolguardtest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
	tgt "github.com/toolguard-go/toolguard/toolguardtest"
)

// What each fault does to a write: whether it is made, and what comes back.
func TestFaultyJournal(t *testing.T) {
	t.Parallel()
	for fault, want := range map[tgt.JournalFault]struct {
		made bool
		err  error
		took time.Duration
	}{
		tgt.JournalWorks:               {made: true},
		tgt.JournalRefuses:             {err: tgt.ErrJournal},
		tgt.JournalLosesAnswer:         {made: true, err: tgt.ErrJournal},
		tgt.JournalHangs:               {err: context.DeadlineExceeded, took: time.Minute},
		tgt.JournalLosesAnswerAndHangs: {made: true, err: context.DeadlineExceeded, took: time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			sound := toolguard.NewMemoryJournal()
			j := &tgt.FaultyJournal{Journal: sound, Fault: func(u tgt.JournalUse) tgt.JournalFault {
				if u == (tgt.JournalUse{Method: "Write", N: 2}) {
					return fault
				}
				return tgt.JournalWorks
			}}
			_, err := j.Scan(t.Context(), toolguard.Query{})
			assert.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := time.Now()
			now, ok, err := j.Write(ctx, toolguard.Version{}, toolguard.Entry{Key: "k", Token: 1, State: toolguard.StatePending})
			assert.ErrorIs(t, err, want.err, fault)
			assert.Equal(t, want.took, time.Since(began), fault)
			assert.Equal(t, want.err == nil, ok && now.Key == "k", fault)
			found, err := sound.Scan(t.Context(), toolguard.Query{Key: "k"})
			assert.NoError(t, err)
			assert.Equal(t, want.made, len(found) == 1, fault)
			assert.NoError(t, j.Append(t.Context(), toolguard.Record{}))
			assert.Equal(t, 3, j.Uses())
		})
	}
}

// Every method goes through the faults, and answers nothing beside an error.
func TestFaultyJournalFailsEveryMethod(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	j := &tgt.FaultyJournal{Journal: toolguard.NewMemoryJournal(), Fault: func(u tgt.JournalUse) tgt.JournalFault {
		used[u.Method] = true
		return tgt.JournalLosesAnswer
	}}
	ctx := t.Context()
	_, _, err := j.Write(ctx, toolguard.Version{}, toolguard.Entry{Key: "k", Token: 1, State: toolguard.StatePending, Due: 1})
	assert.ErrorIs(t, err, tgt.ErrJournal)
	assert.ErrorIs(t, j.Append(ctx, toolguard.Record{}), tgt.ErrJournal)
	found, err := j.Scan(ctx, toolguard.Query{})
	assert.ErrorIs(t, err, tgt.ErrJournal)
	assert.Empty(t, found)
	taken, err := j.Take(ctx, 1, time.Second)
	assert.ErrorIs(t, err, tgt.ErrJournal)
	assert.Empty(t, taken)
	records, err := j.Records(ctx, toolguard.RecordQuery{})
	assert.ErrorIs(t, err, tgt.ErrJournal)
	assert.Empty(t, records)
	n, err := j.Prune(ctx, 0)
	assert.ErrorIs(t, err, tgt.ErrJournal)
	assert.Zero(t, n)
	assert.Len(t, used, 6)
	assert.Equal(t, toolguard.DurabilityVolatile, j.Durability())
}
