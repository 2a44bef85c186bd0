package toolguard

import "reflect"

// A guard around a guard of the same tool makes one call of the tool, not two:
// there is one key, and one entry in the journal. The outer call keeps it.

// twin returns the nearest attempt around this call that is of the same tool with
// the same arguments; nil if there is none.
func (c *call) twin() *attempt {
	for a := c.outer; a != nil; a = a.call.outer {
		if a.call.guard.args.identity == c.guard.args.identity && a.call.runs() == c.runs() {
			return a
		}
	}
	return nil
}

// runs is the digest of what runs, which is not what was asked if it was edited.
func (c *call) runs() Digest {
	switch {
	case c.rare != nil && c.rare.edited != (Digest{}):
		return c.rare.edited
	case c.guard.args.digests:
		return c.digest
	default: // nobody else wants to know
		return c.guard.args.digestOf(&c.doc)
	}
}

// lender is the attempt whose key the call has; nil if it has its own.
func (c *call) lender() *attempt {
	if c.rare == nil {
		return nil
	}
	return c.rare.lender
}

// inheritsKey gives the call the key of its twin, unless it is to be written down
// where that is not, or needs an approval that nobody was asked for there. Then it
// has an entry of its own, and where that is beside the twin's, under a key that
// does not stand in its way: both are about the same action.
func (c *call) inheritsKey() bool {
	a := c.twin()
	if a == nil {
		return false
	}
	if c.journaled() {
		around := a.keeper()
		c.rarely().beside = around.writesWith(c)
		if !c.rare.beside || c.guard.asksApproval() && !around.guard.asksApproval() {
			return false
		}
	}
	key := a.call.CallKey()
	c.key.Store(&key)
	c.rarely().lender = a
	return true
}

// keeper is the call whose key the attempt runs under.
func (a *attempt) keeper() *call {
	for a.call.lender() != nil {
		a = a.call.lender()
	}
	return a.call
}

// writesWith says whether the call is in the journal that the inner one writes to.
func (c *call) writesWith(inner *call) bool {
	if !c.inJournal() {
		return false
	}
	own, other := c.guard.journal.Journal, inner.guard.journal.Journal
	return reflect.ValueOf(own).Comparable() && own == other
}

// approvedAround looks for the approval of a call that is not in the journal. Where
// the policies differ and nobody gave it, it is missing.
func (c *call) approvedAround() bool {
	a := c.lender()
	if a == nil {
		return true
	}
	if l := a.keeper().ledger; l.approval != nil && l.approval.covers(c) || !c.needsApproval() {
		return true
	}
	return c.fail(diagnosis{Verdict: Verdict{Code: CodeCheckFailed}}, nil)
}

// borrowed takes the key for one run: what an attempt does by it more than once,
// it does not do under two keys. It may again once nothing has happened.
func (c *call) borrowed() bool {
	a, i := c.lender(), &c.guard.info
	if a == nil || i.repeatable(c.began) || i.RepeatsNormal {
		return true
	}
	if !a.lent.CompareAndSwap(false, true) {
		return c.answerStored(CodeInDoubt, OutcomeUnknown)
	}
	c.rare.borrows = true
	return true
}

// giveBack is called when the call knows what it came to.
func (c *call) giveBack() {
	if c.rare == nil || !c.rare.borrows {
		return
	}
	c.rare.borrows = false
	asks := c.failure == nil && c.result.InputRequired
	if asks || c.outcome == OutcomeNotStarted || c.outcome == OutcomeFailed {
		c.rare.lender.lent.Store(false)
	}
}
