package toolguard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// What was approved for one principal of a conversation is nobody else's to take
// up, and what came of it nobody else's to read.
func TestAnApprovalIsForOnePrincipal(t *testing.T) {
	t.Parallel()
	b, j := new(bank), toolguard.NewMemoryJournal()
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: pendingDesk()})
	eve := toolguard.WithScope(context.Background(), toolguard.Scope{Tenant: "t", Principal: "eve", Session: "s", Turn: "1"})
	key := refundOf(inTurn("1"), g, "A").Key
	assert.Equal(t, "approval_pending/not_started", verdict(refundOf(eve, g, "A")))
	decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove})
	assert.Equal(t, "approval_pending/not_started", verdict(refundOf(eve, g, "A")))
	assert.Zero(t, b.count())
	assert.True(t, refundOf(inTurn("1"), g, "A").OK, "it is still there for whom it is")
	env := refundOf(eve, g, "A")
	assert.Equal(t, "result_unavailable/succeeded", verdict(env))
	assert.NotContains(t, env.ForModel(), "refunded A")
	assertOnce(t, b)
}

// Whoever edits arguments need not know the key among them, nor can they set it.
func TestEditedArgumentsGetTheKey(t *testing.T) {
	t.Parallel()
	for _, edited := range []string{`{"order":"B"}`, `{"idempotency_key":"mine","order":"B"}`} {
		var got payIn
		j, loses := toolguard.NewMemoryJournal(), true
		g := guardOf(t, toolguard.Action(toolguard.Info{Name: "pay", KeyField: "idempotency_key"}, func(_ context.Context, in payIn) error {
			if got = in; loses {
				return toolguard.MaybeDone(errLost)
			}
			return nil
		}), &toolguard.Options{Journal: j, Approver: pendingDesk()})
		key := g.Do(inTurn("1"), toolguard.Call{Args: []byte(`{"order":"A"}`)}).Key
		decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove, Args: []byte(edited)})
		assert.Equal(t, "unknown_error/unknown", verdict(g.Resume(context.Background(), key)))
		assert.Equal(t, payIn{"B", key}, got)
		loses = false
		e := decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingRetry, Args: []byte(edited)})
		require.True(t, g.Resume(context.Background(), e.Key).OK)
		assert.Equal(t, payIn{"B", e.Key}, got)
	}
}

// No other spelling reaches the field that the key is for, whatever the tool is
// made of and however little its schema says.
func TestTheKeyHasOneSpelling(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		`{"order":"A","Idempotency_Key":"mine"}`, `{"order":"A","idempotency_\u212aey":"mine"}`, `{"IDEMPOTENCY_KEY":"mine"}`,
		`{"order":"A","idempotency\u005fkey":"mine"}`, `{"idempotency_key":"mine"}`,
		`{"order":"A","idempotency_key":{"idempotency_key":"mine"}}`, `{"idempotency_key":null}`, `{"idempotency_key":"mine","idempotency_key":"mine"}`,
	} {
		var got []payIn
		tool := plain{
			info: toolguard.Info{Name: "pay", KeyField: "idempotency_key", Schema: []byte(`{"type":"object"}`)},
			call: func(_ context.Context, args json.RawMessage) (toolguard.Result, error) {
				var in payIn
				assert.NoError(t, json.Unmarshal(args, &in))
				got = append(got, in)
				return toolguard.Result{}, nil
			},
		}
		env := guardOf(t, tool, &toolguard.Options{Journal: toolguard.NewMemoryJournal()}).Do(inTurn("1"), toolguard.Call{Args: []byte(args)})
		for _, in := range got {
			assert.Equal(t, env.Key, in.Key, args)
		}
		assert.Equal(t, env.OK, len(got) == 1, args)
	}
}

// A repeatable tool goes on with what was approved and has come to nothing certain.
// Where it has to be asked for again, a no leaves unknown what is.
func TestAnApprovedCallGoesOn(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		verdict toolguard.ApprovalVerdict
		wait    time.Duration
		want    string
		asked   int
	}{
		{want: "ok", asked: 1},
		{wait: 49 * time.Hour, want: "in_doubt/unknown", asked: 2},
		{verdict: toolguard.ApprovalPending, wait: 49 * time.Hour, want: "in_doubt/unknown", asked: 2},
		{verdict: toolguard.ApprovalEdited, wait: 49 * time.Hour, want: "in_doubt/unknown", asked: 2},
		{verdict: toolguard.ApprovalGranted, wait: 49 * time.Hour, want: "ok", asked: 2},
	} {
		inBubble(t, fmt.Sprint(i), func(t *testing.T) {
			b, j := &bank{loses: true}, toolguard.NewMemoryJournal()
			d := &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalGranted, By: "ben"}}
			g := guardOf(t, refundTool(b, toolguard.Idempotent), &toolguard.Options{Journal: j, Approver: d, Retry: once})
			refundOf(inTurn("1"), g, "A")
			b.set(false, nil)
			d.answer.Verdict, d.answer.Args = c.verdict, []byte(`{"order":"B"}`)
			time.Sleep(c.wait)
			assert.Equal(t, c.want, verdict(refundOf(inTurn("1"), g, "A")))
			assert.Equal(t, c.asked, d.count())
			if c.want != "ok" {
				assert.Equal(t, toolguard.StateUnknown, entry(t, j).State)
			}
		})
	}
}

// Nobody can approve what is not waited for any more, recoverer or not.
func TestAYesThatComesTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, j := new(bank), toolguard.NewMemoryJournal()
		g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: pendingDesk()})
		key := refundOf(inTurn("1"), g, "A").Key
		time.Sleep(25 * time.Hour)
		_, err := toolguard.Decide(context.Background(), j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove, By: "ben"})
		assert.ErrorIs(t, err, toolguard.ErrDecided)
		assert.Equal(t, toolguard.StateDenied, decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingDeny}).State)
	})
}

// An approval for a conversation is no call: who resumes all that is approved
// neither runs it nor uses it up.
func TestAWiderApprovalIsNoCall(t *testing.T) {
	t.Parallel()
	n, j := 0, toolguard.NewMemoryJournal()
	d := &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalGranted, By: "ben", Wider: toolguard.WiderSession}}
	tool := toolguard.Action(toolguard.Info{Name: "ring"}, func(context.Context, struct{}) error { n++; return nil })
	g := guardOf(t, tool, &toolguard.Options{Journal: j, Approver: d})
	require.True(t, doIn(inTurn("1"), g).OK)
	for _, e := range entries(t, j) {
		if e.State == toolguard.StateApproved {
			assert.Equal(t, "no_entry/not_started", verdict(g.Resume(context.Background(), e.Key)))
		}
	}
	assert.Equal(t, 1, n)
	require.True(t, doIn(inTurn("2"), g).OK)
	assert.Equal(t, 1, d.count(), "it holds still")
}

// That somebody looks at what has run out makes it no younger, also where he is killed
// before he can say so.
func TestWhatHasRunOutStaysSo(t *testing.T) {
	for name, approved := range map[string]bool{"an approval": true, "the time to approve": false} {
		inBubble(t, name, func(t *testing.T) {
			b, j := new(bank), toolguard.NewMemoryJournal()
			g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: pendingDesk()})
			key := refundOf(inTurn("1"), g, "A").Key
			if approved {
				decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove})
			}
			pass(25 * time.Hour)
			taken, err := j.Take(t.Context(), 1, minute)
			require.NoError(t, err)
			require.Len(t, taken, 1)
			_, err = toolguard.Decide(t.Context(), j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove, By: "bob"})
			assert.ErrorIs(t, err, toolguard.ErrDecided)
			assert.Equal(t, "approval_expired/not_started", verdict(g.Resume(t.Context(), key)))
			assert.Zero(t, b.count())
		})
	}
}
