package toolguard_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
)

// Whose answer is lost learns whether the decision that stands is theirs.
func TestADecisionWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(j toolguard.Journal, key string) *faulty{
		"theirs": func(j toolguard.Journal, _ string) *faulty { return &faulty{Journal: j, after: on(1, errDisk)} },
		"somebody else's": func(j toolguard.Journal, key string) *faulty {
			return &faulty{Journal: j, before: func(int) error {
				_, err := toolguard.Decide(context.Background(), j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove, By: "eve", Args: []byte(`{"order":"B"}`)})
				return errOr(err, errDisk)
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := toolguard.NewMemoryJournal()
			g := guardOf(t, refundTool(new(bank), toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: pendingDesk()})
			key := refundOf(inTurn("1"), g, "A").Key
			_, err := toolguard.Decide(context.Background(), lose(j, key), toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove, By: "ben"})
			if entry(t, j).Approval.By == "ben" {
				assert.NoError(t, err)
			} else {
				assert.ErrorIs(t, err, toolguard.ErrDecided)
			}
		})
	}
}

func errOr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// Of two decisions about one entry one is in force, also where one makes another
// entry of it.
func TestAnEditedRetryThatComesTooLate(t *testing.T) {
	t.Parallel()
	b := new(bank)
	m, g, key := parked(t, b)
	j := &faulty{Journal: m, before: func(n int) error {
		if n == 1 {
			decide(t, m, toolguard.Ruling{Key: key, Verdict: toolguard.RulingSucceeded})
		}
		return nil
	}}
	e, err := toolguard.Decide(context.Background(), j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingRetry, Args: []byte(`{"order":"B"}`), By: "ben"})
	assert.ErrorIs(t, err, toolguard.ErrDecided)
	assert.Equal(t, toolguard.StateSucceeded, e.State)
	for _, e := range entries(t, m) {
		assert.NotEqual(t, toolguard.StateApproved, e.State)
		g.Resume(context.Background(), e.Key)
	}
	assert.Zero(t, b.count())
}

// Where the host tells no turns apart, the user has not spoken: what a person has
// closed stays closed.
func TestWithoutTurnsWhatIsClosedStaysSo(t *testing.T) {
	t.Parallel()
	b, j := &bank{loses: true}, toolguard.NewMemoryJournal()
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j})
	key := refundOf(inTurn(""), g, "A").Key
	decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingAbort})
	assert.Equal(t, "aborted/unknown", verdict(refundOf(inTurn(""), g, "A")))
	assertOnce(t, b)
	assert.NotEqual(t, "aborted/unknown", verdict(refundOf(inTurn("2"), g, "A")), "now the user has")
}

// What is polled is asked anew each time, whatever its effect is taken for.
func TestPollingIsNotReplayed(t *testing.T) {
	t.Parallel()
	n := 0
	poll := toolguard.Func(toolguard.Info{Name: "job", Poll: toolguard.Poll{Max: 9}}, func(context.Context, struct{}) (int, error) { n++; return n, nil })
	g := guardOf(t, poll, &toolguard.Options{Journal: toolguard.NewMemoryJournal()})
	for range 3 {
		env := doIn(inTurn("1"), g)
		assert.Empty(t, env.Notes)
	}
	assert.Equal(t, 3, n)
}
