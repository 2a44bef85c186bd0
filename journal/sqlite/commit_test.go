package sqlite_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/sqlite"
)

// staged is a driver whose commits go as the test says. Its connections have
// none of the optional interfaces, as those of the plainest of drivers.
type staged struct {
	inner  driver.Driver
	path   string
	name   string
	commit atomic.Pointer[func(driver.Stmt) error]
}

func (d *staged) Driver() driver.Driver { return d.inner }

func (d *staged) Connect(context.Context) (driver.Conn, error) {
	c, err := d.inner.Open(d.name)
	return stagedConn{c, d}, err
}

type stagedConn struct {
	driver.Conn
	d *staged
}

func (c stagedConn) Prepare(query string) (driver.Stmt, error) {
	s, err := c.Conn.Prepare(query)
	if query == "COMMIT" && err == nil {
		s = stagedCommit{s, c.d}
	}
	return s, err
}

type stagedCommit struct {
	driver.Stmt
	d *staged
}

func (s stagedCommit) ExecContext(_ context.Context, args []driver.NamedValue) (driver.Result, error) {
	if stage := s.d.commit.Load(); stage != nil {
		return driver.ResultNoRows, (*stage)(s.Stmt)
	}
	return driver.ResultNoRows, commit(s.Stmt)
}

func commit(s driver.Stmt) error {
	_, err := s.(driver.StmtExecContext).ExecContext(context.Background(), nil)
	return err
}

func stage(t testing.TB) (*staged, *sqlite.Journal) {
	t.Helper()
	path := newPath(t)
	d := &staged{inner: pool(t, path, "").Driver(), path: path, name: "file:" + path + "?_pragma=journal_mode(wal)&_pragma=synchronous(full)"}
	db := sql.OpenDB(d)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return d, newIn(t, db)
}

// After a commit that failed nobody knows what is on the disk. Nothing is written
// any more, though the disk may say that all is well.
func TestAFailedCommitPoisonsTheJournal(t *testing.T) {
	t.Parallel()
	d, j := stage(t)
	write(t, j, toolguard.Version{}, entry("before", toolguard.StatePending))
	commits := 0
	fail := func(driver.Stmt) error { commits++; return errors.New("disk I/O error (1034)") }
	d.commit.Store(&fail)
	_, ok, err := j.Write(t.Context(), toolguard.Version{}, entry("unsure", toolguard.StatePending))
	assert.ErrorIs(t, err, sqlite.ErrPoisoned)
	assert.ErrorContains(t, err, "disk I/O error")
	assert.ErrorContains(t, err, "this write may be there or not")
	assert.False(t, ok)
	d.commit.Store(nil)

	for range 2 {
		_, _, err = j.Write(t.Context(), toolguard.Version{}, entry("later", toolguard.StatePending))
		assert.ErrorIs(t, err, sqlite.ErrPoisoned)
		assert.ErrorContains(t, err, "disk I/O error")
		_, err = j.Take(t.Context(), 1, time.Second)
		assert.ErrorIs(t, err, sqlite.ErrPoisoned)
		assert.ErrorIs(t, j.Append(t.Context(), toolguard.Record{}), sqlite.ErrPoisoned)
	}
	assert.Equal(t, 1, commits, "the commit was not tried again")
	assert.Equal(t, []string{"before"}, keys(scan(t, j, toolguard.Query{})), "it still reads")
}

// A commit for which there is no room has left nothing behind: the next may do better.
func TestACommitWithoutRoomDoesNotPoison(t *testing.T) {
	t.Parallel()
	d, j := stage(t)
	fail := func(driver.Stmt) error { return errors.New("database or disk is full (13)") }
	d.commit.Store(&fail)
	_, _, err := j.Write(t.Context(), toolguard.Version{}, entry("a", toolguard.StatePending))
	assert.ErrorContains(t, err, "database or disk is full")
	assert.NotErrorIs(t, err, sqlite.ErrPoisoned)
	d.commit.Store(nil)
	write(t, j, toolguard.Version{}, entry("a", toolguard.StatePending))
}

// A commit that takes its time keeps nobody beyond the context, and nobody from
// reading. Close waits for it, and for those who queue behind it.
func TestASlowCommit(t *testing.T) {
	t.Parallel()
	d, j := stage(t)
	started, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	slow := func(s driver.Stmt) error {
		once.Do(func() { close(started); <-release })
		return commit(s)
	}
	d.commit.Store(&slow)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		_, _, err := j.Write(ctx, toolguard.Version{}, entry("left", toolguard.StatePending))
		assert.ErrorIs(t, err, context.Canceled)
	})
	<-started
	cancel()
	all.Wait()
	assert.Empty(t, scan(t, j, toolguard.Query{}))
	for i := range 5 {
		all.Go(func() {
			_, ok, err := j.Write(t.Context(), toolguard.Version{}, entry(fmt.Sprint(i), toolguard.StatePending))
			assert.NoError(t, err)
			assert.True(t, ok)
		})
	}
	require.Eventually(t, func() bool { return sqlite.Queued(j) == 5 }, 10*time.Second, time.Millisecond)
	all.Go(func() { assert.NoError(t, j.Close()) })
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		return errors.Is(j.Append(ctx), sqlite.ErrClosed)
	}, 10*time.Second, time.Millisecond)
	close(release)
	all.Wait()
}
