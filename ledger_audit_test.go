package toolguard_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// audited plays every turn that a call can take, and returns the audit of it.
func audited(t *testing.T, m *toolguard.MemoryJournal, j toolguard.Journal, p toolguard.JournalPolicy) []toolguard.Record {
	t.Helper()
	b := new(bank)
	info := toolguard.Info{Name: "refund", Source: "pay", Version: "1.2", Irrelevant: []string{"reason"}}
	tool := toolguard.Func(info, b.refund)
	tool.Status = b.status
	tool.Authorize = func(_ context.Context, in refundIn) error {
		if in.Order == "theirs" {
			return toolguard.Permission("not yours")
		}
		return nil
	}
	call := func(g *toolguard.Guard, turn, order string) toolguard.Envelope {
		ctx := toolguard.WithScope(context.Background(), toolguard.Scope{
			Tenant: "acme", Principal: "ann", Session: "s", Turn: turn, Model: "m-1", PromptVersion: "p-2",
		})
		args, err := json.Marshal(refundIn{Order: order, Reason: "token sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD, turn " + turn})
		require.NoError(t, err)
		return g.Do(ctx, toolguard.Call{ID: order + " in " + turn, Args: args})
	}
	g := guardOf(t, tool, &toolguard.Options{Journal: j, Journaling: p, Retry: toolguard.RetryPolicy{MaxAttempts: 3}})
	require.True(t, call(g, "1", "plain").OK)
	require.True(t, call(g, "1", "plain").OK)
	require.True(t, call(g, "2", "plain").OK, "it is meant again")
	require.False(t, call(g, "2", "theirs").OK)
	b.set(false, toolguard.NotStarted(toolguard.Unavailable("down")))
	call(g, "3", "never")
	b.set(true, nil)
	call(g, "3", "lost")
	b.set(false, nil)
	time.Sleep(minute)
	call(g, "4", "lost")
	edits := &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalEdited, By: "ben", Why: "so", Args: []byte(`{"order":"better"}`)}}
	call(guardOf(t, tool, &toolguard.Options{Journal: j, Journaling: p, Approver: edits}), "5", "edited")
	waits := guardOf(t, tool, &toolguard.Options{Journal: j, Journaling: p, Approver: pendingDesk()})
	key := call(waits, "6", "waits").Key
	decide(t, m, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove, Args: []byte(`{"order":"as ben says"}`)})
	require.True(t, waits.Resume(context.Background(), key).OK)
	records, err := m.Records(context.Background(), toolguard.RecordQuery{})
	require.NoError(t, err)
	for i := range records {
		records[i].Seq, records[i].At = 0, time.Time{}
	}
	return records
}

// The audit says the same of a call, whatever it is kept in, and everything that it
// promises.
func TestTheAuditSaysWhatItPromises(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]toolguard.JournalPolicy{"with arguments": {AuditArguments: true}, "without": {}} {
		inBubble(t, name, func(t *testing.T) {
			m := toolguard.NewMemoryJournal()
			own := audited(t, m, m, p)
			synctest.Wait()
			m = toolguard.NewMemoryJournal()
			assert.Equal(t, audited(t, m, &faulty{Journal: m}, p), own, "in memory, and behind somebody else's journal")
			kinds := map[toolguard.RecordKind]int{}
			for _, r := range own {
				kinds[r.Kind]++
				assert.Equal(t, []string{"refund", "pay", "1.2", "acme", "ann", "m-1", "p-2"},
					[]string{r.Tool, r.Source, r.ToolVersion, r.Scope.Tenant, r.Scope.Principal, r.Scope.Model, r.Scope.PromptVersion})
				assert.NotEmpty(t, r.SchemaDigest)
				assert.NotZero(t, r.Digest)
				assert.NotEmpty(t, r.Actor)
				assert.NotEmpty(t, r.CallID)
				assert.Equal(t, p.AuditArguments && r.Actor != "the head of support", r.Args != nil, "%v by %s", r.Kind, r.Actor)
				assert.NotContains(t, string(r.Args), "sk-proj", "it may be shown anywhere")
				assert.False(t, p.AuditArguments && strings.HasPrefix(r.CallID, "plain") && !strings.Contains(string(r.Args), "plain"))
			}
			digests := map[toolguard.Digest]bool{}
			for _, r := range own {
				if r.CallID == "waits in 6" {
					digests[r.Digest] = true
				}
			}
			assert.Len(t, digests, 2, "what was asked, and what ran")
			for _, kind := range []toolguard.RecordKind{
				toolguard.RecordState, toolguard.RecordAttempt, toolguard.RecordCheck, toolguard.RecordApproval, toolguard.RecordRefused,
			} {
				assert.NotZero(t, kinds[kind], kind)
			}
		})
	}
}
