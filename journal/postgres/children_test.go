package postgres_test

import (
	"context"
	"os"
	"testing"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/internal/storetest"
	"github.com/toolguard-go/toolguard/journal/postgres"
)

// The processes of the tests are this test binary, each in a schema.
func TestMain(m *testing.M) {
	storetest.Main(m, func(schema string) (storetest.Journal, error) {
		return postgres.Open(context.Background(), os.Getenv(serverVariable), &postgres.Options{Schema: schema, Connections: 8})
	}, map[string]storetest.Role{"newer version": becomeNewer})
}

var (
	entry   = storetest.Entry
	write   = storetest.Write
	scan    = storetest.Scan
	records = storetest.Records
	keysOf  = storetest.Keys

	entryVersion = storetest.Pending
)

func TestKeepsEveryBit(t *testing.T) {
	t.Parallel()
	storetest.Exact(t, func(t testing.TB) toolguard.Journal { return open(t) })
}

// However many goroutines of however many processes claim a key, one of them gets
// it, and all others are told which one.
func TestOneOfManyProcessesClaims(t *testing.T) {
	t.Parallel()
	schema := newSchema(t, dsn(t))
	storetest.Race(t, schema, openIn(t, dsn(t), schema))
}

// Processes that write are killed at any moment. What was acknowledged is there;
// what was not is there as a whole or not at all. `make crash` kills a thousand.
func TestNoAcknowledgedWriteIsLost(t *testing.T) {
	t.Parallel()
	server, schema := dsn(t), newSchema(t, dsn(t))
	storetest.KillWriters(t, schema, func() storetest.Journal {
		j, err := postgres.Open(t.Context(), server, &postgres.Options{Schema: schema, Connections: 2})
		if err != nil {
			t.Fatal(err)
		}
		return j
	})
}
