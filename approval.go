package toolguard

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/toolguard-go/toolguard/internal/digest"
	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// approved asks whether the call may run, where somebody has to say so. Whatever
// may have changed while that took its time is asked again.
func (c *call) approved() bool {
	if !c.inJournal() {
		return c.approvedAround()
	}
	switch e := &c.ledger.entry; e.State {
	case StatePending:
		return true // the claim will say so
	case StateAwaiting:
		return c.awaited(e)
	case StateApproved:
		return c.approvedBefore(e)
	case StateUnknown, StateParked:
		return c.approvedAgain(e)
	}
	if !c.needsApproval() || c.approvedWider() {
		return true
	}
	return c.askApprover()
}

// needsApproval asks the policy, and the predicate. Where that fails, the safe
// answer is yes.
func (c *call) needsApproval() bool {
	g := c.guard
	if !g.asksApproval() {
		return false
	}
	p := &g.opts.Approval
	if p.Repeats && c.ledger.earlier > 0 {
		return true
	}
	if !slices.Contains(p.Effects, g.info.Effect) || !slices.Contains(p.Risks, g.info.Risk) {
		return false
	}
	if g.opts.NeedsApproval == nil {
		return true
	}
	yes := true
	err := c.isolate(func(ctx context.Context) (err error) {
		said, err := g.opts.NeedsApproval(ctx, c.argsCopy())
		if err == nil {
			yes = said
		}
		return err
	})
	return err != nil || yes
}

// awaited answers a call about which nobody has decided yet.
func (c *call) awaited(e *Entry) bool {
	if !e.ranOut() {
		return c.answerStored(CodeApprovalPending, OutcomeNotStarted)
	}
	return c.expireEntry(e, CodeApprovalExpired)
}

// approvedAgain lets a repeatable tool go on with what was approved and has come
// to nothing certain: that is one effect still. Otherwise somebody is asked, and
// only a yes counts at once. Neither a no nor the wait for one takes the place of
// what is unknown.
func (c *call) approvedAgain(e *Entry) bool {
	if e.Scope.Principal == c.scope.Principal && e.Approval.coversAgain(c, e) {
		c.ledger.approval = e.Approval
		return true
	}
	return !c.needsApproval() || c.approvedWider() || c.askApprover()
}

// approvedBefore goes on with a call that was approved, if what was approved is
// still what would run.
func (c *call) approvedBefore(e *Entry) bool {
	switch {
	case e.Scope.Principal != c.scope.Principal && e.Approval.doubts():
		return c.answerStored(CodeInDoubt, OutcomeUnknown)
	case e.Scope.Principal != c.scope.Principal: // it is somebody else's, and stays so
		return c.answerStored(CodeApprovalPending, OutcomeNotStarted)
	case e.ranOut():
		return c.expireEntry(e, CodeApprovalExpired)
	case e.Approval == nil || e.Approval.Digest != c.storedDigest(e) || !e.Approval.holds(c):
		return c.expireEntry(e, CodeApprovalStale)
	}
	c.ledger.approval, c.ledger.waited = e.Approval, e.Updated.Sub(e.Created)
	c.holdsAsLongAs(e)
	return true
}

// holdsAsLongAs says that the call's approval is that of an entry.
func (c *call) holdsAsLongAs(e *Entry) {
	c.ledger.runsOut = time.Since(c.began) + e.holds() - e.Read.Sub(e.Updated)
}

// approvalLeft is how long the approval of a call that did not start holds still. To
// be given back makes it no younger.
func (c *call) approvalLeft() time.Duration { return max(c.ledger.runsOut-time.Since(c.began), 1) }

// covers says whether an approval is for what the call would do.
func (a *Approval) covers(c *call) bool {
	return a.Digest == c.approvalDigest() && a.holds(c)
}

// storedDigest is of the arguments that were approved, which are what runs, but for
// the key among them: whoever edited them need not know it.
func (c *call) storedDigest(e *Entry) Digest {
	if c.guard.info.KeyField == "" {
		return c.approvalDigest()
	}
	doc, err := strictjson.Parse(slices.Clone(e.Args), c.guard.args.limits)
	if err != nil {
		return Digest{}
	}
	return digest.Of(c.guard.args.identity, &doc, nil)
}

// holds says whether an approval was given under what is in force. A person's leave
// to try again what nobody was asked about before is under no policy.
func (a *Approval) holds(c *call) bool {
	g := c.guard
	return a.SchemaDigest == g.args.digest && a.ToolVersion == g.info.Version &&
		(a.Policy == g.opts.Approval.Version || a.Doubt && a.Policy == "")
}

// coversAgain says whether an approval that was used is also for running the same
// thing again, to find out whether it took. No wait for a decision and no approval
// is longer than the expiry.
func (a *Approval) coversAgain(c *call, e *Entry) bool {
	return a != nil && a.By != "" && a.covers(c) && e.Read.Sub(e.Created) < 2*c.guard.opts.Approval.Expiry
}

// expireEntry closes an entry whose approval, or the wait for it, is over.
func (c *call) expireEntry(e *Entry, code Code) bool {
	was := *e
	n, err := was.unheard().withdrawn(StateExpired)
	if err != nil {
		return c.fail(diagnosis{Verdict: Verdict{Code: CodeInternalError}}, err)
	}
	n.Code = code
	switch {
	case !c.put(&was, n, string(code)):
		return false
	case c.ledger.entry.State == StateUnknown:
		return c.unanswered() && c.approved()
	}
	return c.answerStored(code, OutcomeNotStarted)
}

// approval is a yes to what the call would do.
func (c *call) approval(by, why string) *Approval {
	g := c.guard
	return &Approval{
		By: by, Why: why, Digest: c.approvalDigest(), SchemaDigest: g.args.digest,
		ToolVersion: g.info.Version, Policy: g.opts.Approval.Version, Edited: c.runsEdited(),
	}
}

// askApprover asks, and does what the answer says.
func (c *call) askApprover() bool {
	r, asked := c.approvalRequest(), time.Now()
	var answer Answer
	err := c.guard.hanging.approver.Run(c.ctx, c.left(c.guard.opts.Approval.Wait), func(ctx context.Context) error {
		a, err := c.guard.opts.Approver.Approve(ctx, r)
		if err == nil {
			answer = a
		}
		return err
	})
	c.ledger.waited = time.Since(asked)
	switch {
	case c.ctx.Err() != nil:
		return c.fail(diagnosis{Verdict: Verdict{Code: c.callerCode()}}, err)
	case err != nil:
		return c.fail(diagnosis{Verdict: Verdict{Code: CodeCheckFailed}}, err)
	}
	return c.obey(answer)
}

func (c *call) obey(a Answer) bool {
	switch a.Verdict {
	case ApprovalGranted:
		c.ledger.approval = c.approval(a.By, a.Why)
		c.decidedBy(a)
		c.widen(a)
		return c.authorized() && c.checked()
	case ApprovalEdited:
		return c.edit(a)
	case ApprovalPending:
		return c.awaitDecision()
	default:
		return c.deny(a)
	}
}

// edit takes over the arguments of whoever approved. They are held against
// everything that the model's were.
func (c *call) edit(a Answer) bool {
	if c.ledger.entry.State.inDoubt() { // it would be another action under the same key
		c.decidedBy(a)
		return c.answerStored(CodeInDoubt, OutcomeUnknown)
	}
	adopted := c.adoptEdited(a.Args)
	c.decidedBy(a) // the line is on what was adopted
	c.noteEdited(a.Args)
	if !adopted || !c.injectKey() || !c.matched() || !c.authorized() || !c.checked() {
		return false
	}
	c.ledger.approval = c.approval(a.By, a.Why)
	c.ledger.approval.Edited = true
	return true
}

// deny writes the no down, so that it stays one.
func (c *call) deny(a Answer) bool {
	was := c.ledger.entry
	c.decidedBy(a)
	if was.State.inDoubt() {
		return c.answerStored(CodeInDoubt, OutcomeUnknown)
	}
	e, err := c.intent().next(StateDenied, 0)
	if err != nil {
		return c.fail(diagnosis{Verdict: Verdict{Code: CodeInternalError}}, err)
	}
	e.Approval = c.approval(a.By, a.Why)
	if !c.put(&was, e, "") {
		return false
	}
	if c.ledger.entry.State != StateDenied { // somebody else was faster
		return c.overtaken()
	}
	c.answerStored(CodeApprovalDenied, OutcomeNotStarted)
	c.failure.quote = a.Why
	return false
}

// awaitDecision leaves the call to somebody who decides later.
func (c *call) awaitDecision() bool {
	was := c.ledger.entry
	if was.State.inDoubt() { // that it waits would say that nothing has begun
		return c.answerStored(CodeInDoubt, OutcomeUnknown)
	}
	e := c.intent()
	e.Approval = c.approval("", "") // what is to be decided about
	e, err := e.next(StateAwaiting, c.guard.opts.Approval.Expiry)
	if err != nil {
		return c.fail(diagnosis{Verdict: Verdict{Code: CodeInternalError}}, err)
	}
	if !c.put(&was, e, c.askedFor()) {
		return false
	}
	if c.ledger.entry.State == StateAwaiting {
		return c.answerStored(CodeApprovalPending, OutcomeNotStarted)
	}
	return c.overtaken() // somebody else was faster
}

// askedFor is the line that a person is asked about, where the audit may have
// arguments: it is made of them.
func (c *call) askedFor() string {
	if c.guard.gates.describe == nil || !c.guard.opts.Journaling.AuditArguments {
		return ""
	}
	return c.redact(c.guard.DescribeCall(c.ctx, c.doc.Text))
}

// decidedBy notes for the audit who decided, and that it was a no. How long a yes
// holds counts from now.
func (c *call) decidedBy(a Answer) {
	r := c.auditLine(RecordApproval)
	r.Key, r.Token, r.Actor, r.Why, r.Outcome = c.CallKey(), c.ledger.entry.Token, a.By, a.Why, OutcomeNotStarted
	if a.Verdict != ApprovalGranted && a.Verdict != ApprovalEdited {
		r.Code = CodeApprovalDenied
	}
	c.ledger.lines = append(c.ledger.lines, line{whole: &r})
	c.ledger.runsOut = time.Since(c.began) + c.guard.opts.Approval.Expiry
}

func (c *call) approvalRequest() ApprovalRequest {
	g := c.guard
	return ApprovalRequest{
		Key: c.CallKey(), Tool: g.info.Name, Source: g.info.Source, ToolVersion: g.info.Version, SchemaDigest: g.args.digest,
		Effect: g.info.Effect, Risk: g.info.Risk, Scope: *c.scope, CallID: c.id,
		Line: g.DescribeCall(c.ctx, c.doc.Text), Args: slices.Clone(c.doc.Text), Redacted: string(c.redactedArgs()),
		Digest: c.approvalDigest(), Expires: time.Now().Add(g.opts.Approval.Expiry),
	}
}

// redactedArgs are the arguments as they may be shown and stored anywhere.
func (c *call) redactedArgs() json.RawMessage {
	text := c.redactJSON(c.doc.Text)
	if !json.Valid(text) {
		text, _ = marshal(string(text))
	}
	return text
}

// widen keeps an approval that is for more than this call.
func (c *call) widen(a Answer) {
	if a.Wider != WiderSession || c.scope.Session == "" {
		return
	}
	e := c.intent()
	e.Token, e.State, e.Args, e.Digest = 0, StateNone, nil, Digest{}
	e.Group, e.Approval = c.widerGroup(), c.ledger.approval
	if last, err := c.wider(); err == nil && last.State != StateNone {
		e.Generation = last.Generation + 1
	} else {
		e.Generation = 0
	}
	e.Key = generationKey(e.Group, e.Generation)
	e = e.must(StateApproved, c.guard.opts.Approval.Expiry)
	j, line := c.guard.journal, lineOf(&e, StateNone, a.By, a.Why)
	_, _, _ = j.write(c.ctx, c.left(callbackTimeout), Version{}, e, line) // if it fails, the next call is asked about
}

// wider returns the last approval for the whole session.
func (c *call) wider() (Entry, error) {
	return c.guard.journal.read(c.ctx, c.left(callbackTimeout), Query{Group: c.widerGroup(), Limit: 1})
}

// widerGroup is that of the approvals for the whole session.
func (c *call) widerGroup() string {
	s, g := c.scope, c.guard
	return hashParts("approval", s.Tenant, s.Principal, s.Session, g.args.identity, g.args.digest, g.info.Version, g.opts.Approval.Version)
}

// approvedWider looks for an approval that covers the session.
func (c *call) approvedWider() bool {
	if c.scope.Session == "" {
		return false
	}
	e, err := c.wider()
	if err != nil || e.State != StateApproved || e.ranOut() {
		return false
	}
	c.ledger.approval = c.approval(e.Approval.By, e.Approval.Why)
	c.holdsAsLongAs(&e)
	return true
}
