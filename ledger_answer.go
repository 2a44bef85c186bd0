package toolguard

import (
	"bytes"
	"time"

	"github.com/toolguard-go/toolguard/prompts"
)

// recalled answers from the journal, where that knows the answer.
func (c *call) recalled() bool {
	return !c.inJournal() || c.unanswered() && c.undoubtedElsewhere()
}

// recalledAgain looks anew: while the call got here, others may have settled it.
func (c *call) recalledAgain() bool {
	return !c.inJournal() || c.lookUp() && c.recalled()
}

// unanswered looks at the entry and reports whether the call goes on.
func (c *call) unanswered() bool {
	e := &c.ledger.entry
	if e.State != StateNone && e.Digest != c.digest && c.resumed() == nil {
		return c.answerStored(CodeKeyConflict, OutcomeNotStarted)
	}
	switch e.State {
	case StateSucceeded:
		c.replayEntry(e)
		return false
	case StateDenied:
		return c.answerStored(CodeApprovalDenied, OutcomeNotStarted)
	case StateExpired:
		return c.answerStored(CodeApprovalExpired, OutcomeNotStarted)
	case StateAborted:
		return c.answerStored(CodeAborted, OutcomeUnknown)
	case StatePending:
		if e.overdue() {
			return c.seize()
		}
		c.unsure = e.Effect != ReadOnly // the claim will say who has it
		return true
	case StateUnknown, StateParked:
		return c.undoubted()
	default:
		return true
	}
}

// answerStored refuses the call for what the journal says of its key.
func (c *call) answerStored(code Code, o Outcome) bool {
	c.fail(diagnosis{Verdict: Verdict{Code: code}}, nil)
	c.outcome = o
	return false
}

// replayEntry answers with the result of the call that had the effect. Somebody
// else of the conversation learns that it had, and not what came back.
func (c *call) replayEntry(e *Entry) {
	c.outcome, c.decided = OutcomeSucceeded, DecisionReplay
	if r, from, ok := decodeResult(e.Result); ok && c.mayRead(e) {
		c.failure, c.result = nil, &r
		c.notes = append(c.notes, Note{Kind: prompts.NoteReplayed, Age: e.Read.Sub(e.effective())})
		if from != nil {
			c.comesFrom(from)
		}
		if e.Approval.edited() && (c.resumed() != nil || !bytes.Equal(e.Args, c.doc.Text)) {
			c.noteEdited(e.Args)
			c.rarely().ran = e.Args
		}
		return
	}
	c.withhold()
}

// mayRead says whether what came back is for this caller.
func (c *call) mayRead(e *Entry) bool {
	s := c.scope
	return s.stepped() && s.Run == e.Scope.Run && s.Step == e.Scope.Step || e.Scope.Principal == s.Principal
}

// withhold tells of a success without its result.
func (c *call) withhold() {
	c.result = nil
	c.failure = &failure{diagnosis: diagnosis{Verdict: Verdict{Code: CodeResultUnavailable}, claimed: true}}
}

// seize takes the entry from a call that has not been heard of for too long. What
// that did nobody knows, unless it could do nothing.
func (c *call) seize() bool {
	e := c.ledger.entry.lost()
	if !c.put(&c.ledger.entry, e, WhyLeaseExpired) {
		return false
	}
	return c.sameArguments() && c.unanswered()
}

// sameArguments goes on with the arguments that ran, now that they may run again: under
// this key no others do.
func (c *call) sameArguments() bool {
	return !c.runsEdited() || c.editedBefore() && c.injectKey() && c.matched() && c.authorized()
}

// lost is the entry of a call that was not heard of again. From now on its outcome
// is unknown: until now it may have acted.
func (e Entry) lost() Entry {
	e.Token++
	e.Quiet = 0
	e.Due, e.State = firstCheck, StateUnknown
	if e.Effect == ReadOnly {
		e.Due, e.State = 0, StateFailed
	}
	return e
}

// put writes the entry in its new state in place of what it was. It reports
// whether anything is known now: either that, or what somebody else made of it.
func (c *call) put(was *Entry, e Entry, why string) bool {
	lines := append(c.ledger.lines, c.lineOn(was.State, &e, why))
	ok, err := c.store(c.ctx, was.Version(), &e, lines)
	if err != nil {
		return c.withoutJournal(err)
	}
	if c.ledger.entry = e; ok { // else they are still to be written
		c.ledger.lines = nil
	}
	return true
}

// undoubted deals with an entry of which nobody knows whether it had its effect.
// It reports whether the call may run.
func (c *call) undoubted() bool {
	e := c.ledger.entry
	if c.guard.info.mayRepeat(&e) {
		c.unsure = e.Effect != ReadOnly
		return true
	}
	return c.clearUp()
}

// clearUp asks the downstream what became of the entry's call. It reports whether
// that certainly did nothing.
func (c *call) clearUp() bool {
	e := c.ledger.entry
	c.answerStored(CodeInDoubt, OutcomeUnknown)
	c.query(func(o Outcome) bool { return e.believes(o, &c.guard.info) })
	if c.outcome == OutcomeUnknown {
		return false
	}
	if e.Checks++; c.outcome == OutcomeSucceeded {
		c.putReceipt(e)
		if !c.mayRead(&e) {
			c.withhold()
		}
		return false
	}
	c.failure, c.decided, c.why = nil, DecisionAnswer, ""
	return c.put(&e, c.guard.known(e.unheard(), OutcomeFailed, nil), WhyConfirmed) && c.unanswered()
}

// putReceipt writes down what the downstream says was done. The answer is that,
// written down or not.
func (c *call) putReceipt(e Entry) {
	n := c.guard.known(e.unheard(), OutcomeSucceeded, c.result)
	lines := append(c.ledger.lines, c.lineOn(e.State, &n, WhyConfirmed))
	if ok, err := c.store(c.ctx, e.Version(), &n, lines); ok {
		c.ledger.entry, c.ledger.lines = n, nil
	} else if err != nil {
		c.ledger.lines = nil // whether they are there nobody knows
	}
}

// mayRepeat says whether the tool may run again under the key of an entry whose
// effect may have happened. What the entry says counts too: the tool, or a stand-in,
// may not have sent the key then.
func (i *Info) mayRepeat(e *Entry) bool {
	switch i.Effect {
	case ReadOnly, Idempotent:
		return true
	case IdempotentByKey:
		return e.Effect != NonIdempotent && e.Read.Sub(e.Created) < i.KeyTTL
	default:
		return false
	}
}

// mayRepeatFor is for how long that holds still; 0 is for ever.
func (i *Info) mayRepeatFor(e *Entry) time.Duration {
	if i.Effect != IdempotentByKey {
		return 0
	}
	return max(i.KeyTTL-e.Read.Sub(e.Created), 1)
}

// believes says whether the answer of a tool's status query settles the entry now.
func (e *Entry) believes(o Outcome, i *Info) bool {
	d := doubt{at: e.effective(), abandoned: e.Code == CodeAbandoned}
	return d.settles(o, e.Read, i.settleDelay())
}
