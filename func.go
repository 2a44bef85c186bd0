package toolguard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/toolguard-go/toolguard/internal/cause"
	"github.com/toolguard-go/toolguard/internal/infer"
	"github.com/toolguard-go/toolguard/prompts"
)

// Typed is a [Tool] made of an ordinary function by [Func], [Action] or [Text].
// Its functions see the arguments as In. Set them before the tool is given to
// [New] and do not change them afterwards; nil ones are absent.
type Typed[In any] struct {
	// Authorize refuses a caller who may not do this; see Options.Authorize.
	Authorize func(ctx context.Context, in In) error
	// Check refuses what a business rule forbids; see Options.Check.
	Check func(ctx context.Context, in In) error
	// Status asks the downstream what became of the call with this key, after an
	// attempt whose outcome is unknown. It returns what is known and, after a
	// success, the result the model reads. [OutcomeSucceeded] settles the call, and
	// [OutcomeFailed] does if the attempt no longer runs. [OutcomeNotStarted], nothing
	// is known of the key, counts a minute after the call was last heard of: sooner
	// the request may be on its way. An error or OutcomeUnknown leaves it unknown.
	// A [Recoverer] asks too. A ReadOnly tool has none.
	Status func(ctx context.Context, key string, in In) (Outcome, Result, error)
	// Describe says in one line what the call would do, for a person.
	Describe func(in In) string

	info     Info
	inferred bool   // the schema is, from In
	needs    string // the property a schema must have
	call     func(ctx context.Context, in In) (Result, error)
	err      error // why the tool cannot be used; New returns it
}

// Func makes a tool of a function. In is a struct, a map, or another type that
// [encoding/json] reads from an object; it is not a pointer.
//
// If info.Schema is empty, it says what encoding/json accepts for In: json tags
// name the arguments, omitempty or omitzero makes one optional, what Go can hold
// as nil may be null, and a jsonschema tag describes the argument. A type with
// an UnmarshalText method is a string, one with UnmarshalJSON is anything;
// [time.Time] is a date-time, [time.Duration] a number of nanoseconds, []byte
// base64. What no type says, such as an enum, needs info.Schema. [New] refuses a
// schema whose own example does not decode into In, and one that names
// properties In has no field for.
//
// What Out is decides the result: a string or []byte is text, [Result] is
// itself, everything else is JSON. A result that cannot be written as JSON is
// still a success.
//
// A nil pointer returned as the error is no error; the envelope notes it.
func Func[In, Out any](info Info, f func(context.Context, In) (Out, error)) *Typed[In] {
	t := newTyped[In](info, f == nil)
	t.call = func(ctx context.Context, in In) (Result, error) {
		out, err := f(ctx, in)
		if err != nil && !cause.IsNil(err) {
			return Result{}, err
		}
		written := false
		defer t.vouch(ctx, &written)
		r := asResult(out)
		written = true
		return r, err
	}
	return t
}

// Action makes a tool of a function without a result.
func Action[In any](info Info, f func(context.Context, In) error) *Typed[In] {
	t := newTyped[In](info, f == nil)
	t.call = func(ctx context.Context, in In) (Result, error) { return Result{}, f(ctx, in) }
	return t
}

// TextInput is what a tool made by [Text] gets: one string.
type TextInput struct {
	Input string `json:"input"`
}

// Text makes a tool of a function from one string to another. The string is the
// argument "input", which info.Schema must have if it is set.
func Text(info Info, f func(ctx context.Context, input string) (string, error)) *Typed[TextInput] {
	t := newTyped[TextInput](info, f == nil)
	t.needs = "input"
	t.call = func(ctx context.Context, in TextInput) (Result, error) {
		out, err := f(ctx, in.Input)
		return Result{Text: out}, err
	}
	return t
}

func newTyped[In any](info Info, nilFunc bool) *Typed[In] {
	t := &Typed[In]{info: info}
	if nilFunc {
		t.err = errors.New("toolguard: the function is nil")
		return t
	}
	if t.inferred = len(info.Schema) == 0; t.inferred {
		t.info.Schema, t.err = inferSchema(reflect.TypeFor[In]())
	}
	return t
}

// inferSchema runs methods of In and of the types in it, which may panic.
func inferSchema(in reflect.Type) (text json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("toolguard: the input type %v panics: %v; set Info.Schema", in, v)
		}
	}()
	if text, err = infer.Schema(in); err != nil {
		return nil, fmt.Errorf("toolguard: the input type %v has no schema: %w, or set Info.Schema", in, err)
	}
	return text, nil
}

// Info implements [Tool].
func (t *Typed[In]) Info() Info { return t.info }

// Call implements [Tool].
func (t *Typed[In]) Call(ctx context.Context, args json.RawMessage) (Result, error) {
	in, err := decode[In](args)
	if err != nil {
		return Result{}, NotStarted(err)
	}
	return t.call(ctx, in)
}

func (t *Typed[In]) construction() error { return t.err }

// borrows says that Call only reads its arguments: decoding copies, but for what types
// do that read themselves.
func (t *Typed[In]) borrows() bool {
	return !readsItself(reflect.TypeFor[In](), map[reflect.Type]bool{})
}

func (t *Typed[In]) gates() gates {
	g := gates{
		authorize: typedGate(t.Authorize),
		check:     typedGate(t.Check),
	}
	if t.Status != nil {
		g.status = func(ctx context.Context, key string, args json.RawMessage) (Outcome, Result, error) {
			in, err := decode[In](args)
			if err != nil {
				return OutcomeUnknown, Result{}, err
			}
			return t.Status(ctx, key, in)
		}
	}
	if t.Describe != nil {
		g.describe = func(args json.RawMessage) string {
			in, err := decode[In](args)
			if err != nil {
				return ""
			}
			return t.Describe(in)
		}
	}
	return g
}

func typedGate[In any](f func(context.Context, In) error) func(context.Context, json.RawMessage) error {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, args json.RawMessage) error {
		in, err := decode[In](args)
		if err != nil {
			return err
		}
		return f(ctx, in)
	}
}

// asResult turns what a function returned into what a model reads.
func asResult(out any) Result {
	switch out := out.(type) {
	case Result:
		return out
	case string:
		return Result{Text: out}
	case []byte:
		return Result{Text: string(out)} // what is no text is described, not shown
	case json.RawMessage:
		return Result{JSON: out}
	}
	text, err := marshal(out)
	if err != nil {
		return unwritable()
	}
	return Result{JSON: text}
}

// unwritable is a success that could not be written down.
func unwritable() Result {
	return Result{extra: &extra{notes: []Note{{Kind: prompts.NoteResultUnmarshalable}}}}
}

// vouch is deferred around writing a result down. Where a method of the result
// ends the goroutine, the function has succeeded all the same.
func (t *Typed[In]) vouch(ctx context.Context, written *bool) {
	if *written {
		return
	}
	if a := attemptFrom(ctx); a != nil && a.call.guard.body.Load().tool == Tool(t) {
		a.result, a.vouched = unwritable(), true
	}
}

// marshal is json.Marshal for values whose methods may panic.
func marshal(v any) (text []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("toolguard: marshalling panicked")
		}
	}()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
