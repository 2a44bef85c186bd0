package toolguard

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// events carries events to the observer without letting it hold a call up or
// change an answer.
type events struct {
	observer Observer
	spans    SpanObserver      // nil if the observer starts none
	late     bool              // which may be when somebody looks for them
	selects  SelectiveObserver // nil if the observer wants everything
	policy   ObservePolicy
	lost     *atomic.Uint64
	stuck    atomic.Int32 // deliveries the observer has not returned from

	mu       sync.Mutex
	queue    []queued
	handed   uint64        // so far, by the drain goroutine
	draining chan struct{} // closed when the drain goroutine ends; nil if none runs
}

// delivery is an event with the span it ends, if any.
type delivery struct {
	event Event
	span  *span
}

type queued struct {
	ctx context.Context
	delivery
}

func newEvents(o Observer, p ObservePolicy, n *counters) *events {
	if o == nil || p.Off {
		return nil
	}
	e := &events{observer: o, policy: p, lost: &n.lostEvents}
	e.spans, _ = o.(SpanObserver)
	if late, ok := o.(LateSpanObserver); ok {
		e.late = late.StartsLate()
	}
	if p.Queue == 0 && !p.Results {
		e.selects, _ = o.(SelectiveObserver)
	}
	return e
}

// deliver hands one event over.
func (e *events) deliver(ctx context.Context, d delivery) {
	if e.policy.Queue > 0 {
		e.enqueue(queued{ctx, d})
		return
	}
	if !e.isolate(1, func(run *atomic.Uint32) { e.hand(ctx, &d, run) }) {
		e.lost.Add(1)
	}
}

// hand gives an event to the observer, as part of a run if one is given, and
// books it: an observer that panics or exits has lost it.
func (e *events) hand(ctx context.Context, d *delivery, run *atomic.Uint32) {
	taken := false
	defer func() {
		_ = recover() // what an observer panics with concerns nobody
		e.book(run, taken)
	}()
	d.event.Lost = e.lost.Load()
	end := d.span.toEnd()
	e.observer.Observe(ctx, d.event)
	if end != nil {
		end(d.event)
	}
	taken = true
}

// book takes an event off what a run owes. In an overdue run it has been counted
// as lost already.
func (e *events) book(run *atomic.Uint32, taken bool) {
	counted := run != nil && run.Add(^(runOwes-1))&runOverdue != 0
	switch {
	case taken && counted:
		e.lost.Add(^uint64(0))
	case !taken && !counted:
		e.lost.Add(1)
	}
}

// telling is what ends a call: the event of its last attempt, if that waits, and
// its own.
type telling struct {
	attempt, call delivery
	both          bool
	unmade        bool // they are made if the observer wants them
}

// owed is how many events there are.
func (t *telling) owed() uint32 {
	if t.both {
		return 2
	}
	return 1
}

// tell hands over the events that end a call, on this goroutine, and says so when
// that is done. Do waits in told.
func (e *events) tell(c *call, t *telling) {
	switch {
	case e.policy.Queue > 0:
		if t.both {
			e.enqueue(queued{c.ctx, t.attempt})
		}
		e.enqueue(queued{c.ctx, t.call})
	case e.stuck.Load() > 0:
		for range t.owed() {
			e.book(&c.state, false)
		}
	default:
		e.tellFrom(c, t, !t.both)
		return
	}
	e.back(&c.state)
	c.told.send()
}

// tellFrom tells of the attempt, if that is not done, and of the call. An
// observer that ends the goroutine costs one event: the other goes on from a
// fresh one.
func (e *events) tellFrom(c *call, t *telling, attemptDone bool) {
	callDone := false
	defer func() {
		if !callDone {
			rest := *t
			attemptDone = attemptDone || !rest.unmade
			c.make(&rest)
			go e.tellFrom(c, &rest, attemptDone)
			return
		}
		e.back(&c.state)
		c.told.send()
	}()
	if t.unmade && !e.wanted(c) {
		callDone = true
		for range t.owed() {
			e.book(&c.state, true)
		}
		return
	}
	c.make(t)
	if !attemptDone {
		e.hand(c.ctx, &t.attempt, &c.state)
	}
	callDone = true
	e.hand(c.ctx, &t.call, &c.state)
}

// wanted asks the observer whether it wants to hear of the call.
func (e *events) wanted(c *call) (yes bool) {
	yes = true
	defer func() { _ = recover() }()
	return e.selects.WantsSuccess(c.ctx)
}

// told waits until the events are told, for at most the policy's patience.
// Mostly they are already: only an observer that takes its time is timed.
func (e *events) told(c *call) {
	if e == nil {
		return
	}
	if !e.expect(&c.told) {
		e.overdue(&c.state)
	}
}

// isolate runs observer code that owes so many events on a goroutine of its own
// and waits for at most the policy's patience. While a run is overdue no other
// begins: it reports false.
func (e *events) isolate(owes uint32, f func(run *atomic.Uint32)) bool {
	if e.stuck.Load() > 0 {
		return false
	}
	var r struct {
		run  atomic.Uint32
		done signal
	}
	r.run.Store(owes * runOwes)
	go func() {
		growStack()
		defer func() {
			_ = recover()
			e.back(&r.run)
			r.done.send()
		}()
		f(&r.run)
	}()
	if !e.expect(&r.done) {
		e.overdue(&r.run)
	}
	return true
}

// expect waits for observer code, for at most the policy's patience, and reports
// whether it is done. Mostly it is when it has had its turn: only code that takes its
// time is timed.
func (e *events) expect(done *signal) bool {
	if done.sent.Load() || done.soon() {
		return true
	}
	timer := time.NewTimer(e.policy.Patience)
	defer timer.Stop()
	select {
	case <-done.wait():
		return true
	case <-timer.C:
		return false
	}
}

// A run of observer code is one number: whether it returned, whether it is
// overdue, and how many events it still owes. Whoever sets the second of the two
// flags settles the account of overdue runs.
const (
	runReturned uint32 = 1 << iota
	runOverdue
	runOwes // one event
)

// back says that a run has returned.
func (e *events) back(run *atomic.Uint32) {
	if run.Or(runReturned)&runOverdue != 0 {
		e.stuck.Add(-1)
	}
}

// overdue says that a run is no longer waited for. What it owes counts as lost
// until it is handed over after all.
func (e *events) overdue(run *atomic.Uint32) {
	e.stuck.Add(1)
	owed := run.Load() / runOwes // counted first, lest the count pass below zero
	e.lost.Add(uint64(owed))
	before := run.Or(runOverdue)
	e.lost.Add(-uint64(owed - before/runOwes)) // handed over meanwhile
	if before&runReturned != 0 {
		e.stuck.Add(-1) // it returned at that very moment
	}
}

// enqueue keeps an event for the drain goroutine, and starts that if need be.
func (e *events) enqueue(q queued) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue) >= e.policy.Queue {
		e.lost.Add(1)
		return
	}
	e.queue = append(e.queue, q)
	if e.draining == nil {
		e.draining = make(chan struct{})
		go e.drain()
	}
}

// drain delivers until the queue is empty and ends then. An observer that ends
// the goroutine costs one event: the rest goes on from a fresh one.
func (e *events) drain() {
	empty := false
	defer func() {
		if !empty {
			go e.drain()
		}
	}()
	for {
		q, ok := e.next()
		if !ok {
			empty = true
			return
		}
		e.hand(q.ctx, &q.delivery, nil)
	}
}

func (e *events) next() (q queued, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue) == 0 {
		close(e.draining)
		e.draining, e.queue = nil, nil
		return queued{}, false
	}
	e.handed++
	q = e.queue[0]
	e.queue[0] = queued{}
	e.queue = e.queue[1:]
	return q, true
}

// errStuck says that an observer does not come back from an event.
var errStuck = errors.New("the observer does not return, and events wait for it")

// flush waits until nothing is queued any more or ctx ends, unless the observer
// stays with one event for 10 s: one that shuts the guard down, and would wait
// for itself, is as stuck as any other.
func (e *events) flush(ctx context.Context) error {
	if e == nil {
		return nil
	}
	tick := time.NewTicker(callbackTimeout)
	defer tick.Stop()
	for before := ^uint64(0); ; {
		e.mu.Lock()
		draining, handed := e.draining, e.handed
		e.mu.Unlock()
		switch {
		case draining == nil:
			return nil
		case handed == before:
			return errStuck
		}
		before = handed
		select {
		case <-draining:
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
