package toolguard

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolguard-go/toolguard/internal/evidence"
)

// span is what the observer makes of a call or an attempt, and the context that
// runs under: it adds the values of the observer's to those of the call, and ends
// when the call's ends. The observer is asked once: on a goroutine of its own, if
// somebody needs the span, or else on the one that delivers the event.
type span struct {
	context.Context // the call's, or for its own span that around it
	call            *call
	kind            EventKind
	began           time.Time
	asked           atomic.Bool     // by somebody
	answered        signal          // if not with a span
	run             atomic.Uint32   // as in isolate
	said            context.Context // the observer's, if it returned one
	end             func(Event)
}

func (c *call) openSpan() {
	if s := c.newSpan(EventCall, c.began); s != nil {
		c.ctx = s
		s.startUnlessLate()
	}
}

// ownSpan is the call's, if there is one. Its context may be the span of another.
func (c *call) ownSpan() *span {
	if s, ok := c.ctx.(*span); ok && s.call == c {
		return s
	}
	return nil
}

func (a *attempt) startSpan() {
	c := a.call
	s := c.newSpan(EventAttempt, c.began.Add(a.began))
	if s == nil {
		a.Init(c.ctx)
		return
	}
	a.Init(s)
	a.trace = &trace{span: s}
	if s.startUnlessLate() { // the observer took its time
		a.began = time.Since(c.began)
		a.limit = max(c.attemptLimit(a.began), noTime)
	}
}

// newSpan returns nil if the observer starts no spans.
func (c *call) newSpan(kind EventKind, began time.Time) *span {
	if e := c.guard.events; e == nil || e.spans == nil {
		return nil
	}
	return &span{Context: c.ctx, call: c, kind: kind, began: began}
}

func (s *span) events() *events { return s.call.guard.events }

// startUnlessLate asks an observer that wants to be asked before anything runs.
func (s *span) startUnlessLate() bool {
	if s.events().late {
		return false
	}
	s.started()
	return true
}

// started reports whether the observer has answered, and asks it if nobody has. It
// waits for its patience at most. Mostly the answer is there as soon as a fresh
// goroutine has had its turn: only an observer that takes its time is timed.
func (s *span) started() bool {
	e := s.events()
	switch {
	case s.answered.sent.Load():
		return true
	case e.stuck.Load() > 0:
		return false
	}
	mine := s.asked.CompareAndSwap(false, true)
	if mine {
		go s.ask()
	}
	if e.expect(&s.answered) {
		return true
	}
	if mine {
		e.overdue(&s.run)
	}
	return false
}

func (s *span) ask() {
	growStackForSpans()
	defer s.events().back(&s.run)
	s.start()
}

// start asks the observer, on a goroutine that it may keep or end. An attempt's span
// is inside the call's.
func (s *span) start() {
	defer func() {
		_ = recover() // then there is no span
		s.answered.send()
	}()
	var e Event
	if s.kind == EventCall {
		s.call.announce(&e, s.kind, s.began)
	} else {
		s.call.ownSpan().startHere()
		s.call.describe(&e, s.kind, s.began)
	}
	s.said, s.end = s.events().spans.Start(s.Context, e)
}

// startHere is for goroutines that may be lost to the observer.
func (s *span) startHere() {
	if s.asked.CompareAndSwap(false, true) {
		s.start()
	} else if !s.answered.sent.Load() {
		<-s.answered.wait()
	}
}

// toEnd starts the span, if that is not done, on a goroutine that delivers the event
// that ends it, and returns what does so.
func (s *span) toEnd() func(Event) {
	if s == nil {
		return nil
	}
	s.startHere()
	return s.end
}

// Value implements [context.Context].
func (s *span) Value(key any) any {
	if !ofGuards(key) && s.started() {
		if v := s.ofSpan(key); v != nil {
			return v
		}
	}
	return s.Context.Value(key)
}

// ofSpan asks the observer's context. Where that panics, it has nothing to say.
func (s *span) ofSpan(key any) (v any) {
	defer func() {
		if recover() != nil {
			v = nil
		}
	}()
	if s.said == nil {
		return nil
	}
	return s.said.Value(key)
}

// ofGuards says that no observer has a value under the key: guards look under their
// own, and the context package for contexts of its own, whenever it derives one.
func ofGuards(key any) bool {
	switch key.(type) {
	case attemptKey, graceKey, scopeKey, evidence.Key, evidence.CallKeyKey, evidence.WaiterKey:
		return true
	}
	return key == cancelKey()
}

// cancelKey is what the context package looks under. It does not export it.
var cancelKey = sync.OnceValue(func() any {
	p := &keyProbe{Context: context.Background(), done: make(chan struct{})}
	_, cancel := context.WithCancel(p)
	cancel()
	return p.key
})

// keyProbe is a context that remembers what was looked for.
type keyProbe struct {
	context.Context
	done chan struct{}
	key  any
}

// Done implements [context.Context]: nobody looks into one that never ends.
func (p *keyProbe) Done() <-chan struct{} { return p.done }

// Value implements [context.Context].
func (p *keyProbe) Value(key any) any {
	p.key = key
	return nil
}

// AfterFunc spares the context package a goroutine.
func (*keyProbe) AfterFunc(func()) (stop func() bool) { return func() bool { return true } }

// growStackForSpans makes room for what starts spans and ends them as well.
func growStackForSpans() {
	if spanReserve(false) {
		panic("unreachable")
	}
}

//go:noinline
func spanReserve(touch bool) bool {
	if !touch {
		return false
	}
	var reserve [12 << 10]byte
	return touchReserve(reserve[:])
}
