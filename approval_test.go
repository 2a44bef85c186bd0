package toolguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// desk is an approver that answers as it is told and keeps what it was asked.
type desk struct {
	mu     sync.Mutex
	answer toolguard.Answer
	err    error
	do     func()
	asked  []toolguard.ApprovalRequest
}

func (d *desk) Approve(_ context.Context, r toolguard.ApprovalRequest) (toolguard.Answer, error) {
	d.mu.Lock()
	d.asked = append(d.asked, r)
	do := d.do
	d.mu.Unlock()
	if do != nil {
		do()
	}
	return d.answer, d.err
}

func (d *desk) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.asked)
}

func pendingDesk() *desk {
	return &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalPending}}
}

func decide(t testing.TB, j toolguard.Journal, r toolguard.Ruling) toolguard.Entry {
	t.Helper()
	if r.By == "" {
		r.By = "the head of support"
	}
	e, err := toolguard.Decide(context.Background(), j, r)
	require.NoError(t, err)
	return e
}

// case o04
func TestAnApprovalAtOnce(t *testing.T) {
	t.Parallel()
	b, j := new(bank), toolguard.NewMemoryJournal()
	d := &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalGranted, By: "ben", Why: "small"}}
	tool := refundTool(b, toolguard.NonIdempotent)
	tool.Describe = func(in refundIn) string { return "refund order " + in.Order }
	g := guardOf(t, tool, &toolguard.Options{Journal: j, Approver: d})
	env := g.Do(inTurn("1"), toolguard.Call{ID: "c1", Args: []byte(`{"order":"A",  "reason":"call ann@example.com, token sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD",}`)})
	require.True(t, env.OK)
	assert.True(t, hasNote(env, "trailing_comma"), "what is approved is what runs, not what was sent")
	require.Len(t, d.asked, 1)
	r := d.asked[0]
	assert.Equal(t, "refund order A", r.Line)
	assert.Equal(t, env.Key, r.Key)
	assert.JSONEq(t, string(env.Args), string(r.Args))
	assert.NotContains(t, r.Redacted, "sk-proj")
	assert.Equal(t, "ann", r.Scope.Principal)
	e := entry(t, j)
	require.NotNil(t, e.Approval)
	assert.Equal(t, "ben", e.Approval.By)
	records, err := j.Records(context.Background(), toolguard.RecordQuery{Key: env.Key})
	require.NoError(t, err)
	assert.Equal(t, "ben", records[0].Actor, "the audit says who")
	assert.Equal(t, "small", records[0].Why)
}

func TestADenialIsFinal(t *testing.T) {
	t.Parallel()
	b := new(bank)
	d := &desk{answer: toolguard.Answer{By: "ben", Why: "too much at once"}}
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Approver: d})
	env := refundOf(inTurn("1"), g, "A")
	assert.Equal(t, "approval_denied/not_started", verdict(env))
	assert.Contains(t, env.ForModel(), "too much at once")
	d.answer = toolguard.Answer{Verdict: toolguard.ApprovalGranted}
	assert.Equal(t, "approval_denied/not_started", verdict(refundOf(inTurn("1"), g, "A")), "the model cannot ask until it gets a yes")
	assert.Equal(t, 1, d.count())
	assert.True(t, refundOf(inTurn("2"), g, "A").OK, "the user may")
	assertOnce(t, b)
}

// An approver that fails in any way approves nothing.
func TestApprovalFailsClosed(t *testing.T) {
	t.Parallel()
	ways := map[string]func(t *testing.T) *desk{
		"error": func(*testing.T) *desk {
			return &desk{err: errors.New("down"), answer: toolguard.Answer{Verdict: toolguard.ApprovalGranted}}
		},
		"zero answer": func(*testing.T) *desk { return new(desk) },
		"odd verdict": func(*testing.T) *desk { return &desk{answer: toolguard.Answer{Verdict: 9}} },
		"bad edit": func(*testing.T) *desk {
			return &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalEdited, Args: []byte(`{"order":7}`)}}
		},
		"cut edit": func(*testing.T) *desk {
			return &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalEdited, Args: []byte(`{"order":`)}}
		},
	}
	for name := range badWays(t) {
		ways[name] = func(t *testing.T) *desk {
			return &desk{do: badWays(t)[name], answer: toolguard.Answer{Verdict: toolguard.ApprovalGranted}}
		}
	}
	for name, way := range ways {
		inBubble(t, name, func(t *testing.T) {
			b, j := new(bank), toolguard.NewMemoryJournal()
			g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: way(t)})
			env := refundOf(inTurn("1"), g, "A")
			requireEnvelope(t, env)
			require.False(t, env.OK)
			assert.Equal(t, toolguard.OutcomeNotStarted, env.Error.Outcome)
			assert.Zero(t, b.count())
			denied := strings.HasPrefix(name, "zero") || strings.HasPrefix(name, "odd")
			assert.Equal(t, denied, env.Error.Code == toolguard.CodeApprovalDenied, "only a no is a no for good")
			assert.Len(t, entries(t, j), map[bool]int{true: 1}[denied])
		})
	}
}

// A person decides later, the process may be another one by then.
// case o06
func TestAPendingApproval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, j, d := new(bank), toolguard.NewMemoryJournal(), pendingDesk()
		box := func() *toolguard.Toolbox {
			box, err := toolguard.NewToolbox(&toolguard.ToolboxOptions{Options: toolguard.Options{Journal: j, Approver: d}}, refundTool(b, toolguard.NonIdempotent))
			require.NoError(t, err)
			return box
		}
		call := toolguard.Call{ID: "tc", Tool: "refund", Args: []byte(`{"order":"A"}`)}
		env := box().Do(inTurn("1"), call)
		assert.Equal(t, "approval_pending/not_started", verdict(env))
		assert.Contains(t, env.String(), "[TOOL AWAITING APPROVAL]")
		for range 2 {
			again := box().Do(inTurn("1"), call)
			assert.Equal(t, "approval_pending/not_started", verdict(again))
		}
		assert.Equal(t, 1, d.count(), "nobody is asked twice")
		assert.Equal(t, "approval_pending/not_started", verdict(box().Resume(context.Background(), env.Key)), "resuming is no approval")
		e := decide(t, j, toolguard.Ruling{Key: env.Key, Verdict: toolguard.RulingApprove, By: "ben", Why: "fine"})
		assert.Equal(t, toolguard.StateApproved, e.State)
		done := box().Resume(context.Background(), env.Key)
		require.True(t, done.OK)
		assert.Equal(t, "refunded A", done.Result.Text)
		assert.Equal(t, "tc", done.CallID)
		assert.Equal(t, env.Key, done.Key)
		again := box().Resume(context.Background(), env.Key)
		assert.True(t, hasNote(again, "replayed"))
		assertOnce(t, b)
		assert.Equal(t, []string{"awaiting_approval", "approved", "pending", "succeeded"}, steps(t, j, env.Key))
		_, err := toolguard.Decide(context.Background(), j, toolguard.Ruling{Key: env.Key, Verdict: toolguard.RulingDeny, By: "eve"})
		assert.ErrorIs(t, err, toolguard.ErrDecided)
	})
}

func TestTheModelMayAlsoTakeUpWhatIsApproved(t *testing.T) {
	t.Parallel()
	b, j := new(bank), toolguard.NewMemoryJournal()
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: pendingDesk()})
	env := refundOf(inTurn("1"), g, "A")
	decide(t, j, toolguard.Ruling{Key: env.Key, Verdict: toolguard.RulingApprove, Args: []byte(`{"order":"A2"}`)})
	done := refundOf(inTurn("2"), g, "A")
	require.True(t, done.OK)
	assert.Equal(t, "refunded A2", done.Result.Text, "what was approved is what runs")
	assert.True(t, hasNote(done, "args_edited"))
	assert.JSONEq(t, `{"order":"A2"}`, string(done.Args))
	assertOnce(t, b)
}

// An approval is for exactly what was asked, and for a time.
// cases o02, o06
func TestAnApprovalGoesStale(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		info   func(*toolguard.Info)
		policy toolguard.ApprovalPolicy
		wait   time.Duration
		want   string
	}{
		"another version of the tool":   {info: func(i *toolguard.Info) { i.Version = "2" }, want: "approval_stale/not_started"},
		"another schema":                {info: func(i *toolguard.Info) { i.Schema = []byte(`{"type":"object"}`) }, want: "approval_stale/not_started"},
		"another policy":                {policy: toolguard.ApprovalPolicy{Version: "2"}, want: "approval_stale/not_started"},
		"too late":                      {wait: 25 * time.Hour, want: "approval_expired/not_started"},
		"all as it was":                 {want: "ok"},
		"within the policy's own limit": {wait: 23 * time.Hour, want: "ok"},
	} {
		inBubble(t, name, func(t *testing.T) {
			b, j := new(bank), toolguard.NewMemoryJournal()
			info := toolguard.Info{Name: "refund"}
			g := guardOf(t, toolguard.Func(info, b.refund), &toolguard.Options{Journal: j, Approver: pendingDesk()})
			key := refundOf(inTurn("1"), g, "A").Key
			decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove})
			time.Sleep(c.wait)
			if c.info != nil {
				c.info(&info)
			}
			h := guardOf(t, toolguard.Func(info, b.refund), &toolguard.Options{Journal: j, Approver: pendingDesk(), Approval: c.policy})
			env := h.Resume(context.Background(), key)
			assert.Equal(t, c.want, verdict(env))
			if c.want == "ok" {
				return
			}
			assert.Zero(t, b.count())
			assert.Equal(t, toolguard.StateExpired, entry(t, j).State)
			assert.False(t, h.Resume(context.Background(), key).OK, "it stays so")
		})
	}
}

// Whatever may have changed while a person thought about it is asked again.
func TestRulesAreAskedAgainAfterAnApproval(t *testing.T) {
	t.Parallel()
	b, closed := new(bank), false
	tool := refundTool(b, toolguard.NonIdempotent)
	tool.Check = func(context.Context, refundIn) error {
		if closed {
			return toolguard.Business("the day is over")
		}
		return nil
	}
	d := &desk{do: func() { closed = true }, answer: toolguard.Answer{Verdict: toolguard.ApprovalGranted}}
	g := guardOf(t, tool, &toolguard.Options{Approver: d})
	assert.Equal(t, "business_rule/not_started", verdict(refundOf(inTurn("1"), g, "A")))
	assert.Zero(t, b.count())
}

// A start that fails does not use the approval up.
// case o05
func TestAnApprovalIsGivenBack(t *testing.T) {
	t.Parallel()
	b, j := &bank{refuses: toolguard.NotStarted(toolguard.Business("closed"))}, toolguard.NewMemoryJournal()
	d := pendingDesk()
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: d, Retry: once})
	key := refundOf(inTurn("1"), g, "A").Key
	decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove})
	assert.Equal(t, "business_rule/not_started", verdict(g.Resume(context.Background(), key)))
	assert.Equal(t, toolguard.StateApproved, entry(t, j).State)
	b.set(false, nil)
	assert.True(t, g.Resume(context.Background(), key).OK)
	assert.Equal(t, 1, d.count())
}

// One approval, many who take it up: it is used once.
// What was approved, and ran, and may run again under its key, is still what was
// approved: nobody is asked again, and the entry does not stay open for ever.
func TestARepeatIsCoveredByItsApproval(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy toolguard.ApprovalPolicy
		later  time.Duration
		want   string
	}{
		"the same policy": {later: time.Hour, want: "ok"},
		"another policy":  {policy: toolguard.ApprovalPolicy{Version: "2"}, want: "in_doubt/unknown"},
		"too late":        {policy: toolguard.ApprovalPolicy{Expiry: time.Hour}, later: 3 * time.Hour, want: "in_doubt/unknown"},
	} {
		inBubble(t, name, func(t *testing.T) {
			b, j, d := &bank{loses: true}, toolguard.NewMemoryJournal(), pendingDesk()
			of := func(p toolguard.ApprovalPolicy) *toolguard.Guard {
				return guardOf(t, refundTool(b, toolguard.IdempotentByKey), &toolguard.Options{
					Journal: j, Approver: d, Approval: p, Retry: toolguard.RetryPolicy{Off: true},
				})
			}
			g := of(toolguard.ApprovalPolicy{})
			key := refundOf(inTurn("1"), g, "A").Key
			decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove})
			require.Equal(t, toolguard.OutcomeUnknown, g.Resume(context.Background(), key).Error.Outcome)
			b.set(false, nil)
			time.Sleep(c.later)
			h := of(c.policy)
			assert.Equal(t, c.want, verdict(h.Resume(context.Background(), key)))
			assert.Equal(t, c.want, verdict(refundOf(inTurn("1"), h, "A")))
			assert.Len(t, b.keys, 1)
			if c.want == "ok" {
				assert.Equal(t, 1, d.count(), "how often the approver was asked")
			} else {
				e := decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingSucceeded})
				assert.Equal(t, toolguard.StateSucceeded, e.State, "a person decides")
			}
		})
	}
}

// What a person has edited is what runs again, whatever the model asks for.
func TestARepeatRunsWhatWasApproved(t *testing.T) {
	t.Parallel()
	b, j := &bank{loses: true}, toolguard.NewMemoryJournal()
	g := guardOf(t, refundTool(b, toolguard.IdempotentByKey), &toolguard.Options{
		Journal: j, Approver: pendingDesk(), Retry: toolguard.RetryPolicy{Off: true},
	})
	key := refundOf(inTurn("1"), g, "A").Key
	decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove, Args: []byte(`{"order":"A2"}`)})
	require.Equal(t, toolguard.OutcomeUnknown, g.Resume(context.Background(), key).Error.Outcome)
	b.set(false, nil)
	env := refundOf(inTurn("1"), g, "A")
	require.True(t, env.OK)
	assert.Equal(t, "refunded A2", env.Result.Text)
	assert.True(t, hasNote(env, "args_edited"))
	assert.Len(t, b.keys, 1)
}

func TestAnApprovalIsUsedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, j := new(bank), toolguard.NewMemoryJournal()
		slow := &faulty{Journal: j, before: func(int) error { time.Sleep(time.Millisecond); return nil }}
		g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: slow, Approver: pendingDesk()})
		key := refundOf(inTurn("1"), g, "A").Key
		decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove})
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() { g.Resume(context.Background(), key) })
		}
		wg.Wait()
		assertOnce(t, b)
	})
}

func TestWhichCallsNeedAnApproval(t *testing.T) {
	t.Parallel()
	large := func(_ context.Context, args json.RawMessage) (bool, error) {
		var in refundIn
		err := json.Unmarshal(args, &in)
		return in.Order == "LARGE", err
	}
	broken := func(context.Context, json.RawMessage) (bool, error) { return false, errors.New("down") }
	for i, c := range []struct {
		info   toolguard.Info
		policy toolguard.ApprovalPolicy
		need   func(context.Context, json.RawMessage) (bool, error)
		order  string
		asked  int
	}{
		{info: toolguard.Info{Effect: toolguard.NonIdempotent}, asked: 1},
		{info: toolguard.Info{Effect: toolguard.Idempotent}, asked: 1},
		{info: toolguard.Info{Effect: toolguard.ReadOnly}},
		{info: toolguard.Info{Effect: toolguard.NonIdempotent, Risk: toolguard.RiskLow}},
		{info: toolguard.Info{Effect: toolguard.ReadOnly}, policy: toolguard.ApprovalPolicy{Effects: []toolguard.Effect{toolguard.ReadOnly}}, asked: 1},
		{info: toolguard.Info{Effect: toolguard.NonIdempotent}, policy: toolguard.ApprovalPolicy{Risks: []toolguard.Risk{toolguard.RiskHigh}}},
		{info: toolguard.Info{Effect: toolguard.NonIdempotent, Risk: toolguard.RiskHigh}, policy: toolguard.ApprovalPolicy{Risks: []toolguard.Risk{toolguard.RiskHigh}}, asked: 1},
		{info: toolguard.Info{Effect: toolguard.NonIdempotent}, policy: toolguard.ApprovalPolicy{Off: true}},
		{info: toolguard.Info{Effect: toolguard.NonIdempotent}, need: large},
		{info: toolguard.Info{Effect: toolguard.NonIdempotent}, need: large, order: "LARGE", asked: 1},
		{info: toolguard.Info{Effect: toolguard.NonIdempotent}, need: broken, asked: 1},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			d := &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalGranted}}
			c.info.Name = "refund"
			g := guardOf(t, toolguard.Func(c.info, new(bank).refund), &toolguard.Options{Approver: d, Approval: c.policy, NeedsApproval: c.need})
			assert.True(t, refundOf(inTurn("1"), g, c.order).OK)
			assert.Equal(t, c.asked, d.count())
		})
	}
}

func TestRepeatsMayNeedAnApproval(t *testing.T) {
	t.Parallel()
	b, d := new(bank), pendingDesk()
	info := toolguard.Info{Name: "refund", Risk: toolguard.RiskLow}
	g := guardOf(t, toolguard.Func(info, b.refund), &toolguard.Options{Approver: d, Approval: toolguard.ApprovalPolicy{Repeats: true}})
	assert.True(t, refundOf(inTurn("1"), g, "A").OK)
	assert.Equal(t, "approval_pending/not_started", verdict(refundOf(inTurn("2"), g, "A")))
	assertOnce(t, b)
}

// A wider approval is for the session, the tool and the principal, and only if
// somebody said so.
// case o08
func TestAWiderApproval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, j := new(bank), toolguard.NewMemoryJournal()
		d := &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalGranted, By: "ben", Wider: toolguard.WiderSession}}
		g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: d})
		for _, order := range []string{"A", "B", "C"} {
			assert.True(t, refundOf(inTurn("1"), g, order).OK)
		}
		assert.Equal(t, 1, d.count())
		other := toolguard.WithScope(context.Background(), toolguard.Scope{Tenant: "t", Principal: "eve", Session: "s", Turn: "1"})
		refundOf(other, g, "D")
		assert.Equal(t, 2, d.count(), "another principal")
		time.Sleep(25 * time.Hour)
		refundOf(inTurn("1"), g, "E")
		assert.Equal(t, 3, d.count(), "it has expired")
		refundOf(inTurn("1"), g, "F")
		assert.Equal(t, 3, d.count(), "and was given again")
	})
}

// To resume an old call takes the conversation back to no former turn, and leaves
// the entry in the turn it was made in.
func TestResumingLeavesTheTurn(t *testing.T) {
	t.Parallel()
	b, j := new(bank), toolguard.NewMemoryJournal()
	sessions, err := toolguard.NewSessions(toolguard.SessionPolicy{})
	require.NoError(t, err)
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Sessions: sessions, Approver: pendingDesk()})
	other := guardOf(t, toolOf(toolguard.NonIdempotent, answers("sent")), &toolguard.Options{Sessions: sessions})
	key := refundOf(inTurn("1"), g, "A").Key
	decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove})
	doIn(inTurn("2"), other)
	require.True(t, g.Resume(context.Background(), key).OK)
	assert.True(t, hasNote(doIn(inTurn("2"), other), "replayed"), "it is the same turn still")
	assert.Equal(t, "1", entry(t, j).Scope.Turn)
}
