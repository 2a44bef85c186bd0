package toolguard

import (
	"time"

	"github.com/toolguard-go/toolguard/internal/evidence"
)

// repeatable says whether the tool may run again on the same arguments although
// an earlier attempt may have had its effect. since is when the call began: the
// downstream of an IdempotentByKey tool forgets the key after KeyTTL.
func (i *Info) repeatable(since time.Time) bool {
	switch i.Effect {
	case ReadOnly, Idempotent:
		return true
	case IdempotentByKey:
		return time.Since(since) < i.KeyTTL
	default:
		return false
	}
}

// outcomeOf says what is known of the side effect of an attempt that failed
// with d. What is not proven is unknown.
func (i *Info) outcomeOf(d *diagnosis, ev *evidence.Attempt) Outcome {
	o := i.evident(d, ev)
	if i.Effect == ReadOnly && o == OutcomeUnknown {
		return OutcomeFailed
	}
	return o
}

func (i *Info) evident(d *diagnosis, ev *evidence.Attempt) Outcome {
	switch {
	case d.claimed || d.Outcome != OutcomeUnknown:
		return d.Outcome
	case i.Effect == ReadOnly:
		return OutcomeFailed
	case ev.Used():
		return recorded(d, ev)
	case !i.SingleRequest:
		return OutcomeUnknown
	case d.dial:
		return OutcomeNotStarted
	case d.definite:
		return d.refusedOutcome()
	default:
		return OutcomeUnknown
	}
}

// recorded goes by the transport's record alone: it knows of requests that the
// author did not think of, such as those after a redirect.
func recorded(d *diagnosis, ev *evidence.Attempt) Outcome {
	switch {
	case ev.NothingSent():
		return OutcomeNotStarted
	case d.definite && ev.DefiniteOnly():
		return d.refusedOutcome()
	default:
		return OutcomeUnknown
	}
}

// refusedOutcome is the outcome of a definite answer: some refuse at the door.
func (d *diagnosis) refusedOutcome() Outcome {
	if d.Code == CodeRateLimited || d.Code == CodeAuthExpired {
		return OutcomeNotStarted
	}
	return OutcomeFailed
}

// settleOutcome joins what an attempt taught about the call's effect to what
// earlier attempts left open: an unknown stays until a success settles it, and
// comes back if that success turns out to be none.
func (c *call) settleOutcome(o Outcome) {
	if c.unsure && o != OutcomeSucceeded {
		o = OutcomeUnknown
	}
	c.outcome = o
	c.unsure = c.unsure || o == OutcomeUnknown
}
