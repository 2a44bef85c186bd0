package postgres_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard/journal/postgres"
)

// Of many that open a journal where there is none one makes the tables, and the
// others find them made.
func TestManyOpenANewJournal(t *testing.T) {
	t.Parallel()
	dsn := dsn(t)
	for range 4 {
		schema := newSchema(t, dsn)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				j, err := postgres.Open(t.Context(), dsn, &postgres.Options{Schema: schema, Connections: 2})
				if assert.NoError(t, err) {
					assert.NoError(t, j.Close())
				}
			})
		}
		wg.Wait()
	}
}
