package toolguardtest

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/toolguard-go/toolguard"
)

// tryOnce makes one call to a tool that works, before anything else is tried: a
// subject that refuses it would fail every fault for a reason of its own.
func tryOnce(t *testing.T, newSubject func(t testing.TB) Subject) {
	t.Helper()
	wrong := ""
	synctest.Test(t, func(t *testing.T) { wrong = unreached(t, newSubject) })
	if wrong != "" { // outside, where the line of the caller is known
		t.Fatalf("toolguardtest: %s", wrong)
	}
}

// unreached says what to mend if a call does not reach the tool. What comes of one
// that does is for the rules.
func unreached(t testing.TB, newSubject func(t testing.TB) Subject) string {
	t.Helper()
	s := newSubject(t)
	if err := s.check(); err != nil {
		return err.Error()
	}
	x := &examination{t: t, subject: s, fault: Fault{Step: OK("done")}}
	if a := x.once(); x.tool.Runs() == 0 && len(a.envelopes) > 0 {
		env := &a.envelopes[0]
		return fmt.Sprintf("nothing was tried, because a call of the subject does not reach its tool: %s. The answer is %s", whyNotRun(env), shown(*env))
	}
	return ""
}

// once puts the step of the fault under the subject and makes one call.
func (x *examination) once() asked {
	ctx, cancel := x.begin()
	defer cancel()
	defer x.tool.Release()
	return x.ask(ctx, x.subject.call("call_1"))
}

// whyNotRun says which gate a call ended at, and what to do about it.
func whyNotRun(env *toolguard.Envelope) string {
	if env.OK {
		return "something that outlives a subject answers in its place, such as a journal or Sessions: make them in the function that makes the subject"
	}
	switch env.Error.Code {
	case toolguard.CodeInvalidJSON, toolguard.CodeSchemaViolation, toolguard.CodeTruncated:
		return "the tool's schema refuses the subject's Args: give arguments that it accepts"
	case toolguard.CodePermissionDenied, toolguard.CodeAuthExpired:
		return "its Authorize refuses the subject's Args, or the scope they come with (see Matrix)"
	case toolguard.CodeCheckFailed, toolguard.CodeBusinessRule:
		return "its Check refuses the subject's Args, or fails"
	case toolguard.CodeApprovalPending:
		return "its Approver leaves the decision to somebody, and nobody decides here: give the guard NewApprover(toolguard.ApprovalGranted), or set Approval.Off"
	case toolguard.CodeApprovalDenied, toolguard.CodeApprovalExpired, toolguard.CodeApprovalStale:
		return "its Approver does not approve the subject's Args: give the guard NewApprover(toolguard.ApprovalGranted), or set Approval.Off"
	case toolguard.CodeJournalUnavailable:
		return "its journal does not take the intent: give the guard JournalFor(info), which needs no disk and no network"
	case toolguard.CodeUnknownTool, toolguard.CodeToolDisabled:
		return "its toolbox does not let the call through"
	}
	return "the subject's own gates or schema refuse its Args"
}
