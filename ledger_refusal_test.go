package toolguard_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
)

// who is what the audit says of a decision or a refusal.
type who struct {
	kind  toolguard.RecordKind
	actor string
	why   string
	code  toolguard.Code
	keyed bool
}

func whoIn(t *testing.T, j toolguard.Journal, kinds ...toolguard.RecordKind) (all []who) {
	t.Helper()
	for _, r := range recordsOf(t, j, "") {
		for _, k := range kinds {
			if r.Kind == k {
				all = append(all, who{r.Kind, r.Actor, r.Why, r.Code, r.Key != ""})
			}
		}
	}
	return all
}

// Who was not allowed to is in the audit also where there is an entry: of what is
// asked for again, of what was approved meanwhile, and after the approver's yes.
func TestRefusalsOfWhatIsKnownAreAudited(t *testing.T) {
	t.Parallel()
	refused := who{toolguard.RecordRefused, toolguard.ActorGuard, "", toolguard.CodePermissionDenied, true}
	for name, c := range map[string]struct {
		desk *desk
		then func(t *testing.T, g *toolguard.Guard, j toolguard.Journal, key string) toolguard.Envelope
	}{
		"a replay": {nil, func(_ *testing.T, g *toolguard.Guard, _ toolguard.Journal, _ string) toolguard.Envelope {
			return refundOf(inTurn("1"), g, "A")
		}},
		"what was approved": {pendingDesk(), func(t *testing.T, g *toolguard.Guard, j toolguard.Journal, key string) toolguard.Envelope {
			decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove})
			return g.Resume(context.Background(), key)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, gone := toolguard.NewMemoryJournal(), false
			tool := refundTool(new(bank), toolguard.NonIdempotent)
			tool.Authorize = func(context.Context, refundIn) error {
				if gone {
					return toolguard.Permission("not any more")
				}
				return nil
			}
			opts := &toolguard.Options{Journal: j}
			if c.desk != nil {
				opts.Approver = c.desk
			}
			g := guardOf(t, tool, opts)
			key := refundOf(inTurn("1"), g, "A").Key
			gone = true
			assert.Equal(t, "permission_denied/not_started", verdict(c.then(t, g, j, key)))
			assert.Equal(t, []who{refused}, whoIn(t, j, toolguard.RecordRefused))
			for _, r := range recordsOf(t, j, key) {
				if r.Kind == toolguard.RecordRefused {
					assert.Equal(t, "ann", r.Scope.Principal)
				}
			}
		})
	}
}

// A decision is in the audit whatever comes of it.
func TestDecisionsThatComeToNothingAreAudited(t *testing.T) {
	t.Parallel()
	yes := toolguard.Answer{Verdict: toolguard.ApprovalGranted, By: "ben", Why: "fine"}
	edited := toolguard.Answer{Verdict: toolguard.ApprovalEdited, By: "ben", Why: "fine", Args: []byte(`{"order":"A2"}`)}
	no := toolguard.Answer{By: "ben", Why: "no"}
	said := who{kind: toolguard.RecordApproval, actor: "ben", why: "fine", keyed: true}
	for name, c := range map[string]struct {
		answer  toolguard.Answer
		refuses error
		doubt   bool
		want    []who
	}{
		"a yes, and then it may not":          {yes, toolguard.Permission("gone"), false, []who{said, {toolguard.RecordRefused, toolguard.ActorGuard, "", toolguard.CodePermissionDenied, false}}},
		"a yes, and then a rule":              {yes, toolguard.Business("closed"), false, []who{said}},
		"a yes to other arguments, in doubt":  {edited, nil, true, []who{said}},
		"a no to what may have happened":      {no, nil, true, []who{{toolguard.RecordApproval, "ben", "no", toolguard.CodeApprovalDenied, true}}},
		"a no to what certainly has not been": {no, nil, false, []who{{toolguard.RecordApproval, "ben", "no", toolguard.CodeApprovalDenied, true}}},
	} {
		inBubble(t, name, func(t *testing.T) {
			b, j, asked := new(bank), toolguard.NewMemoryJournal(), false
			tool := refundTool(b, toolguard.Idempotent)
			tool.Authorize = func(context.Context, refundIn) error {
				if asked {
					return c.refuses
				}
				return nil
			}
			if c.doubt {
				b.set(true, nil)
				refundOf(inTurn("1"), guardOf(t, tool, &toolguard.Options{Journal: j, Retry: once}), "A")
			}
			d := &desk{do: func() { asked = true }, answer: c.answer}
			env := refundOf(inTurn("1"), guardOf(t, tool, &toolguard.Options{Journal: j, Approver: d, Retry: once}), "A")
			assert.False(t, env.OK)
			assert.Equal(t, c.want, whoIn(t, j, toolguard.RecordApproval, toolguard.RecordRefused))
		})
	}
}

// So is every question to the downstream, also one that has no answer.
func TestStatusQueriesWithoutAnAnswerAreAudited(t *testing.T) {
	t.Parallel()
	inBubble(t, "", func(t *testing.T) {
		b, j := new(bank), toolguard.NewMemoryJournal()
		b.set(false, toolguard.MaybeDone(errLost))
		tool := refundTool(b, toolguard.NonIdempotent)
		tool.Status = b.status
		g := guardOf(t, tool, &toolguard.Options{Journal: j})
		for i := range 3 {
			assert.False(t, refundOf(inTurn("1"), g, "A").OK)
			assert.Len(t, whoIn(t, j, toolguard.RecordCheck), i+1)
		}
	})
}

// A person's decision is there with who and why, in the line on the entry's state.
func TestTheAuditSaysWhoDecidedAndWhy(t *testing.T) {
	t.Parallel()
	for _, v := range []toolguard.RulingVerdict{toolguard.RulingRetry, toolguard.RulingSucceeded, toolguard.RulingFailed, toolguard.RulingAbort} {
		j, _, key := parked(t, new(bank))
		e := decide(t, j, toolguard.Ruling{Key: key, Verdict: v, By: "eve", Why: "seen on the statement"})
		records := recordsOf(t, j, key)
		last := records[len(records)-1]
		assert.Equal(t, []any{"eve", "seen on the statement", toolguard.StateUnknown, e.State}, []any{last.Actor, last.Why, last.From, last.To}, v)
	}
}

// A no that comes too late is a decision, too: it is in the audit, beside what somebody
// faster has made of the entry.
func TestADenialThatComesTooLateIsAudited(t *testing.T) {
	t.Parallel()
	b, m := new(bank), toolguard.NewMemoryJournal()
	faster := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: m})
	j := &faulty{Journal: m, before: func(n int) error {
		if n == 1 {
			refundOf(inTurn("1"), faster, "A")
		}
		return nil
	}}
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: &desk{answer: toolguard.Answer{By: "ben", Why: "no"}}})
	assert.True(t, hasNote(refundOf(inTurn("1"), g, "A"), "replayed"))
	assert.Equal(t, []who{{toolguard.RecordApproval, "ben", "no", toolguard.CodeApprovalDenied, true}}, whoIn(t, m, toolguard.RecordApproval))
	assertOnce(t, b)
}
