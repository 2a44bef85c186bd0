package storetest

import (
	"fmt"
	"hash/fnv"
	"math"
	"time"

	"github.com/toolguard-go/toolguard"
)

// Seen is what the entry of one key is to the model of a journal.
type Seen struct {
	Token uint64
	State toolguard.State
	Owner string
	// Trail is who has written, in their order, as the audit has it.
	Trail uint64
	// Since is the instant of the last write, Due that from which on somebody may take
	// the entry, both counted from the beginning of the history.
	Since, Due time.Duration
}

const never time.Duration = math.MaxInt64

func seen(e *toolguard.Entry) Seen { return Seen{Token: e.Token, State: e.State, Owner: e.Owner} }

func (s Seen) version() toolguard.Version { return toolguard.Version{Token: s.Token, State: s.State} }

// shown is what a reader of the entry is shown.
func (s Seen) shown() Seen { return Seen{Token: s.Token, State: s.State, Owner: s.Owner} }

// open says that there is something still to be done.
func (s Seen) open() bool { return s.State != toolguard.StateNone && !s.State.Prunable() }

// follow is the trail that one more writer leaves.
func follow(trail uint64, actor string) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, trail, " ", actor)
	return h.Sum64()
}

type action uint8

const (
	reads   action = iota
	audits         // reads the records
	writes         // a claim, a settlement, a late answer
	takes          // a take-over
	leaves         // a take-over of all that is due, of which this is not one
	decides        // a person's decision
	prunes         // of what is old
)

// Op is what was asked of one key and what came of it. What became of a write that is
// lost nobody knows.
type Op struct {
	action   action
	was      toolguard.Version // of a decision: only its Token
	put, now Seen
	actor    string        // who writes or decides
	span     time.Duration // until it is due, or how old it has to be
	ok, lost bool

	// from and to are when the caller began, and had the answer. Where they are exact,
	// no time has passed between them, and the journal has no other clock.
	from, to time.Duration
	exact    bool
}

// Operation is an [Op] of one client. Call and Return are ticks of one counter.
type Operation struct {
	Client       int
	Op           Op
	Call, Return int64
}

// Init and Step are the model, as porcupine.NondeterministicModel has it.
func Init() []any { return []any{Seen{}} }

// Step returns what may follow.
func Step(state, op, _ any) (next []any) {
	for _, s := range op.(Op).After(state.(Seen)) {
		next = append(next, s)
	}
	return next
}

// After returns what the entry may be after the operation; nothing if it cannot have
// come of it. It is the journal as [toolguard.Journal] has it, for one key and one
// caller at a time.
func (op Op) After(is Seen) []Seen {
	switch op.action {
	case reads:
		return is.where(op.now == is.shown())
	case audits:
		return is.where(op.now.Trail == is.Trail)
	case writes:
		return op.afterWriting(is)
	case takes:
		return op.afterTaking(is)
	case leaves:
		return is.where(!op.due(is))
	case decides:
		return op.afterDeciding(is)
	case prunes:
		return op.afterPruning(is)
	}
	return nil
}

// where is the entry as it was, if that can be.
func (s Seen) where(so bool) []Seen {
	if so {
		return []Seen{s}
	}
	return nil
}

func (op Op) afterWriting(is Seen) []Seen {
	replaces := op.was == is.version()
	switch {
	case op.lost && replaces:
		return []Seen{is, op.written(is, op.put)}
	case op.lost:
		return []Seen{is}
	case op.ok && replaces && op.now == op.put:
		return []Seen{op.written(is, op.put)}
	default:
		return is.where(!op.ok && !replaces && op.now == is.shown())
	}
}

// written is what stands there after a write in place of what is there.
func (op Op) written(is, put Seen) Seen {
	put.Trail, put.Since, put.Due = follow(is.Trail, op.actor), op.from, never
	if op.span > 0 {
		put.Due = op.from + op.span
	}
	return put
}

// due says that the entry may be handed out, and has to be if somebody takes all.
func (op Op) due(is Seen) bool { return is.open() && is.Due <= op.to }

func (op Op) afterTaking(is Seen) []Seen {
	if !op.due(is) {
		return nil
	}
	if is.State == toolguard.StatePending {
		is.Token++
	}
	is.Due = op.from + op.span
	return is.where(op.now == is.shown())
}

func (op Op) afterDeciding(is Seen) []Seen {
	if !op.ok {
		return is.where(op.now == is.shown())
	}
	doubted := is.State == toolguard.StateUnknown || is.State == toolguard.StateParked
	if doubted && is.Token == op.was.Token && op.now.Token == is.Token && op.now.State == op.put.State {
		return []Seen{op.written(is, op.now)}
	}
	return nil
}

func (op Op) afterPruning(is Seen) []Seen {
	old := is.State.Prunable() && is.Since+op.span <= op.to
	switch {
	case old && op.exact:
		return []Seen{{}}
	case old: // the journal's own clock may see it otherwise
		return []Seen{is, {}}
	default:
		return []Seen{is}
	}
}

func (op Op) name() string {
	return [...]string{"read", "audit", "write", "take", "leave", "decide", "prune"}[op.action]
}

// String is for who looks at a history that is wrong.
func (op Op) String() string {
	return fmt.Sprintf("%s was %v put %v now %v by %q span %v at %v ok %t lost %t", op.name(), op.was, op.put, op.now, op.actor, op.span, op.from, op.ok, op.lost)
}
