package toolguardtest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolguard-go/toolguard"
)

// whole: an answer is one thing or the other, belongs to its call, and can be
// rendered.
func (x *examination) whole(call toolguard.Call, env *toolguard.Envelope) {
	switch {
	case env.OK != (env.Error == nil):
		x.found.add(RuleOneEnvelope, "OK is %t and there is an Error: %t; it must be one or the other", env.OK, env.Error != nil)
		return
	case env.CallID != call.ID:
		x.found.add(RuleOneEnvelope, "the answer to call %q is for call %q", call.ID, env.CallID)
	}
	text, err := json.Marshal(env)
	if err != nil || !json.Valid(text) {
		x.found.add(RuleOneEnvelope, "the answer cannot be rendered: %v: %s", err, cut(string(text)))
	}
	if env.OK {
		return
	}
	if env.Error.Code == "" || env.Error.Message == "" {
		x.found.add(RuleOneEnvelope, "a failure has no code or no message: %s", cut(string(text)))
	}
	if strings.TrimSpace(env.Suggestion) == "" {
		x.found.add(RuleNextStep, "there is none after %s", env.Error.Code)
	}
}

const (
	maxFailure    = 1 << 10
	maxViolations = 2 << 10
	maxFrame      = 1 << 10 // what notes and the frame may add to a result
)

// readable: what the model reads has no secret of the cause in it and an end.
func (x *examination) readable(env *toolguard.Envelope) {
	rendered, _ := env.MarshalJSON()
	if !env.OK {
		for _, text := range []string{env.ForModel(), string(rendered), env.String()} {
			for _, secret := range x.fault.Secrets {
				if strings.Contains(text, secret) {
					x.found.add(RuleNoCause, "the model reads %q, which is the cause's: %s", secret, cut(text))
					return
				}
			}
		}
	}
	d := x.subject.Guard.Describe()
	limit := maxFailure
	switch {
	case env.OK && (d.Render.Off || d.Render.MaxResult == 0):
		return
	case env.OK:
		limit = d.Render.MaxResult + maxFrame
	case len(env.Error.Violations) > 0:
		limit = maxViolations
	}
	size := len(rendered)
	if env.OK {
		size = len(env.Result.Text) + len(env.Result.JSON)
	}
	if size > limit {
		x.found.add(RuleBounded, "the model reads %d bytes of it; the limit is %d", size, limit)
	}
}

// provenAttempts is how often a tool may run whose attempts provably did nothing,
// whatever its effect.
const provenAttempts = 3

// retries: the tool ran as often as its declarations allow, and one run at a time.
func (x *examination) retries(env *toolguard.Envelope) {
	runs := x.tool.Runs()
	if x.tool.Peak() > 1 {
		x.found.add(RuleNoOverlap, "%d runs of one call were going on at the same time", x.tool.Peak())
	}
	d := x.subject.Guard.Describe()
	most := d.MaxAttempts
	if !d.Retry.Off {
		most = max(most, min(provenAttempts, d.Retry.MaxAttempts))
		for _, rule := range d.Retry.Rules {
			most = max(most, rule.Attempts)
		}
	}
	switch {
	case runs > most:
		x.found.add(RuleRetries, "the tool ran %d times; its declarations allow %d", runs, most)
	case env.Attempts != runs:
		x.found.add(RuleRetries, "the answer says %d attempts, the tool ran %d times", env.Attempts, runs)
	case runs == 0:
		x.found.add(RuleRetries, "the tool never ran: %s: %s", whyNotRun(env), cut(env.ForModel()))
	case runs > 1 && x.fault.Code != "" && x.fault.Code != anyCode && !retried(x.fault.Code):
		x.found.add(RuleRetries, "the tool ran %d times, but %s is never retried", runs, x.fault.Code)
	}
}

// retried reports whether anything is gained by trying again. Where the guard sees
// another code than the catalogue, its own classifier does as well.
func retried(code toolguard.Code) bool {
	switch code {
	case toolguard.CodePanic, toolguard.CodeExited, toolguard.CodeAbandoned, toolguard.CodeUnknownError,
		toolguard.CodeBusinessRule, toolguard.CodeNotFound, toolguard.CodeConflict, toolguard.CodeRequestRejected,
		toolguard.CodePermissionDenied, toolguard.CodeInvalidArgument:
		return false
	}
	return true
}

// effects: there is at most one, and the answer does not contradict the ledger.
func (x *examination) effects(env *toolguard.Envelope) {
	n := x.tool.Ledger().Effects()
	if n > 1 {
		x.found.add(RuleOneEffect, "the tool has acted %d times for one call", n)
	}
	if x.subject.Guard.Info().Effect == toolguard.ReadOnly {
		if OutcomeOf(*env) == toolguard.OutcomeUnknown {
			x.found.add(RuleHonest, "the outcome of a read-only tool is unknown: there is nothing to be unsure about")
		}
		return
	}
	if lie := dishonest(env, n); lie != "" {
		x.found.add(RuleHonest, "%s: %s", lie, cut(env.ForModel()))
	}
}

// dishonest says how an answer contradicts what was done. That it is unknown is
// always honest.
func dishonest(env *toolguard.Envelope, effects int) string {
	outcome := OutcomeOf(*env)
	switch {
	case outcome == toolguard.OutcomeUnknown || env.Degraded != nil:
		return ""
	case outcome == toolguard.OutcomeSucceeded && effects == 0:
		return "the answer says succeeded, but nothing was done"
	case outcome != toolguard.OutcomeSucceeded && effects > 0:
		return fmt.Sprintf("the answer says %v, but the tool has acted", outcome)
	}
	return ""
}
