package toolguard

import (
	"context"
	"sync"
	"sync/atomic"
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
	if !e.isolate(func() { e.hand(ctx, d) }) {
		e.lost.Add(1)
	}
}

// hand gives an event to the observer. It counts as lost until the observer has
// returned from it, so that a panic or a hang on the way needs no other account.
func (e *events) hand(ctx context.Context, d delivery) {
	d.event.Lost = e.lost.Add(1) - 1
	e.observer.Observe(ctx, d.event)
	if d.end != nil {
		d.end(d.event)
	}
	e.lost.Add(^uint64(0))
}

// deliverEnd hands over the events that end a call: the last attempt's, if it
// waits, and the call's. They are made on the observer's goroutine, and the wait
// is the call's own, so that a call with an observer costs little more than one
// without.
func (e *events) deliverEnd(c *call) {
	switch {
	case e.policy.Queue > 0:
		if c.untold {
			e.enqueue(queued{c.ctx, c.attemptEvent(c.decided, 0)})
		}
		e.enqueue(queued{c.ctx, c.callEvent()})
		return
	case e.stuck.Load() > 0:
		e.lost.Add(c.undelivered())
		return
	}
	c.watch.arm()
	go e.handEnd(c)
	if c.watch.wait(e.policy.Patience, nil) != signalReturned {
		e.overdue(&c.state)
	}
}

func (e *events) handEnd(c *call) {
	defer func() {
		_ = recover() // what an observer panics with concerns nobody
		if e.back(&c.state) {
			c.watch.returned()
		}
	}()
	if c.untold {
		e.hand(c.ctx, c.attemptEvent(c.decided, 0))
	}
	e.hand(c.ctx, c.callEvent())
}

// isolate runs observer code on a goroutine of its own and waits for at most the
// policy's patience. While a run is overdue no other begins: it reports false.
func (e *events) isolate(f func()) bool {
	if e.stuck.Load() > 0 {
		return false
	}
	var state atomic.Uint32
	var w watch
	w.arm()
	go func() {
		defer func() {
			_ = recover()
			if e.back(&state) {
				w.returned()
			}
		}()
		f()
	}()
	if w.wait(e.policy.Patience, nil) != signalReturned {
		e.overdue(&state)
	}
	w.stop()
	return true
}

// The states of a run of observer code. Whoever comes second settles the
// account of overdue runs.
const (
	runWaited uint32 = iota
	runReturned
	runOverdue
)

// back says that a run has returned, and reports whether it is still waited for.
func (e *events) back(state *atomic.Uint32) bool {
	if state.CompareAndSwap(runWaited, runReturned) {
		return true
	}
	e.stuck.Add(-1)
	return false
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
		e.hand(q.ctx, q.delivery)
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
