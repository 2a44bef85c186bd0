package toolguard

import "reflect"

// A guard around a guard of the same tool makes one call of the tool, not two:
// there is one key, and one entry in the journal. The outer call keeps it.

// twin returns the nearest attempt around this call that is of the same tool with
// the same arguments; nil if there is none.
func (c *call) twin() *attempt {
	for a := c.outer; a != nil; a = a.call.outer {
		o, own := &a.call.guard.args, &c.guard.args
		if o.identity == own.identity && o.digestOf(&a.call.doc) == own.digestOf(&c.doc) {
			return a
		}
	}
	return nil
}

// lender is the attempt whose key the call has; nil if it has its own.
func (c *call) lender() *attempt {
	if c.rare == nil {
		return nil
	}
	return c.rare.lender
}

// inheritsKey gives the call the key of its twin, unless it is to be written down
// where that is not, or needs an approval that nobody was asked for there.
func (c *call) inheritsKey() bool {
	a := c.twin()
	if a == nil || c.journaled() && !a.keeper().keepsFor(c) {
		return false
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

// keepsFor says whether what the journal has of this call will do for one inside.
func (c *call) keepsFor(inner *call) bool {
	return c.writesWith(inner) && (c.guard.asksApproval() || !inner.guard.asksApproval())
}

// besideTwin says that the call has an entry of its own beside its twin's, which
// is about the same action and must not stand in its way.
func (c *call) besideTwin() bool {
	a := c.twin()
	return a != nil && a.keeper().writesWith(c)
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
