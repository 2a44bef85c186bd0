package toolguard

import (
	"fmt"
	"reflect"

	"github.com/toolguard-go/toolguard/internal/policyjson"
)

// The policies are plain data and read and write themselves as JSON: members
// are named after the fields in lower_snake, durations are strings such as
// "60s", what is zero is left out, and nothing unknown, negative or of another
// type is read. Reading replaces the whole policy, and leaves it alone if
// anything is wrong; the error then lists all of it, each with its JSON
// pointer. Whether the values make sense together is for [New] to say.

// MarshalJSON implements [encoding/json.Marshaler].
func (p ArgumentPolicy) MarshalJSON() ([]byte, error) { return writePolicy(p) }

// UnmarshalJSON implements [encoding/json.Unmarshaler], strictly.
func (p *ArgumentPolicy) UnmarshalJSON(b []byte) error { return readPolicy(b, p) }

// MarshalJSON implements [encoding/json.Marshaler].
func (p TimeoutPolicy) MarshalJSON() ([]byte, error) { return writePolicy(p) }

// UnmarshalJSON implements [encoding/json.Unmarshaler], strictly.
func (p *TimeoutPolicy) UnmarshalJSON(b []byte) error { return readPolicy(b, p) }

// MarshalJSON implements [encoding/json.Marshaler].
func (p RetryPolicy) MarshalJSON() ([]byte, error) { return writePolicy(p) }

// UnmarshalJSON implements [encoding/json.Unmarshaler], strictly.
func (p *RetryPolicy) UnmarshalJSON(b []byte) error { return readPolicy(b, p) }

// MarshalJSON implements [encoding/json.Marshaler].
func (r RetryRule) MarshalJSON() ([]byte, error) { return writePolicy(r) }

// UnmarshalJSON implements [encoding/json.Unmarshaler], strictly.
func (r *RetryRule) UnmarshalJSON(b []byte) error { return readPolicy(b, r) }

// MarshalJSON implements [encoding/json.Marshaler].
func (p BreakerPolicy) MarshalJSON() ([]byte, error) { return writePolicy(p) }

// UnmarshalJSON implements [encoding/json.Unmarshaler], strictly.
func (p *BreakerPolicy) UnmarshalJSON(b []byte) error { return readPolicy(b, p) }

// MarshalJSON implements [encoding/json.Marshaler].
func (p ConcurrencyPolicy) MarshalJSON() ([]byte, error) { return writePolicy(p) }

// UnmarshalJSON implements [encoding/json.Unmarshaler], strictly.
func (p *ConcurrencyPolicy) UnmarshalJSON(b []byte) error { return readPolicy(b, p) }

// MarshalJSON implements [encoding/json.Marshaler].
func (p DedupePolicy) MarshalJSON() ([]byte, error) { return writePolicy(p) }

// UnmarshalJSON implements [encoding/json.Unmarshaler], strictly.
func (p *DedupePolicy) UnmarshalJSON(b []byte) error { return readPolicy(b, p) }

// MarshalJSON implements [encoding/json.Marshaler].
func (p LoopPolicy) MarshalJSON() ([]byte, error) { return writePolicy(p) }

// UnmarshalJSON implements [encoding/json.Unmarshaler], strictly.
func (p *LoopPolicy) UnmarshalJSON(b []byte) error { return readPolicy(b, p) }

// MarshalJSON implements [encoding/json.Marshaler].
func (p JournalPolicy) MarshalJSON() ([]byte, error) { return writePolicy(p) }

// UnmarshalJSON implements [encoding/json.Unmarshaler], strictly.
func (p *JournalPolicy) UnmarshalJSON(b []byte) error { return readPolicy(b, p) }

// MarshalJSON implements [encoding/json.Marshaler].
func (p ApprovalPolicy) MarshalJSON() ([]byte, error) { return writePolicy(p) }

// UnmarshalJSON implements [encoding/json.Unmarshaler], strictly.
func (p *ApprovalPolicy) UnmarshalJSON(b []byte) error { return readPolicy(b, p) }

// MarshalJSON implements [encoding/json.Marshaler].
func (p ObservePolicy) MarshalJSON() ([]byte, error) { return writePolicy(p) }

// UnmarshalJSON implements [encoding/json.Unmarshaler], strictly.
func (p *ObservePolicy) UnmarshalJSON(b []byte) error { return readPolicy(b, p) }

// MarshalJSON implements [encoding/json.Marshaler].
func (p SessionPolicy) MarshalJSON() ([]byte, error) { return writePolicy(p) }

// UnmarshalJSON implements [encoding/json.Unmarshaler], strictly.
func (p *SessionPolicy) UnmarshalJSON(b []byte) error { return readPolicy(b, p) }

// MarshalJSON implements [encoding/json.Marshaler].
func (p RenderPolicy) MarshalJSON() ([]byte, error) { return writePolicy(p) }

// UnmarshalJSON implements [encoding/json.Unmarshaler], strictly.
func (p *RenderPolicy) UnmarshalJSON(b []byte) error { return readPolicy(b, p) }

// MarshalJSON implements [encoding/json.Marshaler].
func (p BatchPolicy) MarshalJSON() ([]byte, error) { return writePolicy(p) }

// UnmarshalJSON implements [encoding/json.Unmarshaler], strictly.
func (p *BatchPolicy) UnmarshalJSON(b []byte) error { return readPolicy(b, p) }

func writePolicy[P any](p P) ([]byte, error) {
	text, err := policyjson.Marshal(p)
	return text, inPolicy[P](err)
}

func readPolicy[P any](text []byte, p *P) error {
	return inPolicy[P](policyjson.Unmarshal(text, p))
}

func inPolicy[P any](err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("toolguard: %s: %w", reflect.TypeFor[P]().Name(), err)
}
