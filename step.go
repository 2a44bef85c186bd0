package toolguard

import (
	"time"

	"github.com/toolguard-go/toolguard/prompts"
)

// longWait is the wait beyond which a model should not wait for a tool.
const longWait = 5 * time.Minute

// step chooses the one next step after a failure, and says whether it is to
// send the same call again. The more certain thing goes first: what is done is
// done; what may be done must not be repeated; then what the code says.
func (c *call) step() (step prompts.Step, resend bool) {
	f := c.failure
	switch {
	case f.Code == CodeControlFlow:
		return prompts.StepLeaveToHost, false
	case c.loop.step != "":
		return c.loop.step, c.loop.step == prompts.StepPollLater
	case c.outcome == OutcomeSucceeded:
		return prompts.StepDoneNoResult, false
	case c.advice.step != "":
		return c.advice.step, false
	case f.Code == CodeInProgress:
		return prompts.StepInProgress, false
	case c.outcome != OutcomeUnknown:
		return c.stepAfterNothing()
	case f.Code == CodeAborted:
		return prompts.StepFinalRefusal, false
	case !c.safeAgain():
		return c.stepAfterDoubt(), false
	case f.row().resend && f.RetryAfter <= longWait:
		return prompts.StepRepeatSafeUnknown, true
	default:
		return prompts.StepTellUserUnknown, false
	}
}

// stepAfterDoubt chooses the step where nobody knows whether the call took effect, and
// it must not be repeated.
func (c *call) stepAfterDoubt() prompts.Step {
	switch {
	case len(c.guard.info.VerifyWith) > 0:
		return prompts.StepVerifyUnknown
	case c.looksAfter():
		return prompts.StepParkedUnknown
	default:
		return prompts.StepAskCheckUnknown
	}
}

// stepAfterNothing chooses the step where the call certainly changed nothing.
func (c *call) stepAfterNothing() (step prompts.Step, resend bool) {
	if c.failure.Code == CodeBatchStopped {
		return prompts.StepAfterFailedCall, true
	}
	if c.failure.row().resend {
		return c.stepAfterOutage()
	}
	if c.refusesEdit() {
		return prompts.StepChangePlan, false
	}
	if c.failure.Code == CodeResultUnavailable && c.guard.info.Effect == ReadOnly { // it is too large
		return prompts.StepAskForLess, false
	}
	switch c.failure.Code {
	case CodeUnknownTool:
		return c.stepWithoutTool(), false
	case CodeSchemaViolation:
		return c.stepAfterViolation(), false
	case CodeTLSFailure, CodeNotInstalled, CodeJournalUnavailable:
		return c.elsewhere(prompts.StepTellUserOutage), false
	}
	if s, ok := fixedSteps[c.failure.Code]; ok {
		return s, false
	}
	return prompts.StepTellUserInternal, false
}

// fixedSteps are the codes whose step depends on nothing else.
var fixedSteps = map[Code]prompts.Step{
	CodeInvalidJSON:      prompts.StepFixJSON,
	CodeTruncated:        prompts.StepResendComplete,
	CodeInvalidArgument:  prompts.StepFixAndResend,
	CodeDuplicateCallID:  prompts.StepUseFirstAnswer,
	CodeToolDisabled:     prompts.StepToolDisabled,
	CodeLimitReached:     prompts.StepFinishNow,
	CodeCallerDeadline:   prompts.StepFinishNow,
	CodeShuttingDown:     prompts.StepFinishNow,
	CodeBusinessRule:     prompts.StepFinalRefusal,
	CodeNotFound:         prompts.StepNotFound,
	CodeConflict:         prompts.StepReadStateFirst,
	CodeRequestRejected:  prompts.StepExplainRefusal,
	CodeResultRejected:   prompts.StepExplainRefusal,
	CodePermissionDenied: prompts.StepNoPermission,
	CodeAuthExpired:      prompts.StepReauthenticate,
	CodeCanceled:         prompts.StepCanceled,
	CodeAborted:          prompts.StepFinalRefusal,
	CodeNoEntry:          prompts.StepChangePlan,
	CodeKeyConflict:      prompts.StepAskWhichArguments,
	CodeApprovalPending:  prompts.StepAwaitApproval,
	CodeApprovalDenied:   prompts.StepApprovalDenied,
	CodeApprovalStale:    prompts.StepApprovalAgain,
	CodeApprovalExpired:  prompts.StepApprovalAgain,
}

// stepAfterOutage chooses between waiting, going elsewhere and giving up. After
// retries of the guard's own, another one at once would change nothing.
func (c *call) stepAfterOutage() (step prompts.Step, resend bool) {
	f, info := c.failure, &c.guard.info
	timedOut := f.Code == CodeAttemptTimeout || f.Code == CodeAbandoned
	switch {
	case f.RetryAfter > longWait:
		return c.elsewhere(prompts.StepRetryLaterAt), false
	case f.Code == CodeBreakerOpen:
		return prompts.StepWaitBreaker, len(info.Alternatives) == 0
	case len(info.Alternatives) > 0:
		return prompts.StepUseAlternative, false
	case f.RetryAfter > 0:
		return prompts.StepWaitThenOnce, true
	case timedOut && info.Effect == ReadOnly:
		return prompts.StepAskForLess, false
	case c.attempts > 1:
		return prompts.StepTellUserOutage, false
	default:
		return prompts.StepTryOnceMore, true
	}
}

func (c *call) elsewhere(otherwise prompts.Step) prompts.Step {
	if len(c.guard.info.Alternatives) > 0 {
		return prompts.StepUseAlternative
	}
	return otherwise
}

// stepWithoutTool shows what tools there are, if any.
func (c *call) stepWithoutTool() prompts.Step {
	if v := c.via; v != nil && v.other != nil && len(v.other.near)+len(v.other.visible) > 0 {
		return prompts.StepUseListedTool
	}
	return prompts.StepNoSuchTool
}

// stepAfterViolation asks the user where all that is wrong is that something is
// missing.
func (c *call) stepAfterViolation() prompts.Step {
	if len(c.missing()) == len(c.failure.faults().violations) {
		return prompts.StepAskUserForMissing
	}
	return prompts.StepFixAndResend
}

// looksAfter says that somebody finds out what became of the call, so that the
// user may be told so.
func (c *call) looksAfter() bool {
	if !c.inJournal() {
		return false
	}
	return c.guard.opts.Journaling.Checked || c.ledger.entry.State == StateParked
}
