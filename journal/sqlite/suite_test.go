package sqlite_test

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/internal/storetest"
	"github.com/toolguard-go/toolguard/journal/sqlite"
	"github.com/toolguard-go/toolguard/toolguardtest"
)

// The journal owes what the users' test kit asks of every journal, with two ways to
// one file as two processes have them, and whatever happens to the file.
func TestObligationsOfTheKit(t *testing.T) {
	t.Parallel()
	var paths sync.Map
	toolguardtest.TestJournal(t, toolguardtest.JournalSuite{
		Open: func(t testing.TB) toolguard.Journal {
			path := newPath(t)
			j := openAt(t, path)
			paths.Store(j, path)
			return j
		},
		Again: func(t testing.TB, j toolguard.Journal) toolguard.Journal {
			path, _ := paths.Load(j)
			return openAt(t, path.(string))
		},
		Faults: []toolguardtest.StoreFault{diskFull, readOnly, heldByAnother, slowCommits, failingCommits()},
	})
}

// setting is a fault that one connection's setting makes and ends.
func setting(name, breaks, mends, says string) toolguardtest.StoreFault {
	return toolguardtest.StoreFault{
		Name: name, Says: []string{says},
		Open: func(t testing.TB) (toolguard.Journal, func(), func()) {
			j := openNew(t)
			set := func(pragma string) func() {
				return func() { require.NoError(t, sqlite.Set(t.Context(), j, "PRAGMA "+pragma)) }
			}
			return j, set(breaks), set(mends)
		},
	}
}

var (
	diskFull = setting("a disk without room", "max_page_count = 1", fmt.Sprint("max_page_count = ", 1<<30), "toolguard/sqlite: database or disk is full")
	readOnly = setting("a database that may only be read", "query_only = ON", "query_only = OFF", "toolguard/sqlite: attempt to write a readonly database")
)

var heldByAnother = toolguardtest.StoreFault{
	Name: "another process that holds the file",
	Says: []string{"toolguard/sqlite: another process holds the file: context deadline exceeded"},
	Open: func(t testing.TB) (toolguard.Journal, func(), func()) {
		path := newPath(t)
		j := openAt(t, path)
		var c *storetest.Child
		holds := func() {
			var held bool
			c = storetest.Begin(t, "holds", path)
			require.True(t, c.Hear(&held) && held)
		}
		return j, holds, func() { c.Go(t); c.Wait(t) }
	},
}

// holdTheFile is the other process.
func holdTheFile(j *sqlite.Journal) error {
	return sqlite.Hold(nobody, j, func() error {
		say(true)
		return storetest.ToBeTold()
	})
}

var slowCommits = toolguardtest.StoreFault{
	Name: "a disk that takes its time to sync",
	Says: []string{"toolguard/sqlite: the commit takes its time, so that the write may be there or not: context deadline exceeded", "toolguard/sqlite: the commit of others takes its time: context deadline exceeded"},
	Open: func(t testing.TB) (toolguard.Journal, func(), func()) {
		d, j := stage(t)
		release := make(chan struct{})
		slow := func(s driver.Stmt) error { <-release; return commit(s) }
		return j, func() { d.commit.Store(&slow) }, func() { d.commit.Store(nil); close(release) }
	},
}

// failingCommits leave open what is on the disk: the file has to be opened anew.
func failingCommits() toolguardtest.StoreFault {
	var paths sync.Map
	return toolguardtest.StoreFault{
		Name: "a sync that fails",
		Says: []string{sqlite.ErrPoisoned.Error() + ": disk I/O error"},
		Open: func(t testing.TB) (toolguard.Journal, func(), func()) {
			d, j := stage(t)
			paths.Store(toolguard.Journal(j), d.path)
			fail := func(driver.Stmt) error { return errors.New("disk I/O error (1034)") }
			return j, func() { d.commit.Store(&fail) }, func() { d.commit.Store(nil) }
		},
		Again: func(t testing.TB, j toolguard.Journal) toolguard.Journal {
			path, _ := paths.Load(j)
			return openAt(t, path.(string))
		},
	}
}
