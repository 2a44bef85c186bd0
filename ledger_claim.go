package toolguard

import (
	"context"
	"time"

	"github.com/toolguard-go/toolguard/internal/digest"
)

// claimed writes down the intent. It reports whether the call may run: nobody
// else has the key.
func (c *call) claimed() bool {
	if !c.inJournal() {
		return c.borrowed()
	}
	if !c.guard.actsElsewhere() && c.leftAlone() {
		return false // there is nothing to write down
	}
	for range maxRaces {
		switch c.ledger.entry.State {
		case StatePending:
			return c.refuseInFlight()
		case StateAwaiting:
			return c.answerStored(CodeApprovalPending, OutcomeNotStarted)
		}
		if c.claim() {
			return true
		}
		if c.failure != nil || !c.overtaken() {
			return false
		}
	}
	return c.refuseInFlight()
}

// maxRaces bounds how often others may be faster.
const maxRaces = 8

// claim tries to take the key. If somebody else was faster, the entry is theirs.
func (c *call) claim() bool {
	l := c.ledger
	was, doubted := l.entry.Version(), l.entry.State.inDoubt() || l.entry.Approval.doubts()
	e := c.intent()
	lease, renewed := c.lease()
	if err := e.move(StatePending, lease); err != nil {
		return c.fail(diagnosis{Verdict: Verdict{Code: CodeInternalError}}, err)
	}
	if doubted && l.entry.Code == CodeAbandoned {
		e.Code = CodeAbandoned // of the attempt before, which may act yet
	}
	intent := c.lineOn(was.State, &e, "")
	var room [4]line
	ok, err := c.store(c.ctx, was, &e, append(append(room[:0], l.lines...), intent))
	if err != nil {
		return c.withoutJournal(err)
	}
	if l.entry = e; !ok {
		return false
	}
	l.claimed, l.lines, c.unsure = true, l.room[:0], doubted
	if intent.whole != nil {
		l.args = intent.whole.Args
	}
	if renewed {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.renewal = time.AfterFunc(lease/3, c.renew)
	}
	return true
}

// lease is how long the claim holds, and whether it has to be renewed. A journal in
// memory is gone if the process is: there a call that is still there ends within
// its budget, and what it may wait for somebody, and the claim holds until then.
func (c *call) lease() (lease time.Duration, renewed bool) {
	lease = c.guard.opts.Journaling.Lease
	total := c.budget()
	if c.guard.journal.memory == nil || total == noLimit {
		return lease, true
	}
	if c.waiting != nil {
		total += c.waiting.limit
	}
	return total + c.guard.opts.Timeout.Grace + lease, false
}

// store writes e, with lines of the audit, in place of a version of it, and makes
// e what is there then. Without an error it reports whether that is e.
func (c *call) store(ctx context.Context, was Version, e *Entry, lines []line) (ok bool, err error) {
	j := c.guard.journal
	if j.memory != nil {
		return j.memory.replace(ctx, c.now(), was, e, lines)
	}
	limit := max(c.left(callbackTimeout), c.guard.opts.Timeout.Grace)
	if !c.ledger.claimed {
		limit = c.left(callbackTimeout)
	}
	*e, ok, err = j.writeAside(ctx, limit, was, *e, recordsOf(lines, e))
	return ok, err
}

// overtaken goes on from what somebody faster has made of the entry. That may be
// another key, or other arguments: nothing that was said before holds for them,
// an approval least of all. A call that is resumed has no other key.
func (c *call) overtaken() bool {
	c.ledger.approval = nil
	if c.resumed() == nil {
		c.takeUp()
	}
	return c.editedBefore() && c.injectKey() && c.matched() && c.authorized() && c.unanswered() && c.checked() && c.approved()
}

// intent is the entry of this call, in the version that is there.
func (c *call) intent() Entry {
	l, i := c.ledger, &c.guard.info
	e := Entry{
		Key: c.CallKey(), Token: l.entry.Token, State: l.entry.State, Group: l.group, Generation: l.generation,
		Tool: i.Name, Source: i.Source, ToolVersion: i.Version, SchemaDigest: c.guard.args.digest,
		Effect: i.Effect, Risk: i.Risk, Scope: c.ofStep(&l.entry), CallID: c.id,
		Digest: c.digest, ApprovalDigest: c.approvalDigest(), Args: c.doc.Text,
		Attempts: l.entry.Attempts, Approval: l.approval, Linked: l.entry.Linked, Owner: c.guard.journal.nextOwner(),
	}
	if l.entry.State != StateNone {
		e.Generation, e.Digest = l.entry.Generation, l.entry.Digest
	}
	return e
}

// approvalDigest is of all arguments, so that what was approved is what runs.
func (c *call) approvalDigest() Digest {
	if a := &c.guard.args; a.irrelevant != nil || c.guard.asksApproval() || c.ledger.entry.Approval != nil {
		return digest.Of(a.identity, &c.doc, nil)
	}
	return c.digest
}

// renew says that the call is still there. Whoever took the entry away meanwhile
// keeps it.
func (c *call) renew() {
	e, goesOn := c.renewing()
	if !goesOn {
		return
	}
	every := c.guard.opts.Journaling.Lease / 3
	_, ok, err := c.guard.journal.write(context.WithoutCancel(c.ctx), every, e.Version(), e)
	l := c.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.recorded && (ok || err != nil) {
		l.renewal.Reset(every)
	}
}

func (c *call) renewing() (e Entry, goesOn bool) {
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	return c.ledger.entry, !c.ledger.recorded
}
