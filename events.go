package toolguard

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// events carries events to the observer without letting it hold a call up or
// change an answer.
type events struct {
	observer Observer
	spans    SpanObserver // nil if the observer starts none
	policy   ObservePolicy
	lost     *atomic.Uint64
	stuck    atomic.Int32 // deliveries the observer has not returned from

	mu       sync.Mutex
	queue    []queued
	draining chan struct{} // closed when the drain goroutine ends; nil if none runs
}

// delivery is an event with the span it ends, if any.
type delivery struct {
	event Event
	end   func(Event)
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
	return e
}

// startSpan asks the observer for a span. The context stays what it was if the
// observer starts none, or misbehaves.
func (e *events) startSpan(ctx context.Context, event Event) (context.Context, func(Event)) {
	type span struct {
		ctx context.Context
		end func(Event)
	}
	started := make(chan span, 1)
	e.isolate(func() {
		child, end := e.spans.Start(ctx, event)
		started <- span{child, end}
	})
	select {
	case s := <-started:
		if s.ctx != nil {
			return s.ctx, s.end
		}
		return ctx, s.end
	default:
		return ctx, nil
	}
}

// deliver hands one event over.
func (e *events) deliver(ctx context.Context, d delivery) {
	if e.policy.Queue > 0 {
		e.enqueue(queued{ctx, d})
		return
	}
	e.lost.Add(1)
	e.isolate(func() { e.hand(ctx, &d) })
}

// hand gives an event to the observer. It counted as lost before, and does until
// the observer has returned from it: a panic or a hang on the way needs no other
// account.
func (e *events) hand(ctx context.Context, d *delivery) {
	d.event.Lost = e.lost.Load() - 1
	e.observer.Observe(ctx, d.event)
	if d.end != nil {
		d.end(d.event)
	}
	e.lost.Add(^uint64(0))
}

// telling is what ends a call: the event of its last attempt, if that waits, and
// its own.
type telling struct {
	attempt, call delivery
	both          bool
}

// tell hands over the events that end a call, on the goroutine that led it. Do
// waits in told.
func (e *events) tell(c *call, t *telling) {
	switch {
	case e.policy.Queue > 0:
		if t.both {
			e.enqueue(queued{c.ctx, t.attempt})
		}
		e.enqueue(queued{c.ctx, t.call})
	case e.stuck.Load() > 0:
		e.lost.Add(t.count())
	default:
		e.tellNow(c, t)
	}
}

func (t *telling) count() uint64 {
	if t.both {
		return 2
	}
	return 1
}

func (e *events) tellNow(c *call, t *telling) {
	e.lost.Add(t.count())
	defer func() {
		_ = recover() // what an observer panics with concerns nobody
		e.back(&c.state)
	}()
	if t.both {
		e.hand(c.ctx, &t.attempt)
	}
	e.hand(c.ctx, &t.call)
}

// told waits until the events are told, for at most the policy's patience.
// Mostly they are already: only an observer that takes its time is timed.
func (e *events) told(c *call) {
	if e == nil || e.policy.Queue > 0 {
		return
	}
	select {
	case <-c.ends:
		return
	default:
	}
	timer := time.NewTimer(e.policy.Patience)
	defer timer.Stop()
	select {
	case <-c.ends:
	case <-timer.C:
		e.overdue(&c.state)
	}
}

// isolate runs observer code on a goroutine of its own and waits for at most the
// policy's patience. While a run is overdue no other begins: it reports false.
func (e *events) isolate(f func()) bool {
	if e.stuck.Load() > 0 {
		return false
	}
	var state atomic.Uint32
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			_ = recover()
			e.back(&state)
		}()
		f()
	}()
	timer := time.NewTimer(e.policy.Patience)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		e.overdue(&state)
	}
	return true
}

// The states of a run of observer code. Whoever comes second settles the
// account of overdue runs.
const (
	runWaited uint32 = iota
	runReturned
	runOverdue
)

// back says that a run has returned.
func (e *events) back(state *atomic.Uint32) {
	if !state.CompareAndSwap(runWaited, runReturned) {
		e.stuck.Add(-1)
	}
}

// overdue says that a run is no longer waited for.
func (e *events) overdue(state *atomic.Uint32) {
	e.stuck.Add(1)
	if !state.CompareAndSwap(runWaited, runOverdue) {
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

// drain delivers until the queue is empty and ends then. An observer that
// panics or exits costs one event: the rest goes on from a fresh goroutine.
func (e *events) drain() {
	empty := false
	defer func() {
		_ = recover()
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
		e.lost.Add(1)
		e.hand(q.ctx, &q.delivery)
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
	q = e.queue[0]
	e.queue[0] = queued{}
	e.queue = e.queue[1:]
	return q, true
}

// flush waits until nothing is queued any more or ctx ends.
func (e *events) flush(ctx context.Context) {
	if e == nil {
		return
	}
	e.mu.Lock()
	draining := e.draining
	e.mu.Unlock()
	if draining == nil {
		return
	}
	select {
	case <-draining:
	case <-ctx.Done():
	}
}
