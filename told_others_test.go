package toolguard_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// byEve is the conversation's scope for somebody else.
func byEve() context.Context {
	s := toolguard.ScopeFrom(inTurn("1"))
	s.Principal = "eve"
	return toolguard.WithScope(context.Background(), s)
}

// A read that is under way somewhere has no effect to be unsure about.
func TestAReadInProgressIsNotUnknown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := guardOf(t, toolOf(toolguard.ReadOnly, taking(time.Second, answers("42"))), &toolguard.Options{Journal: toolguard.NewMemoryJournal()})
		go doIn(inStep("1"), g)
		synctest.Wait()
		env := doIn(inStep("1"), g)
		assert.Equal(t, toolguard.CodeInProgress, codeOf(env))
		assert.NotEqual(t, toolguard.OutcomeUnknown, env.Error.Outcome)
		pass(minute)
	})
}

// What a person lets run again may have happened, whoever asks.
func TestALeaveToRunAgainIsADoubtToOthers(t *testing.T) {
	t.Parallel()
	b, j := &bank{loses: true}, toolguard.NewMemoryJournal()
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j})
	key := refundOf(inTurn("1"), g, "A").Key
	decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingRetry})
	assert.Equal(t, "in_doubt/unknown", verdict(refundOf(byEve(), g, "A")))
	assertOnce(t, b)
}

// That somebody else's call has turned out to be done is told without what came of it.
func TestAReceiptIsForWhoActed(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]toolguard.Options{
		"from the journal":      {Journal: toolguard.NewMemoryJournal()},
		"from the conversation": {Sessions: sessionsOf(t, toolguard.SessionPolicy{})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &bank{loses: true}
			require.Equal(t, toolguard.OutcomeUnknown, refundOf(inTurn("1"), guardOf(t, refundTool(b, toolguard.NonIdempotent), &opts), "A").Error.Outcome)
			asks := refundTool(b, toolguard.NonIdempotent)
			asks.Status = b.status
			env := refundOf(byEve(), guardOf(t, asks, &opts), "A")
			assert.Equal(t, "result_unavailable/succeeded", verdict(env))
			assert.NotContains(t, env.ForModel(), "receipt of A")
			assertOnce(t, b)
		})
	}
}

// A key that is taken over from an earlier call is the argument, too: the service goes
// by that.
func TestAKeyThatIsTakenOverIsTheArgument(t *testing.T) {
	t.Parallel()
	var got []string
	pay := toolguard.Action(toolguard.Info{Name: "pay", Effect: toolguard.IdempotentByKey, KeyField: "idempotency_key"}, func(ctx context.Context, in payIn) error {
		assert.Equal(t, toolguard.Key(ctx), in.Key)
		got = append(got, in.Key)
		return toolguard.MaybeDone(errLost)
	})
	g := guardOf(t, pay, &toolguard.Options{Sessions: sessionsOf(t, toolguard.SessionPolicy{}), Retry: once})
	for range 2 {
		g.Do(inTurn("1"), toolguard.Call{Args: []byte(`{"order":"A"}`)})
	}
	require.Len(t, got, 2)
	assert.Equal(t, got[0], got[1])
}
