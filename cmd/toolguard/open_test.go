package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/postgres"
)

// postgresVariable names a database that tests may write to.
const postgresVariable = "TOOLGUARD_TEST_POSTGRES"

// postgresURL names a schema of its own, which is not there.
func postgresURL(t *testing.T) (dsn, schema string) {
	t.Helper()
	server := os.Getenv(postgresVariable)
	if server == "" {
		require.Empty(t, os.Getenv("TOOLGUARD_TEST_MUST_RUN"), "no PostgreSQL")
		t.Skipf("no PostgreSQL: %s is not set; CONTRIBUTING.md says how to start one", postgresVariable)
	}
	schema = fmt.Sprintf("command_%d", time.Now().UnixNano())
	t.Cleanup(func() {
		db, err := sql.Open("pgx", server)
		require.NoError(t, err)
		_, err = db.Exec("DROP SCHEMA IF EXISTS " + schema + " CASCADE")
		assert.NoError(t, err)
		require.NoError(t, db.Close())
	})
	u, err := url.Parse(server)
	require.NoError(t, err)
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return u.String(), schema
}

// People decide about what is in PostgreSQL, and read its audit, as in a file.
func TestAJournalInPostgreSQL(t *testing.T) {
	t.Parallel()
	dsn, schema := postgresURL(t)
	j, err := postgres.Open(t.Context(), dsn, &postgres.Options{Schema: schema})
	require.NoError(t, err)
	fill(t, j)
	require.NoError(t, j.Close())

	keys := listed(t, dsn)
	code, out, errs := invoke(t, "", "journal", "decide", "-journal", dsn, "-by", "ann", "-why", "seen on the statement", "succeeded", keys["unknown"][:12])
	require.Equal(t, exitOK, code, errs)
	assert.Contains(t, out, "is succeeded")
	code, _, errs = invoke(t, "", "journal", "decide", "-journal", dsn, "-by", "eve", "failed", keys["unknown"])
	assert.Equal(t, exitFailure, code)
	assert.Contains(t, errs, "not about")
	_, out, _ = invoke(t, "", "journal", "show", "-journal", dsn, keys["unknown"])
	assert.Contains(t, out, "seen on the statement")
	code, out, errs = invoke(t, "", "journal", "export", "-journal", dsn, "-audit")
	require.Equal(t, exitOK, code, errs)
	var last toolguard.Record
	for line := range strings.Lines(out) {
		require.NoError(t, json.Unmarshal([]byte(line), &last))
	}
	assert.Equal(t, []any{"ann", "seen on the statement", toolguard.StateSucceeded}, []any{last.Actor, last.Why, last.To})
	_, out, _ = invoke(t, "", "journal", "prune", "-journal", dsn, "-older", "0s")
	assert.Equal(t, "deleted 1\n", out)
}

// Where there is no journal none is made, and no password is shown.
func TestAPostgreSQLWithoutAJournal(t *testing.T) {
	t.Parallel()
	dsn, schema := postgresURL(t)
	for range 2 {
		code, out, errs := invoke(t, "", "journal", "list", "-journal", strings.Replace(dsn, "toolguard@", "toolguard:hunter2@", 1))
		assert.Equal(t, exitFailure, code)
		assert.Contains(t, errs, fmt.Sprintf("there is no journal in the schema %q", schema))
		assert.NotContains(t, errs, "hunter2")
		assert.Empty(t, out)
	}
	for _, bad := range []string{"postgres://x:hunter2@127.0.0.1:1/x?sslmode=disable&connect_timeout=2", "postgres://x:hunter2@[::1/x"} {
		code, _, errs := invoke(t, "", "journal", "list", "-journal", bad)
		assert.Equal(t, exitFailure, code, errs)
		assert.NotContains(t, errs, "hunter2")
	}
}
