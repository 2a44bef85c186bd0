package toolguard

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolguard-go/toolguard/internal/digest"
)

// Observer sees what happens to calls. Implementations:
//   - may be called concurrently;
//   - get exactly one event for each attempt, one for each call, and one for
//     each late answer of an abandoned attempt; see [SelectiveObserver] for less;
//   - should return soon: a guard waits for at most [ObservePolicy].Patience,
//     and while an observer is stuck, events are lost and counted;
//   - cannot change a call's answer, whatever they do.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// SpanObserver is an [Observer] that starts spans. Start is called before a call
// and before each attempt; the context it returns is what the call or attempt
// runs under, and it must come from ctx. The function it returns, if not nil, is
// called with the event that ends the span.
type SpanObserver interface {
	Observer
	Start(ctx context.Context, e Event) (context.Context, func(Event))
}

// LateSpanObserver is a [SpanObserver] that need not be asked for a span before
// somebody wants it: Start is then called when a value is looked for in the context
// of a call or attempt for the first time, by the tool or by host code, or else right
// before the event that ends it. Event.Time says when it began. Tools that look for
// nothing cost no goroutine for each span.
type LateSpanObserver interface {
	SpanObserver
	// StartsLate reports whether that will do. A guard asks once.
	StartsLate() bool
}

// SelectiveObserver is an [Observer] that need not hear of calls that went as they
// should: answered by the tool, at the first attempt, with nothing to note. Where
// it does not want those, events are not even made of them. It does not matter
// where ObservePolicy has a queue or wants results.
type SelectiveObserver interface {
	Observer
	// WantsSuccess is asked for each such call, as Observe is called. If it panics
	// or ends its goroutine, the call's events come.
	WantsSuccess(ctx context.Context) bool
}

// ObservePolicy says how events reach the observer.
type ObservePolicy struct {
	// Off sends none.
	Off bool
	// Queue delivers events from a goroutine of its own that lives while there
	// are any, through a queue of this length; what does not fit is lost and
	// counted. If zero, a call delivers its events itself before it returns.
	Queue int
	// Patience bounds the wait for the observer. If zero, 1 s.
	Patience time.Duration
	// Arguments and Results put them into events. They may hold what should not
	// be recorded.
	Arguments, Results bool
}

func (p ObservePolicy) withDefaults() ObservePolicy {
	setDefault(&p.Patience, time.Second)
	return p
}

func (p ObservePolicy) check() error {
	if p.Queue < 0 || p.Queue > 1<<20 {
		return badOption("Observe.Queue", p.Queue, "between 0 and 1048576")
	}
	return notNegative("Observe.Patience", p.Patience)
}

// EventKind says what an [Event] is about.
type EventKind uint8

const (
	// EventCall: a call was answered.
	EventCall EventKind = iota
	// EventAttempt: an attempt ended or was abandoned.
	EventAttempt
	// EventLate: an abandoned attempt ended after all.
	EventLate
)

var eventKindNames = names{"call", "attempt", "late"}

// String returns the lower-case name, or EventKind(n) outside the set.
func (k EventKind) String() string { return eventKindNames.text("EventKind", uint8(k)) }

// MarshalText implements [encoding.TextMarshaler].
func (k EventKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText accepts the names that String returns.
func (k *EventKind) UnmarshalText(b []byte) error {
	return eventKindNames.parse("EventKind", b, (*uint8)(k))
}

// Stage is where in the life of a call something was decided.
type Stage uint8

// The stages, in order.
const (
	StageDecide Stage = iota
	StageValidate
	StageExecute
	StageConfirm
	StageRecover
)

var stageNames = names{"decide", "validate", "execute", "confirm", "recover"}

// String returns the lower-case name, or Stage(n) outside the set.
func (s Stage) String() string { return stageNames.text("Stage", uint8(s)) }

// MarshalText implements [encoding.TextMarshaler].
func (s Stage) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText accepts the names that String returns.
func (s *Stage) UnmarshalText(b []byte) error { return stageNames.parse("Stage", b, (*uint8)(s)) }

// Decision is what the guard did next.
type Decision uint8

const (
	// DecisionAnswer: the call ended here.
	DecisionAnswer Decision = iota
	// DecisionRetry: another attempt follows.
	DecisionRetry
	// DecisionStop: no other attempt follows; Event.Why says what forbids it.
	DecisionStop
	// DecisionRefuse: the tool did not run.
	DecisionRefuse
	// DecisionFallback: the answer comes from elsewhere.
	DecisionFallback
	// DecisionConfirm: a status query settled the outcome.
	DecisionConfirm
	// DecisionReuse: a recent result of the conversation answered.
	DecisionReuse
	// DecisionReplay: an identical call has had its effect in this turn.
	DecisionReplay
	// DecisionJoin: an identical call in flight answered; Event.Why is its ID.
	DecisionJoin
)

var decisionNames = names{"answer", "retry", "stop", "refuse", "fallback", "confirm", "reuse", "replay", "join"}

// String returns the lower-case name, or Decision(n) outside the set.
func (d Decision) String() string { return decisionNames.text("Decision", uint8(d)) }

// MarshalText implements [encoding.TextMarshaler].
func (d Decision) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText accepts the names that String returns.
func (d *Decision) UnmarshalText(b []byte) error {
	return decisionNames.parse("Decision", b, (*uint8)(d))
}

// Digest identifies a call's tool and arguments: SHA-256 over the tool's
// identity and the canonical arguments without the irrelevant ones.
type Digest = digest.Sum

// Event is one thing that happened. It is a value: keep it as long as you like.
type Event struct {
	Kind EventKind
	// Time is when it ended, Duration how long it took.
	Time     time.Time
	Duration time.Duration

	// Ref is a random number that the events of one call have in common, and
	// Within that of the call whose attempt made this one, or that this one stands
	// in for; 0 if there is none.
	Ref, Within uint64

	Tool, ToolVersion, Source string
	Description               string
	SchemaDigest              string
	NotEnforced               []string // what of the schema is not enforced
	Effect                    Effect
	CallID                    string
	Scope                     Scope
	Digest                    Digest // zero where the arguments were not read
	Key                       string // the idempotency key, if one was made

	// Stage, Decision and Why say where the call stands, what was done next, and
	// the reason: one of the Why constants, a code, an outcome, or the source of
	// a fallback.
	Stage    Stage
	Decision Decision
	Why      string

	OK       bool
	Category Category
	Code     Code
	Outcome  Outcome
	// Attempt is this attempt's number, Attempts the number made so far.
	Attempt, Attempts int
	// Wait is how long the call waits before the next attempt.
	Wait time.Duration
	// Deadline is the effective one: the guard's or the caller's.
	Deadline time.Time
	// Transitions are the breaker's, brought about by this attempt.
	Transitions []Transition
	// Requests is how many HTTP requests of the attempt were recorded.
	Requests int
	// Incident ties the event to the envelope the model read.
	Incident string
	// Err is the whole cause chain, for the operator only. Detail is what was
	// read from its typed causes, and which Alternatives were passed over because
	// their arguments could not be made.
	Err    error
	Detail string
	// Notes are what the envelope says beside the answer.
	Notes []Note
	// Approval is who said yes to the call, nil if nobody was asked, and
	// ApprovalWait how long that took. Only events of calls have them.
	Approval     *Approval
	ApprovalWait time.Duration
	// Bytes is the size of what the model reads; only events of calls have it.
	Bytes int
	// Lost is how many events of this guard were lost so far.
	Lost uint64
	// Arguments and Result are set only if ObservePolicy asks for them.
	Arguments json.RawMessage
	Result    string
}

// describe begins an event with what never changes once a call has an attempt, so
// that a late answer may use it too. Events are filled in place: they are large.
func (c *call) describe(e *Event, kind EventKind, at time.Time) {
	c.announce(e, kind, at)
	e.Digest, e.Key = c.digest, c.keyIfMade()
	if c.guard.opts.Observe.Arguments {
		e.Arguments = c.argsCopy()
	}
}

// announce begins an event with what never changes from the call's beginning on.
func (c *call) announce(e *Event, kind EventKind, at time.Time) {
	g := c.guard
	e.Kind, e.Time = kind, at
	e.Tool, e.ToolVersion, e.Source, e.Effect = g.info.Name, g.info.Version, g.info.Source, g.info.Effect
	e.SchemaDigest, e.NotEnforced = g.args.digest, g.args.notEnforced
	e.CallID, e.Scope, e.Deadline = c.id, *c.scope, c.effectiveDeadline()
	e.Ref, e.Description = c.ref(), g.info.Description
	if outer := c.around(); outer != nil {
		e.Within = outer.ref()
	}
	if c.nobodys() {
		e.Tool = c.toolName()
	}
}

func (c *call) effectiveDeadline() time.Time {
	own := c.deadline()
	if end := endOf(c.ctx); !end.IsZero() && (own.IsZero() || end.Before(own)) {
		return end
	}
	return own
}

// trace is what only some attempts need for their events.
type trace struct {
	changes []Transition
	span    *span
}
