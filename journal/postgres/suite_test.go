package postgres_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/toolguardtest"
)

// The journal owes what the users' test kit asks of every journal, with two pools of
// one database as two machines have them, and whatever happens to the server.
func TestObligationsOfTheKit(t *testing.T) {
	t.Parallel()
	server := dsn(t)
	var schemas sync.Map
	toolguardtest.TestJournal(t, toolguardtest.JournalSuite{
		Open: func(t testing.TB) toolguard.Journal {
			schema := newSchema(t, server)
			j := openIn(t, server, schema)
			schemas.Store(j, schema)
			return j
		},
		Again: func(t testing.TB, j toolguard.Journal) toolguard.Journal {
			schema, _ := schemas.Load(j)
			return openIn(t, server, schema.(string))
		},
		Faults: slices.Concat(refusals, networkFaults, []toolguardtest.StoreFault{reallyFull, lockedByAnother, stopped("a server that stops"), stopped("a server that crashes")}),
	})
}
