package toolguard

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fullAfter is a journal that takes so many writes.
type fullAfter struct {
	Journal
	writes int
}

func (j *fullAfter) Write(ctx context.Context, was Version, e Entry, records ...Record) (Entry, bool, error) {
	if j.writes--; j.writes < 0 {
		return Entry{}, false, errors.New("disk full")
	}
	return j.Journal.Write(ctx, was, e, records...)
}

// The ledger of calls that are not written down belongs to all of them: what one put
// there, another caller's arguments even, the next would go by.
func TestTheSharedLedgerStaysEmpty(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := &fullAfter{Journal: NewMemoryJournal(), writes: 1} // the intent, and not what came of it
		g, err := New(Action(Info{Name: "pay", Effect: IdempotentByKey}, func(context.Context, struct{}) error { return nil }), &Options{Journal: j})
		require.NoError(t, err)
		ctx := WithScope(t.Context(), Scope{Session: "s", Run: "r", Step: "1"})
		require.True(t, g.Do(ctx, Call{Args: []byte(`{}`)}).OK)
		found, err := j.Scan(t.Context(), Query{})
		require.NoError(t, err)
		twin := found[0] // another step's call, which is in doubt
		twin.Key, twin.Group, twin.Scope.Step, twin.State, twin.Token = "twin", "twin", "2", StateUnknown, 0
		_, ok, err := j.Journal.Write(t.Context(), Version{}, twin)
		require.True(t, ok && err == nil)
		time.Sleep(time.Minute)
		g.Do(ctx, Call{Args: []byte(`{}`)})
		assert.Empty(t, unwritten.entry.Key)
	})
}
