package toolguardtest_test

import (
	"context"
	"testing"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/agentloop"
	"github.com/toolguard-go/toolguard/toolguardtest"
)

// snippet: recipe_approved_loop
func TestTheWholeLoopUnderEveryFault(t *testing.T) {
	toolguardtest.Matrix(t, func(t testing.TB) toolguardtest.Subject { // called anew for every fault
		tool := newRefund()
		approver, journal := toolguardtest.NewApprover(toolguard.ApprovalGranted), toolguardtest.JournalFor(tool.Info())
		box, err := toolguard.NewToolbox(&toolguard.ToolboxOptions{
			Options: toolguard.Options{Journal: journal, Approver: approver},
		}, tool)
		if err != nil {
			t.Fatal(err)
		}
		subject := toolguardtest.Looped(box, "refund", `{"order":"A-17"}`, func(m agentloop.Model) (*agentloop.Loop, error) {
			return agentloop.New(m, box, nil) // as production makes it, but with the model of the test
		})
		subject.Approver, subject.Journal = approver, journal
		return subject
	})
}

// end snippet

// newRefund is the tool as production has it.
func newRefund() toolguard.Tool {
	return toolguard.Func(toolguard.Info{
		Name: "refund", Effect: toolguard.NonIdempotent, Risk: toolguard.RiskHigh, Durability: toolguard.DurabilityDisk,
	}, func(context.Context, struct {
		Order string `json:"order"`
	}) (string, error) {
		return "R-1", nil
	})
}
