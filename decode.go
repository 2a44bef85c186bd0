package toolguard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/toolguard-go/toolguard/internal/cause"
	"github.com/toolguard-go/toolguard/internal/infer"
)

// decode reads arguments that have passed the schema. What Go's types cannot
// hold all the same is the model's argument being out of their range.
func decode[In any](args json.RawMessage) (in In, err error) {
	if err = json.Unmarshal(args, &in); err == nil {
		return in, nil
	}
	return in, undecodable(args, err, func(doc []byte) error {
		var in In
		return json.Unmarshal(doc, &in)
	})
}

// undecodable names the argument that decoding stumbles over.
func undecodable(args json.RawMessage, err error, decodes func([]byte) error) error {
	path, inner := locate(args, decodes)
	if inner != nil {
		err = inner
	}
	var mistyped *json.UnmarshalTypeError
	if errors.As(err, &mistyped) {
		return Param(path, "%s does not fit into %s", preview(mistyped.Value), wanted(mistyped.Type))
	}
	return &Error{Code: CodeInvalidArgument, Outcome: OutcomeFailed, Field: path, Cause: err}
}

// wanted names a type as JSON does, but for numbers: their size is the point.
func wanted(t reflect.Type) string {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[interface{ UnmarshalText([]byte) error }]()) {
		return "string"
	}
	switch k := t.Kind(); k {
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Slice:
		return "array"
	case reflect.Bool:
		return "boolean"
	default:
		return k.String()
	}
}

// maxPieces bounds how often a document is tried in pieces.
const maxPieces = 4096

// locate finds the innermost value that does not decode, and why. Errors of
// UnmarshalText and the like do not say where they come from: so the document is
// offered again with one member at a time.
func locate(doc json.RawMessage, decodes func([]byte) error) (path string, err error) {
	wrap := func(inner []byte) []byte { return inner }
	for pieces := maxPieces; ; {
		piece, why := culprit(doc, wrap, decodes, &pieces)
		if why == nil {
			return path, err
		}
		outer := wrap
		wrap = func(inner []byte) []byte { return outer(piece.wrap(inner)) }
		path, doc, err = infer.Join(path, piece.step), piece.value, why
	}
}

// piece is one value inside an object or an array.
type piece struct {
	step  string
	value json.RawMessage
	wrap  func([]byte) []byte // makes the object or array that has nothing else
}

// culprit finds the first piece of doc that does not decode on its own. There is
// none if not even the empty object or array does.
func culprit(doc json.RawMessage, wrap func([]byte) []byte, decodes func([]byte) error, left *int) (piece, error) {
	empty, pieces := piecesOf(doc)
	if *left -= len(pieces); *left < 0 || len(pieces) == 0 || decodes(wrap([]byte(empty))) != nil {
		return piece{}, nil
	}
	for _, p := range pieces {
		if err := decodes(wrap(p.wrap(p.value))); err != nil {
			return p, err
		}
	}
	return piece{}, nil
}

func piecesOf(doc json.RawMessage) (empty string, pieces []piece) {
	var object map[string]json.RawMessage
	if json.Unmarshal(doc, &object) == nil {
		for _, name := range slices.Sorted(maps.Keys(object)) {
			pieces = append(pieces, piece{name, object[name], func(inner []byte) []byte {
				key, _ := json.Marshal(name)
				return bytes.Join([][]byte{[]byte("{"), key, []byte(":"), inner, []byte("}")}, nil)
			}})
		}
		return "{}", pieces
	}
	var array []json.RawMessage
	if json.Unmarshal(doc, &array) == nil {
		for i, value := range array {
			pieces = append(pieces, piece{"[" + strconv.Itoa(i) + "]", value, func(inner []byte) []byte {
				return bytes.Join([][]byte{[]byte("["), inner, []byte("]")}, nil)
			}})
		}
	}
	return "[]", pieces
}

// fits holds In against the schema: each property has a field, and the example
// that a model would be shown decodes. A schema given by hand may be vaguer than
// In, as long as the kinds of its values are right.
func (t *Typed[In]) fits(tree any, example json.RawMessage) (err error) {
	in := reflect.TypeFor[In]()
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("toolguard: decoding %s into %v panics: %v", example, in, v)
		}
	}()
	if path, found := infer.Unread(tree, in); found {
		return fmt.Errorf("toolguard: Info.Schema names the property %q, which %v has no field for", path, in)
	}
	if t.needs != "" && !infer.Names(tree, t.needs) {
		return fmt.Errorf("toolguard: Info.Schema lacks the property %q, the only one the tool reads", t.needs)
	}
	if example == nil {
		return nil
	}
	_, err = decode[In](example)
	return t.misfit(err, example)
}

// misfit says which part of the example In cannot take, and what to do.
func (t *Typed[In]) misfit(err error, example json.RawMessage) error {
	var e *Error
	if !errors.As(err, &e) || !t.inferred && e.Cause != nil {
		return nil
	}
	why, remedy := e.Message, "correct Info.Schema"
	if e.Cause != nil {
		why = cause.Text(nil, e.Cause, maxErrorText)
	}
	if t.inferred {
		remedy = "set Info.Schema to say what it takes"
	}
	return fmt.Errorf("toolguard: argument %q of %v refuses %s, which the schema allows: %s; %s", e.Field, reflect.TypeFor[In](), example, why, remedy)
}
