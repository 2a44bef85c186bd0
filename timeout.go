package toolguard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/toolguard-go/toolguard/internal/cancel"
	"github.com/toolguard-go/toolguard/internal/evidence"
	"github.com/toolguard-go/toolguard/internal/isolate"
)

// TimeoutPolicy bounds how long a call may take. The deadline holds even if the
// tool ignores its context: the attempt is then abandoned, counted, and never
// overlapped by another attempt of the call.
type TimeoutPolicy struct {
	// Off sets no deadline. The caller's own still counts.
	Off bool
	// Attempt bounds one attempt. If zero, what Classes says for the tool's
	// class, else 60 s.
	Attempt time.Duration
	// Budget bounds the call over all attempts and waits. If zero, twice the
	// attempt timeout.
	Budget time.Duration
	// Grace is how long a cancelled attempt may take to stop. If zero, 1 s.
	Grace time.Duration
	// MaxAbandoned is how many abandoned attempts of the tool may still run
	// before it is refused. Attempts already under way may add to them, as many as
	// ConcurrencyPolicy lets run at once. If zero, 8.
	MaxAbandoned int
	// Classes gives the attempt timeout of a class. "media" is 300 s unless
	// given here.
	Classes map[string]time.Duration
}

const (
	defaultTimeout = 60 * time.Second
	mediaTimeout   = 300 * time.Second
	// callbackTimeout bounds user code that is not the tool.
	callbackTimeout = 10 * time.Second
	// leastPatience is what such code gets at least, in the grace period.
	leastPatience = 200 * time.Millisecond
	// noLimit stands for a time that nothing bounds, noTime for none.
	noLimit time.Duration = math.MaxInt64
	noTime  time.Duration = 1
)

// patience bounds host code that looks at what an attempt came to. The attempt
// has ended: it must not be taken for one that hangs because that code does.
func patience(attempt context.Context) time.Duration {
	end := endOf(attempt)
	if end.IsZero() {
		return callbackTimeout
	}
	return min(callbackTimeout, max(time.Until(end), leastPatience))
}

func (p TimeoutPolicy) withDefaults(class string) TimeoutPolicy {
	setDefault(&p.Attempt, p.Classes[class])
	if class == "media" {
		setDefault(&p.Attempt, mediaTimeout)
	}
	setDefault(&p.Attempt, defaultTimeout)
	setDefault(&p.Budget, 2*p.Attempt)
	setDefault(&p.Grace, time.Second)
	setDefault(&p.MaxAbandoned, 8)
	return p
}

func (p TimeoutPolicy) check(class string) error {
	errs := []error{
		durationOption("Timeout.Attempt", p.Attempt), durationOption("Timeout.Budget", p.Budget),
		durationOption("Timeout.Grace", p.Grace), notNegative("Timeout.MaxAbandoned", p.MaxAbandoned),
	}
	for name, d := range p.Classes {
		if d <= 0 || d > longest {
			errs = append(errs, badOption(fmt.Sprintf("Timeout.Classes[%q]", name), d, fmt.Sprintf("above zero, up to %v", longest)))
		}
	}
	if _, known := p.Classes[class]; class != "" && class != "media" && !known && p.Attempt == 0 {
		errs = append(errs, fmt.Errorf("toolguard: Info.Class %q is not in Options.Timeout.Classes", class))
	}
	full := p.withDefaults(class)
	if full.Budget < full.Attempt && p.Attempt >= 0 && p.Budget >= 0 {
		errs = append(errs, fmt.Errorf("toolguard: Options.Timeout.Budget %v is shorter than one attempt's %v", full.Budget, full.Attempt))
	}
	return errors.Join(errs...)
}

// stopReason says why an attempt was told to stop.
type stopReason uint8

const (
	stopNone stopReason = iota
	stopAttemptTimeout
	stopCallerDeadline
	stopCallerCanceled
)

// The states of an attempt. Whoever moves it out of running leads the call from
// there on: the goroutine that ran the tool, or the one that gave up on it.
const (
	attemptRunning uint32 = iota
	attemptReturned
	attemptAbandoned
)

// attempt is one run of the tool. It is the context the tool sees.
type attempt struct {
	cancel.Context
	call     *call
	began    time.Duration // since the call began
	ended    time.Duration // likewise; 0 if nobody wants to know
	limit    time.Duration
	evidence atomic.Pointer[evidence.Attempt] // made when somebody asks
	slot     slot
	permit   permit
	trace    *trace

	stop  atomic.Uint32 // a stopReason
	state atomic.Uint32

	inside, strays atomic.Int32 // attempts inside this one that run; the abandoned of them
	lent           atomic.Bool  // a call inside has run under its key

	// What it came to: written by the goroutine that ran it, then read by the
	// one that leads the call.
	number   int32
	returned bool
	typedNil bool
	vouched  bool // it succeeded, whatever ended it
	control  bool
	result   Result
	err      error
	failure  *failure // nil for a success
}

// PanicError is what a tool panicked with. It is found in [Event].Err and under
// [Envelope.Err]; no model reads any of it.
type PanicError struct {
	// Value may be anything: formatting it may panic again.
	Value any
	Stack []byte
}

// Error says only that there was a panic.
func (*PanicError) Error() string { return "panic" }

type attemptKey struct{}

// Deadline implements [context.Context].
func (a *attempt) Deadline() (time.Time, bool) {
	outer, ok := a.Context.Deadline()
	if a.limit == noLimit {
		return outer, ok
	}
	own := a.call.began.Add(a.began)
	own = own.Add(a.limit + a.call.waited(own))
	if end, bounded := a.call.batchEnd(); bounded && end.Before(own) {
		own = end
	}
	if !ok || own.Before(outer) {
		return own, true
	}
	return outer, true
}

// Value implements [context.Context] for the few things a guard puts there.
func (a *attempt) Value(key any) any {
	switch key.(type) {
	case attemptKey:
		return a
	case evidence.Key:
		return a.record()
	case evidence.CallKeyKey:
		return a.call
	}
	return a.Context.Value(key)
}

// record returns what HTTP requests are recorded in. An outer attempt sees them
// too: they are its own doing.
func (a *attempt) record() *evidence.Attempt {
	if a.evidence.Load() == nil {
		record := new(evidence.Attempt)
		if outer := a.call.outer; outer != nil {
			record.Under(outer.record())
		}
		a.evidence.CompareAndSwap(nil, record)
	}
	return a.evidence.Load()
}

// attemptFrom returns the innermost attempt ctx belongs to, or nil.
func attemptFrom(ctx context.Context) *attempt {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	return a
}

// start begins the attempt's time. Everything about it is written before: from
// here on others may end it.
func (a *attempt) start() {
	c := a.call
	c.current.Store(a)
	if c.ctx.Err() != nil {
		a.interrupt(c.callerStop()) // whoever watches ctx may have come too early
	}
	if a.number > 1 && c.attemptLimit(time.Since(c.began)) <= 0 {
		a.expire() // whoever times it may have looked for the last time
	}
}

// run runs the tool, here. It reports whether this goroutine still leads the
// call: an attempt that was abandoned has lost it. A tool that ends the goroutine
// takes the leader with it, whatever else it does on the way out: another goes on.
func (a *attempt) run() bool {
	body := a.call.guard.body.Load()
	args := body.args(a.call.doc.Text)
	a.start()
	cameBack := false
	defer func() {
		if !cameBack && a.end() {
			go a.call.resume(a)
		} else if !cameBack {
			a.call.late(a)
		}
	}()
	a.invoke(body.tool, args)
	cameBack = true
	if !a.end() {
		a.call.late(a)
		return false
	}
	return true
}

// invoke turns what the tool does wrong into an error.
func (a *attempt) invoke(tool Tool, args json.RawMessage) {
	defer isolate.Catch(&a.returned, &a.err)
	a.result, a.err = tool.Call(a, args)
	a.returned = true
}

// end says that the tool has come back, and reports whether that was in time.
func (a *attempt) end() bool {
	inTime := a.state.CompareAndSwap(attemptRunning, attemptReturned)
	a.Cancel(context.Canceled) // as a deferred cancel would
	return inTime
}

// interrupt tells the attempt to stop, and why, and gives up on it if it has not
// returned after the grace period.
func (a *attempt) interrupt(why stopReason) {
	if !a.stop.CompareAndSwap(uint32(stopNone), uint32(why)) {
		return
	}
	if why == stopCallerCanceled {
		a.Cancel(context.Canceled)
	} else {
		a.Cancel(context.DeadlineExceeded)
	}
	time.AfterFunc(a.call.grace(), a.abandon)
}

// graceKey finds the most grace that a context leaves to calls under it.
type graceKey struct{}

// grace is the policy's, or what is left of that around it.
func (c *call) grace() time.Duration {
	own := c.guard.opts.Timeout.Grace
	if most, ok := careless(func() any { return c.ctx.Value(graceKey{}) }).(time.Duration); ok {
		return min(own, most)
	}
	return own
}

// abandon leaves the attempt's goroutine behind and goes on with the call on this
// one, unless the tool has come back.
func (a *attempt) abandon() {
	if a.state.Load() != attemptRunning {
		return // mostly: it must not even seem abandoned
	}
	n := &a.call.guard.counters
	n.abandoned.Add(1)
	if !a.state.CompareAndSwap(attemptRunning, attemptAbandoned) {
		n.abandoned.Add(-1)
		return
	}
	n.everAbandoned.Add(1)
	a.stray(1)
	a.call.resume(a)
}

func (a *attempt) abandoned() bool { return a.state.Load() == attemptAbandoned }

// diagnose says what the attempt's error means.
func (a *attempt) diagnose() diagnosis {
	stop := a.stopReason() // before foreign code takes its time
	if a.control = a.passesThrough(); a.control {
		d := diagnosis{Verdict: Verdict{Code: CodeControlFlow}}
		if said := diagnose(a, a.err, stop, a.call.guard.reader()); said.claimed {
			d.Outcome, d.claimed = said.Outcome, true
		}
		return d
	}
	d := diagnose(a, a.err, stop, a.call.guard.reader())
	d.consult(a.evidence.Load())
	if p, ok := a.err.(*isolate.PanicError); ok {
		a.err = &PanicError{Value: p.Value, Stack: p.Stack}
	}
	return d
}

// passesThrough asks the host whether the error is its control flow. One that
// does not answer has said no.
func (a *attempt) passesThrough() bool {
	ask, account := a.call.guard.opts.PassThrough, &a.call.guard.hanging.passThrough
	if ask == nil {
		return false
	}
	yes := false
	failed := account.Run(context.WithoutCancel(a), patience(a), func(context.Context) error {
		yes = ask(a.err)
		return nil
	})
	return failed == nil && yes
}

// stopReason also sees a caller who gave up without the waiting call having
// noticed yet.
func (a *attempt) stopReason() stopReason {
	if why := stopReason(a.stop.Load()); why != stopNone {
		return why
	}
	return a.call.callerStop()
}

// callerStop says which of the caller's two ways of stopping ended the context.
func (c *call) callerStop() stopReason {
	switch err := c.ctx.Err(); {
	case err == nil:
		return stopNone
	case errors.Is(err, context.DeadlineExceeded):
		return stopCallerDeadline
	default:
		return stopCallerCanceled
	}
}

// growStack makes room on a fresh goroutine in one step, while there is almost
// nothing to copy: a call around a tool that decodes JSON would otherwise grow
// the stack three times. That, not the hand-off, is what isolation costs.
func growStack() {
	if stackReserve(false) {
		panic("unreachable")
	}
}

//go:noinline
func stackReserve(touch bool) bool {
	if !touch {
		return false
	}
	var reserve [6 << 10]byte
	return touchReserve(reserve[:])
}

//go:noinline
func touchReserve(b []byte) bool { return len(b) == 0 }
