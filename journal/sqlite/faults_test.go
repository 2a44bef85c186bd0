package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/sqlite"
)

// pool is a *sql.DB as a host would make it.
func pool(t testing.TB, path, rest string, pragmas ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?"+url.Values{"_pragma": pragmas}.Encode()+rest)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

var good = []string{"busy_timeout(1000)", "journal_mode(wal)", "synchronous(full)"}

func newIn(t testing.TB, db *sql.DB) *sqlite.Journal {
	t.Helper()
	j, err := sqlite.New(t.Context(), db, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, j.Close()) })
	return j
}

func execute(t *testing.T, path string, statements ...string) {
	t.Helper()
	db := pool(t, path, "", "busy_timeout(5000)")
	for _, s := range statements {
		_, err := db.Exec(s)
		require.NoError(t, err, s)
	}
}

func aFile(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.db")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

// aJournal is the file of a journal with some entries.
func aJournal(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.db")
	j, err := sqlite.Open(path, nil)
	require.NoError(t, err)
	for i := range 50 {
		e := entry(fmt.Sprint("key ", i), toolguard.StatePending)
		write(t, j, toolguard.Version{}, e, toolguard.Record{Key: e.Key})
	}
	require.NoError(t, j.Close())
	return path
}

func TestOpenRefusesWhatIsNotAJournal(t *testing.T) {
	t.Parallel()
	foreign, older, newer, shadowed := filepath.Join(t.TempDir(), "app.db"), aJournal(t), aJournal(t), filepath.Join(t.TempDir(), "shadow.db")
	execute(t, foreign, "CREATE TABLE customers (name TEXT)")
	execute(t, newer, "UPDATE toolguard_schema SET version = 7")
	execute(t, older, "DELETE FROM toolguard_schema")
	execute(t, shadowed, "CREATE TABLE toolguard_schema (part TEXT PRIMARY KEY, version INTEGER)", "INSERT INTO toolguard_schema VALUES ('journal', 1)")
	before, err := os.ReadFile(foreign)
	require.NoError(t, err)

	for path, want := range map[string]string{
		"":                                    "the path is empty",
		":memory:":                            `PRAGMA journal_mode is "memory"`,
		t.TempDir():                           "unable to open database file",
		filepath.Join(t.TempDir(), "no", "a"): "unable to open database file",
		aFile(t, bytes.Repeat([]byte("not a database "), 1000)): "file is not a database",
		foreign:  `the file belongs to another program: it has a table "customers"`,
		newer:    "the journal's schema has version 7, and this program knows up to 1: it needs a newer toolguard",
		older:    "table toolguard_entries already exists",
		shadowed: "no such table: toolguard_entries",
	} {
		j, err := sqlite.Open(path, nil)
		if assert.ErrorContains(t, err, want, path) {
			assert.True(t, strings.HasPrefix(err.Error(), "toolguard/sqlite: "), err)
			assert.Nil(t, j)
		}
	}
	after, err := os.ReadFile(foreign)
	require.NoError(t, err)
	assert.Equal(t, before, after, "the file of another program is left as it was")
	newIn(t, pool(t, foreign, "", good...)) // beside what is there
	openAt(t, foreign)
}

// Names that mean something in a data source name are names of files all the same.
func TestOpenTakesAnyPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a b.db", "what?mode=memory", "50%41#x", "ä&_pragma=synchronous(0)"} {
		path := filepath.Join(dir, name)
		openAt(t, path)
		_, err := os.Stat(path)
		assert.NoError(t, err)
	}
}

func TestWrongSettingsAreRefused(t *testing.T) {
	t.Parallel()
	for name, pragmas := range map[string][]string{
		`PRAGMA journal_mode is "delete", want "wal"`: {"synchronous(full)"},
		"PRAGMA synchronous is 1, want 2 (FULL)":      {"journal_mode(wal)", "synchronous(normal)"},
		"PRAGMA synchronous is 0, want 2 (FULL)":      {"journal_mode(wal)", "synchronous(off)"},
	} {
		_, err := sqlite.New(t.Context(), pool(t, filepath.Join(t.TempDir(), "j.db"), "", pragmas...), nil)
		assert.ErrorContains(t, err, name)
	}
	db := pool(t, filepath.Join(t.TempDir(), "j.db"), "", good...)
	_, err := sqlite.New(t.Context(), db, &sqlite.Options{Readers: -1})
	assert.ErrorContains(t, err, "Options.Readers -1 is below zero")
	db.SetMaxOpenConns(1)
	_, err = sqlite.New(t.Context(), db, nil)
	assert.ErrorContains(t, err, "the database allows one connection")
	db.SetMaxOpenConns(2)
	newIn(t, db)
}

// More different questions than are kept prepared are answered all the same.
func TestManyDifferentQueries(t *testing.T) {
	t.Parallel()
	j := openNew(t)
	write(t, j, toolguard.Version{}, entry("a", toolguard.StatePending))
	for set := 1; set < 1<<9; set++ {
		q := toolguard.Query{States: []toolguard.State{toolguard.StatePending}}
		for bit := range 9 {
			if set>>bit&1 == 1 {
				q.States = append(q.States, toolguard.State(bit+1))
			}
		}
		assert.Len(t, scan(t, j, q), 1)
	}
}

// A connection that a host's pool opens later may differ from the first.
func TestEveryConnectionIsChecked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	db := pool(t, path, "", good...)
	j := newIn(t, db)
	lax := pool(t, path, "", "journal_mode(wal)", "synchronous(off)")
	sqlite.ReadFrom(j, lax)
	_, err := j.Scan(t.Context(), toolguard.Query{})
	assert.ErrorContains(t, err, "PRAGMA synchronous is 0")
	sqlite.ReadFrom(j, db)
	assert.Empty(t, scan(t, j, toolguard.Query{}))
}

func TestReadOnlyFile(t *testing.T) {
	t.Parallel()
	path := aJournal(t)
	j := openAt(t, path) // so that the file stays in WAL mode
	_, err := sqlite.New(t.Context(), pool(t, path, "&mode=ro", "synchronous(full)"), nil)
	assert.ErrorContains(t, err, "attempt to write a readonly database")
	assert.NotEmpty(t, scan(t, j, toolguard.Query{}))

}

func TestFileThatNobodyMayWrite(t *testing.T) {
	t.Parallel()
	path := aJournal(t)
	require.NoError(t, os.Chmod(path, 0o400))
	if f, err := os.OpenFile(path, os.O_RDWR, 0); err == nil {
		require.NoError(t, f.Close())
		t.Skip("this user may write a file that nobody may write")
	}
	_, err := sqlite.Open(path, nil)
	assert.ErrorContains(t, err, "attempt to write a readonly database")
}

// Damage in the middle of a file shows as an error of what needs that page, and
// never as a panic. A writer that meets it stops.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	path := aJournal(t)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for page := 0; page*4096 < len(whole); page++ {
		damaged := bytes.Clone(whole)
		copy(damaged[page*4096:(page+1)*4096], bytes.Repeat([]byte{0xa5}, 4096))
		useDamaged(t, aFile(t, damaged))
	}
	for _, size := range []int{50, 100, 4096, len(whole) / 2, len(whole) - 1000} {
		useDamaged(t, aFile(t, whole[:size]))
	}
}

// useDamaged expects errors in SQLite's words, or answers that are right.
func useDamaged(t *testing.T, path string) {
	t.Helper()
	clear := func(err error) {
		t.Helper()
		if err != nil {
			assert.Regexp(t, "malformed|not a database|disk I/O error|is damaged|writes no more|no such table", err.Error())
		}
	}
	j, err := sqlite.Open(path, nil)
	if err != nil {
		clear(err)
		return
	}
	_, err = j.Scan(t.Context(), toolguard.Query{})
	clear(err)
	_, err = j.Records(t.Context(), toolguard.RecordQuery{})
	clear(err)
	_, ok, err := j.Write(t.Context(), toolguard.Version{}, entry("new", toolguard.StatePending), toolguard.Record{Key: "new"})
	clear(err)
	if _, _, again := j.Write(t.Context(), toolguard.Version{}, entry("newer", toolguard.StatePending)); err != nil {
		assert.ErrorIs(t, again, sqlite.ErrPoisoned)
	} else {
		assert.True(t, ok)
		clear(again)
	}
	clear(j.Close())
}

// A write for which there is no room fails and says so. What was acknowledged stays,
// reading goes on, and writing too once there is room again.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	j := newIn(t, pool(t, path, "", append(good, "max_page_count(60)")...))
	var kept []string
	var full error
	for i := 0; full == nil && i < 1000; i++ {
		e := entry(fmt.Sprint("key ", i), toolguard.StateSucceeded)
		e.Result = []byte(strings.Repeat("x", 3000))
		var ok bool
		if _, ok, full = j.Write(t.Context(), toolguard.Version{}, e, toolguard.Record{Key: e.Key}); ok {
			kept = append(kept, e.Key)
		}
	}
	require.ErrorContains(t, full, "database or disk is full")
	require.NotErrorIs(t, full, sqlite.ErrPoisoned)
	found := scan(t, j, toolguard.Query{Limit: 1000})
	assert.ElementsMatch(t, kept, keys(found))
	records, err := j.Records(t.Context(), toolguard.RecordQuery{})
	require.NoError(t, err)
	assert.Len(t, records, len(kept), "what failed has left no record")

	n, err := j.Prune(t.Context(), 0)
	require.NoError(t, err, "there is room to delete")
	assert.Len(t, kept, n)
	write(t, j, toolguard.Version{}, entry("after", toolguard.StatePending))
}

// Of those who share a transaction, the one for whom there is no room fails alone.
func TestOneThatFailsFailsAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	j := openAt(t, path)
	execute(t, path, "CREATE TRIGGER bad BEFORE INSERT ON toolguard_records WHEN new.key = 'bad' BEGIN SELECT RAISE(ABORT, 'no such luck'); END")
	inOneTransaction(t, path, j, 20, func(i int) {
		key := fmt.Sprint(i)
		if i == 7 {
			key = "bad"
		}
		_, ok, err := j.Write(t.Context(), toolguard.Version{}, entry(key, toolguard.StatePending), toolguard.Record{Key: key})
		if key == "bad" {
			assert.ErrorContains(t, err, "no such luck")
		} else {
			assert.NoError(t, err)
		}
		assert.Equal(t, key != "bad", ok)
	})
	assert.Len(t, scan(t, j, toolguard.Query{}), 19)
	assert.Empty(t, scan(t, j, toolguard.Query{Key: "bad"}), "an entry and its records together or not at all")
}

// inOneTransaction has n callers wait for a lock that it holds, so that they are
// committed together.
func inOneTransaction(t *testing.T, path string, j *sqlite.Journal, n int, call func(i int)) {
	t.Helper()
	release := lock(t, path)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { call(i) })
	}
	require.Eventually(t, func() bool { return sqlite.Queued(j) >= n-1 }, 10*time.Second, time.Millisecond)
	before := sqlite.Commits(j)
	release()
	wg.Wait()
	t.Logf("%d callers in %d transactions", n, sqlite.Commits(j)-before)
}

// lock holds the file's write lock as another process would, which may change
// something before it lets go.
func lock(t *testing.T, path string, then ...string) (release func()) {
	t.Helper()
	conn, err := pool(t, path, "", "busy_timeout(5000)").Conn(t.Context())
	require.NoError(t, err)
	_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	var once sync.Once
	release = func() {
		once.Do(func() {
			for _, s := range append(then, "COMMIT") {
				_, err := conn.ExecContext(context.WithoutCancel(t.Context()), s)
				assert.NoError(t, err)
			}
			assert.NoError(t, conn.Close())
		})
	}
	t.Cleanup(release)
	return release
}

// What has changed since it was found old stays.
func TestPruneLooksAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	j := openAt(t, path)
	for _, key := range []string{"again", "young", "old"} {
		write(t, j, toolguard.Version{}, entry(key, toolguard.StateFailed), toolguard.Record{Key: key})
	}
	release := lock(t, path, "UPDATE toolguard_entries SET state = 'pending' WHERE key = 'again'",
		"UPDATE toolguard_entries SET updated_at = updated_at + 3600 * 1000000000 WHERE key = 'young'")
	var all sync.WaitGroup
	all.Go(func() { assert.NoError(t, j.Append(context.WithoutCancel(t.Context()))) })
	all.Go(func() {
		n, err := j.Prune(context.WithoutCancel(t.Context()), 0)
		assert.NoError(t, err)
		assert.Equal(t, 1, n)
	})
	require.Eventually(t, func() bool { return sqlite.Queued(j) == 1 }, 10*time.Second, time.Millisecond)
	release()
	all.Wait()
	assert.Equal(t, []string{"young", "again"}, keys(scan(t, j, toolguard.Query{})))
	records, err := j.Records(t.Context(), toolguard.RecordQuery{})
	require.NoError(t, err)
	assert.Len(t, records, 2, "those of what stays")
}
