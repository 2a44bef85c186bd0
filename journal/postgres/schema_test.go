package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/internal/storetest"
	"github.com/toolguard-go/toolguard/journal/postgres"
)

func openErr(t *testing.T, schema string) error {
	t.Helper()
	j, err := postgres.Open(t.Context(), dsn(t), &postgres.Options{Schema: schema})
	assert.Nil(t, j)
	return err
}

// Of many processes that open an empty database, one makes the tables.
func TestManyOpenAtOnce(t *testing.T) {
	t.Parallel()
	schema := newSchema(t, dsn(t))
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			j, err := postgres.Open(t.Context(), dsn(t), &postgres.Options{Schema: schema, Connections: 1})
			if assert.NoError(t, err) {
				write(t, j, toolguard.Version{}, entry(fmt.Sprint(i), toolguard.StatePending))
				assert.NoError(t, j.Close())
			}
		})
	}
	all.Wait()
	assert.Len(t, scan(t, openIn(t, dsn(t), schema), toolguard.Query{}), 10)
}

func TestNewerTablesAreRefused(t *testing.T) {
	t.Parallel()
	schema := newSchema(t, dsn(t))
	write(t, openIn(t, dsn(t), schema), toolguard.Version{}, entry("a", toolguard.StatePending))
	for _, version := range []int{2, 77, 0, -1} {
		run(t, dsn(t), fmt.Sprintf(`UPDATE %q.toolguard_schema SET version = %d`, schema, version))
		assert.ErrorContains(t, openErr(t, schema), fmt.Sprintf("have version %d, and this program knows up to 1: it needs a newer toolguard", version))
	}
	run(t, dsn(t), fmt.Sprintf(`UPDATE %q.toolguard_schema SET version = 1`, schema))
	assert.Equal(t, []string{"a"}, keysOf(scan(t, openIn(t, dsn(t), schema), toolguard.Query{})), "nothing was lost")
}

// becomeNewer is a process of the next version, on the tables of this one.
func becomeNewer(j storetest.Journal) error {
	postgres.AddMigration("ALTER TABLE toolguard_entries ADD COLUMN more text NOT NULL DEFAULT 'none'")
	return storetest.Upgrade(j, func(schema string) (storetest.Journal, error) {
		return postgres.Open(context.Background(), os.Getenv(serverVariable), &postgres.Options{Schema: schema, Connections: 2})
	})
}

// Tables of an older version are brought up to date by the first of several newer
// processes, with all that is in them; older ones refuse them then.
func TestOlderTablesAreMigrated(t *testing.T) {
	t.Parallel()
	server, schema := dsn(t), newSchema(t, dsn(t))
	storetest.Upgraded(t, schema, func() (storetest.Journal, error) {
		return postgres.Open(t.Context(), server, &postgres.Options{Schema: schema, Connections: 2})
	})
	var more string
	require.NoError(t, connect(t, server).QueryRow(t.Context(), fmt.Sprintf(`SELECT DISTINCT more FROM %q.toolguard_entries`, schema)).Scan(&more))
	assert.Equal(t, "none", more)
}

func TestTablesOfOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	schema := newSchema(t, dsn(t))
	run(t, dsn(t), fmt.Sprintf(`CREATE SCHEMA %[1]q`, schema))
	run(t, dsn(t), fmt.Sprintf(`CREATE TABLE %[1]q.toolguard_records (mine int)`, schema))
	assert.ErrorContains(t, openErr(t, schema), "has tables of another program by the journal's names, choose another in Options.Schema")
	var tables int
	require.NoError(t, connect(t, dsn(t)).QueryRow(t.Context(), "SELECT count(*) FROM pg_tables WHERE schemaname = $1", schema).Scan(&tables))
	assert.Equal(t, 1, tables, "what was begun is undone")
}

func TestDamagedRows(t *testing.T) {
	t.Parallel()
	schema := newSchema(t, dsn(t))
	j := openIn(t, dsn(t), schema)
	write(t, j, toolguard.Version{}, entry("a", toolguard.StatePending), toolguard.Record{Key: "a"})
	run(t, dsn(t), fmt.Sprintf(`UPDATE %q.toolguard_entries SET state = 'dreaming'`, schema))
	run(t, dsn(t), fmt.Sprintf(`UPDATE %q.toolguard_records SET rest = '[]'`, schema))
	_, err := j.Scan(t.Context(), toolguard.Query{})
	assert.ErrorContains(t, err, `toolguard/postgres: scan: entry "a": toolguard: State "dreaming" is none of`)
	_, err = j.Records(t.Context(), toolguard.RecordQuery{})
	assert.ErrorContains(t, err, "toolguard/postgres: records: record 1: json")
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for want, opts := range map[string]postgres.Options{
		"Options.Timeout 1ns is below 1ms":     {Timeout: 1},
		"Options.Timeout -1s is below 1ms":     {Timeout: -time.Second},
		"Options.Patience -1s is below zero":   {Patience: -time.Second},
		"Options.Connections -1 is below zero": {Connections: -1},
		`Options.Schema "a\x00" is no name`:    {Schema: "a\x00"},
		"is no name of up to 63 bytes":         {Schema: strings.Repeat("x", 64)},
	} {
		_, err := postgres.Open(t.Context(), "postgres://127.0.0.1:1/nowhere", &opts)
		assert.ErrorContains(t, err, want)
		_, err = postgres.New(t.Context(), nil, &opts)
		assert.ErrorContains(t, err, want)
	}
	_, err := postgres.New(t.Context(), nil, nil)
	assert.ErrorContains(t, err, "the pool is nil")
}

func TestClosed(t *testing.T) {
	t.Parallel()
	j := open(t)
	require.NoError(t, j.Close())
	require.NoError(t, j.Close())
	_, _, err := j.Write(t.Context(), toolguard.Version{}, entry("a", toolguard.StatePending))
	assert.ErrorIs(t, err, postgres.ErrClosed)
	_, err = j.Scan(t.Context(), toolguard.Query{})
	assert.ErrorIs(t, err, postgres.ErrClosed)
}

// A statement that has to wait on the server, here for somebody's lock, is given up
// there as well.
func TestStatementTimeout(t *testing.T) {
	t.Parallel()
	schema := newSchema(t, dsn(t))
	j := openWith(t, dsn(t), postgres.Options{Schema: schema, Timeout: 500 * time.Millisecond})
	write(t, j, toolguard.Version{}, entry("a", toolguard.StatePending))
	c := connect(t, dsn(t))
	tx, err := c.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), fmt.Sprintf(`LOCK TABLE %q.toolguard_entries`, schema))
	require.NoError(t, err)
	_, _, err = j.Write(t.Context(), entryVersion, entry("a", toolguard.StateSucceeded))
	require.Error(t, err)
	assert.NotErrorIs(t, err, postgres.ErrUnanswered, "the server has said that it is not made")
	require.NoError(t, tx.Rollback(t.Context()))
	var waiting int
	require.NoError(t, c.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%'||$1||'%' AND state = 'active' AND pid <> pg_backend_pid()", schema).Scan(&waiting))
	assert.Zero(t, waiting)
	write(t, j, entryVersion, entry("a", toolguard.StateSucceeded))
}

// A request to cancel may come late, and meet the statement of somebody who has not left.
func TestAStatementThatIsCanceledByMistake(t *testing.T) {
	t.Parallel()
	schema := newSchema(t, dsn(t))
	j := openIn(t, dsn(t), schema)
	c, other := connect(t, dsn(t)), connect(t, dsn(t))
	tx, err := c.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), fmt.Sprintf(`LOCK TABLE %q.toolguard_entries`, schema))
	require.NoError(t, err)
	wrote := make(chan error, 1)
	go func() {
		_, ok, err := j.Write(t.Context(), toolguard.Version{}, entry("a", toolguard.StatePending))
		if err == nil && !ok {
			err = errors.New("not written")
		}
		wrote <- err
	}()
	const cancel = "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE query LIKE '%'||$1||'%' AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()"
	require.Eventually(t, func() bool {
		var n int
		require.NoError(t, other.QueryRow(t.Context(), cancel, schema).Scan(&n))
		return n > 0
	}, 10*time.Second, 5*time.Millisecond)
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, <-wrote)
	found, err := j.Scan(t.Context(), toolguard.Query{Key: "a"})
	require.NoError(t, err)
	assert.Len(t, found, 1)
}

// The server, too, knows how long a statement of the journal's may take, wait for a
// lock, or leave a transaction open: also of a process that is gone. What the DSN
// says holds.
func TestTheServerBoundsStatements(t *testing.T) {
	t.Parallel()
	join := "?"
	if strings.Contains(dsn(t), "?") {
		join = "&"
	}
	j := openWith(t, dsn(t)+join+"lock_timeout=123", postgres.Options{Schema: newSchema(t, dsn(t)), Timeout: 700 * time.Millisecond})
	for name, want := range map[string]string{
		"statement_timeout": "700ms", "lock_timeout": "123ms", "idle_in_transaction_session_timeout": "700ms",
		"default_transaction_isolation": "read committed", "application_name": "toolguard",
	} {
		is, err := postgres.Setting(t.Context(), j, name)
		require.NoError(t, err)
		assert.Equal(t, want, is, name)
	}
}

// Much is pruned a piece at a time.
func TestPruneInPieces(t *testing.T) {
	t.Parallel()
	schema := newSchema(t, dsn(t))
	j := openIn(t, dsn(t), schema)
	write(t, j, toolguard.Version{}, entry("open", toolguard.StateParked), toolguard.Record{Key: "open"})
	run(t, dsn(t), fmt.Sprintf(`INSERT INTO %[1]q.toolguard_entries (key, token, state, group_key, generation, tool, source, tenant, principal, session, turn, run, step, model, prompt_version, call_id, owner, linked, created_at, updated_at, due_ns, settled_at, digest, rest)
		SELECT 'k'||n, 1, 'succeeded', '', 0, '', '', '', '', '', '', '', '', '', '', '', '', '', now(), now(), 0, now() - n * interval '1 s', '', '{}' FROM generate_series(1, 2500) AS n`, schema))
	var many []toolguard.Record
	for i := range 2500 {
		many = append(many, toolguard.Record{Key: fmt.Sprint("lonely", i)})
	}
	require.NoError(t, j.Append(t.Context(), many...))
	n, err := j.Prune(t.Context(), 100*time.Second)
	require.NoError(t, err)
	assert.Equal(t, 2401, n)
	n, err = j.Prune(t.Context(), 0)
	require.NoError(t, err)
	assert.Equal(t, 99, n)
	assert.Equal(t, []string{"open"}, keysOf(scan(t, j, toolguard.Query{})))
	assert.Len(t, records(t, j, toolguard.RecordQuery{}), 1)
}

// A person reads the journal with plain SQL.
func TestPlainSQL(t *testing.T) {
	t.Parallel()
	schema := newSchema(t, dsn(t))
	j := openIn(t, dsn(t), schema)
	e := entry("a", toolguard.StateParked)
	e.Scope.Tenant, e.Attempts, e.Effect, e.Approval = "acme", 2, toolguard.NonIdempotent, &toolguard.Approval{By: "ann"}
	write(t, j, toolguard.Version{}, e, toolguard.Record{Key: "a", Actor: "ann", Why: "checked by hand", Duration: 1500 * time.Microsecond, To: e.State})
	c := connect(t, dsn(t))
	_, err := c.Exec(t.Context(), fmt.Sprintf("SET search_path TO %q", schema))
	require.NoError(t, err)
	line := func(query string) string {
		rows, err := c.Query(t.Context(), query)
		require.NoError(t, err)
		all, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return strings.Join(all, "\n")
	}
	assert.Equal(t, "parked refund acme 1 2 non_idempotent ann", line(`SELECT concat_ws(' ', state, tool, tenant, args::jsonb ->> 'amount', attempts, effect, approval ->> 'by')
		FROM toolguard_journal WHERE updated > now() - interval '1 hour'`))
	assert.Equal(t, "none parked ann checked by hand 1.50", line(`SELECT concat_ws(' ', from_state, to_state, actor, why, round(duration_ms, 2)) FROM toolguard_audit WHERE key = 'a'`))
}

// What is asked often is answered from an index, whatever else there is.
func TestQueriesUseTheirIndexes(t *testing.T) {
	t.Parallel()
	schema := newSchema(t, dsn(t))
	openIn(t, dsn(t), schema)
	c := connect(t, dsn(t))
	_, err := c.Exec(t.Context(), fmt.Sprintf("SET search_path TO %q; SET enable_seqscan = off", schema))
	require.NoError(t, err)
	for index, where := range map[string]string{
		") AND (digest = 'ab'::text))": "toolguard_entries e WHERE left(e.run, 120) = left('r'::text, 120) AND e.run = 'r' AND e.run <> '' AND e.digest = 'ab' ORDER BY seq DESC LIMIT 100",
		"toolguard_entries_group":      "toolguard_entries e WHERE left(e.group_key, 120) = left('g'::text, 120) AND e.group_key = 'g' ORDER BY generation DESC, seq DESC LIMIT 1",
		"toolguard_entries_run":        "toolguard_entries e WHERE left(e.run, 120) = left('r'::text, 120) AND e.run = 'r' AND e.run <> ''",
		"toolguard_entries_session":    "toolguard_entries e WHERE left(e.session, 120) = left('s'::text, 120) AND e.session = 's' AND e.session <> ''",
		"toolguard_entries_open":       "toolguard_entries e WHERE settled_at IS NULL AND due_at <= now() ORDER BY due_at LIMIT 10",
		"toolguard_entries_settled":    "toolguard_entries e WHERE settled_at <= now() ORDER BY settled_at LIMIT 10",
		"toolguard_records_key":        "toolguard_records WHERE left(key, 120) = left('k'::text, 120) AND key = 'k' AND key <> '' AND seq > 7 ORDER BY seq LIMIT 10",
	} {
		rows, err := c.Query(context.Background(), "EXPLAIN SELECT * FROM "+where)
		require.NoError(t, err)
		plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		assert.Contains(t, strings.Join(plan, "\n"), index)
	}
}
