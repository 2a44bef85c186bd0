package sqlite_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/internal/storetest"
)

// The journal in memory is looked at here, because the module it belongs to does not
// have what looks.
func TestHistoriesOfTheMemoryJournalAreLinearizable(t *testing.T) {
	t.Parallel()
	const rounds = 30
	for name, with := range map[string]struct {
		storetest.Callers
		before, meanwhile int // settled entries of others
	}{
		"with leases that run out, and prunes": {storetest.Callers{Steps: 500}, 0, 0},
		"while entries change their shelf":     {storetest.Callers{Steps: 150, NoPrune: true}, 2_500, rounds * 160},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			histories := inMemory(t, with.Callers, func(j toolguard.Journal) toolguard.Journal {
				settleOthers(t, j, "before", with.before)
				return j
			}, func(t *testing.T, j toolguard.Journal) {
				for i := range rounds {
					settleOthers(t, j, fmt.Sprint("meanwhile ", i), with.meanwhile/rounds)
					time.Sleep(time.Second)
				}
			})
			storetest.Varied(t, histories)
			for key, history := range histories {
				assert.Equal(t, porcupine.Ok, check(history), "the history of %q", key)
			}
		})
	}
}

// inMemory makes histories of a journal in memory, or what is made of one, in a bubble,
// where leases run out when nobody does anything. beside goes on meanwhile.
func inMemory(t *testing.T, with storetest.Callers, of func(toolguard.Journal) toolguard.Journal, beside func(*testing.T, toolguard.Journal)) (histories map[string][]storetest.Operation) {
	synctest.Test(t, func(t *testing.T) {
		j := of(toolguard.NewMemoryJournal())
		var others sync.WaitGroup
		others.Go(func() { beside(t, j) })
		with.Journals, with.Exact = []toolguard.Journal{j, j, j}, true
		histories = storetest.Histories(t, with)
		others.Wait()
	})
	return histories
}

// settleOthers writes entries that are settled. After 5,000 of them a journal in memory
// may forget those before.
func settleOthers(t *testing.T, j toolguard.Journal, name string, n int) {
	for i := range n {
		e := storetest.Entry(fmt.Sprint(name, " ", i), toolguard.StateSucceeded)
		_, ok, err := j.Write(t.Context(), toolguard.Version{}, e)
		require.NoError(t, err)
		require.True(t, ok)
	}
}
