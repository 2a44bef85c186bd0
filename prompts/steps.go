package prompts

// Step names a next step. Every failure ends in exactly one. The comments say
// when a step fits and which fields of [Vars] it needs; optional ones are in
// brackets.
type Step string

// Steps for arguments that were refused. Nothing was done.
const (
	// StepFixJSON: the arguments are not one strict JSON object.
	StepFixJSON Step = "fix_json"
	// StepResendComplete: the arguments were cut off.
	StepResendComplete Step = "resend_complete"
	// StepFixAndResend: something in the arguments is wrong; violations or the message say what.
	StepFixAndResend Step = "fix_and_resend"
	// StepAskUserForMissing: only required arguments are missing. Missing.
	StepAskUserForMissing Step = "ask_user_for_missing"
	// StepAskUserAboutArguments: arguments of this tool were refused several times in a row. [Count]
	StepAskUserAboutArguments Step = "ask_user_about_arguments"
	// StepUseListedTool: no tool has this name, others may be shown. Near or Tools.
	StepUseListedTool Step = "use_listed_tool"
	// StepNoSuchTool: no tool has this name, and there is none to show.
	StepNoSuchTool Step = "no_such_tool"
	// StepUseFirstAnswer: an earlier call of the batch has the same id.
	StepUseFirstAnswer Step = "use_first_answer"
	// StepToolDisabled: the tool exists but is switched off. Tool, [Alternatives].
	StepToolDisabled Step = "tool_disabled"
)

// Steps for failures of the system whose outcome is not_started or failed.
const (
	// StepTryOnceMore: the same call may be sent again at once. Tool.
	StepTryOnceMore Step = "try_once_more"
	// StepWaitThenOnce: the same call may be sent again after a wait of up to 5 min. Tool, Wait.
	StepWaitThenOnce Step = "wait_then_once"
	// StepAskForLess: a tool that only reads ran out of time, more than once. Tool.
	StepAskForLess Step = "ask_for_less"
	// StepUseAlternative: not now, and another tool is declared. Tool, Alternatives.
	StepUseAlternative Step = "use_alternative"
	// StepWaitBreaker: the breaker is open. Tool, Wait, [Alternatives].
	StepWaitBreaker Step = "wait_breaker"
	// StepRetryLaterAt: the wait is above 5 min. Wait, [At].
	StepRetryLaterAt Step = "retry_later_at"
	// StepTellUserOutage: not now, no wait known, no other tool. Tool.
	StepTellUserOutage Step = "tell_user_outage"
	// StepTellUserInternal: trying again would change nothing. Tool, [Incident].
	StepTellUserInternal Step = "tell_user_internal"
	// StepFinishNow: no call can succeed any more: a deadline, a limit, a shutdown.
	StepFinishNow Step = "finish_now"
	// StepAfterFailedCall: a failure stopped the rest of the batch.
	StepAfterFailedCall Step = "after_failed_call"
	// StepCanceled: the caller canceled the call.
	StepCanceled Step = "canceled"
	// StepLeaveToHost: the host took the call over.
	StepLeaveToHost Step = "leave_to_host"
)

// Steps for an unknown outcome. The first four are for tools that are not
// repeatable, whatever the code; the last two for those that are.
const (
	// StepVerifyUnknown: a tool that can look it up is declared. Verify.
	StepVerifyUnknown Step = "verify_unknown"
	// StepAskCheckUnknown: nothing can look it up. [Contact]
	StepAskCheckUnknown Step = "ask_check_unknown"
	// StepParkedUnknown: the call is parked for a person or a recoverer. [Contact]
	StepParkedUnknown Step = "parked_unknown"
	// StepInProgress: an identical call may still be running.
	StepInProgress Step = "in_progress"
	// StepRepeatSafeUnknown: the same call may be sent again. [Wait]
	StepRepeatSafeUnknown Step = "repeat_safe_unknown"
	// StepTellUserUnknown: it may be repeated, but not now or not by the model. [Wait]
	StepTellUserUnknown Step = "tell_user_unknown"
)

// Steps for answers that are not faults.
const (
	// StepFinalRefusal: a business rule said no.
	StepFinalRefusal Step = "final_refusal"
	// StepExplainRefusal: the service or the content of its answer said no.
	StepExplainRefusal Step = "explain_refusal"
	// StepNotFound: what was asked for does not exist.
	StepNotFound Step = "not_found"
	// StepReadStateFirst: the state of the thing forbids the operation. [Verify]
	StepReadStateFirst Step = "read_state_first"
	// StepAskWhichArguments: the key is taken by a call with other arguments.
	StepAskWhichArguments Step = "ask_which_arguments"
	// StepNoPermission: the caller may not do this. [Contact]
	StepNoPermission Step = "no_permission"
	// StepReauthenticate: the credentials are no longer accepted.
	StepReauthenticate Step = "reauthenticate"
	// StepAwaitApproval: nobody has decided yet. [Contact]
	StepAwaitApproval Step = "await_approval"
	// StepApprovalDenied: the approval was denied.
	StepApprovalDenied Step = "approval_denied"
	// StepApprovalAgain: the approval has expired or is for other arguments.
	StepApprovalAgain Step = "approval_again"
	// StepDoneNoResult: it took effect, its result cannot be shown. [Verify]
	StepDoneNoResult Step = "done_no_result"
)

// Steps that go before all others once a session has seen enough.
const (
	// StepStopDirective: the tool failed too often in a row. It also holds where
	// the last outcome is unknown. Tool, [Count], [Wait].
	StepStopDirective Step = "stop_directive"
	// StepUseKnownResult: the same call with the same result, again. [Count]
	StepUseKnownResult Step = "use_known_result"
	// StepChangePlan: a cycle, or results that change without progress.
	StepChangePlan Step = "change_plan"
	// StepPollLater: a polling tool was asked too early or too often. Wait.
	StepPollLater Step = "poll_later"
)
