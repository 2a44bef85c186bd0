// Package infer describes Go types as JSON Schema, by what encoding/json reads
// into them and nothing else: what a tool is told it may get is what it can get.
//
// A struct admits its fields only, and needs all that are not omitempty,
// omitzero or promoted from an embedded pointer. What Go can hold as nil may be
// null. A type that reads itself from text is a string, one that reads itself
// from JSON is anything, unless it is one of the standard library's whose form
// is known. A type that contains itself is referred to.
package infer

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	jsonMarshaler   = reflect.TypeFor[json.Marshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
)

// maxDepth bounds the nesting of a type. Only a pointer to itself exceeds it.
const maxDepth = 64

// An Error says which part of a type has no description, and what can be done.
type Error struct {
	Path   string // of the field, such as "items[].price"; empty for the type itself
	Type   reflect.Type
	Reason string
}

// Error names the field, its type and the reason.
func (e *Error) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%v %s", e.Type, e.Reason)
	}
	return fmt.Sprintf("field %s: %v %s", e.Path, e.Type, e.Reason)
}

// Schema describes the arguments that can be decoded into a t: always an
// object. It runs the text methods of the types it meets, and may panic with
// them.
func Schema(t reflect.Type) (json.RawMessage, error) {
	if t.Kind() == reflect.Pointer {
		return nil, &Error{Type: t, Reason: fmt.Sprintf("is a pointer, use the value type %v", t.Elem())}
	}
	w := walker{root: t, open: map[reflect.Type]bool{}, names: map[reflect.Type]string{}}
	n, err := w.describe(t, 0)
	if err != nil {
		return nil, err
	}
	switch {
	case n.shut(t):
		return nil, &Error{Type: t, Reason: "has no exported fields: export those that a model may set"}
	case n.any():
		n.Type = types{"object"}
	case len(n.Type) == 0 || n.Type[0] != "object":
		return nil, &Error{Type: t, Reason: "is neither a struct nor a map"}
	}
	n.Type = n.Type[:1] // arguments are never null
	n.Defs = w.defs
	return n.text()
}

// shut reports a struct that has fields, and none that can ever be set.
func (n *node) shut(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || n.Additional != false || t.NumField() == 0 {
		return false
	}
	for f := range t.Fields() {
		if f.IsExported() || f.Anonymous {
			return false
		}
	}
	return true
}

func (n *node) text() (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(n); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// walker describes one type and what it consists of.
type walker struct {
	root  reflect.Type
	open  map[reflect.Type]bool   // being described
	names map[reflect.Type]string // of types found inside themselves
	defs  members
}

// describe follows the order in which encoding/json looks at a type.
func (w *walker) describe(t reflect.Type, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, &Error{Type: t, Reason: "nests too deep"}
	}
	if t.Kind() == reflect.Pointer {
		n, err := w.describe(t.Elem(), depth+1)
		return n.orNull(), err
	}
	if known := wellKnown[t]; known != nil {
		return known(), nil
	}
	switch p := reflect.PointerTo(t); {
	case p.Implements(jsonUnmarshaler):
		return &node{}, nil
	case p.Implements(textUnmarshaler):
		return textNode(t), nil
	case t.Name() == "":
		return w.byKind(t, depth)
	}
	return w.named(t, depth)
}

// named describes a type that may contain itself. Such a one is described under
// its name, or is the whole schema, and referred to from everywhere.
func (w *walker) named(t reflect.Type, depth int) (*node, error) {
	if w.open[t] && w.names[t] == "" {
		w.names[t] = w.name(t)
	}
	if ref := w.names[t]; ref != "" {
		return &node{Ref: ref}, nil
	}
	w.open[t] = true
	n, err := w.byKind(t, depth)
	delete(w.open, t)
	if ref := w.names[t]; err == nil && ref != "" && t != w.root {
		w.defs = append(w.defs, member{ref[len(defsPrefix):], n})
		return &node{Ref: ref}, nil
	}
	return n, err
}

const defsPrefix = "#/$defs/"

// name is where a type that contains itself is described. Types of one name are
// numbered.
func (w *walker) name(t reflect.Type) string {
	if t == w.root {
		return "#"
	}
	base, _, _ := strings.Cut(t.Name(), "[") // without type arguments
	name := defsPrefix + base
	for n := 2; w.taken(name); n++ {
		name = defsPrefix + base + strconv.Itoa(n)
	}
	return name
}

func (w *walker) taken(name string) bool {
	for _, other := range w.names {
		if other == name {
			return true
		}
	}
	return false
}

func (w *walker) byKind(t reflect.Type, depth int) (*node, error) {
	switch t.Kind() {
	case reflect.Bool:
		return &node{Type: types{"boolean"}}, nil
	case reflect.String:
		return &node{Type: types{"string"}}, nil
	case reflect.Float32, reflect.Float64:
		return &node{Type: types{"number"}}, nil
	case reflect.Struct:
		return w.structure(t, depth)
	case reflect.Map:
		return w.mapping(t, depth)
	case reflect.Slice, reflect.Array:
		return w.list(t, depth)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return &node{}, nil
		}
	default:
		if low, high, ok := limits(t.Kind()); ok {
			return &node{Type: types{"integer"}, Minimum: low, Maximum: high}, nil
		}
	}
	return nil, &Error{Type: t, Reason: `cannot be read from JSON; leave the field out with json:"-"`}
}

// limits of the integers. Those of 64 bits have none above: they would only be
// noise to a model, and decoding refuses what is beyond them.
func limits(k reflect.Kind) (low, high json.Number, ok bool) {
	switch k {
	case reflect.Int, reflect.Int64:
		return "", "", true
	case reflect.Uint, reflect.Uint64, reflect.Uintptr:
		return "0", "", true
	case reflect.Int8:
		return "-128", "127", true
	case reflect.Int16:
		return "-32768", "32767", true
	case reflect.Int32:
		return "-2147483648", "2147483647", true
	case reflect.Uint8:
		return "0", "255", true
	case reflect.Uint16:
		return "0", "65535", true
	case reflect.Uint32:
		return "0", "4294967295", true
	}
	return "", "", false
}

func (w *walker) list(t reflect.Type, depth int) (*node, error) {
	if isBytes(t) {
		return bytesNode(), nil
	}
	items, err := w.describe(t.Elem(), depth+1)
	if err != nil {
		return nil, within("[]", err)
	}
	if t.Kind() == reflect.Array {
		n := t.Len()
		return &node{Type: types{"array"}, Items: items, MinItems: &n, MaxItems: &n}, nil
	}
	return &node{Type: types{"array", "null"}, Items: items}, nil
}

// isBytes reports whether encoding/json writes t as base64.
func isBytes(t reflect.Type) bool {
	if t.Kind() != reflect.Slice || t.Elem().Kind() != reflect.Uint8 {
		return false
	}
	for _, m := range []reflect.Type{jsonMarshaler, textMarshaler, jsonUnmarshaler, textUnmarshaler} {
		if reflect.PointerTo(t.Elem()).Implements(m) {
			return false
		}
	}
	return true
}

func (w *walker) mapping(t reflect.Type, depth int) (*node, error) {
	n := &node{Type: types{"object", "null"}}
	switch _, _, integer := limits(t.Key().Kind()); {
	case reflect.PointerTo(t.Key()).Implements(textUnmarshaler), t.Key().Kind() == reflect.String:
	case integer:
		n.PropertyNames = &node{Pattern: integerPattern(t.Key().Kind())}
	default:
		return nil, &Error{Type: t, Reason: "has keys that are neither strings nor integers"}
	}
	values, err := w.describe(t.Elem(), depth+1)
	if err != nil {
		return nil, within("[]", err)
	}
	if !values.any() {
		n.Additional = values
	}
	return n, nil
}

func (w *walker) structure(t reflect.Type, depth int) (*node, error) {
	n := &node{Type: types{"object"}, Additional: false}
	for _, f := range fieldsOf(t) {
		property, err := w.property(f, depth)
		if err != nil {
			return nil, within(f.name, err)
		}
		n.Properties = append(n.Properties, member{f.name, property})
		if !f.optional {
			n.Required = append(n.Required, f.name)
		}
	}
	return n, nil
}

func (w *walker) property(f *field, depth int) (*node, error) {
	if f.fault != "" {
		return nil, &Error{Type: f.typ, Reason: f.fault}
	}
	n, err := w.describe(f.typ, depth+1)
	if err == nil && f.quoted {
		n, err = quotedNode(f.typ)
	}
	if err != nil {
		return nil, err
	}
	if keywordLike.MatchString(f.tag) {
		return nil, &Error{Type: f.typ, Reason: "has a jsonschema tag that begins like a keyword, but a tag is only a description"}
	}
	n.explain(f.tag)
	return n, nil
}

// within puts a step before the path of an error.
func within(step string, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	e.Path = Join(step, e.Path)
	return err
}

// Join puts a step before a path: "items" and "[].price" are "items[].price".
func Join(step, path string) string {
	if step == "" || path == "" || path[0] == '[' {
		return step + path
	}
	return step + "." + path
}
