package toolguard

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// door admits calls and knows when the last one has left, and with it those who have
// come late and tell of it.
type door struct {
	mu     sync.Mutex
	inside int
	late   int
	closed bool
	empty  chan struct{} // made by shut, closed when nobody is there
}

func (d *door) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.inside++
	return true
}

func (d *door) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inside--
	d.emptied()
}

// tellLate is for an attempt that was given up on and has ended: it may be told of
// although nobody is admitted any more.
func (d *door) tellLate() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.late++
}

func (d *door) toldLate() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.late--
	d.emptied()
}

func (d *door) emptied() {
	if d.empty != nil && d.inside+d.late == 0 {
		close(d.empty)
		d.empty = nil
	}
}

// shut admits nobody any more and returns a channel that is closed once all are gone.
func (d *door) shut() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.empty == nil {
		d.empty = make(chan struct{})
	}
	empty := d.empty
	d.emptied()
	return empty
}

// Shutdown admits no more calls, waits for those in progress, and until late answers
// are written down and told, and delivers what events are queued. It returns an error if ctx ends first, if the observer does
// not come back from an event for 10 s, or if abandoned attempts still run: they
// cannot be stopped, only counted. Later calls are answered as shutting down. It
// may be called more than once.
func (g *Guard) Shutdown(ctx context.Context) error {
	err := g.quiet(ctx)
	if n := g.counters.abandoned.Load(); err == nil && n > 0 {
		err = fmt.Errorf("%d abandoned attempts still run", n)
	} else if err == nil {
		err = g.quiet(ctx) // those that have ended meanwhile
	}
	if err != nil {
		return fmt.Errorf("toolguard: shutdown of %q: %w", g.info.Name, err)
	}
	for own := range g.fallback.guards {
		if err := own.Shutdown(ctx); err != nil {
			return err
		}
	}
	return nil
}

// quiet waits until nobody is inside and no event is queued.
func (g *Guard) quiet(ctx context.Context) error {
	select {
	case <-g.door.shut():
		return g.events.flush(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// counters are what Stats reads. They never decrease, but for abandoned.
type counters struct {
	calls, succeeded, failed, unknown    atomic.Uint64
	attempts, retries, refused, degraded atomic.Uint64
	everAbandoned, lostEvents            atomic.Uint64
	abandoned                            atomic.Int64
}

// count books a finished call.
func (n *counters) count(c *call) {
	switch {
	case c.failure == nil:
		n.succeeded.Add(1)
	case c.attempts == 0:
		n.failed.Add(1)
		n.refused.Add(1)
	default:
		n.failed.Add(1)
		if c.outcome == OutcomeUnknown {
			n.unknown.Add(1)
		}
	}
	if c.source() != nil {
		n.degraded.Add(1)
	}
}

// Stats are a guard's counts since it was made. They are read one by one, so
// that sums may be off by calls in progress.
type Stats struct {
	Calls     uint64
	Succeeded uint64
	Failed    uint64
	// Unknown of the failed ones may have had their effect.
	Unknown uint64
	// Refused of the failed ones never reached the tool.
	Refused uint64
	// Degraded of the succeeded ones were answered from elsewhere.
	Degraded uint64
	Attempts uint64
	Retries  uint64
	// InProgress is how many calls are being answered now.
	InProgress int
	// Abandoned is how many abandoned attempts still run, EverAbandoned how
	// many there have been. These, and the two counts below, are also of the tools in
	// Fallback.Alternatives that are not a *Guard.
	Abandoned     int
	EverAbandoned uint64
	LostEvents    uint64
	// StuckCallbacks is how much of the host's code, and how many Error methods,
	// were given up on and have not returned. Of each function 64 may hang;
	// beyond that it counts as failing and is not called.
	StuckCallbacks int
	// Breakers are those of the tool, or of all dependencies where shared.
	Breakers []BreakerInfo
	// EvictedBreakers were dropped because there were too many keys.
	EvictedBreakers uint64
	// CachedResults is the number of last known good results kept, CachedBytes
	// their size.
	CachedResults, CachedBytes int
}

// Stats returns the counts.
func (g *Guard) Stats() Stats {
	n := &g.counters
	s := Stats{
		Calls: n.calls.Load(), Succeeded: n.succeeded.Load(), Failed: n.failed.Load(),
		Unknown: n.unknown.Load(), Refused: n.refused.Load(), Degraded: n.degraded.Load(),
		Attempts: n.attempts.Load(), Retries: n.retries.Load(),
		Abandoned: int(n.abandoned.Load()), EverAbandoned: n.everAbandoned.Load(), LostEvents: n.lostEvents.Load(),
		StuckCallbacks: g.hanging.stuck() + g.journal.stuck(),
	}
	for own := range g.fallback.guards {
		s.Abandoned += int(own.counters.abandoned.Load())
		s.EverAbandoned += own.counters.everAbandoned.Load()
		s.LostEvents += own.counters.lostEvents.Load()
		s.StuckCallbacks += own.hanging.stuck()
	}
	s.CachedResults, s.CachedBytes = g.fallback.cached()
	s.Breakers, s.EvictedBreakers = g.breakers.info(g.info.target())
	g.door.mu.Lock()
	s.InProgress = g.door.inside
	g.door.mu.Unlock()
	return s
}

// ForceBreaker holds the breakers of the guard in one state, open or closed,
// until [Guard.ReleaseBreaker]. Where the guard shares a dependency's breakers,
// it holds those of every tool. It does nothing if breakers are off, or for any
// other state: half-open is where a breaker passes through.
func (g *Guard) ForceBreaker(state BreakerState) {
	if g.breakers != nil && (state == BreakerOpen || state == BreakerClosed) {
		g.breakers.force(state)
	}
}

// ReleaseBreaker lets the breakers decide for themselves again.
func (g *Guard) ReleaseBreaker() {
	if g.breakers != nil {
		g.breakers.release()
	}
}
