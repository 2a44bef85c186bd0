package toolguard_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// crashed leaves the journal as a process does that ends after its nth write.
func crashed(t *testing.T, j toolguard.Journal, b *bank, n int) string {
	t.Helper()
	gone := &faulty{Journal: j, before: func(i int) error {
		if i > n {
			return errDisk
		}
		return nil
	}}
	return refundOf(inTurn("1"), guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: gone}), "A").Key
}

func once1(t *testing.T, r *toolguard.Recoverer) toolguard.Recovered {
	t.Helper()
	n, err := r.Once(context.Background())
	require.NoError(t, err)
	return n
}

func TestTheRecovererAsksTheDownstream(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refuses error
		want    toolguard.State
	}{
		"it happened": {want: toolguard.StateSucceeded},
		"it did not":  {refuses: toolguard.MaybeDone(errLost), want: toolguard.StateFailed},
	} {
		inBubble(t, name, func(t *testing.T) {
			b, j := &bank{refuses: c.refuses}, toolguard.NewMemoryJournal()
			key := crashed(t, j, b, 1)
			tool := refundTool(b, toolguard.NonIdempotent)
			tool.Status = b.status
			g := guardOf(t, tool, &toolguard.Options{Journal: j})
			var decided []toolguard.State
			r, err := toolguard.NewRecoverer(j, &toolguard.RecoverPolicy{Decided: func(e toolguard.Entry) { decided = append(decided, e.State) }}, g)
			require.NoError(t, err)
			assert.Equal(t, toolguard.Recovered{NotDue: 1}, once1(t, r), "its lease is not over")
			time.Sleep(31 * time.Second)
			once1(t, r)
			if c.want == toolguard.StateFailed {
				assert.Equal(t, toolguard.StateUnknown, entry(t, j).State, "not found so soon proves nothing")
			}
			for range 60 {
				time.Sleep(5 * time.Second)
				once1(t, r)
			}
			e := entry(t, j)
			assert.Equal(t, c.want, e.State)
			assert.Equal(t, []toolguard.State{toolguard.StateUnknown, c.want}, decided)
			b.set(false, nil)
			env := refundOf(inTurn("1"), g, "A")
			require.True(t, env.OK)
			assert.Equal(t, key, env.Key)
			assertOnce(t, b)
		})
	}
}

// The tool's author knows how long a request may be on its way to the downstream.
func TestNotFoundCountsAfterTheSettleDelay(t *testing.T) {
	t.Parallel()
	for delay, want := range map[time.Duration]string{2 * time.Second: "ok", 0: "in_doubt/unknown", time.Hour: "in_doubt/unknown"} {
		inBubble(t, delay.String(), func(t *testing.T) {
			b, j := new(bank), toolguard.NewMemoryJournal()
			b.set(false, toolguard.MaybeDone(errLost))
			info := toolguard.Info{Name: "refund", Effect: toolguard.NonIdempotent, SettleDelay: delay}
			tool := toolguard.Func(info, b.refund)
			tool.Status = b.status
			g := guardOf(t, tool, &toolguard.Options{Journal: j})
			refundOf(inTurn("1"), g, "A")
			b.set(false, nil)
			time.Sleep(time.Second)
			assert.Equal(t, "in_doubt/unknown", verdict(refundOf(inTurn("1"), g, "A")))
			time.Sleep(2 * time.Second)
			assert.Equal(t, want, verdict(refundOf(inTurn("1"), g, "A")))
		})
	}
}

// What a recoverer had taken when it was killed is taken again soon, where it took
// little at a time.
func TestWhatAKilledRecovererTookIsTakenAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, j := new(bank), toolguard.NewMemoryJournal()
		crashed(t, j, b, 1)
		time.Sleep(31 * time.Second)
		g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j})
		gone := &faulty{Journal: j, before: func(int) error { return errDisk }}
		killed, err := toolguard.NewRecoverer(gone, &toolguard.RecoverPolicy{Batch: 1}, g)
		require.NoError(t, err)
		_, err = killed.Once(context.Background())
		require.ErrorIs(t, err, errDisk)
		next, err := toolguard.NewRecoverer(j, nil, g)
		require.NoError(t, err)
		assert.Equal(t, "0 succeeded, 0 failed, 0 parked, 0 expired, 0 waiting, 1 not due", once1(t, next).String(), "it may still be at work")
		time.Sleep(5 * time.Second)
		assert.Equal(t, 1, once1(t, next).Parked)
	})
}

// What nobody can find out waits for a person, not for a restart.
func TestTheRecovererParks(t *testing.T) {
	t.Parallel()
	silent := func(context.Context, string, refundIn) (toolguard.Outcome, toolguard.Result, error) {
		return 0, toolguard.Result{}, errors.New("down")
	}
	for name, c := range map[string]struct {
		guards bool
		status func(context.Context, string, refundIn) (toolguard.Outcome, toolguard.Result, error)
		why    string
	}{
		"no tool of the name": {why: toolguard.WhyNoHandler},
		"no status query":     {guards: true, why: toolguard.WhyNoStatus},
		"no answer":           {guards: true, status: silent, why: toolguard.WhyChecksUsed},
	} {
		inBubble(t, name, func(t *testing.T) {
			b, j := new(bank), toolguard.NewMemoryJournal()
			key := crashed(t, j, b, 1)
			tool := refundTool(b, toolguard.NonIdempotent)
			tool.Status = c.status
			g := guardOf(t, tool, &toolguard.Options{Journal: j})
			var guards []*toolguard.Guard
			if c.guards {
				guards = append(guards, g)
			}
			r, err := toolguard.NewRecoverer(j, nil, guards...)
			require.NoError(t, err)
			for range 400 {
				time.Sleep(10 * time.Second)
				once1(t, r)
			}
			assert.Equal(t, toolguard.StateParked, entry(t, j).State)
			records, err := j.Records(context.Background(), toolguard.RecordQuery{Key: key})
			require.NoError(t, err)
			why := ""
			for _, r := range records {
				if r.To == toolguard.StateParked && r.From == toolguard.StateUnknown {
					why = r.Why
					assert.Equal(t, toolguard.ActorRecoverer, r.Actor)
				}
			}
			assert.Equal(t, c.why, why)
			env := refundOf(inTurn("1"), g, "A")
			assert.Equal(t, "in_doubt/unknown", verdict(env))
			assert.Contains(t, env.Suggestion, "waiting to be checked", "it may be said only now")
			assertOnce(t, b)
		})
	}
}

// Several recoverers share the work, and decide each entry once.
func TestRecoverersShareTheWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, j := &bank{loses: true}, toolguard.NewMemoryJournal()
		g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j})
		for i := range 100 {
			refundOf(inTurn("1"), g, fmt.Sprint(i))
		}
		asking := refundTool(b, toolguard.NonIdempotent)
		var mu sync.Mutex
		asked, total := 0, toolguard.Recovered{}
		asking.Status = func(ctx context.Context, key string, in refundIn) (toolguard.Outcome, toolguard.Result, error) {
			mu.Lock()
			asked++
			mu.Unlock()
			time.Sleep(time.Second)
			return b.status(ctx, key, in)
		}
		h := guardOf(t, asking, &toolguard.Options{Journal: j})
		time.Sleep(minute)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				r, err := toolguard.NewRecoverer(j, nil, h)
				require.NoError(t, err)
				n, err := r.Once(context.Background())
				assert.NoError(t, err)
				mu.Lock()
				defer mu.Unlock()
				total.Succeeded += n.Succeeded
			})
		}
		wg.Wait()
		assert.Equal(t, 100, total.Succeeded)
		assert.Equal(t, 100, asked)
	})
}

func TestApprovalsRunOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := toolguard.NewMemoryJournal()
		g := guardOf(t, refundTool(new(bank), toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: pendingDesk()})
		key := refundOf(inTurn("1"), g, "A").Key
		r, err := toolguard.NewRecoverer(j, nil, g)
		require.NoError(t, err)
		time.Sleep(25 * time.Hour)
		assert.Equal(t, 1, once1(t, r).Expired)
		_, err = toolguard.Decide(context.Background(), j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove, By: "ben"})
		assert.ErrorIs(t, err, toolguard.ErrDecided)
		assert.Equal(t, "approval_expired/not_started", verdict(g.Resume(context.Background(), key)))
	})
}

func TestTheRecovererRunsUntilItIsStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, j := new(bank), toolguard.NewMemoryJournal()
		crashed(t, j, b, 1)
		tool := refundTool(b, toolguard.NonIdempotent)
		tool.Status = b.status
		box, err := toolguard.NewToolbox(&toolguard.ToolboxOptions{Options: toolguard.Options{Journal: j}}, tool)
		require.NoError(t, err)
		r, err := box.Recoverer(nil)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(context.Background(), 2*minute)
		defer cancel()
		assert.ErrorIs(t, r.Run(ctx), context.DeadlineExceeded)
		assert.Equal(t, toolguard.StateSucceeded, entry(t, j).State)
	})
}

// parked returns a journal with one entry that a person has to decide about.
// The conversation must not remember its own doubt beside the journal.
func parked(t *testing.T, b *bank) (*toolguard.MemoryJournal, *toolguard.Guard, string) {
	t.Helper()
	j := toolguard.NewMemoryJournal()
	b.set(false, toolguard.MaybeDone(errLost))
	sessions, err := toolguard.NewSessions(toolguard.SessionPolicy{})
	require.NoError(t, err)
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Sessions: sessions})
	key := refundOf(inTurn("1"), g, "A").Key
	b.set(false, nil)
	return j, g, key
}

func TestAPersonDecides(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ruling toolguard.Ruling
		state  toolguard.State
		want   string // of the same call afterwards
		text   string
		runs   int
	}{
		{toolguard.Ruling{Verdict: toolguard.RulingRetry}, toolguard.StateApproved, "ok", "refunded A", 1},
		{toolguard.Ruling{Verdict: toolguard.RulingSucceeded, Result: toolguard.Result{Text: "seen on the statement"}}, toolguard.StateSucceeded, "ok", "seen on the statement", 0},
		{toolguard.Ruling{Verdict: toolguard.RulingFailed}, toolguard.StateFailed, "ok", "refunded A", 1},
		{toolguard.Ruling{Verdict: toolguard.RulingAbort}, toolguard.StateAborted, "aborted/unknown", "", 0},
	} {
		inBubble(t, c.ruling.Verdict.String(), func(t *testing.T) {
			b := new(bank)
			j, g, key := parked(t, b)
			c.ruling.Key = key
			assert.Equal(t, c.state, decide(t, j, c.ruling).State)
			_, err := toolguard.Decide(context.Background(), j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingSucceeded, By: "eve"})
			assert.ErrorIs(t, err, toolguard.ErrDecided, "the first decision wins")
			env := refundOf(inTurn("1"), g, "A")
			assert.Equal(t, c.want, verdict(env))
			if env.OK {
				assert.Equal(t, c.text, env.Result.Text)
			}
			assert.Equal(t, c.runs, b.count())
		})
	}
}

func TestARetryWithOtherArguments(t *testing.T) {
	t.Parallel()
	b := new(bank)
	j, g, key := parked(t, b)
	e := decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingRetry, Args: []byte(`{"order":"A2"}`)})
	assert.NotEqual(t, key, e.Key)
	assert.Equal(t, key, e.Linked)
	env := g.Resume(context.Background(), e.Key)
	require.True(t, env.OK)
	assert.Equal(t, "refunded A2", env.Result.Text)
	found, err := j.Scan(context.Background(), toolguard.Query{Key: key})
	require.NoError(t, err)
	assert.Equal(t, toolguard.StateAborted, found[0].State)
	assert.Equal(t, e.Key, found[0].Linked)
	assertOnce(t, b)
}

// A retry with other arguments is two entries. Whoever is killed between the two
// decides again; meanwhile neither may run.
func TestARetryWithOtherArgumentsIsKilledHalfway(t *testing.T) {
	t.Parallel()
	b := new(bank)
	j, g, key := parked(t, b)
	ruling := toolguard.Ruling{Key: key, By: "ben", Verdict: toolguard.RulingRetry, Args: []byte(`{"order":"A2"}`)}
	_, err := toolguard.Decide(context.Background(), &faulty{Journal: j, before: on(2, errDisk)}, ruling)
	require.ErrorIs(t, err, errDisk)
	assert.False(t, refundOf(inTurn("1"), g, "A").OK)
	_, err = toolguard.Decide(context.Background(), j, toolguard.Ruling{Key: key, By: "eve", Verdict: toolguard.RulingRetry})
	require.ErrorIs(t, err, toolguard.ErrDecided, "the first decision wins")
	assert.Zero(t, b.count())

	e := decide(t, j, ruling)
	_, err = toolguard.Decide(context.Background(), j, ruling)
	require.ErrorIs(t, err, toolguard.ErrDecided, "there is such an entry already")
	require.True(t, g.Resume(context.Background(), e.Key).OK)
	assert.False(t, refundOf(inTurn("1"), g, "A").OK)
	assertOnce(t, b)
}

// Of two people who decide at once one is told that it was too late, and what she
// wanted does not run.
func TestARetryWithOtherArgumentsComesTooLate(t *testing.T) {
	t.Parallel()
	b := new(bank)
	j, g, key := parked(t, b)
	faster := &faulty{Journal: j, before: func(n int) error {
		if n == 1 {
			decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingRetry})
		}
		return nil
	}}
	_, err := toolguard.Decide(context.Background(), faster, toolguard.Ruling{
		Key: key, By: "eve", Verdict: toolguard.RulingRetry, Args: []byte(`{"order":"A2"}`),
	})
	require.ErrorIs(t, err, toolguard.ErrDecided)
	for _, e := range entries(t, j) {
		g.Resume(context.Background(), e.Key)
	}
	assertOnce(t, b)
}

func TestRulingsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	b := new(bank)
	j, g, key := parked(t, b)
	for name, c := range map[string]struct {
		ruling toolguard.Ruling
		want   string
	}{
		"nobody":        {toolguard.Ruling{Key: key, Verdict: toolguard.RulingRetry}, "who decides"},
		"no verdict":    {toolguard.Ruling{Key: key, By: "ben"}, "not about"},
		"approve":       {toolguard.Ruling{Key: key, By: "ben", Verdict: toolguard.RulingApprove}, "not about"},
		"no such entry": {toolguard.Ruling{Key: "nope", By: "ben", Verdict: toolguard.RulingRetry}, "no such entry"},
		"empty key":     {toolguard.Ruling{By: "ben", Verdict: toolguard.RulingRetry}, "no such entry"},
		"bad args":      {toolguard.Ruling{Key: key, By: "ben", Verdict: toolguard.RulingRetry, Args: []byte(`[1]`)}, "not one JSON object: they are another value"},
		"changed hands": {toolguard.Ruling{Key: key, By: "ben", Verdict: toolguard.RulingRetry, Token: 7}, "not about"},
	} {
		_, err := toolguard.Decide(context.Background(), j, c.ruling)
		assert.ErrorContains(t, err, c.want, name)
	}
	assert.Equal(t, toolguard.StateUnknown, entry(t, j).State)
	for _, env := range []toolguard.Envelope{g.Resume(context.Background(), "nope"), g.Resume(context.Background(), "")} {
		requireEnvelope(t, env)
		assert.Equal(t, "no_entry/unknown", verdict(env), "that nothing was done is not known")
		assert.ErrorIs(t, env.Err(), toolguard.ErrNoEntry)
		assert.Contains(t, env.Error.Message, "could not be found again")
		assert.NotContains(t, env.Error.Message, "Nothing was done")
		assert.Empty(t, env.Key)
	}
	plainGuard := guardOf(t, toolOf(toolguard.ReadOnly, answers("x")), nil)
	requireEnvelope(t, plainGuard.Resume(context.Background(), key))
	other := guardOf(t, toolguard.Func(toolguard.Info{Name: "other"}, b.refund), &toolguard.Options{Journal: j})
	assert.Equal(t, "no_entry/unknown", verdict(other.Resume(context.Background(), key)), "it is another tool's, and in doubt")
}

// What a journal that does not answer may know is not known: only of what waited
// for a person it is that nothing was done.
func TestResumingWithAJournalThatFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		approver toolguard.Approver
		fails    int32 // from this look on
		want     string
	}{
		"at once":                  {nil, 1, "journal_unavailable/unknown"},
		"in doubt":                 {nil, 2, "journal_unavailable/unknown"},
		"waiting for an approval":  {pendingDesk(), 2, "journal_unavailable/not_started"},
		"waiting, but nobody sees": {pendingDesk(), 1, "journal_unavailable/unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, m := &bank{loses: true}, toolguard.NewMemoryJournal()
			var looks atomic.Int32
			j := &faulty{Journal: m, scan: func() error {
				if looks.Add(1) >= c.fails {
					return errDisk
				}
				return nil
			}}
			key := refundOf(inTurn("1"), guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: m, Approver: c.approver}), "A").Key
			g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: c.approver})
			env := g.Resume(context.Background(), key)
			assert.Equal(t, c.want, verdict(env))
			assert.ErrorIs(t, env.Err(), errDisk)
		})
	}
}

func TestRecoverPoliciesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]toolguard.RecoverPolicy{
		"RecoverPolicy.Interval is -1ns": {Interval: -1},
		"RecoverPolicy.MaxChecks is -1":  {MaxChecks: -1},
		"RecoverPolicy.Batch is -1":      {Batch: -1},
		"RecoverPolicy.Batch is 1001":    {Batch: 1001},
	} {
		_, err := toolguard.NewRecoverer(toolguard.NewMemoryJournal(), &p)
		assert.ErrorContains(t, err, want)
	}
}
