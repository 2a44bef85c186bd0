package toolguard

// A tool may itself call guarded tools: their attempts run inside its own. They
// share what that holds, and it is not over while one of them runs.

// enter counts the attempt among those that run inside the ones around it, n = 1,
// or takes it off again, n = -1.
func (a *attempt) enter(n int32) {
	for o := a.call.outer; o != nil; o = o.call.outer {
		o.inside.Add(n)
	}
}

// stray does the same for abandoned attempts.
func (a *attempt) stray(n int32) {
	for o := a.call.outer; o != nil; o = o.call.outer {
		o.strays.Add(n)
	}
}

// leave is called when the attempt has really ended: it gives back its turn.
func (a *attempt) leave() {
	a.call.guard.limiter.leaveQueue(&a.slot)
	a.enter(-1)
}

// overlaps says whether anything inside the last attempt still runs, so that
// another attempt would run over it.
func (c *call) overlaps() bool {
	a := c.last()
	if a == nil || a.inside.Load() <= 0 {
		return false
	}
	c.decided, c.why = DecisionStop, WhyRunning
	return true
}

// shares says whether the attempt still has what it was given. One that has ended, or
// was given up on, has given it back; what was made under its context may go on.
func (a *attempt) shares() bool { return a.state.Load() == attemptRunning }

// hasPermitOf says whether the attempt, or one around it, has a permit of b. What
// runs inside a probe is part of it: a second permit would be refused, and say
// nothing about the tool.
func (a *attempt) hasPermitOf(b *breaker) bool {
	for ; a != nil; a = a.call.outer {
		if a.shares() && a.permit.b == b {
			return true
		}
	}
	return false
}

// held is what attempts around a call have of what it needs. It must not wait for
// that: they wait for it.
type held struct{ tool, dependency, turn bool }

// maxSharing is how many calls inside each other share what those around them have.
// One deeper waits like any other: a tool that calls itself without end comes to one.
const maxSharing = 128

func (c *call) held(resource string) (h held) {
	own, depth := c.guard.limiter, 0
	for o := c.outer; o != nil; o = o.call.outer {
		if depth++; depth > maxSharing {
			return held{}
		}
		if !o.shares() {
			continue
		}
		l := o.call.guard.limiter
		h.dependency = h.dependency || own.dependency != nil && l.dependency == own.dependency
		h.tool = h.tool || l == own
		h.turn = h.turn || l == own && resource != "" && o.call.resource() == resource
	}
	return h
}
