package toolguard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// ConcurrencyPolicy bounds how many attempts run at once. A call waits for a
// free slot for a bounded time and is refused as overloaded beyond it. A call made
// by an attempt of the same tool, or on the same dependency, does not wait for
// what that attempt has: it takes a free slot, or shares the attempt's, up to 128 calls deep.
type ConcurrencyPolicy struct {
	// Off serialises nothing and sets no bound but one: of 1,024 attempts at once,
	// so that there are never more to abandon.
	Off bool
	// Max is how many attempts of the tool run at once. If zero, 64.
	Max int
	// Wait bounds the wait for a slot, inside the call's budget. If zero, 5 s.
	Wait time.Duration
	// SerializeBy names top-level arguments, such as an order's id: calls of the
	// tool that agree in all of them run one after the other, those made by one of
	// them aside. An abandoned attempt keeps its place until it really ends. The
	// schema must admit them.
	SerializeBy []string
}

// maxUnbounded is how many attempts run at once where nothing else bounds them.
const maxUnbounded = 1024

func (p ConcurrencyPolicy) withDefaults() ConcurrencyPolicy {
	setDefault(&p.Max, 64)
	setDefault(&p.Wait, 5*time.Second)
	return p
}

func (p ConcurrencyPolicy) check() error {
	errs := []error{notNegative("Concurrency.Max", p.Max), notNegative("Concurrency.Wait", p.Wait)}
	for i, name := range p.SerializeBy {
		if name == "" {
			errs = append(errs, badOption(fmt.Sprintf("Concurrency.SerializeBy[%d]", i), `""`, "the name of an argument"))
		}
	}
	return errors.Join(errs...)
}

// limiter hands out the slots of one guard.
type limiter struct {
	policy     ConcurrencyPolicy
	tool       *semaphore.Weighted
	dependency *semaphore.Weighted // shared with other guards, or nil

	mu     sync.Mutex
	queues map[string]*queue // one for each resource in use
}

// queue serialises the calls on one resource; users counts who holds or awaits it.
type queue struct {
	turn  *semaphore.Weighted
	users int
}

func newLimiter(p ConcurrencyPolicy, dependency *semaphore.Weighted) *limiter {
	if p.Off {
		p.Max, dependency = maxUnbounded, nil
	}
	return &limiter{
		policy: p, tool: semaphore.NewWeighted(int64(p.Max)),
		dependency: dependency, queues: make(map[string]*queue),
	}
}

// slot is leave to run one attempt. Its two halves end at different times: the
// place among all attempts when the call stops waiting, the turn on a resource
// when the attempt really ends.
type slot struct {
	resource         string
	tool, dependency bool // which places were taken
}

// acquire waits for a slot, for at most patience; ok is false when there was none
// in time or ctx ended.
func (l *limiter) acquire(ctx context.Context, resource string, h held, patience func() time.Duration) (s slot, ok bool) {
	if s, ok = l.tryAcquire(resource); ok {
		return s, true
	}
	ctx, cancel := context.WithTimeout(ctx, patience())
	defer cancel()
	return l.await(ctx, resource, h)
}

// tryAcquire takes a slot that is free right now and has no queue.
func (l *limiter) tryAcquire(resource string) (slot, bool) {
	if resource != "" || !l.tool.TryAcquire(1) {
		return slot{}, false
	}
	if l.dependency != nil && !l.dependency.TryAcquire(1) {
		l.tool.Release(1)
		return slot{}, false
	}
	return slot{tool: true, dependency: l.dependency != nil}, true
}

func (l *limiter) await(ctx context.Context, resource string, h held) (s slot, ok bool) {
	if resource != "" && !h.turn {
		if !l.takeTurn(ctx, resource) {
			return slot{}, false
		}
		s.resource = resource
	}
	if s.tool, ok = take(ctx, l.tool, h.tool); ok {
		s.dependency, ok = take(ctx, l.dependency, h.dependency)
	}
	if !ok {
		l.releasePlace(&s)
		l.leaveQueue(&s)
	}
	return s, ok
}

// take waits for a place. Who shares one if need be does not wait.
func take(ctx context.Context, from *semaphore.Weighted, shares bool) (taken, ok bool) {
	switch {
	case from == nil:
		return false, true
	case shares:
		return from.TryAcquire(1), true
	default:
		taken = from.Acquire(ctx, 1) == nil
		return taken, taken
	}
}

func (l *limiter) takeTurn(ctx context.Context, resource string) bool {
	l.mu.Lock()
	q := l.queues[resource]
	if q == nil {
		q = &queue{turn: semaphore.NewWeighted(1)}
		l.queues[resource] = q
	}
	q.users++
	l.mu.Unlock()
	if q.turn.Acquire(ctx, 1) != nil {
		l.leave(resource)
		return false
	}
	return true
}

func (l *limiter) leave(resource string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[resource]
	if q.users--; q.users == 0 {
		delete(l.queues, resource)
	}
}

// releasePlace gives back the place among all attempts; safe to repeat.
func (l *limiter) releasePlace(s *slot) {
	if s.tool {
		l.tool.Release(1)
	}
	if s.dependency {
		l.dependency.Release(1)
	}
	s.tool, s.dependency = false, false
}

// leaveQueue gives back the turn on the resource, if one is held.
func (l *limiter) leaveQueue(s *slot) {
	if s.resource == "" {
		return
	}
	l.mu.Lock()
	turn := l.queues[s.resource].turn
	l.mu.Unlock()
	turn.Release(1)
	l.leave(s.resource)
	s.resource = ""
}
