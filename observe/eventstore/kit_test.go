package eventstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore"
	"github.com/toolguard-go/toolguard/observe/eventstore/dial"
)

// postgresVariable names a database that tests may write to, such as
// postgres://user@127.0.0.1:5432/postgres.
const postgresVariable = "TOOLGUARD_TEST_POSTGRES"

// everyStore runs f against each kind of store.
func everyStore(t *testing.T, f func(t *testing.T, name string)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, filepath.Join(t.TempDir(), "events of a day.db"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		f(t, freshPostgres(t))
	})
}

// freshPostgres returns the name of an empty database.
func freshPostgres(t *testing.T) string {
	t.Helper()
	server := os.Getenv(postgresVariable)
	if server == "" {
		require.Empty(t, os.Getenv("TOOLGUARD_TEST_MUST_RUN"), "no PostgreSQL")
		t.Skipf("no PostgreSQL: %s is not set", postgresVariable)
	}
	db, err := sql.Open("pgx", server)
	require.NoError(t, err)
	defer db.Close()
	schema := fmt.Sprintf("events_%d", time.Now().UnixNano())
	_, err = db.Exec("CREATE SCHEMA " + schema)
	require.NoError(t, err)
	t.Cleanup(func() {
		db, err := sql.Open("pgx", server)
		require.NoError(t, err)
		defer db.Close()
		_, err = db.Exec("DROP SCHEMA " + schema + " CASCADE")
		require.NoError(t, err)
	})
	join := "?"
	if strings.Contains(server, "?") {
		join = "&"
	}
	return server + join + "search_path=" + schema
}

func open(t testing.TB, name string) *eventstore.DB {
	t.Helper()
	s, err := dial.Open(context.Background(), name)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// call is the event of a call that ended at a time.
func call(at time.Time, tool string, code toolguard.Code, ref uint64) toolguard.Event {
	e := toolguard.Event{
		Kind: toolguard.EventCall, Time: at, Duration: 10 * time.Millisecond, Ref: ref, Tool: tool, CallID: fmt.Sprint("c", ref),
		OK: code == "", Code: code, Outcome: toolguard.OutcomeSucceeded, Attempts: 1,
	}
	if code != "" {
		e.Category, e.Outcome, e.Decision = code.Category(), toolguard.OutcomeFailed, toolguard.DecisionStop
	}
	return e
}

func recorder(t testing.TB, s eventstore.Store, o eventstore.Options) *eventstore.Recorder {
	t.Helper()
	r, err := eventstore.NewRecorder(s, &o)
	require.NoError(t, err)
	t.Cleanup(func() { r.Close(context.Background()) })
	return r
}
