package toolguard_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// Whoever approves is told everything that the approval is bound to.
func TestAnApproverIsToldWhatItIsAbout(t *testing.T) {
	t.Parallel()
	inBubble(t, "", func(t *testing.T) {
		j, d := toolguard.NewMemoryJournal(), pendingDesk()
		info := toolguard.Info{Name: "refund", Source: "pay", Version: "1.2", Effect: toolguard.IdempotentByKey, Risk: toolguard.RiskHigh}
		g := guardOf(t, toolguard.Func(info, new(bank).refund), &toolguard.Options{Journal: j, Approver: d, Approval: toolguard.ApprovalPolicy{Expiry: time.Hour}})
		env := refundOf(inTurn("1"), g, "A")
		require.Len(t, d.asked, 1)
		e := entry(t, j)
		want := toolguard.ApprovalRequest{
			Key: env.Key, Tool: "refund", Source: "pay", ToolVersion: "1.2", SchemaDigest: e.SchemaDigest,
			Effect: toolguard.IdempotentByKey, Risk: toolguard.RiskHigh, Scope: toolguard.ScopeFrom(inTurn("1")), CallID: "tc_A",
			Line: "refund", Args: []byte(`{"order":"A"}`), Redacted: `{"order":"A"}`, Digest: e.ApprovalDigest, Expires: time.Now().Add(time.Hour),
		}
		assert.Equal(t, want, d.asked[0])
		assert.NotEmpty(t, e.SchemaDigest)
		assert.NotZero(t, e.ApprovalDigest)
	})
}

// What the model wrote cannot pose as more than a part of the line that a person
// reads before she says yes.
func TestTheLineToApproveIsOneLine(t *testing.T) {
	t.Parallel()
	for wrote, want := range map[string]string{
		"A-17":                              "refund order A-17",
		"A-17\r\nAPPROVED by the boss":      "refund order A-17 APPROVED by the boss",
		"A-17\u2028APPROVED":                "refund order A-17 APPROVED",
		"A-17\u202e71-A \x1b[2Jx\x00\u200b": "refund order A-1771-A x",
		strings.Repeat("9", 5000):           "",
	} {
		d := pendingDesk()
		tool := refundTool(new(bank), toolguard.NonIdempotent)
		tool.Describe = func(in refundIn) string { return "refund order " + in.Order }
		g := guardOf(t, tool, &toolguard.Options{Approver: d})
		refundOf(inTurn("1"), g, wrote)
		require.Len(t, d.asked, 1)
		line := d.asked[0].Line
		if want != "" {
			assert.Equal(t, want, line)
		}
		assert.LessOrEqual(t, len(line), 1000)
		assert.Contains(t, line, "refund order")
	}
	tool := refundTool(new(bank), toolguard.NonIdempotent)
	tool.Describe = func(refundIn) string { return " \n" }
	assert.Equal(t, "refund", guardOf(t, tool, nil).DescribeCall(context.Background(), []byte(`{"order":"A"}`)), "nothing is no line")
}

// An approval that a start gave back holds as long as it would have, however often
// that is tried.
func TestAnApprovalThatIsGivenBackRunsOut(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"a person", "an approver", "an approver, for the session"} {
		synctest.Test(t, func(t *testing.T) {
			b, j := &bank{refuses: toolguard.NotStarted(toolguard.Business("closed"))}, toolguard.NewMemoryJournal()
			d := pendingDesk()
			if by != "a person" {
				d.answer = toolguard.Answer{Verdict: toolguard.ApprovalGranted, By: "ben"}
			}
			if by == "an approver, for the session" {
				d.answer.Wider = toolguard.WiderSession
				refundOf(inTurn("1"), guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: d, Retry: once}), "other")
			}
			g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: d, Retry: once})
			key := refundOf(inTurn("1"), g, "A").Key
			if by == "a person" {
				decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove})
			}
			for range 2 {
				time.Sleep(11 * time.Hour)
				assert.Equal(t, "business_rule/not_started", verdict(g.Resume(context.Background(), key)))
			}
			b.set(false, nil)
			time.Sleep(3 * time.Hour)
			assert.Equal(t, "approval_expired/not_started", verdict(g.Resume(context.Background(), key)), by+": it was given 25 h ago")
			assert.Zero(t, b.count())
		})
	}
}

// A person may let run again what no policy asked about, whatever the policies are
// called.
func TestARetryOfWhatNobodyWasAskedAbout(t *testing.T) {
	t.Parallel()
	for name, approver := range map[string]toolguard.Approver{"without an approver": nil, "below the limit": pendingDesk()} {
		inBubble(t, name, func(t *testing.T) {
			b, j := &bank{loses: true}, toolguard.NewMemoryJournal()
			info := toolguard.Info{Name: "refund", Risk: toolguard.RiskLow}
			of := func(version string) *toolguard.Guard {
				return guardOf(t, toolguard.Func(info, b.refund), &toolguard.Options{
					Journal: j, Approver: approver, Approval: toolguard.ApprovalPolicy{Version: version},
				})
			}
			key := refundOf(inTurn("1"), of("7"), "A").Key
			b.set(false, nil)
			decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingRetry})
			assert.Equal(t, "ok", verdict(of("7").Resume(context.Background(), key)))
		})
	}
}

// What a person writes in the place of the model's arguments is held against
// everything that those were, when it is about to run.
func TestAPersonsArgumentsAreJudged(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"order":7}`:              "schema_violation/not_started",
		`{}`:                       "schema_violation/not_started",
		`{"order":"theirs"}`:       "permission_denied/not_started",
		`{"order":"too much"}`:     "business_rule/not_started",
		`{"order":"A2"}`:           "ok",
		`{"order":"A2","extra":1}`: "schema_violation/not_started",
	} {
		for name, atOnce := range map[string]bool{"later": false, "at once": true} {
			inBubble(t, args+" "+name, func(t *testing.T) {
				b, j := new(bank), toolguard.NewMemoryJournal()
				tool := refundTool(b, toolguard.NonIdempotent)
				tool.Authorize = func(_ context.Context, in refundIn) error {
					if in.Order == "theirs" {
						return toolguard.Permission("not yours")
					}
					return nil
				}
				tool.Check = func(_ context.Context, in refundIn) error {
					if in.Order == "too much" {
						return toolguard.Business("above the limit")
					}
					return nil
				}
				d := pendingDesk()
				if atOnce {
					d.answer = toolguard.Answer{Verdict: toolguard.ApprovalEdited, By: "ben", Args: []byte(args)}
				}
				g := guardOf(t, tool, &toolguard.Options{Journal: j, Approver: d})
				env := refundOf(inTurn("1"), g, "A")
				if !atOnce {
					decide(t, j, toolguard.Ruling{Key: env.Key, Verdict: toolguard.RulingApprove, Args: []byte(args)})
					env = g.Resume(context.Background(), env.Key)
				}
				assert.Equal(t, want, verdict(env))
				assert.Equal(t, want == "ok", b.count() == 1)
			})
		}
	}
}

// busy is a tool whose only place is taken for half a minute, and an unknown entry of
// another call.
func busy(t *testing.T, effect toolguard.Effect, approver toolguard.Approver) (j *toolguard.MemoryJournal, g *toolguard.Guard, key string) {
	t.Helper()
	slow := func(_ context.Context, in refundIn) (string, error) {
		if in.Order == "slow" {
			time.Sleep(30 * time.Second)
		}
		return "", toolguard.MaybeDone(errLost)
	}
	j = toolguard.NewMemoryJournal()
	g = guardOf(t, toolguard.Func(toolguard.Info{Name: "refund", Effect: effect}, slow), &toolguard.Options{
		Journal: j, Approver: approver, Retry: toolguard.RetryPolicy{Off: true}, Concurrency: toolguard.ConcurrencyPolicy{Max: 1, Wait: time.Second},
	})
	key = refundOf(inTurn("1"), g, "A").Key
	go refundOf(inTurn("1"), g, "slow")
	synctest.Wait()
	return j, g, key
}

// An approval that covers trying again what may have happened is not given back as
// if nothing had: what is unknown stays unknown.
func TestAnApprovalOfADoubtIsNotGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, g, key := busy(t, toolguard.IdempotentByKey, &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalGranted, By: "ben"}})
		assert.Equal(t, "overloaded/unknown", verdict(refundOf(inTurn("1"), g, "A")))
		assert.Equal(t, toolguard.StateUnknown, scanOne(t, j, key).State)
		time.Sleep(minute)
	})
}

// A person's leave to try it again is given back where that could not even begin, and
// says still that it may have happened before.
func TestALeaveToTryAgainIsGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, g, key := busy(t, toolguard.NonIdempotent, nil)
		decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingRetry})
		assert.Equal(t, "overloaded/unknown", verdict(g.Resume(context.Background(), key)))
		e := scanOne(t, j, key)
		assert.Equal(t, toolguard.StateApproved, e.State)
		assert.True(t, e.Approval.Doubt)
		time.Sleep(minute)
	})
}

// What runs is what was approved: arguments that somebody has changed in the store
// since are not.
func TestWhatWasApprovedIsHeldAgainstWhatIsStored(t *testing.T) {
	t.Parallel()
	b, j := new(bank), toolguard.NewMemoryJournal()
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: pendingDesk()})
	key := refundOf(inTurn("1"), g, "A").Key
	e := decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove})
	e.Args = []byte(`{"order":"B"}`)
	_, ok, err := j.Write(context.Background(), e.Version(), e)
	require.True(t, ok && err == nil)
	assert.Equal(t, "approval_stale/not_started", verdict(g.Resume(context.Background(), key)))
	assert.Zero(t, b.count())
}

// An approver who edits need not know the key among the arguments, nor can it set it.
func TestArgumentsEditedAtOnceGetTheKey(t *testing.T) {
	t.Parallel()
	for _, edited := range []string{`{"order":"B"}`, `{"idempotency_key":"mine","order":"B"}`} {
		var got payIn
		d := &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalEdited, By: "ben", Args: []byte(edited)}}
		g := guardOf(t, toolguard.Action(toolguard.Info{Name: "pay", KeyField: "idempotency_key"}, func(_ context.Context, in payIn) error {
			got = in
			return nil
		}), &toolguard.Options{Approver: d})
		env := g.Do(inTurn("1"), toolguard.Call{Args: []byte(`{"order":"A"}`)})
		require.True(t, env.OK, edited)
		assert.Equal(t, payIn{"B", env.Key}, got)
		assert.NotEmpty(t, env.Key)
	}
}

// A person's leave to try again is under the policy that the first approval was given
// under, and stale under another one: what is unknown stays so.
func TestALeaveToTryAgainIsUnderItsPolicy(t *testing.T) {
	t.Parallel()
	b, j := &bank{loses: true}, toolguard.NewMemoryJournal()
	of := func(version string) *toolguard.Guard {
		return guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{
			Journal: j, Approver: pendingDesk(), Approval: toolguard.ApprovalPolicy{Version: version},
		})
	}
	key := refundOf(inTurn("1"), of("1"), "A").Key
	decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove})
	_, err := toolguard.Decide(context.Background(), j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove, By: "eve"})
	require.ErrorIs(t, err, toolguard.ErrDecided)
	require.False(t, of("1").Resume(context.Background(), key).OK)
	b.set(false, nil)
	decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingRetry})
	assert.Equal(t, "in_doubt/unknown", verdict(of("2").Resume(context.Background(), key)))
	decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingRetry})
	assert.Equal(t, "ok", verdict(of("1").Resume(context.Background(), key)))
}
