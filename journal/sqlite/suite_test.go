package sqlite_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/toolguardtest"
)

// The journal owes what the users' test kit asks of every journal, with two ways to
// one file as two processes have them.
func TestObligationsOfTheKit(t *testing.T) {
	t.Parallel()
	var paths sync.Map
	toolguardtest.TestJournal(t, toolguardtest.JournalSuite{
		Open: func(t testing.TB) toolguard.Journal {
			path := filepath.Join(t.TempDir(), "journal.db")
			j := openAt(t, path)
			paths.Store(j, path)
			return j
		},
		Again: func(t testing.TB, j toolguard.Journal) toolguard.Journal {
			path, _ := paths.Load(j)
			return openAt(t, path.(string))
		},
	})
}
