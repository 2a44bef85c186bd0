package toolguard

import (
	"sync/atomic"
	"time"
)

// permit is leave for one attempt. It is given back exactly once: a second
// report would count twice, a missing one would keep the breaker half-open.
type permit struct {
	b          *breaker
	done       func(error) // gobreaker's; nil if it was not asked
	generation uint32      // of the breaker, when it was asked for
	given      bool        // and not given back
}

// acquire returns a permit, or how long the breaker will go on refusing. An
// attempt inside one that has a permit of the breaker gets none of its own.
func (s *breakers) acquire(key breakerKey, outer *attempt, now time.Time) (p permit, wait time.Duration, ok bool) {
	if s == nil {
		return permit{}, 0, true
	}
	if state, forced := s.forcedState(); forced {
		return permit{}, s.policy.OpenFor, state != BreakerOpen
	}
	b := s.at(key)
	if outer.hasPermitOf(b) {
		return permit{}, 0, true
	}
	p = permit{b: b, generation: b.calm.generation.Load(), given: true}
	if b.calm.is() {
		return p, 0, true
	}
	done, err := b.two.Allow()
	if err != nil {
		return permit{}, b.closesIn(now), false
	}
	p.done = done
	return p, 0, true
}

// report gives the permit back, and returns what changed by it.
func (p *permit) report(err error) []Transition {
	if !p.given {
		return nil
	}
	p.given = false
	if p.done == nil && !p.askLate(err) {
		return nil
	}
	p.b.calm.tell(p.done, p.generation, err)
	return p.b.takeTransitions()
}

// askLate asks gobreaker for the permit it was not asked for, if there is something
// to tell it. As with gobreaker, an outcome of an earlier generation does not count.
func (p *permit) askLate(err error) bool {
	calm := &p.b.calm
	if calm.generation.Load() != p.generation || err == errNeutral || err == nil && calm.is() {
		return false
	}
	done, refused := p.b.two.Allow()
	p.done = done
	return refused == nil
}

// calm knows when a breaker is closed and has seen no failure since the last
// success. Another success means nothing to it then: gobreaker, which takes a lock
// and reads the clock twice, need not hear of it.
type calm struct {
	never      bool          // every outcome counts
	generation atomic.Uint32 // how often the state has changed
	failures   atomic.Uint32 // that were told, counted before and after
	cleared    atomic.Uint32 // what failures was before a success that counted was told
}

func (c *calm) is() bool { return !c.never && c.failures.Load() == c.cleared.Load() }

// tell tells gobreaker what came of a permit of a generation.
func (c *calm) tell(done func(error), generation uint32, err error) {
	switch err {
	case nil:
		before := c.failures.Load()
		done(nil)
		if c.generation.Load() == generation {
			c.cleared.Store(before)
		}
	case errNeutral:
		done(err)
	default:
		c.failures.Add(1)
		done(err)
		c.failures.Add(1)
	}
}
