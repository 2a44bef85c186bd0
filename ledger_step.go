package toolguard

import "errors"

// A step's entry is of that step alone. A model that plans anew after an answer that
// was lost makes the same call in another step: of that the entry knows nothing.

// doubtful are the states in which a call may have had its effect, or may have it yet.
// Of the same turn it also counts that it had, or that people are concerned with it.
var (
	doubtful = []State{StatePending, StateUnknown, StateParked, StateAborted, StateApproved}
	ofATurn  = append(doubtful[:len(doubtful):len(doubtful)], StateSucceeded, StateAwaiting, StateDenied)
)

// undoubtedElsewhere looks for an identical call of another step, in the same
// conversation or else the same run, of which nobody knows whether it had its effect,
// or did when it was answered. It reports whether this one may run.
func (c *call) undoubtedElsewhere() bool {
	if !c.inJournal() || !c.mindsOthers() { // the journal may have failed since
		return true
	}
	for range maxRaces {
		other, err := c.doubtElsewhere()
		if err == nil && other.State == StateNone {
			other, err = c.doubtOfEdited()
		}
		switch {
		case err != nil:
			return c.refuseWithoutJournal(err)
		case other.State == StateNone:
			return true
		case !c.settledElsewhere(other):
			return false
		case c.ledger.entry.Key == other.Key:
			return true // it goes on as that one
		} // that one did nothing; there may be more
	}
	return c.refuseInFlight()
}

// mindsOthers: what a person lets run again is decided about already.
func (c *call) mindsOthers() bool {
	effect, e := c.guard.info.Effect, &c.ledger.entry
	begins := e.State == StateNone || e.State == StateFailed || e.State == StateApproved && !e.Approval.doubts()
	return begins && c.outer == nil && effect != ReadOnly && effect != Idempotent
}

// doubtElsewhere returns the entry of such a call, the zero Entry if there is none.
func (c *call) doubtElsewhere() (Entry, error) {
	if !c.scope.stepped() {
		return Entry{}, nil // it has the key of its twins
	}
	if !c.guard.info.meansRepeats() {
		found, more, err := c.findElsewhere(Query{Digest: c.digest, States: ofATurn, Limit: c.lastElsewhere()}, c.minds)
		if err != nil || found.State != StateNone || !more {
			return found, err
		}
	}
	found, _, err := c.findElsewhere(Query{Digest: c.digest, States: doubtful, Limit: maxElsewhere}, c.minds)
	return found, err
}

// findElsewhere returns the first entry that counts, of those the query asks for in the
// same conversation, or else the same run; the zero Entry if there is none. There may be
// more than the query has room for.
func (c *call) findElsewhere(q Query, counts func(*Entry) bool) (one Entry, more bool, err error) {
	s := c.scope
	if q.Tenant, q.Session = s.Tenant, s.Session; q.Session == "" {
		q.Run = s.Run
	}
	found, err := c.guard.journal.scan(c.ctx, c.left(callbackTimeout), q)
	for i := range found {
		if e := &found[i]; e.Scope.Tenant == s.Tenant && e.Key != c.ledger.entry.Key && counts(e) {
			return *e, false, err
		}
	}
	return Entry{}, len(found) == q.Limit, err
}

// maxElsewhere bounds how many identical calls are looked at, the newest first. Beside
// one in doubt none has been made since.
const maxElsewhere = 100

// lastElsewhere bounds it for what is done as well. Where that answers no turn a few
// will do: after one that was settled later only calls without a step are made.
func (c *call) lastElsewhere() int {
	if c.turn() == "" {
		return 10
	}
	return maxElsewhere
}

// minds says whether an identical call of another step keeps this one from running.
func (c *call) minds(e *Entry) bool {
	again := c.scope.Session != "" && c.turn() != "" && c.turn() == e.Scope.Turn && !c.guard.info.meansRepeats()
	switch e.State {
	case StateApproved:
		return e.Approval.doubts() || again
	case StateAwaiting, StateDenied:
		return again
	case StateSucceeded:
		return again || c.toldOtherwise(e)
	default:
		return true
	}
}

// toldOtherwise says of a success of the same turn that whoever asked was told that
// nobody knows. That is no reason to do it again, nor is that somebody resumes a call.
func (c *call) toldOtherwise(e *Entry) bool {
	return c.turn() == e.Scope.Turn && e.settledLater()
}

// turn is the one that the call was made in, "" if that is not known.
func (c *call) turn() string {
	if r := c.resumed(); r != nil {
		return r.Scope.Turn
	}
	return c.scope.Turn
}

// settledLater says of a success that whoever asked was told something else: a late
// answer, a status query or a person has settled it since.
func (e *Entry) settledLater() bool {
	return e.State == StateSucceeded && (e.Code != "" || e.Quiet > 0 || e.Checks > 0)
}

// settledElsewhere answers for the other call, under its key, unless that can be
// found to have done nothing.
func (c *call) settledElsewhere(other Entry) bool {
	l, own, key := c.ledger, c.ledger.entry, c.key.Load()
	l.entry = other
	c.key.Store(&other.Key)
	for range maxRaces {
		if l.entry.State == StateFailed {
			l.entry = own
			c.key.Store(key)
			return true
		}
		if l.entry.State == StateApproved && !l.entry.Approval.doubts() {
			return c.runsAsApproved()
		}
		if !c.clearedUp() {
			return false
		}
		if c.ledger != l {
			return c.refuseWithoutJournal(errUnsettled)
		}
	}
	return c.refuseInFlight()
}

var errUnsettled = errors.New("toolguard: what became of an identical call could not be written down")

// clearedUp does what is to be done about the other call's entry, and reports whether
// that may have become another one by it: also one that somebody faster has made.
func (c *call) clearedUp() bool {
	switch e := &c.ledger.entry; e.State {
	case StateSucceeded:
		c.replayEntry(e)
		return false
	case StateAborted:
		return c.answerStored(CodeAborted, OutcomeUnknown)
	case StateDenied:
		return c.answerStored(CodeApprovalDenied, OutcomeNotStarted)
	case StateUnknown, StateParked:
		return c.clearUp()
	case StatePending:
		if e.overdue() {
			return c.put(e, e.lost(), WhyLeaseExpired)
		}
		return c.refuseInFlight()
	case StateAwaiting:
		return c.answerStored(CodeApprovalPending, OutcomeNotStarted)
	default: // somebody is to run it again
		return c.answerStored(CodeInDoubt, OutcomeUnknown)
	}
}

// runsAsApproved goes on as the other call, which was approved and has not begun: to
// ask once more could let both run.
func (c *call) runsAsApproved() bool {
	l := c.ledger
	l.group, l.generation = l.entry.Group, l.entry.Generation
	return c.editedBefore() && c.injectKey() && c.matched() && c.authorized()
}

// ofStep is the scope under which an entry stays the one of its step, whoever runs it.
func (c *call) ofStep(e *Entry) Scope {
	other := e.State != StateNone && e.Scope.stepped() && (e.Scope.Run != c.scope.Run || e.Scope.Step != c.scope.Step)
	if other || c.resumed() != nil {
		return e.Scope
	}
	return *c.scope
}
