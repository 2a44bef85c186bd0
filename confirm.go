package toolguard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/toolguard-go/toolguard/internal/canonical"
	"github.com/toolguard-go/toolguard/internal/isolate"
	"github.com/toolguard-go/toolguard/internal/strictjson"
	"github.com/toolguard-go/toolguard/prompts"
)

// checkResult looks for a failure that came as a success. A check that itself
// fails changes nothing: the tool said yes.
func (c *call) checkResult() {
	if c.failure != nil {
		return
	}
	ctx, limit := c.ctx, c.left(callbackTimeout)
	if ctx.Err() != nil { // what is written down is for others, too
		ctx, limit = context.WithoutCancel(ctx), leastPatience
	}
	if f, o := c.refuted(ctx, limit, c.result, c.last()); f != nil {
		c.settleOutcome(o)
		c.failure = f
	}
}

// refuted says why the result of an attempt is no success after all, and what is known
// of its effect then; nil if it is one.
func (c *call) refuted(ctx context.Context, limit time.Duration, result *Result, a *attempt) (*failure, Outcome) {
	check := c.guard.opts.CheckResult
	switch {
	case !c.fitsOutput(ctx, limit, result):
		d := diagnosis{Verdict: Verdict{Code: CodeBadResponse}}
		return &failure{diagnosis: d, err: errOutput}, c.guard.info.outcomeOf(&d, nil)
	case check == nil:
		return nil, OutcomeSucceeded
	}
	r := *result // a check that hangs may go on reading its own
	err := c.guard.hanging.stages[StageConfirm].Run(ctx, limit, func(ctx context.Context) error {
		return check(c.checking(ctx), r)
	})
	if err == nil || isolate.Misbehaved(err) || ctx.Err() != nil {
		return nil, OutcomeSucceeded
	}
	d := diagnose(ctx, err, stopNone, reader{errors: &c.guard.hanging.errors})
	if d.Code == CodeUnknownError {
		d.Code, d.definite = CodeResultRejected, true
	}
	record := a.evidence.Load()
	if d.definite && !d.claimed && record.Used() && record.UnsafeRequests() <= 1 {
		d.Outcome = OutcomeFailed // the one request that could act is the one that says it did not
	}
	return &failure{diagnosis: d, err: err}, c.guard.info.outcomeOf(&d, record)
}

// Failed is a ready-made Options.CheckResult for tools that report failures
// inside a JSON result: "ok" or "success" is false, "isError" or "is_error" is
// true, or "error" is there and neither null, false nor empty. Its text becomes
// the cause. Other results, and all that are not JSON objects, pass.
func Failed(_ context.Context, r Result) error {
	text := r.JSON
	if len(text) == 0 {
		text = json.RawMessage(r.Text)
	}
	if !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		return nil
	}
	doc, err := strictjson.Parse(text, resultLimits)
	if err != nil || !reportsFailure(&doc) {
		return nil
	}
	return &Error{Code: CodeResultRejected, Cause: errors.New(failureText(&doc))}
}

func reportsFailure(doc *strictjson.Doc) bool {
	for name, bad := range map[string]strictjson.Kind{
		"ok": strictjson.False, "success": strictjson.False,
		"isError": strictjson.True, "is_error": strictjson.True,
	} {
		if node, ok := doc.Member(0, name); ok && doc.Nodes[node].Kind == bad {
			return true
		}
	}
	node, ok := doc.Member(0, "error")
	return ok && says(doc, node)
}

// says reports whether a value is more than an empty way of saying no.
func says(doc *strictjson.Doc, node int32) bool {
	switch n := &doc.Nodes[node]; n.Kind {
	case strictjson.Null, strictjson.False:
		return false
	case strictjson.String:
		return n.End-n.Start > 2
	case strictjson.Array, strictjson.Object:
		return n.Len > 0
	default:
		return true
	}
}

// failureText is what the result says about its failure.
func failureText(doc *strictjson.Doc) string {
	for _, name := range []string{"error", "message", "reason"} {
		node, ok := doc.Member(0, name)
		if !ok {
			continue
		}
		if inner, ok := doc.Member(node, "message"); ok {
			node = inner
		}
		if doc.Nodes[node].Kind == strictjson.String {
			return strings.TrimSpace(doc.Str(node))
		}
	}
	return "the result reports a failure"
}

// askStatus settles an outcome that the attempts left open.
func (c *call) askStatus() {
	if c.failure != nil && c.attempts > 0 && c.outcome == OutcomeUnknown && !c.failure.control {
		c.query(c.settles)
	}
}

// query asks the downstream what became of the call with this key, and takes its
// word where that can be believed. Silence leaves the outcome unknown.
func (c *call) query(believes func(Outcome) bool) {
	if c.guard.body.Load().status == nil {
		return
	}
	outcome, receipt, err := c.guard.statusOf(c.ctx, c.left(callbackTimeout), c.CallKey(), c.argsCopy())
	if c.inJournal() {
		c.auditCheck(outcome)
	}
	if err != nil || !believes(outcome) {
		return
	}
	c.decided, c.why = DecisionConfirm, outcome.String()
	c.outcome = outcome
	if outcome == OutcomeSucceeded {
		c.failure, c.result = nil, &receipt
		c.notes = append(c.notes, Note{Kind: prompts.NoteConfirmed})
	}
}

// settles says whether a status query's answer about this call can be believed
// now. That the effect happened, always. That it failed, once the attempt has come
// back, and all inside it. That nothing is known of it, never so soon: the request
// may still be on its way.
func (c *call) settles(o Outcome) bool {
	return o == OutcomeSucceeded || o == OutcomeFailed && !c.stillRuns() && !c.overAbandoned()
}

// stillRuns says that the last attempt, or one inside it, was given up on: it may
// act at any time.
func (c *call) stillRuns() bool {
	a := c.last()
	return a != nil && (a.abandoned() || a.strays.Load() > 0)
}

// overAbandoned says that this call runs over an earlier one's doubt whose attempt was
// given up on.
func (c *call) overAbandoned() bool { return c.inJournal() && c.ledger.entry.Code == CodeAbandoned }

// escapesStatus says that a status query cannot prove that nothing happened: an
// attempt may act yet, or a stand-in has, of which the tool's service knows nothing.
func (c *call) escapesStatus() bool { return c.stillRuns() || c.stoodIn() }

// fitsOutput holds a result against the schema that the tool declares for it. One
// that breaks it says nothing that can be relied on; of one that could not be judged
// in time nothing is known, and the tool said yes.
func (c *call) fitsOutput(ctx context.Context, limit time.Duration, r *Result) bool {
	if c.guard.output == nil || r.InputRequired {
		return true
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(limit, leastPatience))
	defer cancel()
	return c.guard.admitsResult(ctx, r)
}

var errOutput = errors.New("toolguard: the result does not fit Info.OutputSchema")

// resultLimits let through what a program writes; arguments, which a model writes,
// have narrower ones.
var resultLimits = strictjson.Limits{MaxBytes: 1 << 30, MaxDepth: 10_000}

// admitsResult reads text as the JSON that it is or, if it is none or another value
// is wanted, as a string.
func (g *Guard) admitsResult(ctx context.Context, r *Result) bool {
	if g.admitsValue(ctx, []byte(r.content())) {
		return true
	}
	return len(r.JSON) == 0 && g.admitsValue(ctx, canonical.AppendString(nil, r.Text))
}

func (g *Guard) admitsValue(ctx context.Context, text []byte) bool {
	doc, err := strictjson.Parse(text, resultLimits)
	if err != nil {
		return false
	}
	fits, judged := g.output.Holds(ctx, &doc)
	return fits || !judged
}
