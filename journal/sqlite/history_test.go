package sqlite_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/internal/storetest"
)

// Several journals on one file, as several processes have them, are one journal:
// whatever their callers did at the same time, there is an order in which a journal
// for one caller would have given the same answers. Meanwhile the clock is set back
// and forth by an hour.
func TestHistoriesAreLinearizable(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	journals := []toolguard.Journal{openAt(t, path), openAt(t, path), openAt(t, path)}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { defer close(stopped); setClock(t, path, stop) }()
	histories := storetest.Histories(t, storetest.Callers{Journals: journals, Steps: 200, Lost: func(err error) bool {
		return errors.Is(err, context.DeadlineExceeded) // a write whose caller stopped waiting may be made still
	}})
	close(stop)
	<-stopped
	storetest.Varied(t, histories)
	for key, history := range histories {
		assert.Equal(t, porcupine.Ok, check(history), "the history of %q", key)
	}
}

// check looks for an order in which the operations could have been done one by one.
func check(history []storetest.Operation) porcupine.CheckResult {
	model := (&porcupine.NondeterministicModel{Init: storetest.Init, Step: storetest.Step}).ToModel()
	var all []porcupine.Operation
	for _, o := range history {
		all = append(all, porcupine.Operation{ClientId: o.Client, Input: o.Op, Call: o.Call, Return: o.Return})
	}
	return porcupine.CheckOperationsTimeout(model, all, time.Minute)
}

// setClock shows the journals stamps as a clock would leave them that has been set.
func setClock(t *testing.T, path string, stop <-chan struct{}) {
	db := pool(t, path, "", "busy_timeout(5000)")
	for sign := int64(1); ; sign = -sign {
		select {
		case <-stop:
			return
		case <-time.After(5 * time.Millisecond):
			_, err := db.Exec("UPDATE toolguard_entries SET updated_at = updated_at + ?1, due_at = min(due_at + ?1, ?2)", sign*time.Hour.Nanoseconds(), int64(math.MaxInt64))
			assert.NoError(t, err)
		}
	}
}
