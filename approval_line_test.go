package toolguard_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/toolguardtest"
)

// What a person is asked about is in the audit in the tool's own words, if the audit
// may have arguments, and then redacted as they are.
func TestTheAuditHasTheLineThatAwaitsApproval(t *testing.T) {
	t.Parallel()
	for audited, want := range map[bool]string{true: "refund order A-17", false: ""} {
		synctest.Test(t, func(t *testing.T) {
			type in struct {
				Order string `json:"order"`
			}
			refund := toolguard.Func(toolguard.Info{Name: "refund", Effect: toolguard.NonIdempotent, Risk: toolguard.RiskHigh},
				func(context.Context, in) (string, error) { return "", nil })
			refund.Describe = func(i in) string { return "refund order " + i.Order + " with postgres://shop:hunter2-hunter2@db7/x" }
			j := toolguard.NewMemoryJournal()
			g := guardOf(t, refund, &toolguard.Options{
				Journal: j, Approver: toolguardtest.NewApprover(toolguard.ApprovalPending), Journaling: toolguard.JournalPolicy{AuditArguments: audited},
			})
			g.Do(t.Context(), toolguard.Call{Args: []byte(`{"order":"A-17"}`)})
			records, err := j.Records(t.Context(), toolguard.RecordQuery{})
			require.NoError(t, err)
			require.Len(t, records, 1)
			assert.Equal(t, toolguard.StateAwaiting, records[0].To)
			if !audited {
				assert.Empty(t, records[0].Why)
			}
			assert.Contains(t, records[0].Why, want)
			assert.NotContains(t, records[0].Why, "hunter2")
		})
	}
}
