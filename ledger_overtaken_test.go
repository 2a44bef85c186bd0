package toolguard_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
)

// Between what a call has found and its claim somebody else may have had the key.
// Nothing that was said before counts then: it is answered anew, authorized anew and
// approved anew.
func TestWhoeverIsOvertakenBeginsAnew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		loses   bool  // the faster call's answer
		refuses error // the faster call
		denied  bool  // by Authorize, from then on
		want    string
		effects int
		asked   int // for an approval
	}{
		"the other has failed":       {refuses: toolguard.Business("closed"), want: "ok", effects: 1, asked: 2},
		"it is not allowed any more": {refuses: toolguard.Business("closed"), denied: true, want: "permission_denied/not_started", asked: 1},
		"the other has succeeded":    {want: "ok", effects: 1, asked: 1},
		"nobody knows of the other":  {loses: true, want: "in_doubt/unknown", effects: 1, asked: 1},
	} {
		inBubble(t, name, func(t *testing.T) {
			b, m := new(bank), toolguard.NewMemoryJournal()
			b.set(c.loses, c.refuses)
			other := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: m})
			late := false
			mine := refundTool(b, toolguard.NonIdempotent)
			mine.Authorize = func(context.Context, refundIn) error {
				if late && c.denied {
					return toolguard.Permission("not yours")
				}
				return nil
			}
			d := &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalGranted, By: "ben"}}
			j := &faulty{Journal: m, before: func(n int) error {
				if n == 1 { // the claim
					refundOf(inTurn("1"), other, "A")
					late = true
					b.set(false, nil)
				}
				return nil
			}}
			env := refundOf(inTurn("1"), guardOf(t, mine, &toolguard.Options{Journal: j, Approver: d}), "A")
			assert.Equal(t, c.want, verdict(env))
			assert.Equal(t, c.effects, b.count())
			assert.Equal(t, c.asked, d.count(), "approvals that were asked for")
		})
	}
}

// Of a tool that gets the key as an argument, that is approved with the rest.
func TestTheKeyIsApprovedWithTheRest(t *testing.T) {
	t.Parallel()
	j := toolguard.NewMemoryJournal()
	type in struct {
		Order string `json:"order"`
		Key   string `json:"key,omitempty"`
	}
	d := &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalGranted, By: "ben"}}
	g := guardOf(t, toolguard.Action(toolguard.Info{Name: "pay", KeyField: "key"}, func(context.Context, in) error { return nil }),
		&toolguard.Options{Journal: j, Approver: d})
	env := g.Do(inTurn("1"), toolguard.Call{ID: "c1", Args: []byte(`{"order":"A"}`)})
	assert.Equal(t, "ok", verdict(env))
	assert.Equal(t, d.asked[0].Digest, entry(t, j).ApprovalDigest)
}
