package toolguard

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/toolguard-go/toolguard/internal/cancel"
	"github.com/toolguard-go/toolguard/internal/cause"
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
	// before it is refused. If zero, 8.
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
)

// patience bounds host code that looks at what an attempt came to. The attempt
// has ended: it must not be taken for one that hangs because that code does.
func patience(attempt context.Context) time.Duration {
	end, ok := attempt.Deadline()
	if !ok {
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
		notNegative("Timeout.Attempt", p.Attempt), notNegative("Timeout.Budget", p.Budget),
		notNegative("Timeout.Grace", p.Grace), notNegative("Timeout.MaxAbandoned", p.MaxAbandoned),
	}
	for name, d := range p.Classes {
		if d <= 0 {
			errs = append(errs, badOption(fmt.Sprintf("Timeout.Classes[%q]", name), d, "above zero"))
		}
	}
	if _, known := p.Classes[class]; class != "" && class != "media" && !known && p.Attempt == 0 {
		errs = append(errs, fmt.Errorf("toolguard: Info.Class %q is not in Options.Timeout.Classes", class))
	}
	full := p.withDefaults(class)
	if full.Budget < full.Attempt {
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

// The states of an attempt. Whoever moves it out of running decides who tells
// the story: the waiting call, or the late answer.
const (
	attemptRunning uint32 = iota
	attemptReturned
	attemptAbandoned
)

// attempt is one run of the tool, on a goroutine of its own. It is the context
// the tool sees.
type attempt struct {
	cancel.Context
	call     *call
	number   int
	began    time.Duration // since the call began
	limit    time.Duration
	evidence atomic.Pointer[evidence.Attempt] // made when somebody asks
	resource string                           // the turn it holds until it really ends; "" if none

	stop    atomic.Uint32 // a stopReason
	state   atomic.Uint32
	failure *failure // what the call made of it; nil for a success

	// Written by the attempt's goroutine, read after it returned.
	returned  bool
	typedNil  bool
	control   bool
	result    Result
	err       error
	diagnosis *diagnosis // nil if nothing failed
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
	if a.call.guard.opts.Timeout.Off {
		return outer, ok
	}
	if own := a.call.began.Add(a.began + a.limit); !ok || own.Before(outer) {
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

// start runs the tool on its own goroutine.
func (c *call) start(ctx context.Context, s *slot, limit time.Duration) *attempt {
	a := &attempt{call: c, number: c.attempts, began: time.Since(c.began), limit: limit, resource: s.resource}
	a.Init(ctx)
	c.watch.arm()
	go a.run()
	return a
}

// run is the attempt's goroutine. The deferred steps happen in any case: a
// panic and a Goexit are caught first, then the error is examined, under the
// same isolation because errors are foreign code too, then it is handed over.
func (a *attempt) run() {
	growStack()
	defer a.end()
	defer a.examine()
	defer isolate.Catch(&a.returned, &a.err)
	a.result, a.err = a.call.guard.tool.Call(a, a.call.argsCopy())
	a.returned = true
}

func (a *attempt) examine() {
	if a.err == nil {
		return
	}
	if a.typedNil = cause.IsNil(a.err); a.typedNil {
		return
	}
	a.diagnosis = &diagnosis{Verdict: Verdict{Code: CodeUnknownError}}
	stop := a.stopReason() // before foreign code takes its time
	if a.control = a.passesThrough(); a.control {
		a.diagnosis.Code = CodeControlFlow
		return
	}
	*a.diagnosis = diagnose(a, a.err, stop, a.call.guard.opts.Classifier)
	a.diagnosis.consult(a.evidence.Load())
	if p, ok := a.err.(*isolate.PanicError); ok {
		a.err = &PanicError{Value: p.Value, Stack: p.Stack}
	}
}

// passesThrough asks the host whether the error is its control flow. One that
// does not answer has said no.
func (a *attempt) passesThrough() bool {
	ask := a.call.guard.opts.PassThrough
	if ask == nil {
		return false
	}
	yes := false
	failed := isolate.Run(context.WithoutCancel(a), patience(a), func(context.Context) error {
		yes = ask(a.err)
		return nil
	})
	return failed == nil && yes
}

// end hands the attempt over to the waiting call, or, if that has given up, to
// whoever wants late answers.
func (a *attempt) end() {
	_ = recover() // a fault of the examination's own: the error stays unknown
	if a.state.CompareAndSwap(attemptRunning, attemptReturned) {
		a.call.watch.returned()
		return
	}
	a.call.late(a)
}

// stopReason also sees a caller who gave up without the waiting call having
// noticed yet.
func (a *attempt) stopReason() stopReason {
	if why := stopReason(a.stop.Load()); why != stopNone {
		return why
	}
	return a.call.callerStop()
}

// interrupt tells the attempt to stop, and why.
func (a *attempt) interrupt(why stopReason) {
	a.stop.Store(uint32(why))
	if why == stopCallerCanceled {
		a.Cancel(context.Canceled)
	} else {
		a.Cancel(context.DeadlineExceeded)
	}
}

// await waits for the attempt, interrupts it at its deadline, allows for the
// grace period and gives up then. It reports whether the attempt returned.
func (c *call) await(a *attempt) bool {
	limit := a.limit
	if c.guard.opts.Timeout.Off {
		limit = -1
	}
	switch c.watch.wait(limit, c.ctx.Done()) {
	case signalReturned:
		a.Cancel(context.Canceled) // as a deferred cancel would
		return true
	case signalGone:
		a.interrupt(c.callerStop())
	default:
		a.interrupt(stopAttemptTimeout)
	}
	if c.watch.wait(c.guard.opts.Timeout.Grace, nil) == signalReturned {
		return true
	}
	return !c.abandon(a)
}

// abandon gives up on the attempt, unless it returns at that very moment.
func (c *call) abandon(a *attempt) bool {
	n := &c.guard.counters
	n.abandoned.Add(1)
	if a.state.CompareAndSwap(attemptRunning, attemptAbandoned) {
		n.everAbandoned.Add(1)
		return true
	}
	n.abandoned.Add(-1)
	c.watch.wait(-1, nil)
	return false
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
// nothing to copy: a tool that decodes JSON would otherwise grow the stack three
// times. That, not the hand-off, is what isolation costs.
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
	var reserve [16 << 10]byte
	return touchReserve(reserve[:])
}

//go:noinline
func touchReserve(b []byte) bool { return len(b) == 0 }
