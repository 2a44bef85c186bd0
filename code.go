package toolguard

import "iter"

// Code is the reason inside a [Category], in lower_snake. Codes are stable:
// hosts may switch on them. A code that is not in the table of this version is
// treated like [CodeUnknownError].
type Code string

// The codes, by category. See [Codes] for what each one implies.
const (
	CodeInvalidJSON     Code = "invalid_json"      // the arguments are not one strict JSON object
	CodeTruncated       Code = "truncated"         // the arguments are cut off
	CodeSchemaViolation Code = "schema_violation"  // the arguments break the tool's schema
	CodeInvalidArgument Code = "invalid_argument"  // the tool or its Check refused an argument
	CodeUnknownTool     Code = "unknown_tool"      // no tool has this name
	CodeDuplicateCallID Code = "duplicate_call_id" // an earlier call of the batch has the same ID

	CodeAttemptTimeout    Code = "attempt_timeout"    // the attempt's deadline passed and the tool stopped
	CodeAbandoned         Code = "abandoned"          // the deadline passed and the tool did not stop
	CodeDownstreamTimeout Code = "downstream_timeout" // something the tool waited for gave up
	CodeCallerDeadline    Code = "caller_deadline"    // the caller's own deadline passed
	CodeBudgetExhausted   Code = "budget_exhausted"   // the call's budget passed before the tool could start

	CodeConnectionRefused  Code = "connection_refused"  // nothing accepted the connection
	CodeConnectionLost     Code = "connection_lost"     // the connection broke while in use
	CodeDNSFailure         Code = "dns_failure"         // the service's name could not be resolved
	CodeTLSFailure         Code = "tls_failure"         // no trusted connection could be made
	CodeServiceUnavailable Code = "service_unavailable" // the service says it cannot serve now
	CodeServerError        Code = "server_error"        // the service failed inside
	CodeRateLimited        Code = "rate_limited"        // the service limits requests
	CodeResourceExhausted  Code = "resource_exhausted"  // a pool or quota the tool needs is used up
	CodeRolledBack         Code = "rolled_back"         // the database undid the transaction
	CodeNotInstalled       Code = "not_installed"       // a program the tool needs is missing
	CodeBreakerOpen        Code = "breaker_open"        // refused: the breaker is open
	CodeOverloaded         Code = "overloaded"          // refused: no free slot in time
	CodeToolStuck          Code = "tool_stuck"          // refused: too many abandoned attempts still run
	CodeShuttingDown       Code = "shutting_down"       // refused: the guard admits no more calls
	CodeToolDisabled       Code = "tool_disabled"       // refused: the toolbox has the tool switched off
	CodeLimitReached       Code = "limit_reached"       // refused: the batch or the turn has had its share
	CodeBatchStopped       Code = "batch_stopped"       // refused: a failure stopped the rest of the batch
	CodeJournalUnavailable Code = "journal_unavailable" // refused: the intent could not be written down

	CodeBusinessRule    Code = "business_rule"    // a rule of the business says no
	CodeNotFound        Code = "not_found"        // the thing asked for does not exist
	CodeConflict        Code = "conflict"         // the state of the thing forbids it
	CodeRequestRejected Code = "request_rejected" // the service refused the request the tool made
	CodeResultRejected  Code = "result_rejected"  // the tool reported success, its result says otherwise
	CodeKeyConflict     Code = "key_conflict"     // refused: the step has called the tool with other arguments
	CodeAborted         Code = "aborted"          // refused: a person has closed the action

	CodeLoopDetected  Code = "loop_detected"   // refused: the conversation goes in circles
	CodePolledTooSoon Code = "polled_too_soon" // refused: a polling tool was asked before its interval

	CodePermissionDenied Code = "permission_denied" // the caller may not do this
	CodeAuthExpired      Code = "auth_expired"      // the credentials are no longer accepted
	CodeApprovalPending  Code = "approval_pending"  // refused: nobody has approved it yet
	CodeApprovalDenied   Code = "approval_denied"   // refused: somebody said no
	CodeApprovalStale    Code = "approval_stale"    // refused: what was approved is not what would run
	CodeApprovalExpired  Code = "approval_expired"  // refused: nobody decided in time, or it did not run in time

	CodeInProgress        Code = "in_progress"        // refused: an identical call still runs
	CodeResultUnavailable Code = "result_unavailable" // it was done, its result is not there any more; or it is too large for the tool
	CodeInDoubt           Code = "in_doubt"           // refused: an identical call may have had its effect
	CodeNoEntry           Code = "no_entry"           // not resumed: the journal does not have the call
	CodePanic             Code = "panic"              // the tool panicked
	CodeExited            Code = "exited"             // the tool ended its goroutine
	CodeBadResponse       Code = "bad_response"       // the service's answer could not be read
	CodeCommandFailed     Code = "command_failed"     // a program the tool ran reported failure
	CodeCanceled          Code = "canceled"           // the caller canceled the call
	CodeCheckFailed       Code = "check_failed"       // a check that comes before the tool broke
	CodeControlFlow       Code = "control_flow"       // the host took the call over; see Options.PassThrough
	CodeInternalError     Code = "internal_error"     // a fault of the guard itself
	CodeUnknownError      Code = "unknown_error"      // none of the above
)

// retryKind says whether, and on which schedule, a code is retried.
type retryKind uint8

const (
	retryNever retryKind = iota
	retryBackoff
	retryRateLimit // backoff from a longer base
	retryRefresh   // once, after Options.Refresh
)

var retryKindNames = names{"never", "backoff", "rate limit backoff", "once after refresh"}

func (k retryKind) String() string { return retryKindNames.text("retryKind", uint8(k)) }

// codeRow is what a code implies where nothing better is known.
type codeRow struct {
	code     Code
	category Category
	// outcome is where evidence starts: see outcomeOf.
	outcome Outcome
	// counted: the breaker counts this as a failure of the tool. Codes that are
	// not counted but come from the tool count as a sign of life.
	counted bool
	// neutral: the guard or the caller made this failure. The breaker learns
	// nothing from it, and it is never retried.
	neutral bool
	// silent: the breaker learns nothing from this either, good or bad, though
	// it comes from the tool.
	silent bool
	// definite: the downstream gave a complete answer, so that the last
	// request of the attempt had no effect.
	definite bool
	// resend: a model may usefully send the very same call again later.
	resend bool
	retry  retryKind
}

// codeTable is the one place where codes get their meaning.
var codeTable = []codeRow{
	{code: CodeInvalidJSON, category: CategoryParam, outcome: OutcomeNotStarted, neutral: true},
	{code: CodeTruncated, category: CategoryParam, outcome: OutcomeNotStarted, neutral: true},
	{code: CodeSchemaViolation, category: CategoryParam, outcome: OutcomeNotStarted, neutral: true},
	{code: CodeInvalidArgument, category: CategoryParam, definite: true},
	{code: CodeUnknownTool, category: CategoryParam, outcome: OutcomeNotStarted, neutral: true},
	{code: CodeDuplicateCallID, category: CategoryParam, outcome: OutcomeNotStarted, neutral: true},

	{code: CodeAttemptTimeout, category: CategoryTimeout, counted: true, resend: true, retry: retryBackoff},
	{code: CodeAbandoned, category: CategoryTimeout, counted: true, resend: true},
	{code: CodeDownstreamTimeout, category: CategoryTimeout, counted: true, resend: true, retry: retryBackoff},
	{code: CodeCallerDeadline, category: CategoryTimeout, neutral: true},
	{code: CodeBudgetExhausted, category: CategoryTimeout, outcome: OutcomeNotStarted, neutral: true, resend: true},

	{code: CodeConnectionRefused, category: CategoryUnavailable, counted: true, resend: true, retry: retryBackoff},
	{code: CodeConnectionLost, category: CategoryUnavailable, counted: true, resend: true, retry: retryBackoff},
	{code: CodeDNSFailure, category: CategoryUnavailable, counted: true, resend: true, retry: retryBackoff},
	{code: CodeTLSFailure, category: CategoryUnavailable, counted: true},
	{code: CodeServiceUnavailable, category: CategoryUnavailable, counted: true, resend: true, retry: retryBackoff},
	{code: CodeServerError, category: CategoryUnavailable, counted: true, resend: true, retry: retryBackoff},
	{code: CodeRateLimited, category: CategoryUnavailable, silent: true, definite: true, resend: true, retry: retryRateLimit},
	{code: CodeResourceExhausted, category: CategoryUnavailable, counted: true, resend: true, retry: retryBackoff},
	{code: CodeRolledBack, category: CategoryUnavailable, definite: true, resend: true, retry: retryBackoff},
	{code: CodeNotInstalled, category: CategoryUnavailable, counted: true},
	{code: CodeBreakerOpen, category: CategoryUnavailable, outcome: OutcomeNotStarted, neutral: true, resend: true},
	{code: CodeOverloaded, category: CategoryUnavailable, outcome: OutcomeNotStarted, neutral: true, resend: true},
	{code: CodeToolStuck, category: CategoryUnavailable, outcome: OutcomeNotStarted, neutral: true, resend: true},
	{code: CodeShuttingDown, category: CategoryUnavailable, outcome: OutcomeNotStarted, neutral: true},
	{code: CodeToolDisabled, category: CategoryUnavailable, outcome: OutcomeNotStarted, neutral: true},
	{code: CodeLimitReached, category: CategoryUnavailable, outcome: OutcomeNotStarted, neutral: true},
	{code: CodeBatchStopped, category: CategoryUnavailable, outcome: OutcomeNotStarted, neutral: true, resend: true},
	{code: CodeJournalUnavailable, category: CategoryUnavailable, outcome: OutcomeNotStarted, neutral: true},

	{code: CodeBusinessRule, category: CategoryBusiness, definite: true},
	{code: CodeNotFound, category: CategoryBusiness, definite: true},
	{code: CodeConflict, category: CategoryBusiness, definite: true},
	{code: CodeRequestRejected, category: CategoryBusiness, definite: true},
	{code: CodeResultRejected, category: CategoryBusiness, definite: true},
	{code: CodeKeyConflict, category: CategoryBusiness, outcome: OutcomeNotStarted, neutral: true},
	{code: CodeAborted, category: CategoryBusiness, neutral: true},

	{code: CodeLoopDetected, category: CategoryBusiness, outcome: OutcomeNotStarted, neutral: true},
	{code: CodePolledTooSoon, category: CategoryBusiness, outcome: OutcomeNotStarted, neutral: true, resend: true},

	{code: CodePermissionDenied, category: CategoryPermission, definite: true},
	{code: CodeAuthExpired, category: CategoryPermission, definite: true, retry: retryRefresh},
	{code: CodeApprovalPending, category: CategoryPermission, outcome: OutcomeNotStarted, neutral: true},
	{code: CodeApprovalDenied, category: CategoryPermission, outcome: OutcomeNotStarted, neutral: true},
	{code: CodeApprovalStale, category: CategoryPermission, outcome: OutcomeNotStarted, neutral: true},
	{code: CodeApprovalExpired, category: CategoryPermission, outcome: OutcomeNotStarted, neutral: true},

	{code: CodeInProgress, category: CategoryUnknown, neutral: true},
	{code: CodeResultUnavailable, category: CategoryUnknown, outcome: OutcomeSucceeded, neutral: true},
	{code: CodeInDoubt, category: CategoryUnknown, neutral: true},
	{code: CodeNoEntry, category: CategoryUnknown, neutral: true},
	{code: CodePanic, category: CategoryUnknown, silent: true},
	{code: CodeExited, category: CategoryUnknown, silent: true},
	{code: CodeBadResponse, category: CategoryUnknown, silent: true, retry: retryBackoff, resend: true},
	{code: CodeCommandFailed, category: CategoryUnknown, silent: true},
	{code: CodeCanceled, category: CategoryUnknown, neutral: true},
	{code: CodeCheckFailed, category: CategoryUnknown, outcome: OutcomeNotStarted, neutral: true},
	{code: CodeControlFlow, category: CategoryUnknown, neutral: true},
	{code: CodeInternalError, category: CategoryUnknown, neutral: true},
	{code: CodeUnknownError, category: CategoryUnknown, silent: true},
}

var codeIndex = func() map[Code]*codeRow {
	index := make(map[Code]*codeRow, len(codeTable))
	for i := range codeTable {
		index[codeTable[i].code] = &codeTable[i]
	}
	return index
}()

// row returns what the code implies; an unlisted code is an unknown error.
func (c Code) row() *codeRow {
	if r, ok := codeIndex[c]; ok {
		return r
	}
	return codeIndex[CodeUnknownError]
}

// Category returns the category the code belongs to.
func (c Code) Category() Category { return c.row().category }

// isCodeOrCategory says whether a policy may name it.
func isCodeOrCategory(name string) bool {
	_, ok := codeIndex[Code(name)]
	return ok || new(Category).UnmarshalText([]byte(name)) == nil
}

// Codes yields every code with its category, in the order of the table.
func Codes() iter.Seq2[Code, Category] {
	return func(yield func(Code, Category) bool) {
		for i := range codeTable {
			if !yield(codeTable[i].code, codeTable[i].category) {
				return
			}
		}
	}
}
