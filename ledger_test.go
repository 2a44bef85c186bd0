package toolguard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// The everyday story: the answer is lost, the model plans anew and sends the same
// call under a new ID.
// case h01
func TestALostAnswerIsNotAskedForTwice(t *testing.T) {
	t.Parallel()
	for _, sessions := range []bool{false, true} {
		inBubble(t, fmt.Sprintf("sessions %v", sessions), func(t *testing.T) {
			b, j := &bank{loses: true}, toolguard.NewMemoryJournal()
			opts := &toolguard.Options{Journal: j}
			if sessions {
				opts.Sessions, _ = toolguard.NewSessions(toolguard.SessionPolicy{})
			}
			g := guardOf(t, refundTool(b, toolguard.NonIdempotent), opts)
			first := refundOf(inTurn("1"), g, "A")
			assert.Equal(t, "unknown_error/unknown", verdict(first))
			assert.NotEmpty(t, first.Key)
			b.set(false, nil)
			for _, turn := range []string{"1", "2"} {
				again := refundOf(inTurn(turn), g, "A")
				assert.Equal(t, "in_doubt/unknown", verdict(again), "turn %s", turn)
				assert.Equal(t, first.Key, again.Key)
				assert.False(t, again.Error.Retryable)
			}
			assertOnce(t, b)
			assert.Equal(t, "ok", verdict(refundOf(inTurn("1"), g, "B")), "another order is another action")
			assert.Equal(t, []string{"pending", "unknown"}, steps(t, j, first.Key))
		})
	}
}

func TestASuccessIsReplayedWithinItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, j := new(bank), toolguard.NewMemoryJournal()
		g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j})
		first := refundOf(inTurn("1"), g, "A")
		time.Sleep(minute)
		again := refundOf(inTurn("1"), g, "A")
		require.True(t, again.OK)
		assert.Equal(t, "refunded A", again.Result.Text)
		assert.Equal(t, first.Key, again.Key)
		assert.True(t, hasNote(again, "replayed"))
		assert.Zero(t, again.Attempts)
		assertOnce(t, b)

		later := refundOf(inTurn("2"), g, "A")
		require.True(t, later.OK)
		assert.True(t, hasNote(later, "earlier_success"), "the user is told that it was done before")
		assert.NotEqual(t, first.Key, later.Key, "the downstream must not take it for the first")
		assert.Equal(t, 2, b.count())
		found := entries(t, j)
		require.Len(t, found, 2)
		assert.Equal(t, []int{1, 0}, []int{found[0].Generation, found[1].Generation})
		assert.Equal(t, found[0].Group, found[1].Group)
	})
}

// Without turns nothing says that a call is not meant again.
func TestWithoutTurnsASuccessIsNotReplayed(t *testing.T) {
	t.Parallel()
	b := new(bank)
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: toolguard.NewMemoryJournal()})
	refundOf(inTurn(""), g, "A")
	again := refundOf(inTurn(""), g, "A")
	assert.True(t, hasNote(again, "earlier_success"))
	assert.Equal(t, 2, b.count())
}

func TestRepeatsThatAreMeantRun(t *testing.T) {
	t.Parallel()
	for name, tool := range map[string]toolguard.Info{
		"declared":   {Name: "refund", Effect: toolguard.NonIdempotent, RepeatsNormal: true},
		"idempotent": {Name: "refund", Effect: toolguard.Idempotent}, // it sets a state, which may be another one by now
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := new(bank)
			g := guardOf(t, toolguard.Func(tool, b.refund), &toolguard.Options{Journal: toolguard.NewMemoryJournal()})
			for range 3 {
				env := refundOf(inTurn("1"), g, "A")
				assert.True(t, env.OK)
				assert.False(t, hasNote(env, "earlier_success"), "it is the same turn")
			}
			assert.Equal(t, 3, b.count())
			assert.Len(t, b.keys, 3)
		})
	}
}

// A restarted run does not redo its steps, and does not let one be another.
// cases h02, o02, o07
func TestAStepIsDoneOnce(t *testing.T) {
	t.Parallel()
	b, j := new(bank), toolguard.NewMemoryJournal()
	for range 2 { // the process, and the one after it
		g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j})
		env := refundOf(inStep("pay"), g, "A")
		require.True(t, env.OK)
		assert.Equal(t, "refunded A", env.Result.Text)
		other := refundOf(inStep("pay"), g, "B")
		assert.Equal(t, "key_conflict/not_started", verdict(other))
	}
	assertOnce(t, b)
	e := entry(t, j)
	assert.Equal(t, toolguard.StateSucceeded, e.State)
	run, err := j.Scan(context.Background(), toolguard.Query{Run: "r"})
	require.NoError(t, err)
	assert.Len(t, run, 1, "a run's steps can be listed")
}

func TestReadsAreJournaledOnlyInSteps(t *testing.T) {
	t.Parallel()
	j, ran := toolguard.NewMemoryJournal(), 0
	g := guardOf(t, toolOf(toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) {
		ran++
		return toolguard.Result{Text: "ok"}, nil
	}), &toolguard.Options{Journal: j})
	doIn(inTurn("1"), g)
	assert.Empty(t, entries(t, j))
	doIn(inStep("look"), g)
	doIn(inStep("look"), g)
	assert.Equal(t, 2, ran, "a resumed step reads from the journal")
	assert.Len(t, entries(t, j), 1)
}

// What certainly failed may be sent again, under the same key and a new token.
func TestAFailureIsClaimedAnew(t *testing.T) {
	t.Parallel()
	b, j := &bank{refuses: toolguard.NoEffect(toolguard.Business("closed"))}, toolguard.NewMemoryJournal()
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j})
	first := refundOf(inTurn("1"), g, "A")
	assert.Equal(t, "business_rule/failed", verdict(first))
	before := entry(t, j)
	assert.Equal(t, toolguard.StateFailed, before.State)
	assert.Equal(t, toolguard.CodeBusinessRule, before.Code)
	b.set(false, nil)
	again := refundOf(inTurn("1"), g, "A")
	require.True(t, again.OK)
	assert.Equal(t, first.Key, again.Key)
	assert.Equal(t, before.Token+1, entry(t, j).Token)
}

// For a tool that may run again a new claim is fresh, but a later failure does not
// say that the first attempt had no effect.
func TestUnknownSticksForRepeatableTools(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, j := &bank{loses: true}, toolguard.NewMemoryJournal()
		g := guardOf(t, refundTool(b, toolguard.IdempotentByKey), &toolguard.Options{Journal: j, Retry: once})
		first := refundOf(inTurn("1"), g, "A")
		b.set(false, toolguard.NoEffect(toolguard.Business("closed")))
		assert.Equal(t, "business_rule/unknown", verdict(refundOf(inTurn("1"), g, "A")))
		assert.Equal(t, toolguard.StateUnknown, entry(t, j).State)
		b.set(false, nil)
		again := refundOf(inTurn("1"), g, "A")
		require.True(t, again.OK)
		assert.Equal(t, first.Key, again.Key, "the downstream knows it by that")
		assert.Equal(t, toolguard.StateSucceeded, entry(t, j).State)

		b.set(true, nil)
		refundOf(inTurn("1"), g, "B")
		time.Sleep(25 * time.Hour)
		assert.Equal(t, "in_doubt/unknown", verdict(refundOf(inTurn("1"), g, "B")), "the downstream has forgotten the key")
	})
}

func TestAStatusQuerySettlesADoubt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, j := &bank{loses: true}, toolguard.NewMemoryJournal()
		tool := refundTool(b, toolguard.NonIdempotent)
		g := guardOf(t, tool, &toolguard.Options{Journal: j})
		refundOf(inTurn("1"), g, "A") // nobody can be asked
		asking := refundTool(b, toolguard.NonIdempotent)
		asking.Status = b.status
		h := guardOf(t, asking, &toolguard.Options{Journal: j})
		again := refundOf(inTurn("1"), h, "A")
		require.True(t, again.OK)
		assert.Equal(t, "receipt of A", again.Result.Text)
		assert.True(t, hasNote(again, "confirmed"))
		assertOnce(t, b)
		e := entry(t, j)
		assert.Equal(t, toolguard.StateSucceeded, e.State)

		b.set(false, toolguard.MaybeDone(errLost)) // nothing arrives
		refundOf(inTurn("1"), g, "B")
		assert.Equal(t, "in_doubt/unknown", verdict(refundOf(inTurn("1"), h, "B")), "it may be on its way")
		time.Sleep(minute)
		b.set(false, nil)
		assert.True(t, refundOf(inTurn("1"), h, "B").OK, "a minute later it is not")
		assert.Equal(t, 2, b.count())
	})
}

// A lease that expires is never leave to run again.
// case h08
func TestAnExpiredLeaseIsUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, j := new(bank), toolguard.NewMemoryJournal()
		gone := &faulty{Journal: j, before: func(n int) error {
			if n > 1 {
				return errDisk // the process ends after its claim
			}
			return nil
		}}
		g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: gone})
		first := refundOf(inTurn("1"), g, "A")
		require.True(t, first.OK, "bookkeeping turns no success into a failure")
		assert.True(t, hasNote(first, "not_recorded"))
		h := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j})
		assert.Equal(t, "in_progress/unknown", verdict(refundOf(inTurn("1"), h, "A")))
		time.Sleep(31 * time.Second)
		assert.Equal(t, "in_doubt/unknown", verdict(refundOf(inTurn("1"), h, "A")))
		assertOnce(t, b)
		e := entry(t, j)
		assert.Equal(t, toolguard.StateUnknown, e.State)
		assert.EqualValues(t, 2, e.Token, "whoever had it can settle it no more")
	})
}

// Nobody takes the entry of a call that is still there.
func TestALeaseIsRenewed(t *testing.T) {
	t.Parallel()
	limited, unlimited := toolguard.TimeoutPolicy{Attempt: 10 * minute}, toolguard.TimeoutPolicy{Off: true}
	for name, c := range map[string]struct {
		wrapped  bool
		timeout  toolguard.TimeoutPolicy
		renewals bool
	}{
		"in memory, where its budget is known": {false, limited, false},
		"in memory, where it has none":         {false, unlimited, true},
		"in somebody else's store":             {true, limited, true},
	} {
		inBubble(t, name, func(t *testing.T) {
			m := toolguard.NewMemoryJournal()
			var j toolguard.Journal = m
			if c.wrapped {
				j = &faulty{Journal: m}
			}
			tool := toolguard.Action(toolguard.Info{Name: "slow"}, func(context.Context, struct{}) error {
				time.Sleep(5*minute + time.Second)
				return nil
			})
			g := guardOf(t, tool, &toolguard.Options{Journal: j, Timeout: c.timeout})
			done := make(chan toolguard.Envelope, 1)
			go func() { done <- doIn(inTurn("1"), g) }()
			synctest.Wait()
			claimed := entry(t, m)
			for range 9 {
				time.Sleep(31 * time.Second)
				taken, err := m.Take(context.Background(), 10, minute)
				require.NoError(t, err)
				assert.Empty(t, taken, "it runs and says so")
			}
			assert.Equal(t, c.renewals, entry(t, m).Updated.After(claimed.Updated))
			assert.Equal(t, "ok", verdict(<-done))
			assert.Equal(t, toolguard.StateSucceeded, entry(t, m).State)
		})
	}
}

// Where the claim holds as long as the call may take, it holds no longer than that.
func TestALeaseInMemoryEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, wait := toolguard.NewMemoryJournal(), untilReleased(t)
		g := guardOf(t, toolguard.Action(toolguard.Info{Name: "hangs"}, func(context.Context, struct{}) error {
			wait()
			return nil
		}), &toolguard.Options{Journal: j})
		go doIn(inTurn("1"), g)
		synctest.Wait()
		due := entry(t, j).Due
		assert.Less(t, due, 5*minute)
		time.Sleep(due - 30*time.Second)
		assert.Equal(t, toolguard.StateUnknown, entry(t, j).State, "the call has ended")
	})
}

// The claim holds while somebody is waited for, which the budget does not count.
func TestALeaseInMemoryOutlastsAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, runs := toolguard.NewMemoryJournal(), 0
		g := guardOf(t, toolguard.Action(toolguard.Info{Name: "asks", Effect: toolguard.IdempotentByKey}, func(ctx context.Context, _ struct{}) error {
			if runs++; runs == 1 {
				return pause(59*minute)(ctx, toolguard.WaitingFrom(ctx))
			}
			return nil
		}), &toolguard.Options{Journal: j})
		w, err := toolguard.NewWaiting(60 * minute)
		require.NoError(t, err)
		first := make(chan toolguard.Envelope, 1)
		go func() { first <- doIn(toolguard.WithWaiting(inTurn("1"), w), g) }()
		for range 58 {
			time.Sleep(minute)
			assert.Equal(t, "in_progress/unknown", verdict(doIn(inTurn("1"), g)))
		}
		env := <-first
		assert.Equal(t, "ok", verdict(env))
		assert.False(t, hasNote(env, "not_recorded"))
		assert.Equal(t, 1, runs)
	})
}

// A late answer settles what was unknown, also where it waits for a person, as long
// as nobody else has decided.
func TestALateAnswerSettles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		take    bool // a recoverer has had it meanwhile
		decided toolguard.RulingVerdict
		late    error
		want    toolguard.State
	}{
		"success":                  {want: toolguard.StateSucceeded},
		"certainly nothing":        {late: toolguard.NoEffect(errLost), want: toolguard.StateFailed},
		"nobody knows":             {late: errLost, want: toolguard.StateUnknown},
		"parked, success":          {take: true, want: toolguard.StateSucceeded},
		"parked, nothing":          {take: true, late: toolguard.NoEffect(errLost), want: toolguard.StateFailed},
		"parked, nobody knows":     {take: true, late: errLost, want: toolguard.StateParked},
		"a person says it failed":  {take: true, decided: toolguard.RulingFailed, want: toolguard.StateFailed},
		"a person has closed it":   {decided: toolguard.RulingAbort, want: toolguard.StateAborted},
		"a person lets it be done": {take: true, decided: toolguard.RulingRetry, want: toolguard.StateApproved},
	} {
		inBubble(t, name, func(t *testing.T) {
			j := toolguard.NewMemoryJournal()
			release := make(chan struct{})
			g := guardOf(t, toolOf(toolguard.NonIdempotent, func(context.Context) (toolguard.Result, error) {
				<-release
				return toolguard.Result{Text: "late"}, c.late
			}), &toolguard.Options{Journal: j})
			env := doIn(inTurn("1"), g)
			assert.Equal(t, "abandoned/unknown", verdict(env))
			assert.Equal(t, toolguard.StateUnknown, entry(t, j).State)
			if c.take {
				r, err := toolguard.NewRecoverer(j, nil)
				require.NoError(t, err)
				time.Sleep(minute)
				_, err = r.Once(context.Background())
				require.NoError(t, err)
				require.Equal(t, toolguard.StateParked, entry(t, j).State)
			}
			if c.decided != 0 {
				decide(t, j, toolguard.Ruling{Key: env.Key, Verdict: c.decided})
			}
			time.Sleep(time.Hour)
			close(release)
			synctest.Wait()
			assert.Equal(t, c.want, entry(t, j).State)
			records, err := j.Records(context.Background(), toolguard.RecordQuery{Key: env.Key})
			require.NoError(t, err)
			kinds := map[toolguard.RecordKind]int{}
			for _, r := range records {
				kinds[r.Kind]++
			}
			assert.Equal(t, 1, kinds[toolguard.RecordLate], "it is evidence in any case")
			if c.want == toolguard.StateSucceeded {
				assert.Equal(t, toolguard.WhyLate, records[len(records)-1].Why)
				time.Sleep(minute)
				again := doIn(inTurn("1"), g)
				assert.Equal(t, "late", again.Result.Text)
				assert.Equal(t, minute, again.Notes[0].Age, "it happened when the attempt came back")
			}
		})
	}
}

// Bookkeeping that fails changes no answer, and nothing runs unrecorded.
// case h08
func TestAFailingJournal(t *testing.T) {
	t.Parallel()
	hang := func(t *testing.T) func() error {
		wait := untilReleased(t)
		return func() error { wait(); return nil }
	}
	for name, fault := range map[string]func(t *testing.T) func() error{
		"error": func(*testing.T) func() error { return func() error { return errDisk } },
		"panic": func(*testing.T) func() error { return func() error { panic("db-7.internal") } },
		"hang":  hang,
	} {
		for _, effect := range []toolguard.Effect{toolguard.NonIdempotent, toolguard.IdempotentByKey} {
			inBubble(t, fmt.Sprintf("%s at the claim of %v", name, effect), func(t *testing.T) {
				b, fails := new(bank), fault(t)
				j := &faulty{Journal: toolguard.NewMemoryJournal(), before: func(int) error { return fails() }, scan: fails}
				g := guardOf(t, refundTool(b, effect), &toolguard.Options{Journal: j})
				env := refundOf(inTurn("1"), g, "A")
				requireEnvelope(t, env)
				if effect == toolguard.NonIdempotent {
					assert.Equal(t, "journal_unavailable/not_started", verdict(env))
					assert.Zero(t, b.count())
					assert.NotContains(t, env.ForModel(), "db-7")
					return
				}
				assert.True(t, env.OK)
				assert.True(t, hasNote(env, "not_recorded"))
			})
			inBubble(t, fmt.Sprintf("%s at the settling of %v", name, effect), func(t *testing.T) {
				b, fails := new(bank), fault(t)
				j := &faulty{Journal: toolguard.NewMemoryJournal(), before: func(n int) error {
					if n == 2 {
						return fails()
					}
					return nil
				}}
				g := guardOf(t, refundTool(b, effect), &toolguard.Options{Journal: j})
				env := refundOf(inTurn("1"), g, "A")
				assert.True(t, env.OK)
				assert.Equal(t, "refunded A", env.Result.Text)
				assert.True(t, hasNote(env, "not_recorded"))
				assertOnce(t, b)
			})
		}
	}
}

// The store may have done what it says it has not: it is asked again.
func TestAWriteWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 2; n++ {
		inBubble(t, fmt.Sprintf("write %d", n), func(t *testing.T) {
			b, m := new(bank), toolguard.NewMemoryJournal()
			g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: &faulty{Journal: m, after: on(n, errDisk)}})
			env := refundOf(inTurn("1"), g, "A")
			require.True(t, env.OK)
			assert.Empty(t, env.Notes, "it is recorded")
			assert.Equal(t, toolguard.StateSucceeded, entry(t, m).State)
			assertOnce(t, b)
		})
	}
}

// Of many at once one runs; the others join it, get its result, or are refused.
// case h11
func TestManyClaimOneKey(t *testing.T) {
	t.Parallel()
	for _, sessions := range []bool{false, true} {
		inBubble(t, fmt.Sprintf("sessions %v", sessions), func(t *testing.T) {
			b, j := new(bank), toolguard.NewMemoryJournal()
			opts := &toolguard.Options{
				Journal: &faulty{Journal: j, before: func(int) error { time.Sleep(time.Millisecond); return nil }},
				Loop:    toolguard.LoopPolicy{Off: true},
			}
			if sessions {
				opts.Sessions, _ = toolguard.NewSessions(toolguard.SessionPolicy{})
			}
			var guards []*toolguard.Guard
			for range 4 { // as many processes
				guards = append(guards, guardOf(t, refundTool(b, toolguard.NonIdempotent), opts))
			}
			var wg sync.WaitGroup
			for i := range 64 {
				wg.Go(func() {
					env := refundOf(inTurn("1"), guards[i%4], "A")
					if !env.OK {
						assert.Equal(t, "in_progress/unknown", verdict(env))
					}
				})
			}
			wg.Wait()
			assertOnce(t, b)
			assert.Equal(t, toolguard.StateSucceeded, entry(t, j).State)
		})
	}
}

// A guard inside another one of the same tool leaves the journal to it.
func TestNestedGuardsHaveOneEntry(t *testing.T) {
	t.Parallel()
	b, j := new(bank), toolguard.NewMemoryJournal()
	inner := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j})
	outer := guardOf(t, inner, &toolguard.Options{Journal: j})
	env := refundOf(inTurn("1"), outer, "A")
	require.True(t, env.OK)
	assertOnce(t, b)
	assert.Equal(t, 1, b.keys[entry(t, j).Key], "the downstream got the key of the entry")
}

// A tool that calls others inside a step: they are told apart by their arguments.
func TestCallsInsideAStep(t *testing.T) {
	t.Parallel()
	b, j := new(bank), toolguard.NewMemoryJournal()
	opts := &toolguard.Options{Journal: j}
	inner := guardOf(t, refundTool(b, toolguard.NonIdempotent), opts)
	outer := guardOf(t, toolguard.Action(toolguard.Info{Name: "all", Effect: toolguard.Idempotent}, func(ctx context.Context, _ struct{}) error {
		for _, order := range []string{"A", "B"} {
			if env := refundOf(ctx, inner, order); !env.OK {
				return env.Err()
			}
		}
		return toolguard.Unavailable("later")
	}), &toolguard.Options{Journal: j, Retry: once})
	for range 2 {
		assert.Equal(t, "service_unavailable/unknown", verdict(doIn(inStep("1"), outer)))
	}
	assert.Equal(t, 2, b.count(), "resumed, it finds what it has done")
}

// An open breaker leaves nothing in the journal.
func TestNothingIsWrittenForAnOpenBreaker(t *testing.T) {
	t.Parallel()
	j := &faulty{Journal: toolguard.NewMemoryJournal()}
	g := guardOf(t, refundTool(new(bank), toolguard.NonIdempotent), &toolguard.Options{Journal: j})
	g.ForceBreaker(toolguard.BreakerOpen)
	assert.Equal(t, "breaker_open/not_started", verdict(refundOf(inTurn("1"), g, "A")))
	assert.Zero(t, j.writes.Load())
}

func TestTheKeyAsAnArgument(t *testing.T) {
	t.Parallel()
	type in struct {
		Order string `json:"order"`
		Key   string `json:"idempotency_key"`
	}
	var got []in
	j := toolguard.NewMemoryJournal()
	info := toolguard.Info{Name: "pay", Effect: toolguard.IdempotentByKey, KeyField: "idempotency_key"}
	g := guardOf(t, toolguard.Action(info, func(_ context.Context, v in) error {
		got = append(got, v)
		return toolguard.MaybeDone(errLost)
	}), &toolguard.Options{Journal: j, Retry: once})
	for _, args := range []string{`{"order":"A"}`, `{"order":"A","idempotency_key":"mine"}`, `{"idempotency_key":"other", "order":"A"}`, `{"order":"B"}`} {
		env := g.Do(inTurn("1"), toolguard.Call{Args: []byte(args)})
		assert.Contains(t, string(env.Args), `"idempotency_key":"`+env.Key+`"`, "what ran is what is shown")
		assert.Equal(t, len(got) == 2 || len(got) == 3, hasNote(env, "key_overwritten"), args)
	}
	again := g.Do(inTurn("1"), toolguard.Call{Args: []byte(`{"order":"A","idempotency_key":"` + got[0].Key + `"}`)})
	assert.False(t, hasNote(again, "key_overwritten"), "it was the key: nothing was replaced")
	got = got[:4]
	assert.Equal(t, got[0], got[1])
	assert.Equal(t, got[0], got[2], "it is one action whatever the model writes there")
	assert.NotEqual(t, got[0].Key, got[3].Key)
	_, err := toolguard.New(toolguard.Action(toolguard.Info{Name: "x", KeyField: "key", Schema: []byte(`{"type":"object","additionalProperties":false}`)}, func(context.Context, struct{}) error { return nil }), nil)
	assert.ErrorContains(t, err, `Info.KeyField is "key"`)
}

func TestAResultTooLargeToKeep(t *testing.T) {
	t.Parallel()
	j := toolguard.NewMemoryJournal()
	g := guardOf(t, toolOf(toolguard.NonIdempotent, answers("0123456789")), &toolguard.Options{Journal: j, Journaling: toolguard.JournalPolicy{MaxResult: 4}})
	assert.True(t, doIn(inTurn("1"), g).OK)
	again := doIn(inTurn("1"), g)
	assert.Equal(t, "result_unavailable/succeeded", verdict(again))
}

// A journal weaker than the tool demands is an error, not a surprise.
func TestDurabilityIsDemanded(t *testing.T) {
	t.Parallel()
	tool := toolguard.Action(toolguard.Info{Name: "pay", Durability: toolguard.DurabilityDisk}, func(context.Context, struct{}) error { return nil })
	_, err := toolguard.New(tool, nil)
	assert.ErrorContains(t, err, "Options.Journal is nil")
	_, err = toolguard.New(tool, &toolguard.Options{Journal: toolguard.NewMemoryJournal()})
	assert.ErrorContains(t, err, "Options.Journal is volatile, want a durability of disk")
}

// The caller may be gone when the answer is there: it is written down all the same,
// wherever that is, and also if it comes late.
func TestSettlingOutlivesTheCaller(t *testing.T) {
	t.Parallel()
	for _, takes := range []time.Duration{0, minute} {
		for name, used := range map[string]func(toolguard.Journal) toolguard.Journal{
			"in memory": func(m toolguard.Journal) toolguard.Journal { return m },
			"elsewhere": func(m toolguard.Journal) toolguard.Journal { return &faulty{Journal: m} },
		} {
			inBubble(t, fmt.Sprint(name, takes), func(t *testing.T) {
				m := toolguard.NewMemoryJournal()
				ctx, cancel := context.WithCancel(inTurn("1"))
				g := guardOf(t, toolOf(toolguard.NonIdempotent, func(context.Context) (toolguard.Result, error) {
					cancel()
					time.Sleep(takes)
					return toolguard.Result{Text: "done"}, nil
				}), &toolguard.Options{Journal: used(m)})
				doIn(ctx, g)
				time.Sleep(2 * takes)
				assert.Equal(t, toolguard.StateSucceeded, entry(t, m).State)
			})
		}
	}
}

// After an error the key may be somebody else's: it is not taken for one's own.
func TestAClaimThatSomebodyElseMade(t *testing.T) {
	t.Parallel()
	b, m := new(bank), toolguard.NewMemoryJournal()
	other := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: &faulty{Journal: m, before: func(n int) error {
		if n == 2 {
			return errDisk // it claims, and is not heard of again
		}
		return nil
	}}})
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: &faulty{Journal: m, before: func(n int) error {
		if n == 1 {
			refundOf(inTurn("1"), other, "A")
			return errDisk
		}
		return nil
	}}})
	assert.Equal(t, "in_progress/unknown", verdict(refundOf(inTurn("1"), g, "A")))
	assertOnce(t, b)
}

// A recoverer that parks an entry at the same moment decides nothing, and whoever
// lost the entry leaves what it knows as evidence.
func TestALateAnswerRaces(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]toolguard.State{
		"parks": toolguard.StateSucceeded, "takes": toolguard.StateUnknown, "takes, and it comes back": toolguard.StateUnknown,
	} {
		inBubble(t, name, func(t *testing.T) {
			m, release := toolguard.NewMemoryJournal(), make(chan struct{})
			j := &faulty{Journal: m}
			takes, early := name != "parks", name == "takes, and it comes back"
			j.before = func(n int) error {
				e := entries(t, m)
				switch {
				case n > 1 && takes && e[0].State == toolguard.StatePending: // nothing was heard of it
					next := e[0]
					next.Token, next.State = next.Token+1, toolguard.StateUnknown
					if early {
						close(release)
						time.Sleep(time.Second)
					}
					_, _, err := m.Write(context.Background(), e[0].Version(), next)
					return err
				case !takes && e != nil && e[0].State == toolguard.StateUnknown:
					next := e[0]
					next.State = toolguard.StateParked
					_, _, err := m.Write(context.Background(), e[0].Version(), next)
					return err
				}
				return nil
			}
			g := guardOf(t, toolOf(toolguard.NonIdempotent, func(context.Context) (toolguard.Result, error) {
				<-release
				return toolguard.Result{Text: "late"}, nil
			}), &toolguard.Options{Journal: j})
			ctx, cancel := context.WithTimeout(inTurn("1"), time.Second)
			defer cancel()
			env := doIn(ctx, g)
			require.False(t, env.OK)
			time.Sleep(minute)
			if !early {
				close(release)
			}
			synctest.Wait()
			assert.Equal(t, want, entry(t, m).State)
			records, err := m.Records(context.Background(), toolguard.RecordQuery{Key: env.Key})
			require.NoError(t, err)
			assert.True(t, slices.ContainsFunc(records, func(r toolguard.Record) bool {
				return r.Kind == toolguard.RecordLate && r.Outcome == toolguard.OutcomeSucceeded
			}), "it is evidence in any case")
		})
	}
}

// What a status query has settled, a late answer does not unsettle.
func TestALateAnswerAfterAStatusQuery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, release := toolguard.NewMemoryJournal(), make(chan struct{})
		tool := toolguard.Action(toolguard.Info{Name: "pay"}, func(context.Context, struct{}) error {
			<-release
			return toolguard.NoEffect(errLost)
		})
		tool.Status = func(context.Context, string, struct{}) (toolguard.Outcome, toolguard.Result, error) {
			return toolguard.OutcomeSucceeded, toolguard.Result{Text: "paid"}, nil
		}
		g := guardOf(t, tool, &toolguard.Options{Journal: j})
		env := doIn(inTurn("1"), g)
		require.True(t, env.OK)
		close(release)
		synctest.Wait()
		assert.Equal(t, toolguard.StateSucceeded, entry(t, j).State)
		records, err := j.Records(context.Background(), toolguard.RecordQuery{Key: env.Key})
		require.NoError(t, err)
		assert.Equal(t, toolguard.RecordLate, records[len(records)-1].Kind)
	})
}

// Whoever was taken the entry away settles nothing any more.
func TestTakingFences(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, began := toolguard.NewMemoryJournal(), time.Now()
		slow := toolguard.Action(toolguard.Info{Name: "slow"}, func(context.Context, struct{}) error {
			time.Sleep(minute)
			return nil
		})
		deaf := &faulty{Journal: m, before: func(n int) error {
			if n > 1 && time.Since(began) < 40*time.Second {
				return errDisk // no renewal gets through
			}
			return nil
		}}
		g := guardOf(t, slow, &toolguard.Options{Journal: deaf, Timeout: toolguard.TimeoutPolicy{Attempt: 5 * minute}})
		done := make(chan toolguard.Envelope, 1)
		go func() { done <- doIn(inTurn("1"), g) }()
		time.Sleep(31 * time.Second)
		taken, err := m.Take(context.Background(), 1, time.Hour)
		require.NoError(t, err)
		require.Len(t, taken, 1)
		env := <-done
		assert.True(t, env.OK)
		assert.True(t, hasNote(env, "not_recorded"))
		e := entry(t, m)
		assert.Equal(t, toolguard.StatePending, e.State)
		assert.Equal(t, taken[0].Token, e.Token)
	})
}

// A batch that was interrupted is sent again: what is done is replayed, what may
// be done is not run, and only the rest runs.
// case h06
func TestABatchIsResumed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, j := new(bank), toolguard.NewMemoryJournal()
		calls := []toolguard.Call{
			{ID: "1", Tool: "refund", Args: []byte(`{"order":"A"}`)},
			{ID: "2", Tool: "refund", Args: []byte(`{"order":"B"}`)},
			{ID: "3", Tool: "refund", Args: []byte(`{"order":"C"}`)},
		}
		run := func(journal toolguard.Journal) (verdicts []string) {
			box, err := toolguard.NewToolbox(&toolguard.ToolboxOptions{Options: toolguard.Options{Journal: journal}}, refundTool(b, toolguard.NonIdempotent))
			require.NoError(t, err)
			for _, env := range box.DoAll(inStep("7"), calls).Envelopes {
				verdicts = append(verdicts, verdict(env))
			}
			return verdicts
		}
		writes := 0
		run(&faulty{Journal: j, before: func(int) error {
			if writes++; writes > 3 {
				return errDisk // the process ends while the second runs
			}
			return nil
		}})
		assert.Equal(t, 2, b.count())
		time.Sleep(minute)
		assert.Equal(t, []string{"ok", "in_doubt/unknown", "ok"}, run(j))
		assert.Equal(t, 3, b.count())
	})
}

// The audit knows of who was not allowed to, once, and without an entry.
func TestRefusalsAreAudited(t *testing.T) {
	t.Parallel()
	b, j := new(bank), toolguard.NewMemoryJournal()
	tool := refundTool(b, toolguard.NonIdempotent)
	tool.Authorize = func(context.Context, refundIn) error { return toolguard.Permission("not yours") }
	g := guardOf(t, tool, &toolguard.Options{Journal: j, Journaling: toolguard.JournalPolicy{AuditArguments: true}})
	assert.Equal(t, "permission_denied/not_started", verdict(refundOf(inTurn("1"), g, "A")))
	assert.Empty(t, entries(t, j))
	records, err := j.Records(context.Background(), toolguard.RecordQuery{})
	require.NoError(t, err)
	require.Len(t, records, 1)
	assert.Equal(t, toolguard.RecordRefused, records[0].Kind)
	assert.Equal(t, "ann", records[0].Scope.Principal)
	assert.JSONEq(t, `{"order":"A"}`, string(records[0].Args))
}

// A tool that asks for something first has done nothing yet.
func TestInputRequiredIsNoEffect(t *testing.T) {
	t.Parallel()
	j, asks := toolguard.NewMemoryJournal(), true
	g := guardOf(t, toolOf(toolguard.NonIdempotent, func(context.Context) (toolguard.Result, error) {
		return toolguard.Result{Text: "which account?", InputRequired: asks}, nil
	}), &toolguard.Options{Journal: j})
	assert.True(t, doIn(inTurn("1"), g).OK)
	assert.Equal(t, toolguard.StateFailed, entry(t, j).State)
	asks = false
	again := doIn(inTurn("1"), g)
	assert.False(t, hasNote(again, "replayed"))
	assert.Equal(t, toolguard.StateSucceeded, entry(t, j).State)
}

// A hanging store is counted like all of the host's code that hangs.
func TestAHangingJournalIsCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wait := untilReleased(t)
		g := guardOf(t, refundTool(new(bank), toolguard.NonIdempotent), &toolguard.Options{Journal: &faulty{
			Journal: toolguard.NewMemoryJournal(), scan: func() error { wait(); return nil },
		}})
		refundOf(inTurn("1"), g, "A")
		assert.Equal(t, 1, g.Stats().StuckCallbacks)
	})
}

// What a tool returns is held against what it says it returns.
func TestOutputSchema(t *testing.T) {
	t.Parallel()
	schema := []byte(`{"type":"object","required":["id"],"properties":{"id":{"type":"integer"}}}`)
	for text, want := range map[string]string{`{"id":7}`: "ok", `{"id":"7"}`: "bad_response/failed", `[]`: "bad_response/failed", `no`: "bad_response/failed"} {
		tool := plain{
			info: toolguard.Info{Name: "look", Effect: toolguard.ReadOnly, OutputSchema: schema},
			call: func(context.Context, json.RawMessage) (toolguard.Result, error) {
				return toolguard.Result{JSON: []byte(text)}, nil
			},
		}
		assert.Equal(t, want, verdict(doIn(context.Background(), guardOf(t, tool, &toolguard.Options{Retry: once}))), text)
		tool.info.Effect = toolguard.NonIdempotent
		if want != "ok" {
			want = "bad_response/unknown"
		}
		assert.Equal(t, want, verdict(doIn(context.Background(), guardOf(t, tool, nil))), text)
	}
	_, err := toolguard.New(plain{info: toolguard.Info{Name: "look", OutputSchema: []byte(`{"type":1}`)}}, nil)
	assert.ErrorContains(t, err, "Info.OutputSchema")
}

// A refusal of the guard's own says nothing of what an earlier call under the key
// may have done: an unknown outcome stays one, for the model and in the journal.
func TestARefusalOverADoubtLeavesTheDoubt(t *testing.T) {
	t.Parallel()
	down := func(_ context.Context, in refundIn) (string, error) {
		if in.Order == "slow" {
			time.Sleep(30 * time.Second)
		}
		return "", toolguard.MaybeDone(toolguard.Unavailable("down"))
	}
	tooLate := func(_ context.Context, args json.RawMessage) error {
		if strings.Contains(string(args), "late") {
			return toolguard.Business("refunded already")
		}
		return nil
	}
	for name, c := range map[string]struct {
		opts  toolguard.Options
		other string // is called meanwhile
		code  toolguard.Code
	}{
		"the breaker":  {opts: toolguard.Options{Breaker: toolguard.BreakerPolicy{Failures: 2}}, other: "B", code: toolguard.CodeBreakerOpen},
		"a rule":       {opts: toolguard.Options{Check: tooLate}, other: "B", code: toolguard.CodeBusinessRule},
		"want of room": {opts: toolguard.Options{Concurrency: toolguard.ConcurrencyPolicy{Max: 1, Wait: time.Second}}, other: "slow", code: toolguard.CodeOverloaded},
	} {
		inBubble(t, name, func(t *testing.T) {
			j := toolguard.NewMemoryJournal()
			c.opts.Journal, c.opts.Retry.Off = j, true
			info := toolguard.Info{Name: "refund", Effect: toolguard.IdempotentByKey, Irrelevant: []string{"reason"}}
			g := guardOf(t, toolguard.Func(info, down), &c.opts)
			key := refundOf(inTurn("1"), g, "A").Key
			go refundOf(inTurn("1"), g, c.other)
			synctest.Wait()
			env := g.Do(inTurn("1"), toolguard.Call{Args: []byte(`{"order":"A","reason":"late"}`)})
			assert.Equal(t, string(c.code)+"/unknown", verdict(env))
			found, err := j.Scan(context.Background(), toolguard.Query{Key: key})
			require.NoError(t, err)
			assert.Equal(t, toolguard.StateUnknown, found[0].State)
			time.Sleep(minute)
		})
	}
}

// So does one while another process is at it.
func TestALoopOverACallThatRunsElsewhere(t *testing.T) {
	t.Parallel()
	b, j := new(bank), toolguard.NewMemoryJournal()
	crashed(t, j, b, 1) // as far as anybody can tell it still runs
	sessions, err := toolguard.NewSessions(toolguard.SessionPolicy{})
	require.NoError(t, err)
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Sessions: sessions})
	var last toolguard.Envelope
	for range 8 {
		if last = refundOf(inTurn("1"), g, "A"); last.Error.Code != toolguard.CodeInProgress {
			break
		}
		assert.Contains(t, last.Error.Message, "may still be running", "nobody knows")
	}
	assert.Equal(t, "loop_detected/unknown", verdict(last))
}

// late is a journal whose first answer takes its time.
type late struct {
	toolguard.Journal
	scans atomic.Int32
}

func (j *late) Scan(ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error) {
	found, err := j.Journal.Scan(ctx, q)
	if j.scans.Add(1) == 1 {
		time.Sleep(5 * time.Second)
	}
	return found, err
}

// What a call has seen of the journal is old when it is refused as a loop: it looks
// again.
func TestALoopIsHeldAgainstWhatTheJournalKnowsNow(t *testing.T) {
	t.Parallel()
	for name, takes := range map[string]time.Duration{"loop_detected/unknown": time.Minute, "ok": 4 * time.Second} {
		inBubble(t, name, func(t *testing.T) {
			b, j := new(bank), toolguard.NewMemoryJournal()
			elsewhere := guardOf(t, toolguard.Func(toolguard.Info{Name: "refund"}, func(ctx context.Context, in refundIn) (string, error) {
				time.Sleep(takes)
				return b.refund(ctx, in)
			}), &toolguard.Options{Journal: j})
			sessions, err := toolguard.NewSessions(toolguard.SessionPolicy{})
			require.NoError(t, err)
			here := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: &late{Journal: j}, Sessions: sessions})
			var env toolguard.Envelope
			var wg sync.WaitGroup
			wg.Go(func() { env = refundOf(inTurn("1"), here, "A") })
			synctest.Wait()
			wg.Go(func() { refundOf(inTurn("1"), elsewhere, "A") })
			synctest.Wait()
			for range 3 {
				assert.Equal(t, "in_progress/unknown", verdict(refundOf(inTurn("1"), here, "A")))
			}
			wg.Wait()
			assert.Equal(t, name, verdict(env))
			assertOnce(t, b)
		})
	}
}
