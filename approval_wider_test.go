package toolguard_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
)

// An approval for a session covers no other session, tool, schema, version or policy.
func TestAWiderApprovalIsNoWider(t *testing.T) {
	t.Parallel()
	type call struct {
		info    toolguard.Info
		policy  string
		session string
		tenant  string
	}
	base := call{info: toolguard.Info{Name: "refund"}, session: "s", tenant: "t"}
	for name, c := range map[string]struct {
		change func(*call)
		asked  int
	}{
		"the same":          {func(*call) {}, 1},
		"another session":   {func(c *call) { c.session = "s2" }, 2},
		"another tenant":    {func(c *call) { c.tenant = "t2" }, 2},
		"no session":        {func(c *call) { c.session = "" }, 2},
		"another tool":      {func(c *call) { c.info.Name = "pay" }, 2},
		"of another source": {func(c *call) { c.info.Source = "elsewhere" }, 2},
		"another schema":    {func(c *call) { c.info.Schema = []byte(`{"type":"object"}`) }, 2},
		"another version":   {func(c *call) { c.info.Version = "2" }, 2},
		"another policy":    {func(c *call) { c.policy = "2" }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := toolguard.NewMemoryJournal()
			d := &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalGranted, By: "ben", Wider: toolguard.WiderSession}}
			do := func(of call, order string) {
				g := guardOf(t, toolguard.Func(of.info, new(bank).refund), &toolguard.Options{
					Journal: j, Approver: d, Approval: toolguard.ApprovalPolicy{Version: of.policy},
				})
				ctx := toolguard.WithScope(context.Background(), toolguard.Scope{Tenant: of.tenant, Principal: "ann", Session: of.session, Turn: "1"})
				assert.True(t, refundOf(ctx, g, order).OK)
			}
			do(base, "A")
			other := base
			c.change(&other)
			do(other, "B")
			assert.Equal(t, c.asked, d.count())
		})
	}
}

// Where the journal does not answer nobody knows who has approved what: not even a
// tool that may run twice runs.
func TestWithoutItsJournalNothingIsApproved(t *testing.T) {
	t.Parallel()
	for _, answer := range []toolguard.ApprovalVerdict{toolguard.ApprovalDenied, toolguard.ApprovalGranted, toolguard.ApprovalPending} {
		b, down := new(bank), func() error { return errors.New("down") }
		j := &faulty{Journal: toolguard.NewMemoryJournal(), scan: down, before: func(int) error { return down() }}
		d := &desk{answer: toolguard.Answer{Verdict: answer, By: "ben"}}
		g := guardOf(t, refundTool(b, toolguard.IdempotentByKey), &toolguard.Options{Journal: j, Approver: d})
		assert.Equal(t, "journal_unavailable/not_started", verdict(refundOf(inTurn("1"), g, "A")))
		assert.Zero(t, b.count())
	}
}

// What was approved for one principal, and has come to nothing certain, is not
// approved for another to try again.
func TestAnApprovedDoubtIsForOnePrincipal(t *testing.T) {
	t.Parallel()
	for principal, asked := range map[string]int{"ann": 1, "eve": 2} {
		b, j := &bank{loses: true}, toolguard.NewMemoryJournal()
		d := &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalGranted, By: "ben"}}
		g := guardOf(t, refundTool(b, toolguard.IdempotentByKey), &toolguard.Options{Journal: j, Approver: d, Retry: toolguard.RetryPolicy{Off: true}})
		refundOf(inTurn("1"), g, "A")
		b.set(false, nil)
		again := toolguard.WithScope(context.Background(), toolguard.Scope{Tenant: "t", Principal: principal, Session: "s", Turn: "1"})
		assert.True(t, refundOf(again, g, "A").OK)
		assert.Equal(t, asked, d.count(), principal)
	}
}
