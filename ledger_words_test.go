package toolguard_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// Whatever the journal knows of a call, the model reads words that keep it from
// repeating it, from claiming that it succeeded and from making up a result, and the
// tool to check it with where that is declared.
func TestWordsKeepTheModelFromRepeating(t *testing.T) {
	t.Parallel()
	const (
		again    = "Do not send this call again"
		claim    = "do not claim that it succeeded"
		invent   = "do not invent a result"
		check    = "Check with find_refund"
		notAgain = "nothing was run this time"
	)
	decideOn := func(v toolguard.RulingVerdict) func(*testing.T, toolguard.Journal, string) {
		return func(t *testing.T, j toolguard.Journal, key string) {
			decide(t, j, toolguard.Ruling{Key: key, Verdict: v})
		}
	}
	park := func(t *testing.T, j toolguard.Journal, _ string) {
		time.Sleep(minute)
		r, err := toolguard.NewRecoverer(j, nil)
		require.NoError(t, err)
		require.Equal(t, 1, once1(t, r).Parked)
	}
	for name, c := range map[string]struct {
		lost     bool
		approver toolguard.Approver
		verify   []string
		then     func(*testing.T, toolguard.Journal, string)
		want     string
		words    []string
	}{
		"unknown":                {lost: true, want: "in_doubt/unknown", words: []string{again, claim, invent}},
		"unknown, with a tool":   {lost: true, verify: []string{"find_refund"}, want: "in_doubt/unknown", words: []string{again, claim, invent, check}},
		"parked":                 {lost: true, then: park, want: "in_doubt/unknown", words: []string{again, claim, invent, "waiting to be checked"}},
		"parked, with a tool":    {lost: true, verify: []string{"find_refund"}, then: park, want: "in_doubt/unknown", words: []string{again, claim, invent, check}},
		"replay":                 {want: "ok", words: []string{notAgain}},
		"without its result":     {lost: true, then: decideOn(toolguard.RulingSucceeded), want: "ok", words: []string{notAgain}},
		"closed":                 {lost: true, then: decideOn(toolguard.RulingAbort), want: "aborted/unknown", words: []string{"A person has closed this action"}},
		"pending":                {approver: pendingDesk(), want: "approval_pending/not_started", words: []string{again, "has not been done and is waiting for approval"}},
		"denied":                 {approver: pendingDesk(), then: decideOn(toolguard.RulingDeny), want: "approval_denied/not_started", words: []string{again, "was not done"}},
		"approved, and too late": {approver: pendingDesk(), then: func(*testing.T, toolguard.Journal, string) { time.Sleep(25 * time.Hour) }, want: "approval_expired/not_started", words: []string{"Ask the user whether this is still wanted"}},
		"running, or not heard of": {then: func(t *testing.T, j toolguard.Journal, key string) {
			e := scanOne(t, j, key)
			e.Token, e.State, e.Result, e.Due, e.Key, e.Generation = 1, toolguard.StatePending, nil, time.Hour, e.Key+"x", 1
			_, ok, err := j.Write(context.Background(), toolguard.Version{}, e)
			require.True(t, ok && err == nil)
		}, want: "in_progress/unknown", words: []string{again, claim, invent}},
	} {
		inBubble(t, name, func(t *testing.T) {
			b, j := &bank{loses: c.lost}, toolguard.NewMemoryJournal()
			info := toolguard.Info{Name: "refund", VerifyWith: c.verify}
			g := guardOf(t, toolguard.Func(info, b.refund), &toolguard.Options{Journal: j, Approver: c.approver})
			key := refundOf(inTurn("1"), g, "A").Key
			if c.then != nil {
				c.then(t, j, key)
			}
			env := refundOf(inTurn("1"), g, "A")
			assert.Equal(t, c.want, verdict(env))
			for _, words := range c.words {
				assert.Contains(t, env.ForModel(), words)
			}
			if !env.OK {
				assert.False(t, env.Error.Retryable)
			}
			synctest.Wait()
		})
	}
}

// A step that was called with other arguments: the model is not to send them again.
func TestWordsOnAConflict(t *testing.T) {
	t.Parallel()
	g := guardOf(t, refundTool(new(bank), toolguard.NonIdempotent), &toolguard.Options{Journal: toolguard.NewMemoryJournal()})
	require.True(t, refundOf(inStep("1"), g, "A").OK)
	env := refundOf(inStep("1"), g, "B")
	assert.Equal(t, "key_conflict/not_started", verdict(env))
	assert.Contains(t, env.ForModel(), "Do not send this call again")
	assert.False(t, env.Error.Retryable)
}

// The host's control flow is not told as a failure, and says nothing of the effect:
// the journal has it as unknown, unless the error says otherwise.
func TestControlFlowLeavesTheOutcomeOpen(t *testing.T) {
	t.Parallel()
	interrupt := errors.New("interrupt")
	for name, c := range map[string]struct {
		err  error
		want toolguard.State
	}{
		"says nothing":   {interrupt, toolguard.StateUnknown},
		"did not start":  {toolguard.NotStarted(interrupt), toolguard.StateFailed},
		"had no effect":  {toolguard.NoEffect(interrupt), toolguard.StateFailed},
		"may have acted": {toolguard.MaybeDone(interrupt), toolguard.StateUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := toolguard.NewMemoryJournal()
			g := guardOf(t, refundTool(&bank{refuses: c.err}, toolguard.NonIdempotent), &toolguard.Options{
				Journal: j, PassThrough: func(err error) bool { return errors.Is(err, interrupt) },
			})
			env := refundOf(inTurn("1"), g, "A")
			assert.ErrorIs(t, env.Control(), interrupt)
			assert.Equal(t, c.want, entry(t, j).State)
		})
	}
}
