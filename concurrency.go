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
// free slot for a bounded time and is refused as overloaded beyond it.
type ConcurrencyPolicy struct {
	// Off sets no bound and serialises nothing.
	Off bool
	// Max is how many attempts of the tool run at once. If zero, 64.
	Max int
	// Wait bounds the wait for a slot, inside the call's budget. If zero, 5 s.
	Wait time.Duration
	// SerializeBy names top-level arguments, such as an order's id: calls of the
	// tool that agree in all of them run one after the other. An abandoned
	// attempt keeps its place until it really ends. The schema must admit them.
	SerializeBy []string
}

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
	return &limiter{
		policy: p, tool: semaphore.NewWeighted(int64(p.Max)),
		dependency: dependency, queues: make(map[string]*queue),
	}
}

// slot is leave to run one attempt. Its two halves end at different times: the
// place among all attempts when the call stops waiting, the turn on a resource
// when the attempt really ends.
type slot struct {
	resource string
	placed   bool
}

// acquire waits for a slot, for at most patience; ok is false when there was none
// in time or ctx ended.
func (l *limiter) acquire(ctx context.Context, resource string, patience func() time.Duration) (s slot, ok bool) {
	if l == nil {
		return slot{}, true
	}
	if s, ok = l.tryAcquire(resource); ok {
		return s, true
	}
	ctx, cancel := context.WithTimeout(ctx, patience())
	defer cancel()
	return l.await(ctx, resource)
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
	return slot{placed: true}, true
}

func (l *limiter) await(ctx context.Context, resource string) (slot, bool) {
	s := slot{resource: resource}
	if resource != "" && !l.takeTurn(ctx, resource) {
		return slot{}, false
	}
	if l.tool.Acquire(ctx, 1) != nil {
		l.leaveQueue(&s)
		return slot{}, false
	}
	if l.dependency != nil && l.dependency.Acquire(ctx, 1) != nil {
		l.tool.Release(1)
		l.leaveQueue(&s)
		return slot{}, false
	}
	s.placed = true
	return s, true
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
	if !s.placed {
		return
	}
	s.placed = false
	l.tool.Release(1)
	if l.dependency != nil {
		l.dependency.Release(1)
	}
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
