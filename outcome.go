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
	refused := d.Code == CodeRateLimited || d.Code == CodeAuthExpired
	switch {
	case d.claimed || d.Outcome != OutcomeUnknown:
		return d.Outcome
	case i.Effect == ReadOnly:
		return OutcomeFailed
	case ev.NothingSent():
		return OutcomeNotStarted
	case i.SingleRequest && d.dial:
		return OutcomeNotStarted
	case !d.definite || !i.SingleRequest && !ev.DefiniteOnly():
		return OutcomeUnknown
	case refused:
		return OutcomeNotStarted
	default:
		return OutcomeFailed
	}
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
