package toolguardtest

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/toolguard-go/toolguard"
)

// approverSuite is an approver under test.
type approverSuite struct {
	newApprover func(t testing.TB) toolguard.Approver
	requests    []toolguard.ApprovalRequest
}

// TestApprover checks what a [toolguard.Approver] owes. newApprover makes one for each
// obligation; requests are some that it will meet, if possible one that it grants and
// one that it does not. What a request leaves out is filled in. The approver:
//
//   - may be called concurrently (run with -race);
//   - returns soon: where a person needs time, the verdict is ApprovalPending;
//   - returns soon when the context has ended, too;
//   - gives a verdict that exists, with new arguments, a JSON object, if and only if
//     it is ApprovalEdited;
//   - says who has granted, edited or denied;
//   - decides on Args: what Line and Redacted show changes nothing;
//   - leaves the request as it is.
func TestApprover(t *testing.T, newApprover func(t testing.TB) toolguard.Approver, requests ...toolguard.ApprovalRequest) {
	t.Helper()
	if newApprover == nil || len(requests) == 0 {
		t.Fatalf("toolguardtest: TestApprover has nothing to decide: give it a function that makes the approver, and requests, such as {Tool: \"refund\", Args: …}")
	}
	for i := range requests {
		requests[i] = filled(requests[i])
	}
	meet(t, approverSuite{newApprover, requests}, false, approverObligations)
}

func filled(r toolguard.ApprovalRequest) toolguard.ApprovalRequest {
	if r.Key == "" {
		r.Key = "5f0c3d52b7"
	}
	if r.Args = slices.Clone(r.Args); len(r.Args) == 0 {
		r.Args = json.RawMessage(`{}`)
	}
	if r.Expires.IsZero() {
		r.Expires = time.Now().Add(24 * time.Hour)
	}
	if r.Redacted == "" {
		r.Redacted = string(r.Args)
	}
	return r
}

var approverObligations = []obligation[approverSuite]{
	{"may be called concurrently", approverSuite.concurrent},
	{"returns soon", approverSuite.soon},
	{"returns soon when the context has ended", approverSuite.ended},
	{"gives a verdict that exists, with arguments only if it edits", approverSuite.verdict},
	{"says who has decided", approverSuite.by},
	{"decides on Args, whatever Line and Redacted show", approverSuite.onArgs},
	{"leaves the request as it is", approverSuite.untouched},
}

// approve asks a new approver about one request.
func (s approverSuite) approve(ctx context.Context, t testing.TB, r toolguard.ApprovalRequest) (a toolguard.Answer, err error) {
	t.Helper()
	approver := s.newApprover(t)
	within(t, "Approve", func() { a, err = approver.Approve(ctx, r) })
	return a, err
}

func (s approverSuite) concurrent(t testing.TB) {
	approver := s.newApprover(t)
	together(t, "Approve", 8*len(s.requests), func(i int) {
		r := s.requests[i%len(s.requests)]
		r.Args = slices.Clone(r.Args)
		_, _ = approver.Approve(t.Context(), r)
	})
}

func (s approverSuite) soon(t testing.TB) {
	for _, r := range s.requests {
		_, _ = s.approve(t.Context(), t, r)
	}
}

func (s approverSuite) ended(t testing.TB) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, r := range s.requests {
		_, _ = s.approve(ctx, t, r)
	}
}

func (s approverSuite) verdict(t testing.TB) {
	for _, r := range s.requests {
		a, err := s.approve(t.Context(), t, r)
		var object map[string]json.RawMessage
		switch edited := a.Verdict == toolguard.ApprovalEdited; {
		case err != nil:
		case a.Verdict > toolguard.ApprovalPending:
			t.Errorf("toolguardtest: there is no verdict %v", a.Verdict)
		case edited && (json.Unmarshal(a.Args, &object) != nil || object == nil):
			t.Errorf("toolguardtest: the verdict is %v, but Args %q are no JSON object", a.Verdict, a.Args)
		case !edited && len(a.Args) > 0:
			t.Errorf("toolguardtest: the verdict is %v, but there are new Args %q: they would not run; say ApprovalEdited", a.Verdict, a.Args)
		}
	}
}

func (s approverSuite) by(t testing.TB) {
	for _, r := range s.requests {
		a, err := s.approve(t.Context(), t, r)
		if err == nil && a.Verdict != toolguard.ApprovalPending && a.By == "" {
			t.Errorf("toolguardtest: the verdict is %v, but By does not say who has decided: the audit would not know", a.Verdict)
		}
	}
}

func (s approverSuite) onArgs(t testing.TB) {
	for _, r := range s.requests {
		honest, err := s.approve(t.Context(), t, r)
		if err != nil {
			continue
		}
		shown := r
		shown.Line, shown.Redacted = "Does nothing at all.", `{"harmless":true}`
		other, err := s.approve(t.Context(), t, shown)
		if err != nil || other.Verdict != honest.Verdict {
			t.Errorf("toolguardtest: with the same Args the verdict is %v, and %v (%v) where Line and Redacted show something harmless", honest.Verdict, other.Verdict, err)
		}
	}
}

func (s approverSuite) untouched(t testing.TB) {
	for _, r := range s.requests {
		before := string(r.Args)
		_, _ = s.approve(t.Context(), t, r)
		if string(r.Args) != before {
			t.Errorf("toolguardtest: Approve has changed the request's Args from %s to %s: what was shown is not what runs", before, r.Args)
		}
	}
}
