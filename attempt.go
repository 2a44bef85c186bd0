package toolguard

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/toolguard-go/toolguard/internal/cause"
	"github.com/toolguard-go/toolguard/prompts"
)

// place finds a place for the next attempt, or settles the call with a refusal
// and returns nil. Waiting may take long: what may have changed is looked at again.
func (c *call) place() *attempt {
	if c.overlaps() || !c.ready() || c.leftAlone() {
		return nil
	}
	resource := c.resource()
	s, ok := c.guard.limiter.acquire(c.ctx, resource, c.held(resource), c.slotPatience)
	if !ok {
		c.refuse(c.unplacedCode(), 0)
		return nil
	}
	if a := c.permitted(&s); a != nil {
		return a
	}
	c.guard.limiter.releasePlace(&s)
	c.guard.limiter.leaveQueue(&s)
	return nil
}

// permitted begins the attempt, if there is time left and the breaker allows it.
func (c *call) permitted(s *slot) *attempt {
	if !c.ready() {
		return nil
	}
	began := time.Since(c.began)
	limit := c.attemptLimit(began)
	if limit <= 0 {
		c.refuse(CodeBudgetExhausted, 0)
		return nil
	}
	p, wait, ok := c.guard.breakers.acquire(c.breakerKey(), c.outer, c.began.Add(began))
	if !ok {
		c.refuse(CodeBreakerOpen, wait)
		return nil
	}
	c.attempts++
	c.guard.counters.attempts.Add(1)
	if c.attempts > 1 {
		c.guard.counters.retries.Add(1)
	}
	a := &attempt{call: c, number: int32(c.attempts), began: began, limit: limit, slot: *s, permit: p}
	a.startSpan()
	a.enter(1)
	return a
}

// leftAlone refuses a call that the breaker would refuse once it had waited for a
// slot. One inside of an attempt may have its permit from there.
func (c *call) leftAlone() bool {
	b := c.guard.breakers
	if c.outer != nil || b.admitAll() {
		return false
	}
	wait, refuses := b.refuses(c.breakerKey(), c.now())
	if refuses {
		c.refuse(CodeBreakerOpen, wait)
	}
	return refuses
}

// ready looks at what may have changed while the call waited.
func (c *call) ready() bool {
	switch {
	case c.ctx.Err() != nil:
		return c.refuse(c.callerCode(), 0)
	case int(c.guard.counters.abandoned.Load()) >= c.guard.opts.Timeout.MaxAbandoned:
		return c.refuse(CodeToolStuck, 0)
	}
	return true
}

// attemptLimit returns how long an attempt that begins now may take. Attempts
// leave a quarter of the budget to a fallback or a status query.
func (c *call) attemptLimit(now time.Duration) time.Duration {
	total := c.budget()
	if total == noLimit {
		return noLimit
	}
	total -= now + c.reserve()
	if t := &c.guard.opts.Timeout; !t.Off {
		return min(t.Attempt, total)
	}
	return total
}

func (c *call) slotPatience() time.Duration { return c.left(c.guard.opts.Concurrency.Wait) }

func (c *call) reserve() time.Duration {
	if c.guard.fallback == nil && c.guard.body.Load().status == nil {
		return 0
	}
	return min(c.budget(), c.guard.opts.Timeout.Budget) / 4
}

// weigh takes over what the attempt came to and lets go of what it held, but for
// its turn on a resource while it still runs.
func (c *call) weigh(a *attempt) {
	lost := a.abandoned()
	c.read(a, lost)
	changes := a.permit.report(c.breakerVerdict(a.limit))
	c.guard.limiter.releasePlace(&a.slot)
	if !lost {
		a.leave()
	}
	c.audit(a)
	c.note(a, changes)
}

// read says what the attempt came to.
func (c *call) read(a *attempt, lost bool) {
	switch {
	case lost:
		c.failAttempt(a, diagnosis{Verdict: Verdict{Code: a.stopCode()}}, nil)
	case a.failed():
		d := a.diagnose()
		c.failAttempt(a, d, a.err)
		c.failure.control = a.control
	case a.result.extra.adopted() != nil:
		c.takeInner(a, a.result.extra.envelope)
	default:
		c.succeed(a, &a.result)
	}
}

// failed reports whether the tool returned an error. A typed nil is none.
func (a *attempt) failed() bool {
	if a.vouched {
		a.err = nil
	}
	a.typedNil = a.err != nil && cause.IsNil(a.err)
	return a.err != nil && !a.typedNil
}

func (c *call) failAttempt(a *attempt, d diagnosis, err error) {
	record := a.evidence.Load()
	if a.abandoned() {
		record = nil // what still runs may still send
	}
	f := &failure{diagnosis: d, err: err}
	f.outcome = c.guard.info.outcomeOf(&f.diagnosis, record)
	c.settleOutcome(f.outcome)
	a.failure, c.failure = f, f
}

func (c *call) succeed(a *attempt, r *Result) {
	c.failure, c.result = nil, r
	if r.extra != nil {
		c.notes = append(c.notes, r.extra.notes...)
	}
	c.settleOutcome(OutcomeSucceeded)
	if a.typedNil {
		c.notes = append(c.notes, Note{Kind: prompts.NoteTypedNilError})
	}
	if c.ctx.Err() != nil {
		c.notes = append(c.notes, Note{Kind: prompts.NoteCanceledMeanwhile})
	}
}

// takeInner takes over what an inner guard answered. Only a guard around the same
// tool is adopted with its words: of any other, a failure is an error the tool met.
func (c *call) takeInner(a *attempt, inner *Envelope) {
	switch {
	case inner.OK:
		c.succeed(a, &inner.Result)
		c.notes = append(c.notes, inner.Notes...)
	case inner.identity == c.guard.args.identity:
		e := inner.Error
		d := diagnosis{Verdict: Verdict{Code: e.Code, Outcome: e.Outcome, RetryAfter: e.RetryAfter, Message: e.Message}, claimed: true}
		c.failAttempt(a, d, inner.Err())
		c.failure.adopted = inner
	default:
		a.err = inner.Err()
		c.failAttempt(a, a.diagnose(), a.err)
	}
}

// stopCode is the code of an attempt that did not stop when told to.
func (a *attempt) stopCode() Code {
	switch a.stopReason() {
	case stopCallerDeadline:
		return CodeCallerDeadline
	case stopCallerCanceled:
		return CodeCanceled
	default:
		return CodeAbandoned
	}
}

// breakerVerdict is what the attempt tells the breaker. A deadline cut short by
// the budget says something about the tool only if the tool had half its time.
func (c *call) breakerVerdict(limit time.Duration) error {
	if c.failure == nil {
		return nil
	}
	row := c.failure.row()
	switch {
	case row.neutral || row.silent:
		return errNeutral
	case !row.counted:
		return nil
	case row.code == CodeAttemptTimeout || row.code == CodeAbandoned:
		if limit < c.guard.opts.Timeout.Attempt/2 {
			return errNeutral
		}
	}
	return errCounted
}

func (c *call) breakerKey() breakerKey {
	return breakerKey{target: c.guard.info.target(), tenant: c.scope.Tenant}
}

// target is what a breaker is about.
func (i *Info) target() string { return cmp.Or(i.Dependency, i.Name) }

// argsCopy is what host code gets that looks at the arguments: what it does with its
// own changes nothing of what runs.
func (c *call) argsCopy() json.RawMessage { return slices.Clone(c.doc.Text) }

// resource is the value of the arguments that serialise calls, or "".
func (c *call) resource() string {
	if p := &c.guard.opts.Concurrency; p.Off || len(p.SerializeBy) == 0 {
		return ""
	}
	return c.guard.args.resource(&c.doc, c.guard.opts.Concurrency.SerializeBy)
}

// late settles an abandoned attempt that ended after all. It runs on that
// attempt's goroutine, which leads the call no longer.
func (c *call) late(a *attempt) {
	c.guard.door.tellLate()
	defer c.guard.door.toldLate()
	c.guard.counters.abandoned.Add(-1)
	a.stray(-1)
	a.leave()
	late := c.readLate(a)
	c.tellSession(late)
	c.tellJournal(a, late)
	c.observeLate(a, late)
}

// readLate says what an abandoned attempt came to after all.
func (c *call) readLate(a *attempt) *lateAnswer {
	inner := a.result.extra.adopted()
	switch failed := a.failed(); {
	case failed:
	case inner == nil:
		return c.checkLate(a, &a.result)
	case inner.OK:
		return c.checkLate(a, &inner.Result)
	case inner.identity == c.guard.args.identity:
		d := diagnosis{Verdict: Verdict{Code: inner.Error.Code, Outcome: inner.Error.Outcome}, claimed: true}
		return &lateAnswer{outcome: c.guard.info.outcomeOf(&d, nil), code: d.Code}
	default:
		a.err = inner.Err()
	}
	d := a.diagnose()
	return &lateAnswer{outcome: c.guard.info.outcomeOf(&d, a.evidence.Load()), code: d.Code, detail: d.detail}
}

// checkLate looks for a failure that came late as a success.
func (c *call) checkLate(a *attempt, r *Result) *lateAnswer {
	f, o := c.refuted(context.WithoutCancel(c.ctx), callbackTimeout, r, a)
	if f == nil {
		return &lateAnswer{outcome: OutcomeSucceeded, result: r}
	}
	return &lateAnswer{outcome: o, code: f.Code, detail: f.detail}
}

// unplacedCode is the code of a call that got no place.
func (c *call) unplacedCode() Code {
	if c.ctx.Err() != nil {
		return c.callerCode()
	}
	return CodeOverloaded
}

// callerCode is the code of a call whose caller gave up.
func (c *call) callerCode() Code {
	if c.callerStop() == stopCallerDeadline {
		return CodeCallerDeadline
	}
	return CodeCanceled
}
