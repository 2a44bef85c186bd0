package toolguard

import (
	"context"
	"iter"
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
func (e *events) startSpan(ctx context.Context, event func() Event) (context.Context, func(Event)) {
	if e == nil || e.spans == nil {
		return ctx, nil
	}
	type span struct {
		ctx context.Context
		end func(Event)
	}
	started := make(chan span, 1)
	e.isolate(func() {
		child, end := e.spans.Start(ctx, event())
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

// deliver hands events over, in order. The iterator runs on the observer's
// goroutine, so that nothing need be kept for it.
func (e *events) deliver(ctx context.Context, ds iter.Seq[delivery]) {
	if e.policy.Queue > 0 {
		for d := range ds {
			e.enqueue(queued{ctx, d})
		}
		return
	}
	if !e.isolate(func() { e.hand(ctx, ds) }) {
		e.lost.Add(1)
	}
}

// hand gives events to the observer. Each counts as lost until the observer has
// returned from it, so that a panic or a hang on the way needs no other account.
func (e *events) hand(ctx context.Context, ds iter.Seq[delivery]) {
	for d := range ds {
		e.handOne(ctx, d)
	}
}

func (e *events) handOne(ctx context.Context, d delivery) {
	d.event.Lost = e.lost.Add(1) - 1
	e.observer.Observe(ctx, d.event)
	if d.end != nil {
		d.end(d.event)
	}
	e.lost.Add(^uint64(0))
}

// handover is one isolated run of observer code.
type handover struct {
	events *events
	f      func()
	done   chan struct{}
	state  atomic.Uint32 // 0 until either side has settled it
}

// isolate runs f on a goroutine of its own and waits for at most the policy's
// patience. While a run is overdue no other begins: it reports false.
func (e *events) isolate(f func()) bool {
	if e.stuck.Load() > 0 {
		return false
	}
	h := &handover{events: e, f: f, done: make(chan struct{})}
	go h.run()
	timer := time.NewTimer(e.policy.Patience)
	defer timer.Stop()
	select {
	case <-h.done:
	case <-timer.C:
		h.overdue()
	}
	return true
}

func (h *handover) run() {
	defer h.returned()
	h.f()
}

func (h *handover) returned() {
	_ = recover() // what an observer panics with concerns nobody
	if !h.state.CompareAndSwap(0, 1) {
		h.events.stuck.Add(-1)
	}
	close(h.done)
}

func (h *handover) overdue() {
	h.events.stuck.Add(1)
	if !h.state.CompareAndSwap(0, 1) {
		h.events.stuck.Add(-1) // it returned at that very moment
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
		e.handOne(q.ctx, q.delivery)
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
