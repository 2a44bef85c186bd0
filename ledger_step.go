package toolguard

import "errors"

// A step's entry is of that step alone. A model that plans anew after an answer that
// was lost makes the same call in another step: of that the entry knows nothing.

// doubtful are the states in which a call may have had its effect, or may have it yet.
// Journals find their entries by the digest, without a look at what is settled.
var doubtful = []State{StatePending, StateUnknown, StateParked, StateAborted}

// undoubtedElsewhere looks for an identical call of another step, in the same
// conversation or else the same run, of which nobody knows whether it had its effect.
// It reports whether this one may run.
func (c *call) undoubtedElsewhere() bool {
	if !c.mindsOtherSteps() {
		return true
	}
	other, err := c.doubtElsewhere()
	if err != nil {
		return c.refuseWithoutJournal(err)
	}
	return other.State == StateNone || c.settledElsewhere(other)
}

func (c *call) mindsOtherSteps() bool {
	effect := c.guard.info.Effect
	return c.scope.stepped() && c.ledger.entry.State == StateNone && c.outer == nil && effect != ReadOnly && effect != Idempotent
}

// doubtElsewhere returns the entry of such a call, the zero Entry if there is none.
func (c *call) doubtElsewhere() (Entry, error) {
	q := Query{Tenant: c.scope.Tenant, Session: c.scope.Session, Digest: c.digest, States: doubtful}
	if q.Session == "" {
		q.Run = c.scope.Run
	}
	found, err := c.guard.journal.scan(c.ctx, c.left(callbackTimeout), q)
	for _, e := range found {
		if e.Scope.Tenant == c.scope.Tenant {
			return e, err
		}
	}
	return Entry{}, err
}

// settledElsewhere answers for the other call, under its key, unless that can be
// found to have done nothing.
func (c *call) settledElsewhere(other Entry) bool {
	l, key := c.ledger, c.key.Load()
	l.entry = other
	c.key.Store(&other.Key)
	if !c.clearedUp() {
		return false
	}
	if c.ledger != l {
		return c.refuseWithoutJournal(errUnsettled)
	}
	l.entry = Entry{}
	c.key.Store(key)
	return true
}

var errUnsettled = errors.New("toolguard: what became of an identical call could not be written down")

func (c *call) clearedUp() bool {
	switch e := &c.ledger.entry; {
	case e.State == StateAborted:
		return c.answerStored(CodeAborted, OutcomeUnknown)
	case e.State != StatePending:
		return c.clearUp()
	case e.overdue():
		return c.put(e, e.lost(), WhyLeaseExpired) && c.ledger.entry.State != StatePending && c.clearUp()
	default:
		return c.refuseInFlight()
	}
}
