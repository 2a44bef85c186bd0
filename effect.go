package toolguard

import "fmt"

// Effect says what running a tool again may do. It is declared by the tool's
// author and decides what may be retried. The zero value is the safe one.
type Effect uint8

const (
	// EffectUnknown counts as NonIdempotent.
	EffectUnknown Effect = iota
	// ReadOnly tools change nothing. They never yield [OutcomeUnknown].
	ReadOnly
	// Idempotent tools reach the same state when run twice with the same arguments.
	Idempotent
	// IdempotentByKey tools pass [Key] to a downstream that honours it for Info.KeyTTL.
	// The attempts of a call have one key; that a further call has it, too, wants
	// Scope.Run and Scope.Step, or Scope.Session with [Sessions] or a [Journal].
	IdempotentByKey
	// NonIdempotent tools act every time they run.
	NonIdempotent
)

var effectNames = names{"unknown", "read_only", "idempotent", "idempotent_by_key", "non_idempotent"}

// String returns the lower_snake name, or Effect(n) for a value outside the set.
func (e Effect) String() string { return effectNames.text("Effect", uint8(e)) }

// MarshalText implements [encoding.TextMarshaler].
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText accepts the names that String returns.
func (e *Effect) UnmarshalText(b []byte) error { return effectNames.parse("Effect", b, (*uint8)(e)) }

// Outcome is what is known of a call's side effect. The zero value claims nothing.
type Outcome uint8

const (
	// OutcomeUnknown means that the effect may or may not have happened.
	OutcomeUnknown Outcome = iota
	// OutcomeNotStarted means that the tool provably did not begin its work.
	OutcomeNotStarted
	// OutcomeFailed means that the tool ran and definitely had no effect.
	OutcomeFailed
	// OutcomeSucceeded means that the effect happened.
	OutcomeSucceeded
)

var outcomeNames = names{"unknown", "not_started", "failed", "succeeded"}

// String returns the lower_snake name, or Outcome(n) for a value outside the set.
func (o Outcome) String() string { return outcomeNames.text("Outcome", uint8(o)) }

// MarshalText implements [encoding.TextMarshaler].
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText accepts the names that String returns.
func (o *Outcome) UnmarshalText(b []byte) error {
	return outcomeNames.parse("Outcome", b, (*uint8)(o))
}

// Category is the kind of a failure, the first thing a model reads of it.
type Category uint8

const (
	// CategoryUnknown: nobody could say what went wrong.
	CategoryUnknown Category = iota
	// CategoryParam: the model's own arguments cannot be used.
	CategoryParam
	// CategoryTimeout: there was no answer in time.
	CategoryTimeout
	// CategoryUnavailable: the tool or something it needs cannot serve now.
	CategoryUnavailable
	// CategoryBusiness: the request was understood and refused.
	CategoryBusiness
	// CategoryPermission: the caller may not do this.
	CategoryPermission
)

var categoryNames = names{"unknown", "param", "timeout", "unavailable", "business", "permission"}

// String returns the lower-case name, or Category(n) for a value outside the set.
func (c Category) String() string { return categoryNames.text("Category", uint8(c)) }

// MarshalText implements [encoding.TextMarshaler].
func (c Category) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText accepts the names that String returns.
func (c *Category) UnmarshalText(b []byte) error {
	return categoryNames.parse("Category", b, (*uint8)(c))
}

// names maps the values of a small enum to their texts.
type names []string

func (n names) text(kind string, v uint8) string {
	if int(v) < len(n) {
		return n[v]
	}
	return fmt.Sprintf("%s(%d)", kind, v)
}

func (n names) parse(kind string, b []byte, v *uint8) error {
	for i, name := range n {
		if name == string(b) {
			*v = uint8(i)
			return nil
		}
	}
	return fmt.Errorf("toolguard: %s %q is none of %q", kind, b, []string(n))
}
