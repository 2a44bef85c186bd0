package sqlite_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/internal/storetest"
)

// The journal in memory is looked at here, because the module it belongs to does not
// have what looks. Where 5,000 entries of others are settled it puts its own entries
// aside, and forgets those it had put aside before.
func TestHistoriesOfTheMemoryJournalAreLinearizable(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		with   storetest.Callers
		beside func(t *testing.T, j toolguard.Journal)
	}{
		"by itself": {storetest.Callers{Steps: 2000}, nil},
		"with others meanwhile": {storetest.Callers{Steps: 150, NoPrune: true}, func(t *testing.T, j toolguard.Journal) {
			settle(t, j, "first", 2_500)
			for i := range 30 {
				settle(t, j, fmt.Sprint(i), 160)
				time.Sleep(time.Second)
			}
		}},
		"with others in between": {storetest.Callers{Steps: 300}, func(t *testing.T, j toolguard.Journal) {
			for i := range 5 {
				time.Sleep(10*time.Second + time.Second/10) // what was settled before is pruned
				settle(t, j, fmt.Sprint(i), 4_999)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			histories := inMemory(t, row.with, func(j toolguard.Journal) toolguard.Journal { return j }, row.beside)
			storetest.Varied(t, histories)
			for key, history := range histories {
				assert.Equal(t, porcupine.Ok, check(history), "the history of %q", key)
			}
		})
	}
}

// inMemory makes histories of what is made of a journal in memory, in a bubble, where
// leases run out when nobody does anything. What is beside goes on meanwhile, if it is
// not nil.
func inMemory(t *testing.T, with storetest.Callers, of func(toolguard.Journal) toolguard.Journal, beside func(*testing.T, toolguard.Journal)) (histories map[string][]storetest.Operation) {
	synctest.Test(t, func(t *testing.T) {
		j := of(toolguard.NewMemoryJournal())
		var others sync.WaitGroup
		if beside != nil {
			others.Go(func() { beside(t, j) })
		}
		with.Journals, with.Exact = []toolguard.Journal{j, hesitant{j}, hesitant{j}}, true
		histories = storetest.Histories(t, with)
		others.Wait()
	})
	return histories
}

// hesitant lets others go first.
type hesitant struct{ toolguard.Journal }

func (h hesitant) Write(ctx context.Context, was toolguard.Version, e toolguard.Entry, records ...toolguard.Record) (toolguard.Entry, bool, error) {
	runtime.Gosched()
	return h.Journal.Write(ctx, was, e, records...)
}

// settle writes entries of others that are settled.
func settle(t *testing.T, j toolguard.Journal, name string, n int) {
	for i := range n {
		e := storetest.Entry(fmt.Sprint("other ", name, " ", i), toolguard.StateSucceeded)
		_, ok, err := j.Write(t.Context(), toolguard.Version{}, e)
		assert.NoError(t, err)
		assert.True(t, ok)
	}
}
