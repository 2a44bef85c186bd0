package toolguard_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// What is unknown of a key stays so when a later call of a repeatable tool does
// not get as far as the tool, or is only asked something by it.
func TestUnknownSticksThoughALaterCallDidNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, j, busy := &bank{loses: true}, toolguard.NewMemoryJournal(), make(chan struct{})
		tool := toolguard.Func(toolguard.Info{Name: "refund", Effect: toolguard.IdempotentByKey}, func(ctx context.Context, in refundIn) (toolguard.Result, error) {
			switch in.Reason {
			case "wait":
				<-busy
			case "ask":
				return toolguard.Result{Text: "which account?", InputRequired: true}, nil
			}
			text, err := b.refund(ctx, in)
			return toolguard.Result{Text: text}, err
		})
		g := guardOf(t, tool, &toolguard.Options{Journal: j, Retry: once, Concurrency: toolguard.ConcurrencyPolicy{Max: 1, Wait: time.Second}})
		key := refundOf(inStep("1"), g, "A").Key
		go g.Do(inStep("2"), toolguard.Call{Args: []byte(`{"order":"B","reason":"wait"}`)})
		synctest.Wait()
		assert.Equal(t, "overloaded/unknown", verdict(refundOf(inStep("1"), g, "A")))
		close(busy)
		synctest.Wait()
		found, err := j.Scan(context.Background(), toolguard.Query{Key: key})
		require.NoError(t, err)
		assert.Equal(t, toolguard.StateUnknown, found[0].State)
		b.set(false, nil)
		time.Sleep(25 * time.Hour)
		assert.Equal(t, "in_doubt/unknown", verdict(refundOf(inStep("1"), g, "A")), "the downstream has forgotten the key")
		assert.Equal(t, 1, b.keys[key])
	})
	j, asks := toolguard.NewMemoryJournal(), false
	g := guardOf(t, toolOf(toolguard.IdempotentByKey, func(context.Context) (toolguard.Result, error) {
		if !asks {
			return toolguard.Result{}, toolguard.MaybeDone(errLost)
		}
		return toolguard.Result{Text: "which account?", InputRequired: true}, nil
	}), &toolguard.Options{Journal: j, Retry: once})
	doIn(inTurn("1"), g)
	asks = true
	assert.True(t, doIn(inTurn("1"), g).OK)
	assert.Equal(t, toolguard.StateUnknown, entry(t, j).State)
}

// That a person lets it be tried again says nothing of what was before: only a
// success does, and leave that is not used leaves it unknown.
func TestARetryProvesNothingOfWhatWasBefore(t *testing.T) {
	t.Parallel()
	refused := toolguard.NoEffect(toolguard.Business("refunded already"))
	resume := func(_ *testing.T, _ toolguard.Journal, g *toolguard.Guard, key string) string {
		return verdict(g.Resume(context.Background(), key))
	}
	for name, c := range map[string]struct {
		refuses error
		then    func(*testing.T, toolguard.Journal, *toolguard.Guard, string) string
		want    string
		state   toolguard.State
	}{
		"it succeeds":      {nil, resume, "ok", toolguard.StateSucceeded},
		"it is refused":    {refused, resume, "business_rule/unknown", toolguard.StateUnknown},
		"it does not even": {toolguard.NotStarted(errLost), resume, "unknown_error/unknown", toolguard.StateUnknown},
		"too late": {nil, func(t *testing.T, j toolguard.Journal, g *toolguard.Guard, key string) string {
			time.Sleep(25 * time.Hour)
			return resume(t, j, g, key)
		}, "in_doubt/unknown", toolguard.StateUnknown},
		"too late for a recoverer": {nil, func(t *testing.T, j toolguard.Journal, g *toolguard.Guard, key string) string {
			time.Sleep(25 * time.Hour)
			r, err := toolguard.NewRecoverer(j, nil, g)
			require.NoError(t, err)
			assert.Equal(t, 1, once1(t, r).Expired)
			return resume(t, j, g, key)
		}, "in_doubt/unknown", toolguard.StateUnknown},
		"taken back": {nil, func(t *testing.T, j toolguard.Journal, g *toolguard.Guard, key string) string {
			decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingDeny})
			return resume(t, j, g, key)
		}, "in_doubt/unknown", toolguard.StateUnknown},
	} {
		inBubble(t, name, func(t *testing.T) {
			b := new(bank)
			j, g, key := parked(t, b)
			decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingRetry})
			b.set(false, c.refuses)
			assert.Equal(t, c.want, c.then(t, j, g, key))
			assert.Equal(t, c.state, entry(t, j).State)
			runs := b.count()
			b.set(false, nil)
			refundOf(inTurn("1"), g, "A")
			assert.Equal(t, runs, b.count(), "nobody has let it run once more")
		})
	}
}

// An attempt that the caller gave up on may act as late as any other: that nothing
// is known of its key proves nothing, in the journal and in the conversation.
func TestNotFoundIsNotBelievedOfAnAttemptThatRuns(t *testing.T) {
	t.Parallel()
	sessions, err := toolguard.NewSessions(toolguard.SessionPolicy{})
	require.NoError(t, err)
	for name, opts := range map[string]*toolguard.Options{
		"journal": {Journal: toolguard.NewMemoryJournal()}, "conversation": {Sessions: sessions},
	} {
		inBubble(t, name, func(t *testing.T) {
			b := new(bank)
			tool := toolguard.Func(toolguard.Info{Name: "refund"}, func(ctx context.Context, in refundIn) (string, error) {
				time.Sleep(10 * minute)
				return b.refund(ctx, in)
			})
			tool.Status = b.status
			g := guardOf(t, tool, opts)
			ctx, cancel := context.WithTimeout(inTurn("1"), time.Second)
			defer cancel()
			assert.Equal(t, "caller_deadline/unknown", verdict(refundOf(ctx, g, "A")))
			time.Sleep(2 * minute)
			assert.Equal(t, "in_doubt/unknown", verdict(refundOf(inTurn("1"), g, "A")))
			time.Sleep(10 * minute)
			assertOnce(t, b)
		})
	}
}

// The call, its renewals and its late answer meet at one entry; the caller has
// arguments of its own.
func TestTheEntryIsGuarded(t *testing.T) {
	t.Parallel()
	for name, took := range map[string]time.Duration{"renewed": 10 * time.Second, "late": 61 * time.Second, "later": time.Hour} {
		inBubble(t, name, func(t *testing.T) {
			m := toolguard.NewMemoryJournal()
			slow := toolguard.Action(toolguard.Info{Name: "slow"}, func(context.Context, refundIn) error {
				time.Sleep(took)
				return nil
			})
			opts := &toolguard.Options{Journal: &faulty{Journal: m}, Journaling: toolguard.JournalPolicy{AuditArguments: true}, Redact: func(s string) string { return s }}
			env := refundOf(inTurn("1"), guardOf(t, slow, opts), "A")
			clear(env.Args)
			time.Sleep(2 * time.Hour)
			assert.Equal(t, toolguard.StateSucceeded, entry(t, m).State)
			assert.JSONEq(t, `{"order":"A"}`, string(entry(t, m).Args))
		})
	}
}

// What comes late from before a person let it run again is evidence: it says nothing of
// what that came to.
func TestALateAnswerOfAnEarlierClaimIsEvidence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, release, runs := toolguard.NewMemoryJournal(), make(chan struct{}), new(atomic.Int32)
		g := guardOf(t, toolOf(toolguard.NonIdempotent, func(context.Context) (toolguard.Result, error) {
			if runs.Add(1) == 1 {
				<-release
				return toolguard.Result{Text: "late"}, nil
			}
			return toolguard.Result{}, toolguard.MaybeDone(errLost)
		}), &toolguard.Options{Journal: j})
		key := doIn(inTurn("1"), g).Key
		decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingRetry})
		assert.Equal(t, "unknown_error/unknown", verdict(g.Resume(context.Background(), key)))
		close(release)
		synctest.Wait()
		e := entry(t, j)
		assert.Equal(t, toolguard.Version{Token: 2, State: toolguard.StateUnknown}, e.Version())
		records := recordsOf(t, j, key)
		last := records[len(records)-1]
		assert.Equal(t, toolguard.RecordLate, last.Kind)
		assert.Equal(t, toolguard.OutcomeSucceeded, last.Outcome)
	})
}
