package toolguard

import (
	"context"
	"time"

	"github.com/toolguard-go/toolguard/prompts"
)

// turnedDown says that the caller was not allowed to do this: what waits for an
// approval has codes of its own.
func (c *call) turnedDown() bool {
	return c.failure != nil && (c.failure.Code == CodePermissionDenied || c.failure.Code == CodeAuthExpired)
}

// auditUnclaimed writes down what goes with no change of an entry, because the call
// does not run: who has decided about it, what the downstream was asked, and that the
// caller was not allowed to do this.
func (c *call) auditUnclaimed() {
	l := c.ledger
	records := recordsOf(l.lines, &l.entry)
	if c.turnedDown() {
		r := c.auditLine(RecordRefused)
		r.Key, r.Token, r.Code, r.Outcome = l.entry.Key, l.entry.Token, c.failure.Code, OutcomeNotStarted
		records = append(records, r)
	}
	if l.recorded = true; len(records) > 0 {
		ctx, limit := c.guard.journal.detached(c.ctx), c.left(callbackTimeout)
		_ = c.guard.journal.append(ctx, limit, records...) // the answer stands in any case
	}
}

// tellSession settles what a conversation was in doubt about, once the call is booked.
// That the attempt did nothing says nothing of others that ran under its key.
func (c *call) tellSession(late *lateAnswer) {
	s, alone := c.session, c.attempts == 1 && c.guard.info.Effect == NonIdempotent
	if s == nil || late.outcome == OutcomeUnknown || !alone && late.effect() != OutcomeSucceeded {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.cameLate = late; c.booked {
		c.bookLate()
	}
}

// bookLate books what an abandoned attempt came to after all: what had its effect is
// done, as if that had been known in time.
func (c *call) bookLate() {
	s := c.session
	s.settleDoubt(c.callKey())
	if c.cameLate.effect() == OutcomeSucceeded && c.turnNo == s.turnNo && c.guard.info.Effect != ReadOnly {
		s.finish(doneWrite{c.flightKey(), textFingerprint(c.cameLate.result.content()), time.Now(), c.keyIfMade(), s.changes, c.batch(), true})
	}
}

// recordUnlessOpen leaves that for later where a stand-in may have the effect yet.
func (c *call) recordUnlessOpen() {
	if !c.guard.actsElsewhere() || !c.mayFallBack() {
		c.record()
	}
}

// record writes down what the call came to. It changes nothing of that: where
// it fails, the answer says that it is not recorded.
func (c *call) record() {
	c.giveBack()
	l := c.ledger
	if l == &unwritten {
		c.noteUnrecorded()
	}
	if c.inJournal() && !l.claimed && !l.recorded {
		c.auditUnclaimed()
	}
	if l == nil || !l.claimed || l.recorded {
		return
	}
	if l.earlier > 0 && c.failure == nil {
		c.notes = append(c.notes, Note{Kind: prompts.NoteEarlierSuccess, Age: l.earlier})
	}
	e := c.settled()
	var room [4]line
	lines, ctx := append(append(room[:0], l.lines...), c.lineOn(l.entry.State, &e, "")), c.guard.journal.detached(c.ctx)
	ok, err := c.store(ctx, l.entry.Version(), &e, lines)
	if !ok {
		c.noteUnrecorded()
	}
	if err == nil && !ok {
		c.leaveEvidence(ctx, lines, e.State)
	}
	c.close(&e, ok)
}

// leaveEvidence adds to the audit what is known of a call whose entry was taken
// away. It is the best there is: the entry waits for a person anyway.
func (c *call) leaveEvidence(ctx context.Context, lines []line, is State) {
	records := recordsOf(lines, &c.ledger.entry)
	last := &records[len(records)-1]
	last.Kind, last.From, last.To, last.Why = RecordLate, is, is, WhyLeaseLost
	_ = c.guard.journal.append(ctx, max(c.left(callbackTimeout), c.guard.opts.Timeout.Grace), records...)
}

// noteUnrecorded says of a success that the journal does not know of it.
func (c *call) noteUnrecorded() {
	if acted := c.attempts > 0 || c.stoodIn(); c.failure == nil && acted {
		c.noteOnce(prompts.NoteNotRecorded)
	}
}

// close ends the renewals, and lets a late answer be written that came meanwhile.
func (c *call) close(now *Entry, ok bool) {
	l := c.ledger
	l.mu.Lock()
	if l.recorded = true; ok {
		l.entry = *now
	}
	if l.renewal != nil {
		l.renewal.Stop()
	}
	late := l.late
	l.mu.Unlock()
	if late != nil {
		c.recordLate(late)
	}
}

// settled is the entry as the call leaves it.
func (c *call) settled() Entry {
	e := c.ledger.entry
	e.Attempts, e.Code = e.Attempts+c.attempts, ""
	if !c.stoodIn() {
		e.Effect = c.guard.info.Effect
	}
	switch {
	case c.outcome == OutcomeSucceeded && (c.result == nil || !c.result.InputRequired):
		e.become(StateSucceeded, 0)
		if c.failure == nil {
			e.Result = c.guard.encodeResult(c.result, c.source())
		}
	case (c.outcome == OutcomeNotStarted || c.attempts == 0 && !c.stoodIn()) && c.givesBack(&e):
		e.become(StateApproved, c.approvalLeft()) // it was not used
	case (c.outcome == OutcomeUnknown || c.failure == nil && c.unsure) && e.Effect != ReadOnly:
		e.become(StateUnknown, firstCheck)
	default:
		e.become(StateFailed, 0)
	}
	if c.failure != nil {
		e.Code = c.failure.Code
	}
	if e.State == StateUnknown && (c.escapesStatus() || c.overAbandoned()) {
		e.Code = CodeAbandoned // whatever the caller was told
	}
	return e
}

// givesBack says that an approval was given for a call that has not started. One to
// repeat what is unknown was used by the attempt that left it so, unless a person has
// given it because of that.
func (c *call) givesBack(e *Entry) bool {
	a := e.Approval
	return a != nil && a.By != "" && (a.Doubt || !c.unsure)
}

// known is an entry that was in doubt, now that it is known whether it had its
// effect: with what the model reads of it if it had.
func (g *Guard) known(e Entry, o Outcome, r *Result) Entry {
	if o != OutcomeSucceeded {
		return e.must(StateFailed, 0)
	}
	e.Result = g.encodeResult(r, nil)
	return e.must(StateSucceeded, 0)
}

// lateAnswer is what an abandoned attempt came to after all.
type lateAnswer struct {
	outcome Outcome
	code    Code
	detail  string
	result  *Result
	line    Record
}

// effect is what the answer says of the effect: who asks for something has had none.
func (l *lateAnswer) effect() Outcome {
	if l.result != nil && l.result.InputRequired {
		return OutcomeFailed
	}
	return l.outcome
}

// tellJournal settles what was unknown by what an abandoned attempt came to.
func (c *call) tellJournal(a *attempt, late *lateAnswer) {
	l := c.ledger
	if l == nil || !l.claimed {
		return
	}
	late.line = c.auditLine(RecordLate)
	late.line.Attempt, late.line.Code, late.line.Outcome = int(a.number), late.code, late.outcome
	l.mu.Lock()
	late.line.Key, late.line.Token = l.entry.Key, l.entry.Token
	waits := !l.recorded
	if waits {
		l.late = late
	}
	l.mu.Unlock()
	if !waits {
		c.recordLate(late)
	}
}

// recordLate settles the entry, unless somebody has decided about it meanwhile, or
// taken it over: then what is known is evidence. That a recoverer has parked it
// decides nothing.
func (c *call) recordLate(late *lateAnswer) {
	ctx, j, e := c.guard.journal.detached(c.ctx), c.guard.journal, c.ledger.entry // recorded: nobody writes it any more
	late.line.Key, late.line.Token = e.Key, e.Token
	for range maxRaces {
		if !e.State.inDoubt() || !c.settlesLate(late, &e) {
			break
		}
		n := c.guard.known(e, late.effect(), late.result)
		if n.Quiet = 0; late.code != "" {
			n.Code = late.code
		}
		line := late.line
		line.Kind, line.From, line.To, line.Why = RecordState, e.State, n.State, WhyLate
		now, ok, err := j.write(ctx, callbackTimeout, e.Version(), n, late.line, line)
		if ok && err == nil {
			return
		}
		if err != nil || now.Token != e.Token {
			break
		}
		e = now
	}
	_ = j.append(ctx, callbackTimeout, late.line) // evidence; nobody waits for it
}

// settlesLate says whether an abandoned attempt's answer says what became of the
// entry. That it failed says nothing of others that may have had the effect, and of a
// tool that may run again there may be such.
func (c *call) settlesLate(late *lateAnswer, e *Entry) bool {
	o := late.effect()
	return o == OutcomeSucceeded ||
		o != OutcomeUnknown && c.guard.info.Effect == NonIdempotent && !e.Approval.doubts()
}
