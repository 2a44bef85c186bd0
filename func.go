package toolguard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/toolguard-go/toolguard/internal/cause"
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
	// [OutcomeFailed] does if the attempt no longer runs. An error or any other
	// outcome leaves it unknown: that nothing is found so soon proves nothing.
	Status func(ctx context.Context, key string, in In) (Outcome, Result, error)
	// Describe says in one line what the call would do, for a person.
	Describe func(in In) string

	info Info
	call func(ctx context.Context, in In) (Result, error)
	err  error // why the tool cannot be used; New returns it
}

// Func makes a tool of a function. If info.Schema is empty, it is inferred from
// In, which must be a struct: json tags name the arguments, omitempty or
// omitzero makes one optional, and a jsonschema tag describes it. What Out is
// decides the result: a string is text, [Result] is itself, everything else is
// JSON. A result that cannot be written as JSON is still a success.
//
// A nil pointer returned as the error is no error; the envelope notes it.
func Func[In, Out any](info Info, f func(context.Context, In) (Out, error)) *Typed[In] {
	t := newTyped[In](info, f == nil)
	t.call = func(ctx context.Context, in In) (Result, error) {
		out, err := f(ctx, in)
		if err != nil && !cause.IsNil(err) {
			return Result{}, err
		}
		return asResult(out), err
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

// Text makes a tool of a function from one string to another.
func Text(info Info, f func(ctx context.Context, input string) (string, error)) *Typed[TextInput] {
	t := newTyped[TextInput](info, f == nil)
	t.call = func(ctx context.Context, in TextInput) (Result, error) {
		out, err := f(ctx, in.Input)
		return Result{Text: out}, err
	}
	return t
}

func newTyped[In any](info Info, nilFunc bool) *Typed[In] {
	t := &Typed[In]{info: info}
	if nilFunc {
		t.err = fmt.Errorf("toolguard: the function of tool %q is nil", info.Name)
		return t
	}
	if len(info.Schema) == 0 {
		t.info.Schema, t.err = inferSchema[In](info.Name)
	}
	return t
}

// inferSchema describes In. The inference library may panic on types it does not
// know, such as functions.
func inferSchema[In any](tool string) (text json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("toolguard: no schema can be inferred from %v for tool %q: %v", reflect.TypeFor[In](), tool, v)
		}
	}()
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		return nil, fmt.Errorf("toolguard: no schema can be inferred from %v for tool %q: %w", reflect.TypeFor[In](), tool, err)
	}
	if schema.Type != "object" {
		return nil, fmt.Errorf("toolguard: the arguments of tool %q are %v, want a struct or a map", tool, reflect.TypeFor[In]())
	}
	return json.Marshal(schema)
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

// borrows says that Call only reads its arguments: decoding copies.
func (t *Typed[In]) borrows() {}

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

// decode reads arguments that have passed the schema. What Go's types cannot
// hold all the same is the model's argument being out of their range.
func decode[In any](args json.RawMessage) (in In, err error) {
	if err = json.Unmarshal(args, &in); err == nil {
		return in, nil
	}
	var mistyped *json.UnmarshalTypeError
	if errors.As(err, &mistyped) {
		return in, Param(mistyped.Field, "%s does not fit into %s", mistyped.Value, mistyped.Type.Kind())
	}
	return in, &Error{Code: CodeInvalidArgument, Outcome: OutcomeFailed, Cause: err}
}

// asResult turns what a function returned into what a model reads.
func asResult(out any) Result {
	switch out := out.(type) {
	case Result:
		return out
	case string:
		return Result{Text: out}
	case json.RawMessage:
		return Result{JSON: out}
	}
	text, err := marshal(out)
	if err != nil {
		return Result{extra: &extra{notes: []Note{{Kind: prompts.NoteResultUnmarshalable}}}}
	}
	return Result{JSON: text}
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
