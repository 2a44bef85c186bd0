package normalize

import (
	"bytes"
	"slices"
	"strings"

	"github.com/toolguard-go/toolguard/internal/canonical"
	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// TypeSet is a set of JSON Schema types.
type TypeSet uint8

const (
	TNull TypeSet = 1 << iota
	TBoolean
	TInteger
	// TNumber contains the integers, whether TInteger is set as well or not.
	TNumber
	TString
	TArray
	TObject

	// AnyType is what a schema that names no type accepts.
	AnyType = TNull | TBoolean | TInteger | TNumber | TString | TArray | TObject
)

// Has reports whether t contains all of other.
func (t TypeSet) Has(other TypeSet) bool { return t&other == other }

// An Expectation is what the schema says about one node.
type Expectation struct {
	// Types are the types the schema accepts there. A type must be in the set
	// if any reading of the schema accepts it.
	Types TypeSet
	// Enum lists the strings accepted there, nil if any string is.
	Enum []string
	// Optional reports that the node is a member its object may lack.
	Optional bool
	// Known reports that the schema was understood. If false, nothing else
	// counts and the node is left alone.
	Known bool
}

// Values rewrites the nodes of doc listed in failing, those the schema
// refused, where expect leaves one reading:
//
//   - a string that is a number, true, false, an array or an object, where
//     that is accepted and strings are not
//   - null in an optional member that does not accept it: the member goes
//   - white space around a string where one of the enumerated was meant
//
// It returns the new text, in which nothing else is touched, and the changes;
// nil and nil if there are none. The text may still be refused: the caller
// parses and validates again. Failing may hold a node twice, in any order.
func Values(doc *strictjson.Doc, expect func(node int32) Expectation, failing []int32) ([]byte, []Change) {
	r := rewrite{doc: doc}
	for _, i := range sortedUnique(failing) {
		if e := expect(i); e.Known {
			r.value(i, e)
		}
	}
	r.remove()
	return r.apply()
}

// IntegralFloats spells numbers such as 5.0 and 1e2 as integers where the
// schema accepts integers but not numbers: Go decodes no other spelling into
// an int. It is meant for a document the schema accepted, costs next to
// nothing if no number has a fraction or exponent, and calls expect only for
// those that are integers. The result is like that of [Values].
//
// Of a very large document with very many such numbers the later ones stay as
// they are: finding out what a schema expects of a node takes time linear in
// the nodes before it.
func IntegralFloats(doc *strictjson.Doc, expect func(node int32) Expectation) ([]byte, []Change) {
	r, passed := rewrite{doc: doc}, 0
	for i := range doc.Nodes {
		if doc.Nodes[i].Kind != strictjson.Number || !bytes.ContainsAny(doc.Raw(int32(i)), ".eE") {
			continue
		}
		digits, ok := integer(doc.Raw(int32(i)))
		if !ok {
			continue
		}
		if passed += i; passed > maxPassed {
			break
		}
		if e := expect(int32(i)); e.Known && e.Types.Has(TInteger) && !e.Types.Has(TNumber) {
			r.replace(IntegralFloat, int32(i), digits)
		}
	}
	return r.apply()
}

// maxPassed bounds the nodes passed on the way to all the numbers looked at.
const maxPassed = 10_000_000

func sortedUnique(nodes []int32) []int32 {
	nodes = slices.Clone(nodes)
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

func (r *rewrite) value(i int32, e Expectation) {
	switch n := &r.doc.Nodes[i]; {
	case n.Kind == strictjson.Null && n.KeyEnd > 0 && e.Optional && !e.Types.Has(TNull):
		r.drop(i)
	case n.Kind == strictjson.String && e.Types.Has(TString):
		r.enum(i, e.Enum)
	case n.Kind == strictjson.String:
		r.unquote(i, e.Types)
	}
}

func (r *rewrite) drop(i int32) {
	if r.removed == nil {
		r.removed = make(map[int32]bool)
	}
	r.removed[i] = true
	n := &r.doc.Nodes[i]
	r.changed(NullRemoved, i, edit{start: n.KeyStart, end: n.End})
}

// enum trims a string that is one of the enumerated but for white space. Two
// candidates, " a" and "a" in one schema, are no reading at all.
func (r *rewrite) enum(i int32, enum []string) {
	value := r.doc.Str(i)
	trimmed, found := strings.TrimSpace(value), 0
	for _, candidate := range enum {
		if strings.TrimSpace(candidate) == trimmed {
			found++
		}
	}
	if found == 1 && trimmed != value && slices.Contains(enum, trimmed) {
		r.replace(EnumTrimmed, i, canonical.AppendString(nil, trimmed))
	}
}

// unquote replaces a string by the value it spells. The first byte settles
// which kind that can be, so there is never a choice; what a person would read
// as a truth value ("yes", "0") is nobody's spelling of one.
func (r *rewrite) unquote(i int32, types TypeSet) {
	text := []byte(r.doc.Str(i))
	inner, err := strictjson.Parse(text, strictjson.Limits{})
	if err != nil || len(inner.Raw(0)) < len(text) && isScalar(inner.Nodes[0].Kind) {
		return
	}
	switch kind := inner.Nodes[0].Kind; {
	case kind == strictjson.Number && types.Has(TNumber):
		r.replace(NumberFromString, i, text)
	case kind == strictjson.Number && types.Has(TInteger):
		if digits, ok := integer(text); ok {
			r.replace(NumberFromString, i, digits)
		}
	case (kind == strictjson.True || kind == strictjson.False) && types.Has(TBoolean):
		r.replace(BooleanFromString, i, text)
	case kind == strictjson.Array && types.Has(TArray):
		r.replace(ArrayFromString, i, inner.Raw(0))
	case kind == strictjson.Object && types.Has(TObject):
		r.replace(ObjectFromString, i, inner.Raw(0))
	}
}

func isScalar(kind strictjson.Kind) bool {
	return kind != strictjson.Array && kind != strictjson.Object
}

// integer keeps the spelling of a number that has digits only.
func integer(raw []byte) ([]byte, bool) {
	if !bytes.ContainsAny(raw, ".eE") {
		return raw, true
	}
	return canonical.AppendInteger(nil, raw, strictjson.DefaultMaxDigits)
}
