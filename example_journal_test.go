package toolguard_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolguard-go/toolguard"
)

type refundOrder struct {
	Order string `json:"order"`
}

// The money has moved, the answer is lost, and the model tries again under a new
// call ID. With a journal there is one refund.
func ExampleJournal() {
	moved := 0
	pay := func(context.Context, refundOrder) (string, error) {
		moved++
		return "", toolguard.MaybeDone(errors.New("the connection broke after the request was sent"))
	}
	// snippet: journal
	tool := toolguard.Func(toolguard.Info{Name: "refund", Effect: toolguard.NonIdempotent}, pay)
	guard, err := toolguard.New(tool, &toolguard.Options{Journal: toolguard.NewMemoryJournal()})
	if err != nil {
		panic(err)
	}
	ctx := toolguard.WithScope(context.Background(), toolguard.Scope{Session: "conversation 7", Turn: "1"})
	// end snippet
	for _, id := range []string{"call_1", "call_2"} {
		env := guard.Do(ctx, toolguard.Call{ID: id, Args: []byte(`{"order":"A-17"}`)})
		fmt.Println(env.Error.Code, env.Error.Outcome)
	}
	fmt.Println("refunds:", moved)
	// Output:
	// unknown_error unknown
	// in_doubt unknown
	// refunds: 1
}

// desk8 leaves every refund to a person.
type desk8 struct{}

func (desk8) Approve(context.Context, toolguard.ApprovalRequest) (toolguard.Answer, error) {
	return toolguard.Answer{Verdict: toolguard.ApprovalPending}, nil
}

// A person approves later; the process may have been restarted by then.
func ExampleGuard_Resume() {
	tool := toolguard.Func(toolguard.Info{Name: "refund", Effect: toolguard.NonIdempotent},
		func(_ context.Context, in refundOrder) (string, error) { return "refunded " + in.Order, nil })
	journal := toolguard.NewMemoryJournal()
	guard, err := toolguard.New(tool, &toolguard.Options{Journal: journal, Approver: desk8{}})
	if err != nil {
		panic(err)
	}
	ctx := toolguard.WithScope(context.Background(), toolguard.Scope{Session: "conversation 8", Turn: "1"})
	env := guard.Do(ctx, toolguard.Call{ID: "call_1", Args: []byte(`{"order":"A-17"}`)})
	fmt.Println(env.Error.Code)

	// Later, whoever decides:
	_, err = toolguard.Decide(context.Background(), journal, toolguard.Ruling{
		Key: env.Key, Verdict: toolguard.RulingApprove, By: "the head of support",
	})
	fmt.Println(err, guard.Resume(context.Background(), env.Key).Result.Text)
	// Output:
	// approval_pending
	// <nil> refunded A-17
}
