package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/postgres"
	"github.com/toolguard-go/toolguard/journal/postgres/internal/pgtest"
	"github.com/toolguard-go/toolguard/toolguardtest"
)

// impatient are options with which errors come soon.
func impatient(schema string) postgres.Options {
	return postgres.Options{Schema: schema, Timeout: 2 * time.Second, Patience: 200 * time.Millisecond, Connections: 3}
}

// refusals are errors of the server, before which nothing is made.
var refusals = []toolguardtest.StoreFault{
	{
		Name: "a disk without room, as a trigger says it",
		Says: []string{"toolguard/postgres: write", "no space left on device (SQLSTATE 53100)"},
		Open: func(t testing.TB) (toolguard.Journal, func(), func()) {
			schema := newSchema(t, dsn(t))
			j := openWith(t, dsn(t), impatient(schema))
			run(t, dsn(t), fmt.Sprintf(`CREATE FUNCTION %[1]q.is_full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				RAISE EXCEPTION 'could not extend file: no space left on device' USING ERRCODE = 'disk_full'; END $$`, schema))
			return j, func() {
					run(t, dsn(t), fmt.Sprintf(`CREATE TRIGGER is_full BEFORE INSERT OR UPDATE ON %[1]q.toolguard_entries EXECUTE FUNCTION %[1]q.is_full()`, schema))
				}, func() {
					run(t, dsn(t), fmt.Sprintf(`DROP TRIGGER is_full ON %[1]q.toolguard_entries`, schema))
				}
		},
	},
	{
		Name: "a database that may only be read",
		Says: []string{"in a read-only transaction (SQLSTATE 25006)"},
		Open: func(t testing.TB) (toolguard.Journal, func(), func()) {
			s := private(t)
			return openWith(t, s.DSN, impatient("")), func() { configure(t, s, "default_transaction_read_only", "on") },
				func() { configure(t, s, "default_transaction_read_only", "off") }
		},
	},
}

// reallyFull is a tablespace on a file system of its own that somebody else fills.
var reallyFull = toolguardtest.StoreFault{
	Name: "a disk without room",
	Says: []string{"No space left on device (SQLSTATE 53100)"},
	Open: func(t testing.TB) (toolguard.Journal, func(), func()) {
		dsn(t)
		s, path, err := pgtest.StartWithTinyDisk(t.Context(), "16m")
		if errors.Is(err, pgtest.ErrNoTinyDisk) {
			t.Skip(err)
		}
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Remove()) })
		run(t, s.DSN, fmt.Sprintf("CREATE TABLESPACE tiny LOCATION '%s'", path))
		j := openWith(t, s.DSN+"&default_tablespace=tiny", impatient("journal"))
		fill := func() {
			run(t, s.DSN, "CREATE TABLE ballast (n int, text text) TABLESPACE tiny")
			c := connect(t, s.DSN)
			for err := error(nil); err == nil; {
				_, err = c.Exec(t.Context(), "INSERT INTO ballast SELECT n, repeat('x', 1000) FROM generate_series(1, 8) AS n")
			}
		}
		return j, fill, func() { run(t, s.DSN, "DROP TABLE ballast"); run(t, s.DSN, "CHECKPOINT") }
	},
}

// configure changes a setting of the server, and waits until it holds.
func configure(t testing.TB, s *pgtest.Server, name, value string) {
	t.Helper()
	own := s.DSN + "&default_transaction_read_only=off&synchronous_commit=local"
	run(t, own, fmt.Sprintf("ALTER SYSTEM SET %s = '%s'", name, value))
	run(t, own, "SELECT pg_reload_conf()")
	waitUntil(t, func() (is bool) {
		require.NoError(t, connect(t, s.DSN).QueryRow(t.Context(), "SELECT current_setting($1) = $2", name, value).Scan(&is))
		return is
	})
}

// lockedByAnother: another session has a lock, and thinks.
var lockedByAnother = toolguardtest.StoreFault{
	Name: "another session that holds the tables",
	Says: []string{"context deadline exceeded"},
	Open: func(t testing.TB) (toolguard.Journal, func(), func()) {
		schema := newSchema(t, dsn(t))
		j, c := openWith(t, dsn(t), impatient(schema)), connect(t, dsn(t))
		do := func(statement string) {
			_, err := c.Exec(t.Context(), statement)
			require.NoError(t, err)
		}
		return j, func() { do("BEGIN"); do(fmt.Sprintf(`LOCK TABLE %q.toolguard_entries IN SHARE MODE`, schema)) }, func() { do("ROLLBACK") }
	},
}

// stopped is a server that is gone for a while.
func stopped(name string) toolguardtest.StoreFault {
	return toolguardtest.StoreFault{
		Name: name,
		Says: []string{"no connection: ", postgres.ErrUnanswered.Error()},
		Open: func(t testing.TB) (toolguard.Journal, func(), func()) {
			s := private(t)
			end := s.Stop
			if name == "a server that crashes" {
				end = s.Crash
			}
			return openWith(t, s.DSN, impatient("")), func() { require.NoError(t, end()) }, func() { require.NoError(t, s.Restart(t.Context())) }
		},
	}
}

// networkFaults are of what is between a journal and its server.
var networkFaults = []toolguardtest.StoreFault{
	network("connections that are cut between the statement and its answer", func(p *proxy) func() { p.set(nil, noResult); return nil }),
	network("connections that are cut before the statement", func(p *proxy) func() { p.set(nothing, nil); return nil }),
	network("a network that swallows statements", func(p *proxy) func() { return stall(func(f func([]byte) bool) { p.set(f, nil) }) }),
	network("a network that swallows answers", func(p *proxy) func() { return stall(func(f func([]byte) bool) { p.set(nil, f) }) }),
}

func network(name string, breaks func(p *proxy) (mends func())) toolguardtest.StoreFault {
	return toolguardtest.StoreFault{
		Name: name,
		Says: []string{postgres.ErrUnanswered.Error(), "no connection: "},
		Open: func(t testing.TB) (toolguard.Journal, func(), func()) {
			p := newProxy(t, dsn(t))
			var mends func()
			return openWith(t, p.DSN, impatient(newSchema(t, dsn(t)))), func() { mends = breaks(p) }, func() {
				p.set(nil, nil)
				if mends != nil {
					mends()
				}
			}
		},
	}
}

// stall lets nothing through until it is ended; what was on its way arrives then.
func stall(set func(func([]byte) bool)) (end func()) {
	var once sync.Once
	released := make(chan struct{})
	set(func([]byte) bool { <-released; return true })
	return func() { once.Do(func() { close(released) }) }
}

// A commit that waits for a standby which does not answer is on the server's disk when
// the caller loses patience: the journal hears of it soon after, and says that it is.
func TestACommitThatWaitsForAStandby(t *testing.T) {
	t.Parallel()
	s := private(t)
	j := openWith(t, s.DSN, impatient(""))
	configure(t, s, "synchronous_standby_names", "nobody")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, ok, err := j.Write(ctx, toolguard.Version{}, entry("a", toolguard.StatePending), toolguard.Record{Key: "a"})
	assert.Less(t, time.Since(began), 10*time.Second)
	assert.True(t, ok && err == nil || errors.Is(err, postgres.ErrUnanswered), "it is there, or nobody knows: %t, %v", ok, err)
	assert.Equal(t, []string{"a"}, keysOf(scan(t, j, toolguard.Query{})))
	configure(t, s, "synchronous_standby_names", "")
	write(t, j, entryVersion, entry("a", toolguard.StateSucceeded), toolguard.Record{Key: "a"})
}
