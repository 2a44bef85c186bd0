package report

import (
	"fmt"
	"strings"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore"
)

// layer answers where it failed.
func (t *Trace) layer() string {
	r := t.last()
	if r == nil {
		if t.audit == nil {
			return "No event of the call is kept."
		}
		return "No event of the call is kept; the journal's audit above is all there is."
	}
	if !r.OK {
		return layerOf(r)
	}
	if failed := t.failedAttempts(r.Ref); failed > 0 {
		before := "one attempt failed,"
		if failed > 1 {
			before = fmt.Sprintf("%d attempts failed, the last of them", failed)
		}
		return fmt.Sprintf("Not in the end: the call was answered. Before that, %s %s", before, lowerFirst(t.lastFailure(r.Ref)))
	}
	return "Nowhere: the call succeeded."
}

func (t *Trace) failedAttempts(ref uint64) (n int) {
	for i := range t.records {
		if r := &t.records[i]; r.Ref == ref && r.Kind == toolguard.EventAttempt && !r.OK {
			n++
		}
	}
	return n
}

func (t *Trace) lastFailure(ref uint64) string {
	for i := len(t.records) - 1; i >= 0; i-- {
		if r := &t.records[i]; r.Ref == ref && r.Kind == toolguard.EventAttempt && !r.OK {
			return layerOf(r)
		}
	}
	return ""
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// places say where codes come from.
var places = map[toolguard.Code]string{
	toolguard.CodeAttemptTimeout: "in the tool or what it called: no answer in time", toolguard.CodeAbandoned: "in the tool: it did not stop when told to",
	toolguard.CodeDownstreamTimeout: "behind the tool: what it called gave no answer in time", toolguard.CodeCallerDeadline: "with the caller: its deadline came first",
	toolguard.CodeCanceled: "with the caller: it gave up", toolguard.CodeBudgetExhausted: "in the guard: the call's time was used up",
	toolguard.CodeConnectionRefused: "on the network: the service refused the connection", toolguard.CodeConnectionLost: "on the network: the connection broke",
	toolguard.CodeDNSFailure: "on the network: the name could not be resolved", toolguard.CodeTLSFailure: "on the network: TLS could not be set up",
	toolguard.CodeServiceUnavailable: "in the service behind the tool: it was unavailable", toolguard.CodeServerError: "in the service behind the tool: it had an error",
	toolguard.CodeRateLimited: "in the service behind the tool: it limits requests", toolguard.CodeResourceExhausted: "in the service behind the tool: it was out of something",
	toolguard.CodeRolledBack: "in the database: the transaction was rolled back", toolguard.CodeNotInstalled: "on this machine: a program is missing",
	toolguard.CodeBreakerOpen: "in the guard: the breaker was open after earlier failures", toolguard.CodeOverloaded: "in the guard: no slot was free",
	toolguard.CodeToolStuck: "in the guard: too many abandoned attempts of the tool still run", toolguard.CodeShuttingDown: "in the guard: it was shutting down",
	toolguard.CodePanic: "in the tool's code: it panicked", toolguard.CodeExited: "in the tool's code: it ended its goroutine",
	toolguard.CodeBadResponse: "between service and tool: the answer could not be read", toolguard.CodeCommandFailed: "in a program the tool ran",
	toolguard.CodeInternalError: "in toolguard itself", toolguard.CodeCheckFailed: "in a check of the host that broke",
	toolguard.CodeApprovalPending: "with people: nobody has approved it yet", toolguard.CodeApprovalDenied: "with people: somebody said no",
	toolguard.CodeApprovalStale: "in the guard: what was approved is not what would have run", toolguard.CodeApprovalExpired: "with people: nobody decided in time",
	toolguard.CodeInDoubt: "in the guard: an identical call may have had its effect", toolguard.CodeInProgress: "in the guard: an identical call still ran",
	toolguard.CodeLoopDetected: "in the conversation: it went in circles", toolguard.CodeLimitReached: "in the conversation: a limit was reached",
	toolguard.CodePolledTooSoon: "in the conversation: the tool was asked again too soon",
}

// stagePlaces are for codes that several layers yield.
var stagePlaces = map[toolguard.Stage]string{
	toolguard.StageDecide:   "in the guard, before the tool: what was asked, or whether the caller may",
	toolguard.StageValidate: "in the guard, before the tool: a rule of the business, or an approval",
	toolguard.StageExecute:  "in the tool or behind it",
	toolguard.StageConfirm:  "in the tool or behind it",
	toolguard.StageRecover:  "while an answer from elsewhere was sought",
}

func layerOf(r *eventstore.Record) string {
	where, known := places[r.Code]
	switch {
	case known:
	case r.Attempts == 0 && r.Category == toolguard.CategoryParam:
		where = "with the model: its call was not usable"
	case r.Attempts == 0 && r.Category == toolguard.CategoryPermission:
		where = "in the guard: the caller may not do this"
	default:
		where = stagePlaces[r.Stage]
	}
	text := strings.ToUpper(where[:1]) + where[1:] + fmt.Sprintf(" (%s, %s)", r.Code, r.Category)
	if r.Detail != "" {
		text += ", read from " + r.Detail
	}
	return text + "."
}

// reasons put the Why constants into words.
var reasons = map[string]string{
	toolguard.WhyFinal: "this kind of failure does not go away by itself", toolguard.WhyUnsure: "the effect may have happened, and must not happen twice",
	toolguard.WhyAttempts: "no attempt was left", toolguard.WhyNested: "an outer guard of the same tool retries",
	toolguard.WhyNoTime: "a wait and another attempt did not fit into the time left", toolguard.WhyLongWait: "the service asked for a longer wait than allowed",
	toolguard.WhyRetryBudget: "too many recent calls were retries", toolguard.WhyCallerGone: "the caller had stopped waiting",
	toolguard.WhyRefresh: "the credentials could not be renewed", toolguard.WhyRunning: "the attempt still ran",
}

func reasonWords(why string) string {
	if words, ok := reasons[why]; ok {
		return words
	}
	return why
}

// reason answers why the system retried or stopped, attempt by attempt.
func (t *Trace) reason() string {
	var said []string
	for i := range t.records {
		r := &t.records[i]
		if r.Kind != toolguard.EventAttempt || !t.meant(r) {
			continue
		}
		switch r.Decision {
		case toolguard.DecisionRetry:
			said = append(said, fmt.Sprintf("It retried after attempt %d because %s may go away, and nothing stood against it.", r.Attempt, r.Code))
		case toolguard.DecisionStop:
			said = append(said, fmt.Sprintf("It stopped after attempt %d because %s.", r.Attempt, reasonWords(r.Why)))
		}
	}
	switch r := t.last(); {
	case len(said) > 0:
		return strings.Join(said, " ")
	case r == nil:
		return "No event of the call is kept."
	case r.OK && r.Decision == toolguard.DecisionFallback:
		return "It asked the tool no more" + how(r) + "."
	case r.OK:
		return "It did neither: one answer was enough" + how(r) + "."
	case r.Decision == toolguard.DecisionRefuse:
		return "It stopped before the tool: " + string(r.Code) + " forbids it."
	default:
		return "No event of an attempt is kept."
	}
}

// effect answers whether the side effect happened in the end. The journal knows
// best, then a late answer, then the call itself.
func (t *Trace) effect() string {
	r := t.last()
	if r != nil && r.Effect == toolguard.ReadOnly {
		return "There is none: the tool only reads."
	}
	if t.entry != nil {
		return entryEffect(t.entry)
	}
	if r == nil {
		return "Nothing is known."
	}
	for i := range t.records {
		if late := &t.records[i]; late.Kind == toolguard.EventLate && late.Ref == r.Ref && late.Outcome == toolguard.OutcomeSucceeded {
			return fmt.Sprintf("Yes, by a late answer: the attempt that was given up succeeded after %s.", took(late.Duration))
		}
	}
	switch r.Outcome {
	case toolguard.OutcomeSucceeded:
		return "Yes."
	case toolguard.OutcomeNotStarted:
		return "No: the tool did not begin."
	case toolguard.OutcomeFailed:
		return "No: the tool ran, and definitely had no effect."
	default:
		return "Nobody knows. Ask the service behind the tool" + underKey(t.Key) + "."
	}
}

func underKey(key string) string {
	if key == "" {
		return ""
	}
	return " about the key " + key
}

func entryEffect(e *toolguard.Entry) string {
	at := " The journal has it as " + e.State.String() + " since " + stamp(e.Updated) + "."
	switch e.State {
	case toolguard.StateSucceeded:
		return "Yes." + at
	case toolguard.StateFailed:
		return "No." + at
	case toolguard.StateAwaiting, toolguard.StateApproved:
		return "Not yet: it has not run." + at
	case toolguard.StateDenied, toolguard.StateExpired:
		return "No: it was not allowed to run." + at
	case toolguard.StateParked:
		return "Nobody knows; a person has to decide." + at
	case toolguard.StateAborted:
		return "Nobody knows, and somebody closed it." + at
	case toolguard.StatePending:
		return "Not known yet: it runs, or the process that ran it is gone." + at
	default:
		return "Nobody knows yet." + at
	}
}
