package toolguard_test

import (
	"cmp"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// recordsOf are the lines of the audit on a key, "" for all, in order.
func recordsOf(t testing.TB, j toolguard.Journal, key string) []toolguard.Record {
	t.Helper()
	records, err := j.Records(context.Background(), toolguard.RecordQuery{Key: key})
	require.NoError(t, err)
	return records
}

// said is what a line of the audit says beside who, where and when.
type said struct {
	kind     toolguard.RecordKind
	from, to toolguard.State
	why      string
	attempt  int
	took     time.Duration
	code     toolguard.Code
	outcome  toolguard.Outcome
}

func saidBy(records []toolguard.Record) (all []said) {
	for _, r := range records {
		all = append(all, said{r.Kind, r.From, r.To, r.Why, r.Attempt, r.Duration, r.Code, r.Outcome})
	}
	return all
}

// assertAbout holds the lines against the call and the entry they are about.
func assertAbout(t testing.TB, records []toolguard.Record, key string, token uint64) {
	t.Helper()
	for _, r := range records {
		assert.Equal(t, key, r.Key, "%v", r.Kind)
		assert.Equal(t, token, r.Token, "%v", r.Kind)
		assert.Equal(t, "guard", r.Actor)
		assert.Equal(t, "c1", r.CallID)
		assert.Equal(t, "ann", r.Scope.Principal)
		assert.Nil(t, r.Args, "the policy leaves arguments out")
	}
}

// Every attempt has its line, with its number, how long it took and what it came to,
// between the claim and what the call came to.
func TestTheAuditSaysWhatHappened(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, tries := toolguard.NewMemoryJournal(), 0
		g := guardOf(t, toolOf(toolguard.NonIdempotent, func(context.Context) (toolguard.Result, error) {
			if tries++; tries == 1 {
				time.Sleep(3 * time.Second)
				return toolguard.Result{}, toolguard.NotStarted(toolguard.Unavailable("busy"))
			}
			time.Sleep(5 * time.Second)
			return toolguard.Result{}, toolguard.Business("closed")
		}), &toolguard.Options{Journal: j})
		env := doIn(inTurn("1"), g)
		require.Equal(t, "business_rule/failed", verdict(env))
		e := entry(t, j)
		assert.Equal(t, 2, e.Attempts)
		records := recordsOf(t, j, env.Key)
		assertAbout(t, records, env.Key, e.Token)
		assert.Equal(t, []said{
			{kind: toolguard.RecordState, to: toolguard.StatePending, outcome: toolguard.OutcomeUnknown},
			{kind: toolguard.RecordAttempt, attempt: 1, took: 3 * time.Second, code: toolguard.CodeServiceUnavailable, outcome: toolguard.OutcomeNotStarted},
			{kind: toolguard.RecordAttempt, attempt: 2, took: 5 * time.Second, code: toolguard.CodeBusinessRule, outcome: toolguard.OutcomeFailed},
			{kind: toolguard.RecordState, from: toolguard.StatePending, to: toolguard.StateFailed, code: toolguard.CodeBusinessRule, outcome: toolguard.OutcomeFailed},
		}, saidBy(records))
	})
}

// A status query has its line, too.
func TestTheAuditSaysWhatWasAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := toolguard.NewMemoryJournal()
		tool := toolguard.Action(toolguard.Info{Name: "pay"}, func(context.Context, struct{}) error { return errLost })
		tool.Status = func(context.Context, string, struct{}) (toolguard.Outcome, toolguard.Result, error) {
			return toolguard.OutcomeSucceeded, toolguard.Result{Text: "paid"}, nil
		}
		env := doIn(inTurn("1"), guardOf(t, tool, &toolguard.Options{Journal: j}))
		require.True(t, env.OK)
		records := recordsOf(t, j, env.Key)
		assertAbout(t, records, env.Key, entry(t, j).Token)
		var checks []said
		for _, s := range saidBy(records) {
			if s.kind == toolguard.RecordCheck {
				checks = append(checks, s)
			}
		}
		assert.Equal(t, []said{{kind: toolguard.RecordCheck, outcome: toolguard.OutcomeSucceeded}}, checks)
	})
}

// The line on a refusal says why.
func TestTheAuditSaysWhyACallerWasRefused(t *testing.T) {
	t.Parallel()
	j, tool := toolguard.NewMemoryJournal(), refundTool(new(bank), toolguard.NonIdempotent)
	tool.Authorize = func(context.Context, refundIn) error { return toolguard.Permission("not yours") }
	refundOf(inTurn("1"), guardOf(t, tool, &toolguard.Options{Journal: j}), "A")
	assert.Equal(t, []said{{kind: toolguard.RecordRefused, code: toolguard.CodePermissionDenied, outcome: toolguard.OutcomeNotStarted}}, saidBy(recordsOf(t, j, "")))
}

// lateTool is abandoned and ends when it is told to, as it is told to.
func lateTool(effect toolguard.Effect) (tool toolguard.Tool, end func(error)) {
	ends := make(chan error, 1)
	return toolOf(effect, func(context.Context) (toolguard.Result, error) {
		return toolguard.Result{Text: "late"}, <-ends
	}), func(err error) { ends <- err; synctest.Wait() }
}

// What came too late is a line of its own, and one more if it settles the entry.
func TestTheAuditSaysWhatCameTooLate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err     error
		code    toolguard.Code
		outcome toolguard.Outcome
		state   toolguard.State
	}{
		"success": {nil, "", toolguard.OutcomeSucceeded, toolguard.StateSucceeded},
		"nothing": {toolguard.NoEffect(toolguard.Business("closed")), toolguard.CodeBusinessRule, toolguard.OutcomeFailed, toolguard.StateFailed},
	} {
		inBubble(t, name, func(t *testing.T) {
			j := toolguard.NewMemoryJournal()
			tool, end := lateTool(toolguard.NonIdempotent)
			env := doIn(inTurn("1"), guardOf(t, tool, &toolguard.Options{Journal: j}))
			end(c.err)
			e := entry(t, j)
			assert.Equal(t, c.state, e.State)
			assert.Equal(t, cmp.Or(c.code, toolguard.CodeAbandoned), e.Code, "or what the call was answered")
			records := recordsOf(t, j, env.Key)
			assertAbout(t, records, env.Key, e.Token)
			all := saidBy(records)
			assert.Equal(t, []said{
				{kind: toolguard.RecordLate, attempt: 1, code: c.code, outcome: c.outcome},
				{kind: toolguard.RecordState, from: toolguard.StateUnknown, to: c.state, why: toolguard.WhyLate, attempt: 1, code: c.code, outcome: c.outcome},
			}, all[len(all)-2:])
		})
	}
}

// An answer that comes while the call is being written down waits for that.
func TestALateAnswerDuringTheSettling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, ends := toolguard.NewMemoryJournal(), make(chan struct{})
		j := &faulty{Journal: m}
		tool := toolOf(toolguard.NonIdempotent, func(context.Context) (toolguard.Result, error) {
			<-ends
			return toolguard.Result{Text: "late"}, nil
		})
		g := guardOf(t, tool, &toolguard.Options{Journal: j, Journaling: toolguard.JournalPolicy{Lease: time.Hour}})
		j.before = func(n int) error {
			if n == 2 { // the claim was the first
				close(ends)
				time.Sleep(time.Second)
			}
			return nil
		}
		env := doIn(inTurn("1"), g)
		assert.Equal(t, "abandoned/unknown", verdict(env))
		synctest.Wait()
		assert.Equal(t, toolguard.StateSucceeded, entry(t, m).State, "it is not lost")
		assert.Equal(t, []string{"pending", "unknown", "succeeded"}, steps(t, m, env.Key))
	})
}

// Whoever finds the entry taken away leaves what it knows as evidence.
func TestTheAuditOfAnEntryThatWasTakenAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := toolguard.NewMemoryJournal()
		g := guardOf(t, toolOf(toolguard.NonIdempotent, func(context.Context) (toolguard.Result, error) {
			taken, err := j.Scan(context.Background(), toolguard.Query{})
			require.NoError(t, err)
			e := taken[0]
			was := e.Version()
			e.Token, e.State, e.Due = e.Token+1, toolguard.StateUnknown, time.Hour
			_, ok, err := j.Write(context.Background(), was, e)
			require.True(t, ok && err == nil)
			return toolguard.Result{Text: "done"}, nil
		}), &toolguard.Options{Journal: j})
		env := doIn(inTurn("1"), g)
		require.True(t, env.OK)
		assert.True(t, hasNote(env, "not_recorded"))
		records := recordsOf(t, j, env.Key)
		all := saidBy(records)
		require.Len(t, all, 3)
		assert.Equal(t, toolguard.RecordAttempt, all[1].kind)
		assert.Equal(t, said{kind: toolguard.RecordLate, from: toolguard.StateUnknown, to: toolguard.StateUnknown, why: toolguard.WhyLeaseLost, outcome: toolguard.OutcomeSucceeded}, all[2])
	})
}

// That nothing could be written down is said once, and of a success only.
func TestNotRecordedIsSaidOnceAndOfSuccesses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want int
	}{"success": {nil, 1}, "failure": {toolguard.Business("closed"), 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &faulty{Journal: toolguard.NewMemoryJournal(), before: on(2, errDisk)}
			env := doIn(inTurn("1"), guardOf(t, toolOf(toolguard.NonIdempotent, func(context.Context) (toolguard.Result, error) {
				return toolguard.Result{Text: "done"}, c.err
			}), &toolguard.Options{Journal: j}))
			n := 0
			for _, note := range env.Notes {
				if note.Kind == "not_recorded" {
					n++
				}
			}
			assert.Equal(t, c.want, n)
		})
	}
}

// Without a journal it is the conversation that was in doubt, and that a late answer
// puts at ease.
func TestALateAnswerSettlesTheConversation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"success":          {nil, "ok"},
		"nothing was done": {toolguard.NoEffect(errLost), "ok"},
		"nobody knows":     {errLost, "in_doubt/unknown"},
	} {
		inBubble(t, name, func(t *testing.T) {
			sessions, err := toolguard.NewSessions(toolguard.SessionPolicy{})
			require.NoError(t, err)
			runs, ends := 0, make(chan error, 1)
			g := guardOf(t, toolOf(toolguard.NonIdempotent, func(context.Context) (toolguard.Result, error) {
				if runs++; runs == 1 {
					return toolguard.Result{}, <-ends
				}
				return toolguard.Result{Text: "done"}, nil
			}), &toolguard.Options{Sessions: sessions})
			assert.Equal(t, "abandoned/unknown", verdict(doIn(inTurn("1"), g)))
			assert.Equal(t, "in_doubt/unknown", verdict(doIn(inTurn("1"), g)), "nothing has come yet")
			ends <- c.err
			synctest.Wait()
			assert.Equal(t, c.want, verdict(doIn(inTurn("2"), g)))
		})
	}
}

// Of several attempts one that had no effect proves nothing of the others.
func TestALateFailureOfOneAttemptSettlesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sessions, err := toolguard.NewSessions(toolguard.SessionPolicy{})
		require.NoError(t, err)
		runs, ends := 0, make(chan error, 1)
		g := guardOf(t, toolOf(toolguard.NonIdempotent, func(context.Context) (toolguard.Result, error) {
			switch runs++; runs {
			case 1:
				return toolguard.Result{}, toolguard.NotStarted(toolguard.Unavailable("busy"))
			case 2:
				return toolguard.Result{}, <-ends
			}
			return toolguard.Result{Text: "done"}, nil
		}), &toolguard.Options{Sessions: sessions})
		assert.Equal(t, "abandoned/unknown", verdict(doIn(inTurn("1"), g)))
		ends <- toolguard.NoEffect(errors.New("closed"))
		synctest.Wait()
		assert.Equal(t, "in_doubt/unknown", verdict(doIn(inTurn("2"), g)))
	})
}

// What is approved, and kept as such, is all that runs; what makes a call the same
// call leaves out what the tool calls irrelevant.
func TestTheApprovalDigestIsOfAllArguments(t *testing.T) {
	t.Parallel()
	j := toolguard.NewMemoryJournal()
	g := guardOf(t, refundTool(new(bank), toolguard.NonIdempotent), &toolguard.Options{Journal: j})
	for i, args := range []string{`{"order":"A","reason":"late"}`, `{"order":"A","reason":"broken"}`} {
		env := g.Do(inTurn(string(rune('1'+i))), toolguard.Call{ID: "c", Args: []byte(args)})
		require.True(t, env.OK)
	}
	found := entries(t, j)
	require.Len(t, found, 2)
	assert.Equal(t, found[0].Digest, found[1].Digest)
	assert.NotEqual(t, found[0].ApprovalDigest, found[1].ApprovalDigest)
}

// A journal that is away for a moment loses no lease: the next renewal is tried.
func TestALeaseOutlastsARenewalThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := toolguard.NewMemoryJournal()
		g := guardOf(t, toolOf(toolguard.NonIdempotent, func(context.Context) (toolguard.Result, error) {
			time.Sleep(2 * minute)
			return toolguard.Result{Text: "done"}, nil
		}), &toolguard.Options{Journal: &faulty{Journal: m, before: on(2, errDisk)}, Timeout: toolguard.TimeoutPolicy{Attempt: 10 * minute}})
		done := make(chan toolguard.Envelope, 1)
		go func() { done <- doIn(inTurn("1"), g) }()
		for range 3 {
			time.Sleep(35 * time.Second)
			taken, err := m.Take(context.Background(), 10, minute)
			require.NoError(t, err)
			assert.Empty(t, taken, "it runs and says so")
		}
		assert.Equal(t, "ok", verdict(<-done))
		assert.Equal(t, toolguard.StateSucceeded, entry(t, m).State)
	})
}

// A call outside of any conversation is written down as well, alone in its group.
func TestACallOutsideOfAnyConversationIsJournaled(t *testing.T) {
	t.Parallel()
	b, j := new(bank), toolguard.NewMemoryJournal()
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j})
	for range 2 {
		require.True(t, refundOf(context.Background(), g, "A").OK)
	}
	found := entries(t, j)
	require.Len(t, found, 2)
	for _, e := range found {
		assert.Equal(t, e.Key, e.Group)
		assert.Equal(t, toolguard.StateSucceeded, e.State)
	}
	assert.Equal(t, 2, b.count(), "nothing says that they are one")
}

// What an entry came to before it was claimed anew is in the audit, not in the entry.
func TestAClaimAnewForgetsWhatWasBefore(t *testing.T) {
	t.Parallel()
	b, j := &bank{refuses: toolguard.Business("closed")}, toolguard.NewMemoryJournal()
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j})
	refundOf(inTurn("1"), g, "A")
	assert.Equal(t, toolguard.CodeBusinessRule, entry(t, j).Code)
	b.set(false, nil)
	require.True(t, refundOf(inTurn("1"), g, "A").OK)
	e := entry(t, j)
	assert.Equal(t, toolguard.StateSucceeded, e.State)
	assert.Empty(t, e.Code)
}
