package sqlite_test

import (
	"context"
	"testing"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/internal/storetest"
	"github.com/toolguard-go/toolguard/journal/sqlite"
)

// The processes of the tests are this test binary, each on a file.
func TestMain(m *testing.M) {
	storetest.Main(m, func(file string) (storetest.Journal, error) { return sqlite.Open(file, nil) }, map[string]storetest.Role{
		"sequentially": alone(sequentially), "concurrently": alone(concurrently), "poisoned": alone(untilPoisoned),
		"full": alone(throughAFullDisk), "too large": alone(untilTooLarge), "holds": alone(holdTheFile), "newer version": becomeNewer,
	})
}

// alone is a role that needs to know which journal it has.
func alone(role func(j *sqlite.Journal) error) storetest.Role {
	return func(j storetest.Journal) error { return role(j.(*sqlite.Journal)) }
}

// nobody says when a child should stop waiting.
var nobody = context.Background()

var (
	entry = storetest.Entry
	write = storetest.Write
	scan  = storetest.Scan
	keys  = storetest.Keys
	say   = storetest.Say
)

func TestKeepsEveryBit(t *testing.T) {
	t.Parallel()
	storetest.Exact(t, func(t testing.TB) toolguard.Journal { return openNew(t) })
}

// Of all goroutines of all processes that claim a key, one gets it; the others are
// shown whose it is.
func TestOneClaimWins(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	storetest.Race(t, path, openAt(t, path))
}

// Processes that write are killed at any moment, while they open the file too. What
// was acknowledged is there, and of what was not, all of a write or nothing.
// `make crash` kills a thousand.
func TestNoAcknowledgedWriteIsLost(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	storetest.KillWriters(t, path, func() storetest.Journal {
		j, err := sqlite.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return j
	})
}
