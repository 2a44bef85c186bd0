package toolguard

import (
	"slices"
	"strings"
	"time"
)

// note remembers that the attempt's event waits until it is decided what follows.
func (c *call) note(a *attempt, changes []Transition) {
	if c.untold = c.guard.events != nil; !c.untold {
		return
	}
	a.ended = time.Since(c.began)
	if changes != nil {
		if a.trace == nil {
			a.trace = new(trace)
		}
		a.trace.changes = changes
	}
}

// tellAttempt tells what the last attempt itself came to, whatever became of the
// call since.
func (c *call) tellAttempt(d *delivery, decision Decision, wait time.Duration) {
	a, e := c.last(), &d.event
	c.describe(e, EventAttempt, c.began.Add(a.ended))
	e.Duration = a.ended - a.began
	e.Deadline = endOf(a)
	e.Stage, e.Decision, e.Why, e.Wait = StageExecute, decision, c.why, wait
	e.Attempt, e.Attempts, e.Requests = int(a.number), c.attempts, len(a.evidence.Load().Requests())
	e.OK, e.Outcome = true, OutcomeSucceeded
	if f := a.failure; f != nil {
		e.fail(f)
		e.Outcome = f.outcome
	}
	if c.failure != nil {
		e.Incident = c.failure.incident
	}
	if a.trace != nil {
		e.Transitions, d.span = a.trace.changes, a.trace.span
	}
}

// fail fills in what went wrong.
func (e *Event) fail(f *failure) {
	e.OK, e.Code, e.Category = false, f.Code, f.row().category
	e.Err, e.Detail, e.Incident = f.err, f.detail, f.incident
}

// retrying tells of an attempt that another one follows.
func (c *call) retrying(wait time.Duration) {
	if !c.untold {
		return
	}
	var d delivery
	c.tellAttempt(&d, DecisionRetry, wait)
	c.untold = false
	c.guard.events.deliver(c.ctx, d)
}

// telling makes the events that end the call, or leaves that for when they are
// wanted. From here on nothing changes it.
func (c *call) telling(t *telling) {
	t.both, t.unmade = c.untold, true
	if c.guard.events.selects == nil || !c.unremarkable() {
		c.make(t)
	}
}

// owe says how many events there are, before Do may lose its patience with them.
func (c *call) owe(t *telling) {
	if c.guard.events.policy.Queue == 0 {
		c.state.Store(t.owed() * runOwes)
	}
}

// make makes the events, if that is not done.
func (c *call) make(t *telling) {
	if !t.unmade {
		return
	}
	if t.unmade = false; t.both {
		c.tellAttempt(&t.attempt, c.decided, 0)
	}
	c.tellCall(&t.call)
}

// unremarkable says that the call went as it should.
func (c *call) unremarkable() bool {
	a := c.last()
	return a != nil && a.trace == nil && c.attempts == 1 && c.failure == nil && c.decided == DecisionAnswer && len(c.notes) == 0
}

// finalDecision is what the call's own event says was done.
func (c *call) finalDecision() Decision {
	switch {
	case c.decided == DecisionAnswer && c.failure != nil && c.attempts == 0:
		return DecisionRefuse
	default:
		return c.decided
	}
}

func (c *call) tellCall(d *delivery) {
	e := &d.event
	c.describe(e, EventCall, c.endedAt())
	e.Duration = e.Time.Sub(c.began)
	e.Stage, e.Decision, e.Why, e.Notes = c.stage, c.finalDecision(), c.why, slices.Clone(c.notes)
	e.Attempts, e.Outcome, e.OK = c.attempts, c.outcome, c.failure == nil
	if c.failure != nil {
		e.fail(c.failure)
	}
	if c.rare != nil && len(c.rare.skipped) > 0 {
		if e.Detail != "" {
			e.Detail += "; "
		}
		e.Detail += "without arguments, passed over: " + strings.Join(c.rare.skipped, ", ")
	}
	e.Bytes = c.answerSize()
	if c.inJournal() && c.ledger.approval != nil {
		said := *c.ledger.approval
		e.Approval, e.ApprovalWait = &said, c.ledger.waited
	}
	if c.guard.opts.Observe.Results {
		e.Result = c.worded().ForModel()
	}
	d.span = c.ownSpan()
}

// endedAt is when the call ended. Where nothing of the host's comes after an attempt
// that succeeds, that is when the last one did: one moment is not asked for twice.
func (c *call) endedAt() time.Time {
	a, o := c.last(), &c.guard.opts
	if a != nil && c.failure == nil && a.failure == nil && o.CheckResult == nil && o.Redact == nil && c.guard.journal == nil {
		return c.began.Add(a.ended)
	}
	return c.now()
}

// worded is the answer, which is worded once.
func (c *call) worded() *Envelope {
	if c.envelope == nil {
		e := new(Envelope)
		c.answer(e)
		c.envelope = e
	}
	return c.envelope
}

// answerSize is the size of what the model reads.
func (c *call) answerSize() int {
	if c.failure == nil && len(c.notes) == 0 {
		return len(c.result.content())
	}
	e := c.worded()
	room := rooms.Get().(*[]byte)
	defer rooms.Put(room)
	*room = e.appendForModel((*room)[:0])
	return len(*room)
}

// observeLate tells of an abandoned attempt that ended. It runs on that
// attempt's goroutine, when the call is long over.
func (c *call) observeLate(a *attempt, late *lateAnswer) {
	if c.guard.events == nil {
		return
	}
	var e Event
	c.describe(&e, EventLate, time.Now())
	e.Duration, e.Attempt, e.Attempts = e.Time.Sub(c.began)-a.began, int(a.number), int(a.number)
	e.Stage, e.OK, e.Outcome, e.Err = StageExecute, late.code == "", late.outcome, a.err
	if !e.OK {
		e.Code, e.Category, e.Detail = late.code, late.code.Category(), late.detail
	}
	c.guard.events.deliver(a, delivery{e, nil})
}
