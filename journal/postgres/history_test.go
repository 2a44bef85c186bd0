package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/internal/storetest"
	"github.com/toolguard-go/toolguard/journal/postgres"
)

// Several journals in one schema, as several processes have them, are one journal:
// for whatever their callers did at the same time there is an order in which they
// could have done it one by one. Meanwhile the server's clock is set back and forth.
func TestHistoriesAreLinearizable(t *testing.T) {
	t.Parallel()
	schema := newSchema(t, dsn(t))
	journals := []toolguard.Journal{openIn(t, dsn(t), schema), openIn(t, dsn(t), schema), openIn(t, dsn(t), schema)}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { defer close(stopped); setClock(t, schema, stop) }()
	histories := storetest.Histories(t, storetest.Callers{Journals: journals, Steps: 150, Lost: func(err error) bool { return errors.Is(err, postgres.ErrUnanswered) }})
	close(stop)
	<-stopped
	storetest.Varied(t, histories)
	model := (&porcupine.NondeterministicModel{Init: storetest.Init, Step: storetest.Step}).ToModel()
	for key, history := range histories {
		var all []porcupine.Operation
		for _, o := range history {
			all = append(all, porcupine.Operation{ClientId: o.Client, Input: o.Op, Call: o.Call, Return: o.Return})
		}
		assert.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(model, all, time.Minute), "the history of %q", key)
	}
}

// setClock shows the journals instants as a server's clock would leave them that has
// been set by an hour.
func setClock(t *testing.T, schema string, stop <-chan struct{}) {
	c := connect(t, dsn(t))
	for sign := 1; ; sign = -sign {
		select {
		case <-stop:
			return
		case <-time.After(5 * time.Millisecond):
			moved := fmt.Sprintf(`UPDATE %q.toolguard_entries SET updated_at = updated_at + $1::int * interval '1 hour', due_at = due_at + $1::int * interval '1 hour'`, schema)
			for _, err := c.Exec(context.WithoutCancel(t.Context()), moved, sign); err != nil; { // it may deadlock with a journal, which waits for nobody
				_, err = c.Exec(context.WithoutCancel(t.Context()), moved, sign)
			}
		}
	}
}
