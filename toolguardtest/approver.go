package toolguardtest

import (
	"context"
	"slices"
	"sync"

	"github.com/toolguard-go/toolguard"
)

// Approver is a [toolguard.Approver] that answers as a test says and keeps what it
// was asked. Safe for concurrent use.
type Approver struct {
	mu     sync.Mutex
	answer toolguard.Answer
	asked  []toolguard.ApprovalRequest
}

// NewApprover returns an approver that gives this verdict to every request:
// [toolguard.ApprovalGranted] to try what lies behind an approval,
// [toolguard.ApprovalPending] to decide later, with [toolguard.Decide].
func NewApprover(v toolguard.ApprovalVerdict) *Approver {
	return &Approver{answer: toolguard.Answer{Verdict: v, By: "the test"}}
}

// Say changes what it answers from here on.
func (a *Approver) Say(answer toolguard.Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer = answer
}

// Approve implements [toolguard.Approver].
func (a *Approver) Approve(_ context.Context, r toolguard.ApprovalRequest) (toolguard.Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r.Args = slices.Clone(r.Args)
	a.asked = append(a.asked, r)
	return a.answer, nil
}

// Asked are the requests so far, in order.
func (a *Approver) Asked() []toolguard.ApprovalRequest {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.asked)
}
