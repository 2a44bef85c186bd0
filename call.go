package toolguard

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/toolguard-go/toolguard/internal/digest"
	"github.com/toolguard-go/toolguard/internal/isolate"
	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// call is one call on its way through the stages. Only the goroutine that leads
// it touches it, except where noted; when that says that it is done, it is for Do to read.
type call struct {
	guard   *Guard
	ctx     context.Context
	via     *via // the toolbox, if the call came through one
	scope   *Scope
	outer   *attempt // the attempt this call was made from, if any
	waiting *Waiting // for somebody who is no part of it; nil for nobody
	began   time.Time

	// As in Call.
	id, locale string
	written    json.RawMessage // the arguments
	truncated  bool

	done, told signal                 // the answer is there; it is told
	key        atomic.Pointer[string] // the tool's goroutines may ask for it

	current atomic.Pointer[attempt] // the last one, for Do and the timer to interrupt

	doc    strictjson.Doc // the normalised document: what runs
	digest digest.Sum

	*memory         // of the conversation; noMemory without one
	ledger  *ledger // of the journal; nil until it is looked at

	attempts int
	failure  *failure // nil while nothing has failed
	result   *Result
	notes    []Note
	rare     *rare
	outcome  Outcome
	unsure   bool // an attempt, or another call under the key, may have had its effect
	inside   bool // the guard's door counts this call
	mute     bool // the host's redactor failed
	renewed  bool // Refresh was asked

	// For the events.
	salt     [3]byte // of ref
	stage    Stage
	decided  Decision
	untold   bool          // the last attempt's event is not delivered
	finished bool          // nothing changes the call any more
	state    atomic.Uint32 // of the final delivery
	envelope *Envelope     // if it was worded for them already
	why      string
}

// rare is what only few calls need, so that the others stay small.
type rare struct {
	mismatch *mismatch       // what the schema has against the document
	source   *Degraded       // where the answer comes from, if not from the tool
	resumed  *Entry          // what the call goes on with
	lost     error           // why it cannot
	injected string          // the key that is among the arguments
	ran      json.RawMessage // what ran before, in place of the arguments that were asked
	edited   Digest          // of the arguments that run in place of those that were asked
	lender   *attempt        // whose key it has
	borrows  bool            // and holds
	beside   bool            // its entry is beside that of the attempt it could have the key of
	stoodIn  bool            // a stand-in had the effect, or may have had it
	skipped  []string        // stand-ins whose arguments could not be made
	// redacting is what the host's redactor has taken so far.
	redacting time.Duration
}

// rarely returns the call's rare part to write to.
func (c *call) rarely() *rare {
	if c.rare == nil {
		c.rare = new(rare)
	}
	return c.rare
}

// source says where the answer comes from; nil is the tool.
func (c *call) source() *Degraded {
	if c.rare == nil {
		return nil
	}
	return c.rare.source
}

// last is the attempt that runs, or ran last; nil if there was none.
func (c *call) last() *attempt { return c.current.Load() }

// failure is what went wrong, on its way to becoming words.
type failure struct {
	diagnosis
	outcome  Outcome // of the attempt itself
	control  bool    // err is the host's control flow
	err      error
	args     *mismatch // what is wrong with the arguments; see faults
	adopted  *Envelope // an inner guard's answer
	incident string
	known    *codeRow // see row
}

// row is what the failure's code implies.
func (f *failure) row() *codeRow {
	if f.known == nil {
		f.known = f.Code.row()
	}
	return f.known
}

// faults is what is wrong with the arguments, never nil.
func (f *failure) faults() *mismatch {
	if f.args == nil {
		return &noFaults
	}
	return f.args
}

var noFaults mismatch

// open starts the accounts of a call, or of one that goes on with an entry.
func (g *Guard) open(ctx context.Context, in Call, v *via, resumed *Entry) *call {
	if ctx == nil {
		ctx = context.Background() // a host's slip must not cost it the process
	}
	c := &call{
		guard: g, via: v, memory: &noMemory,
		id: in.ID, locale: in.Locale, written: in.Args, truncated: in.Truncated,
		began: time.Now(),
	}
	if resumed != nil {
		c.rarely().resumed = resumed
	}
	c.enter(ctx, in.Step)
	if v != nil {
		c.began, v.written = v.began, in.Tool
		c.introduce()
	}
	if g.events != nil {
		n := rand.Uint32()
		c.salt = [3]byte{byte(n), byte(n >> 8), byte(n >> 16)}
	}
	g.counters.calls.Add(1)
	g.budget.call(c.began)
	c.meet()
	c.openSpan()
	return c
}

// enter takes over what the caller's context carries.
func (c *call) enter(ctx context.Context, step string) {
	defer func() {
		if why := recover(); why != nil {
			c.ctx, c.scope = brokenContext{context.Background(), why}, &noScope
		}
	}()
	if step != "" {
		ctx = withStep(ctx, step)
	}
	c.ctx, c.scope, c.outer, c.waiting = ctx, scopeFrom(ctx), attemptFrom(ctx), WaitingFrom(ctx)
}

// brokenContext stands for one that panicked: nobody knows whose call it is, so that
// nothing may run. It panics again where that becomes an answer.
type brokenContext struct {
	context.Context
	why any
}

func (b brokenContext) Err() error { panic(b.why) }

// ref is the random number of the call: when it began, to the nanosecond, and three
// bytes of chance, well mixed (the finalizer of SplitMix64). Eight bytes more would
// put the call into the next class of sizes.
func (c *call) ref() uint64 {
	z := uint64(c.began.UnixNano()) ^ (uint64(c.salt[0])|uint64(c.salt[1])<<8|uint64(c.salt[2])<<16)<<40
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return (z ^ z>>31) | 1
}

// finish makes all that still changes the call, hands it over to Do, and then
// tells the observer.
func (c *call) finish() {
	c.record() // mostly done: what a stand-in did is known only now
	c.settle()
	said := len(c.notes)
	c.present()
	c.remember(said)
	if c.guard.events != nil {
		c.tell()
		return
	}
	c.finished = true
	c.done.send()
}

// tell hands the call over and tells the observer of it. A call that was settled
// before its first attempt is still on the caller's goroutine, where no foreign
// code may run.
func (c *call) tell() {
	var t telling
	c.telling(&t)
	c.owe(&t)
	c.finished = true
	if c.last() == nil {
		c.tellAside(t)
		return
	}
	c.done.send()
	c.guard.events.tell(c, &t)
}

func (c *call) tellAside(t telling) { go c.guard.events.tell(c, &t) }

// close ends the accounts: one answer, one event.
func (g *Guard) close(c *call, e *Envelope) {
	if c.inside {
		defer g.door.leave()
	}
	g.counters.count(c)
	c.answer(e)
	g.events.told(c)
}

// fail settles the call before the tool ran and stops the stage. What was unknown
// when the call claimed its key remains so.
func (c *call) fail(d diagnosis, err error) bool {
	c.settleOutcome(OutcomeNotStarted)
	d.Outcome, d.claimed = c.outcome, true
	c.failure = &failure{diagnosis: d, err: err}
	return false
}

// refuse is the guard's own no to an attempt. After an earlier attempt that
// attempt's failure stays the answer: it says more than the refusal.
func (c *call) refuse(code Code, wait time.Duration) bool {
	if c.failure != nil {
		c.failure.RetryAfter = max(c.failure.RetryAfter, wait)
		c.decided, c.why = DecisionStop, string(code)
		return false
	}
	return c.fail(diagnosis{Verdict: Verdict{Code: code, RetryAfter: wait}}, nil)
}

// admitted lets the call in while the guard is open and the caller waits.
func (c *call) admitted() bool {
	if c.inside = c.guard.door.enter(); !c.inside {
		return c.refuse(CodeShuttingDown, 0)
	}
	if c.ctx.Err() != nil {
		return c.refuse(c.callerCode(), 0)
	}
	return true
}

// authorized asks whether this caller may do this at all.
func (c *call) authorized() bool {
	return c.gate(c.guard.opts.Authorize, CodePermissionDenied) &&
		c.gate(c.guard.gates.authorize, CodePermissionDenied)
}

// checked asks the business rules.
func (c *call) checked() bool {
	return c.gate(c.guard.opts.Check, CodeBusinessRule) &&
		c.gate(c.guard.gates.check, CodeBusinessRule)
}

// gate runs one check and fails closed: an error, a panic or silence refuses.
// An error without a code of its own gets the gate's.
func (c *call) gate(check func(context.Context, json.RawMessage) error, code Code) bool {
	if check == nil {
		return true
	}
	err := c.isolate(func(ctx context.Context) error { return check(ctx, c.argsCopy()) })
	if err == nil {
		return true
	}
	if c.ctx.Err() != nil {
		return c.fail(diagnosis{Verdict: Verdict{Code: c.callerCode()}}, err)
	}
	return c.fail(gateDiagnosis(c, err, code), err)
}

// gateDiagnosis gives a refusal the gate's code where the error has none. What
// went wrong inside the gate itself is not the model's business.
func gateDiagnosis(c *call, err error, code Code) diagnosis {
	if isolate.Misbehaved(err) {
		return diagnosis{Verdict: Verdict{Code: CodeCheckFailed}}
	}
	d := diagnose(c.ctx, err, stopNone, reader{errors: &c.guard.hanging.errors})
	if d.Code == CodeUnknownError {
		d.Code = code
	}
	return d
}

// isolate runs user code other than the tool, inside what is left of the budget,
// on the account of the stage it belongs to.
func (c *call) isolate(f func(context.Context) error) error {
	return c.guard.hanging.stages[c.stage].Run(c.ctx, c.left(callbackTimeout), f)
}

// now is the time as of the call's own clock: asking it costs half of what
// [time.Now] does.
func (c *call) now() time.Time { return c.began.Add(time.Since(c.began)) }

// budget is how long the call may take: what the policy says, or what is left of
// its batch if that is less.
func (c *call) budget() time.Duration {
	total := noLimit
	if t := &c.guard.opts.Timeout; !t.Off {
		if total = t.Budget; c.last() != nil || c.guard.opts.Approver != nil {
			total += c.waited(c.began)
		}
	}
	if end, ok := c.batchEnd(); ok {
		total = min(total, end.Sub(c.began))
	}
	return total
}

// batchEnd is when the call's batch has to be answered, if it is of one.
func (c *call) batchEnd() (end time.Time, ok bool) {
	if c.via == nil {
		return time.Time{}, false
	}
	return c.via.deadline, !c.via.deadline.IsZero()
}

// deadline is the end of the budget; zero if there is none.
func (c *call) deadline() time.Time {
	if total := c.budget(); total != noLimit {
		return c.began.Add(total)
	}
	return time.Time{}
}

// left bounds d by what is left of the budget.
func (c *call) left(d time.Duration) time.Duration {
	total := c.budget()
	if total == noLimit {
		return d
	}
	return min(d, max(total-time.Since(c.began), 0))
}

// rescue turns a fault of the guard's own into an answer that claims nothing.
func (c *call) rescue() {
	v := recover()
	if v == nil || c.finished {
		return
	}
	c.blame(&PanicError{Value: v, Stack: debug.Stack()})
	defer func() {
		if recover() == nil {
			return
		}
		c.finished = true
		c.done.send()
		c.told.send()
	}()
	c.finish()
}

func (c *call) blame(err error) {
	d := diagnosis{Verdict: Verdict{Code: CodeInternalError}}
	if c.attempts == 0 {
		c.fail(d, err)
		return
	}
	c.failure = &failure{diagnosis: d, err: errors.Join(c.lastErr(), err)}
	c.settleOutcome(c.guard.info.outcomeOf(&d, nil))
}

func (c *call) lastErr() error {
	if c.failure == nil {
		return nil
	}
	return c.failure.err
}
