package otelguard

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"github.com/toolguard-go/toolguard"
)

// The names of attributes. Those that begin with gen_ai or error are of the
// semantic conventions.
const (
	attrOperation   = attribute.Key("gen_ai.operation.name")
	attrTool        = attribute.Key("gen_ai.tool.name")
	attrCallID      = attribute.Key("gen_ai.tool.call.id")
	attrDescription = attribute.Key("gen_ai.tool.description")
	attrType        = attribute.Key("gen_ai.tool.type")
	attrArguments   = attribute.Key("gen_ai.tool.call.arguments")
	attrResult      = attribute.Key("gen_ai.tool.call.result")
	attrErrorType   = attribute.Key("error.type")

	attrCategory      = attribute.Key("toolguard.category")
	attrCode          = attribute.Key("toolguard.code")
	attrOutcome       = attribute.Key("toolguard.outcome")
	attrEffect        = attribute.Key("toolguard.effect")
	attrStage         = attribute.Key("toolguard.stage")
	attrDecision      = attribute.Key("toolguard.decision")
	attrReason        = attribute.Key("toolguard.decision.reason")
	attrAttempt       = attribute.Key("toolguard.attempt")
	attrAttempts      = attribute.Key("toolguard.attempts")
	attrRequests      = attribute.Key("toolguard.requests")
	attrWait          = attribute.Key("toolguard.wait_ms")
	attrKeyDigest     = attribute.Key("toolguard.key.digest")
	attrTenant        = attribute.Key("toolguard.tenant")
	attrSession       = attribute.Key("toolguard.session")
	attrTurn          = attribute.Key("toolguard.turn")
	attrRun           = attribute.Key("toolguard.run")
	attrStep          = attribute.Key("toolguard.step")
	attrModel         = attribute.Key("toolguard.model")
	attrPromptVersion = attribute.Key("toolguard.prompt.version")
	attrToolVersion   = attribute.Key("toolguard.tool.version")
	attrToolSource    = attribute.Key("toolguard.tool.source")
	attrSchemaDigest  = attribute.Key("toolguard.schema.digest")
	attrIncident      = attribute.Key("toolguard.incident")
	attrDetail        = attribute.Key("toolguard.detail")
	attrError         = attribute.Key("toolguard.error")
	attrNotes         = attribute.Key("toolguard.notes")
	attrSize          = attribute.Key("toolguard.envelope.size")
	attrDuration      = attribute.Key("toolguard.duration_ms")
	attrFrom          = attribute.Key("toolguard.breaker.from")
	attrTo            = attribute.Key("toolguard.breaker.to")
	attrApprovedBy    = attribute.Key("toolguard.approval.by")
	attrApprovalWait  = attribute.Key("toolguard.approval.wait_ms")
	attrApprovalEdit  = attribute.Key("toolguard.approval.edited")
	attrApproval      = attribute.Key("toolguard.approval")
	attrState         = attribute.Key("toolguard.journal.state")
)

const operation = "execute_tool"

// begin are the attributes a call's span has from the start, so that samplers see
// them.
func (o *Observer) begin(t *tool, e *toolguard.Event) []attribute.KeyValue {
	a := make([]attribute.KeyValue, 0, 6)
	a = append(a, attrOperation.String(operation), attrTool.String(t.name), attrType.String("function"), attrEffect.String(e.Effect.String()))
	a = text(a, attrCallID, e.CallID)
	return text(a, attrDescription, t.description)
}

// text appends an attribute unless it is empty. What a host names things by is
// recorded as it is, up to a bound.
func text(a []attribute.KeyValue, key attribute.Key, value string) []attribute.KeyValue {
	if value == "" {
		return a
	}
	return append(a, key.String(bounded(value)))
}

func bounded(s string) string {
	if len(s) <= maxDescription {
		return s
	}
	return s[:maxDescription]
}

// room is for so many attributes and those that an event probably has besides: each
// takes 64 bytes, and of a plain success there are few.
func room(plain int, e *toolguard.Event) int {
	if e.Scope != (toolguard.Scope{}) {
		plain += 4
	}
	if !e.OK {
		plain += 7
	}
	return plain
}

// ended are the attributes of a call that is over.
func (o *Observer) ended(e *toolguard.Event) []attribute.KeyValue {
	a := make([]attribute.KeyValue, 0, room(7, e))
	a = append(a,
		attrOutcome.String(e.Outcome.String()), attrStage.String(e.Stage.String()),
		attrDecision.String(e.Decision.String()), attrAttempts.Int(e.Attempts), attrSize.Int(e.Bytes),
	)
	if e.Digest != (toolguard.Digest{}) {
		a = append(a, attrKeyDigest.String(e.Digest.String()))
	}
	a = text(a, attrReason, o.reason(e))
	a = scope(a, &e.Scope)
	a = text(a, attrToolVersion, e.ToolVersion)
	a = text(a, attrToolSource, e.Source)
	a = text(a, attrSchemaDigest, e.SchemaDigest)
	if len(e.Notes) > 0 {
		a = append(a, attrNotes.StringSlice(notes(e.Notes)))
	}
	a = o.failure(a, e)
	if o.opts.Arguments {
		a = text(a, attrArguments, o.payload(string(e.Arguments)))
	}
	if o.opts.Results {
		a = text(a, attrResult, o.payload(e.Result))
	}
	return a
}

func (o *Observer) payload(s string) string { return o.redactor.Text(s, o.opts.MaxPayload) }

// reason is why it was decided so. That of a joined call is an ID.
func (o *Observer) reason(e *toolguard.Event) string {
	if e.Why == "" {
		return ""
	}
	return o.redactor.Text(e.Why, maxName)
}

func scope(a []attribute.KeyValue, s *toolguard.Scope) []attribute.KeyValue {
	a = text(a, attrTenant, s.Tenant)
	a = text(a, attrSession, s.Session)
	a = text(a, attrTurn, s.Turn)
	a = text(a, attrRun, s.Run)
	a = text(a, attrStep, s.Step)
	a = text(a, attrModel, s.Model)
	return text(a, attrPromptVersion, s.PromptVersion)
}

// failure are the attributes of what went wrong.
func (o *Observer) failure(a []attribute.KeyValue, e *toolguard.Event) []attribute.KeyValue {
	if e.OK {
		return a
	}
	code := o.redactor.Text(string(e.Code), maxName)
	a = append(a, attrErrorType.String(code), attrCategory.String(e.Category.String()), attrCode.String(code))
	a = text(a, attrIncident, e.Incident)
	a = text(a, attrDetail, o.redactor.Text(e.Detail, maxError))
	if !o.opts.HideErrors {
		a = text(a, attrError, o.redactor.Error(e.Err, maxError))
	}
	return a
}

// attempted are the attributes of an attempt that is over.
func (o *Observer) attempted(e *toolguard.Event) []attribute.KeyValue {
	a := make([]attribute.KeyValue, 0, room(3, e))
	a = append(a, attrAttempt.Int(e.Attempt), attrOutcome.String(e.Outcome.String()))
	if e.Kind == toolguard.EventAttempt {
		a = append(a, attrDecision.String(e.Decision.String()))
		a = text(a, attrReason, o.reason(e))
	}
	if e.Requests > 0 {
		a = append(a, attrRequests.Int(e.Requests))
	}
	return o.failure(a, e)
}

// notes are the kinds of the notes, each once.
func notes(all []toolguard.Note) []string {
	var kinds []string
	for _, n := range all {
		if kind := string(n.Kind); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
