package toolguard

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What may follow what, and nothing else. A claim has a token of its own and forgets
// what the one before came to; no other step changes hands.
func TestTransitions(t *testing.T) {
	t.Parallel()
	follows := map[State][]State{
		StateNone:     {StateAwaiting, StateApproved, StateDenied, StatePending},
		StateAwaiting: {StateApproved, StateDenied, StateExpired},
		StateApproved: {StatePending, StateDenied, StateExpired, StateUnknown},
		StatePending:  {StateApproved, StateSucceeded, StateFailed, StateUnknown},
		StateFailed:   {StatePending, StateAwaiting, StateDenied},
		StateUnknown:  {StatePending, StateSucceeded, StateFailed, StateParked, StateApproved, StateAborted},
		StateParked:   {StatePending, StateSucceeded, StateFailed, StateApproved, StateAborted},
	}
	last := State(len(stateNames))
	for from := StateNone; from <= last; from++ {
		assert.Equal(t, from < last && len(follows[from]) == 0, from.Final(), from)
		assert.Equal(t, from.Final() || from == StateFailed, from.Prunable(), from)
		for to := StateNone; to <= last; to++ {
			was := Entry{Key: "k", Token: 3, State: from, Code: CodePanic, Result: []byte(`1`), Checks: 2, Quiet: time.Second, Attempts: 1}
			now, err := was.next(to, time.Minute)
			if !slices.Contains(follows[from], to) {
				require.Error(t, err, "%v to %v", from, to)
				assert.Zero(t, now)
				continue
			}
			require.NoError(t, err, "%v to %v", from, to)
			want := was
			want.State, want.Due = to, time.Minute
			if to == StatePending {
				want.Token, want.Code, want.Result, want.Checks, want.Quiet = 4, "", nil, 0, 0
			}
			assert.Equal(t, want, now)
		}
	}
	assert.Panics(t, func() { Entry{State: StateSucceeded}.must(StatePending, 0) })
}
