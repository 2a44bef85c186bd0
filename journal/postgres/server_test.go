package postgres_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/internal/storetest"
	"github.com/toolguard-go/toolguard/journal/postgres"
	"github.com/toolguard-go/toolguard/toolguardtest"
)

func poolOf(t testing.TB, dsn string, change func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(dsn)
	require.NoError(t, err)
	config.MaxConns = 4
	change(config)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func newIn(t testing.TB, pool *pgxpool.Pool, schema string) *postgres.Journal {
	t.Helper()
	j, err := postgres.New(t.Context(), pool, &postgres.Options{Schema: schema})
	require.NoError(t, err)
	return j
}

// A write is on the disk when it is acknowledged, though the session would have it
// otherwise. The server writes the log when somebody waits for that, or, as it is
// set up here, ten seconds later.
func TestWritesAreOnTheDisk(t *testing.T) {
	t.Parallel()
	s := private(t, "wal_writer_delay=10s", "autovacuum=off")
	pool := poolOf(t, s.DSN, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["synchronous_commit"] = "off" })
	j := newIn(t, pool, "")
	exec := func(statement string) {
		_, err := pool.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	exec("CREATE TABLE other (n int)")
	exec("CHECKPOINT")
	flushed := func() (there bool) {
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn()").Scan(&there))
		return there
	}
	e := entry("a", toolguard.StatePending)
	e.Due = 1
	unflushed := 0
	for name, f := range map[string]func(){
		"insert":  func() { write(t, j, toolguard.Version{}, e, toolguard.Record{}) },
		"replace": func() { write(t, j, entryVersion, e, toolguard.Record{}, toolguard.Record{}) },
		"append":  func() { require.NoError(t, j.Append(t.Context(), toolguard.Record{})) },
		"take":    func() { _, err := j.Take(t.Context(), 1, 0); require.NoError(t, err) },
	} {
		e.Key = name
		if name != "insert" {
			write(t, j, toolguard.Version{}, e)
		}
		exec("INSERT INTO other VALUES (1)")
		if !flushed() {
			unflushed++
		}
		f()
		assert.True(t, flushed(), name)
	}
	assert.NotZero(t, unflushed, "the session's own commits do not wait: else this shows nothing")
	assert.Equal(t, toolguard.DurabilityDisk, j.Durability())
}

// Leases and stamps are of the server's clock. The client's stands 26 years back
// here: it is that of a bubble.
func TestClientsClockDoesNotMatter(t *testing.T) {
	t.Parallel()
	server, schema := dsn(t), newSchema(t, dsn(t))
	right := openIn(t, server, schema)
	e := entry("due", toolguard.StatePending)
	e.Due = time.Microsecond
	write(t, right, toolguard.Version{}, e)
	synctest.Test(t, func(t *testing.T) {
		require.Less(t, time.Now().Year(), 2001)
		j, err := postgres.Open(context.Background(), server, &postgres.Options{Schema: schema, Connections: 1})
		require.NoError(t, err)
		later := entry("later", toolguard.StatePending)
		later.Due = time.Hour
		now := write(t, j, toolguard.Version{}, later)
		assert.Greater(t, now.Updated.Year(), 2020)
		taken, err := j.Take(context.Background(), 10, time.Hour)
		require.NoError(t, err)
		assert.Equal(t, []string{"due"}, keysOf(taken))
		found := scan(t, j, toolguard.Query{Key: "later"})
		assert.Less(t, found[0].Read.Sub(found[0].Updated), time.Minute)
		n, err := j.Prune(context.Background(), time.Hour)
		require.NoError(t, err)
		assert.Zero(t, n)
		require.NoError(t, j.Close())
	})
	taken, err := right.Take(t.Context(), 10, time.Hour)
	require.NoError(t, err)
	assert.Empty(t, taken, "neither early nor late")
}

// The server's clock is set forward, and leases are over early; it is set back, and
// they are over later. Nothing is lost, and nobody settles what was taken from him.
func TestAServersClockThatIsSet(t *testing.T) {
	t.Parallel()
	schema := newSchema(t, dsn(t))
	j := openIn(t, dsn(t), schema)
	put := func(key string, due time.Duration) toolguard.Entry {
		e := entry(key, toolguard.StatePending)
		e.Due = due
		return write(t, j, toolguard.Version{}, e)
	}
	set := func(by string) {
		run(t, dsn(t), fmt.Sprintf(`UPDATE %q.toolguard_entries SET updated_at = updated_at - interval '%[2]s', due_at = due_at - interval '%[2]s'`, schema, by))
	}
	take := func() []toolguard.Entry {
		taken, err := j.Take(t.Context(), 10, 24*time.Hour)
		require.NoError(t, err)
		return taken
	}
	put("a", 30*time.Second)
	put("later", 5*time.Hour)
	set("1 hour")
	taken := take()
	require.Equal(t, []string{"a"}, keysOf(taken))
	assert.EqualValues(t, 2, taken[0].Token)
	_, ok, err := j.Write(t.Context(), entryVersion, entry("a", toolguard.StateSucceeded))
	require.NoError(t, err)
	assert.False(t, ok, "it is somebody else's")

	put("b", time.Microsecond)
	set("-2 hours")
	assert.Empty(t, take(), "later by as much")
	set("2 hours")
	assert.Equal(t, []string{"b"}, keysOf(take()))
}

// Whatever a host's pool is like, the journal keeps its word on it.
func TestPoolsOfTheHost(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*pgxpool.Config){
		"no prepared statements": func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec },
		"described each time":    func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec },
		"simple protocol":        func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol },
		"serializable": func(c *pgxpool.Config) {
			c.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
		},
		"another search path and time": func(c *pgxpool.Config) {
			c.ConnConfig.RuntimeParams["search_path"] = "nowhere"
			c.ConnConfig.RuntimeParams["timezone"] = "Asia/Kathmandu"
			c.ConnConfig.RuntimeParams["datestyle"] = "German"
			c.ConnConfig.RuntimeParams["intervalstyle"] = "iso_8601"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := poolOf(t, dsn(t), change)
			inPool := func(t testing.TB) toolguard.Journal { return newIn(t, pool, newSchema(t, dsn(t))) }
			toolguardtest.TestJournal(t, toolguardtest.JournalSuite{
				Open:  inPool,
				Again: func(_ testing.TB, j toolguard.Journal) toolguard.Journal { return j },
			})
			storetest.Exact(t, inPool)
			t.Cleanup(pool.Close)
		})
	}
}

// Records that are read page by page are all read, though their numbers become
// visible in another order than they were given out.
func TestFollowingTheAuditMissesNothing(t *testing.T) {
	t.Parallel()
	const writers, each = 8, 60
	j := open(t)
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range each {
				assert.NoError(t, j.Append(t.Context(), toolguard.Record{}, toolguard.Record{}))
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	read, after := 0, uint64(0)
	for last := false; ; {
		page := records(t, j, toolguard.RecordQuery{After: after})
		if read += len(page); len(page) > 0 {
			after = page[len(page)-1].Seq
		} else if last {
			break
		}
		select {
		case <-done:
			last = true
		default:
		}
	}
	assert.Equal(t, 2*writers*each, read)
}

func TestServersThatAreRefused(t *testing.T) {
	t.Parallel()
	s := private(t)
	refused := func(dsn, why string) {
		t.Helper()
		j, err := postgres.Open(t.Context(), dsn, nil)
		assert.Nil(t, j)
		assert.ErrorContains(t, err, "toolguard/postgres: open: "+why)
	}
	run(t, s.DSN, "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
	refused(strings.Replace(s.DSN, "/postgres?", "/latin?", 1), "the database's encoding is LATIN1, want UTF8")
	refused(s.DSN+"&default_transaction_read_only=on", "the session is read-only")
	refused(strings.Replace(s.DSN, "/postgres?", "/nowhere?", 1), "no connection: ")
	run(t, s.DSN, "ALTER SYSTEM SET fsync = off")
	run(t, s.DSN, "SELECT pg_reload_conf()")
	waitUntil(t, func() bool {
		var value string
		require.NoError(t, connect(t, s.DSN).QueryRow(t.Context(), "SHOW fsync").Scan(&value))
		return value == "off"
	})
	refused(s.DSN, "the server runs with fsync off")
	require.NoError(t, s.Stop())
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "data", "standby.signal"), nil, 0o644))
	require.NoError(t, s.Restart(t.Context()))
	refused(s.DSN, "the server is a standby")
}

// Who may not make tables can use those that are there, and is told otherwise.
func TestLeastPrivilege(t *testing.T) {
	t.Parallel()
	server, schema := dsn(t), newSchema(t, dsn(t))
	role := strings.ToLower("r" + schema[len("Test "):])
	run(t, server, "CREATE ROLE "+role+" LOGIN")
	t.Cleanup(func() { run(t, server, "DROP OWNED BY "+role); run(t, server, "DROP ROLE "+role) })
	as := func(c *pgxpool.Config) {
		c.AfterConnect = func(ctx context.Context, c *pgx.Conn) error { _, err := c.Exec(ctx, "SET ROLE "+role); return err }
	}
	_, err := postgres.New(t.Context(), poolOf(t, server, as), &postgres.Options{Schema: schema})
	assert.ErrorContains(t, err, "permission denied")
	openIn(t, server, schema)
	run(t, server, fmt.Sprintf(`GRANT USAGE ON SCHEMA %[1]q TO %[2]s`, schema, role))
	run(t, server, fmt.Sprintf(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %[1]q TO %[2]s`, schema, role))
	run(t, server, fmt.Sprintf(`GRANT SELECT ON ALL SEQUENCES IN SCHEMA %[1]q TO %[2]s`, schema, role))
	j := newIn(t, poolOf(t, server, as), schema)
	write(t, j, toolguard.Version{}, entry("a", toolguard.StatePending), toolguard.Record{})
	write(t, j, entryVersion, entry("a", toolguard.StateFailed), toolguard.Record{})
	assert.Len(t, records(t, j, toolguard.RecordQuery{}), 2)
	n, err := j.Prune(t.Context(), 0)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
}
