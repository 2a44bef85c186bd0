package otelguard

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolguard-go/toolguard"
)

// The names of span events, all of the call's span.
const (
	eventRetry    = "toolguard.retry"
	eventWait     = "toolguard.wait"
	eventStop     = "toolguard.stop"
	eventAbandon  = "toolguard.abandon"
	eventBreaker  = "toolguard.breaker"
	eventRefuse   = "toolguard.refuse"
	eventJoin     = "toolguard.join"
	eventReuse    = "toolguard.reuse"
	eventReplay   = "toolguard.replay"
	eventFallback = "toolguard.fallback"
	eventConfirm  = "toolguard.confirm"
	eventApproval = "toolguard.approval"
)

// decided are the events of what a call came to. A plain answer is none.
var decided = map[toolguard.Decision]string{
	toolguard.DecisionRefuse:   eventRefuse,
	toolguard.DecisionJoin:     eventJoin,
	toolguard.DecisionReuse:    eventReuse,
	toolguard.DecisionReplay:   eventReplay,
	toolguard.DecisionFallback: eventFallback,
	toolguard.DecisionConfirm:  eventConfirm,
}

func (o *Observer) callDecision(span trace.Span, e *toolguard.Event) {
	if verdict := approval(e); verdict != "" {
		attrs := []attribute.KeyValue{attrApproval.String(verdict)}
		if a := e.Approval; a != nil {
			attrs = text(attrs, attrApprovedBy, o.redactor.Text(a.By, maxName))
			attrs = append(attrs, attrApprovalWait.Int64(e.ApprovalWait.Milliseconds()), attrApprovalEdit.Bool(a.Edited))
		}
		add(span, eventApproval, e, attrs)
	}
	name, ok := decided[e.Decision]
	if !ok {
		return
	}
	attrs := text(nil, attrReason, o.reason(e))
	attrs = text(attrs, attrCode, o.redactor.Text(string(e.Code), maxName))
	add(span, name, e, attrs)
}

// attemptDecision tells the call's span what followed an attempt.
func (o *Observer) attemptDecision(call trace.Span, e *toolguard.Event) {
	for _, t := range e.Transitions {
		call.AddEvent(eventBreaker, trace.WithTimestamp(t.At),
			trace.WithAttributes(attrFrom.String(t.From.String()), attrTo.String(t.To.String())))
	}
	number := attrAttempt.Int(e.Attempt)
	if abandoned(e) {
		add(call, eventAbandon, e, []attribute.KeyValue{number, attrDuration.Int64(e.Duration.Milliseconds())})
	}
	switch e.Decision {
	case toolguard.DecisionRetry:
		add(call, eventRetry, e, text([]attribute.KeyValue{number}, attrCode, o.redactor.Text(string(e.Code), maxName)))
		if e.Wait > 0 {
			add(call, eventWait, e, []attribute.KeyValue{attrWait.Int64(e.Wait.Milliseconds())})
		}
	case toolguard.DecisionStop:
		add(call, eventStop, e, text([]attribute.KeyValue{number}, attrReason, o.reason(e)))
	}
}

// abandoned says that the attempt had not returned when it was given up.
func abandoned(e *toolguard.Event) bool {
	return e.Kind == toolguard.EventAttempt && (e.Code == toolguard.CodeAbandoned || e.Why == toolguard.WhyRunning)
}

func add(span trace.Span, name string, e *toolguard.Event, attrs []attribute.KeyValue) {
	span.AddEvent(name, trace.WithTimestamp(e.Time), trace.WithAttributes(attrs...))
}

// approval is what became of the question whether the call may run, "" if nobody
// was asked.
func approval(e *toolguard.Event) string {
	switch {
	case e.Kind != toolguard.EventCall:
		return ""
	case e.Approval != nil:
		return "granted"
	}
	switch e.Code {
	case toolguard.CodeApprovalPending:
		return "pending"
	case toolguard.CodeApprovalDenied:
		return "denied"
	case toolguard.CodeApprovalStale:
		return "stale"
	case toolguard.CodeApprovalExpired:
		return "expired"
	}
	return ""
}
