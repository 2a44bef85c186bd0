package schema

import (
	"encoding/json"
	"slices"

	"github.com/toolguard-go/toolguard/internal/normalize"
	"github.com/toolguard-go/toolguard/internal/pattern"
	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// Expect returns what the schema allows at a node of doc, by the schema alone:
// of anyOf and oneOf, whatever any branch allows. Known is false where that
// depends on the document (if, not, dependent schemas, dynamic references) or
// takes too long to find out.
func (s *Schema) Expect(doc *strictjson.Doc, node int32) normalize.Expectation {
	e := expecter{places: &s.places, visits: maxVisits, matches: pattern.NewBudget(maxLookup)}
	a := e.at(s.tree, pathTo(doc, node))
	return normalize.Expectation{
		Types:    a.types,
		Enum:     a.enum,
		Optional: s.optional(doc, node),
		Known:    a.known && e.visits >= 0 && !e.matches.Exhausted(),
	}
}

// maxVisits bounds the subschemas looked at for one node.
const maxVisits = 2000

// optional reports a member that no schema for its object requires, be it
// under a condition.
func (s *Schema) optional(doc *strictjson.Doc, node int32) bool {
	if doc.Nodes[node].KeyEnd == 0 {
		return false
	}
	name := doc.Key(node)
	for _, m := range s.places.at(doc, parentOf(doc, node)) {
		if requires(m["required"], name) || requiresAny(m["dependentRequired"], name) || requiresAny(m["dependencies"], name) {
			return false
		}
	}
	return true
}

// requires reports whether a list of names holds name.
func requires(names any, name string) bool {
	list, _ := names.([]any)
	return slices.Contains(list, any(name))
}

// requiresAny looks through dependentRequired: what is demanded under a
// condition must not be dropped either.
func requiresAny(lists any, name string) bool {
	named, _ := lists.(map[string]any)
	for _, list := range named {
		if requires(list, name) {
			return true
		}
	}
	return false
}

// A hop leads from a value to one of its children.
type hop struct {
	name    string
	index   int
	element bool
}

// pathTo returns the hops from the top of doc to a node, in time linear in the
// siblings on the way.
func pathTo(doc *strictjson.Doc, node int32) []hop {
	var path []hop
	for i := int32(0); i != node; {
		child, index := i+1, 0
		for doc.Nodes[child].Next <= node {
			child = doc.Nodes[child].Next
			index++
		}
		path = append(path, hop{doc.Key(child), index, doc.Nodes[i].Kind == strictjson.Array})
		i = child
	}
	return path
}

// parentOf returns the node that holds node, 0 for the top.
func parentOf(doc *strictjson.Doc, node int32) int32 {
	parent := int32(0)
	for i := int32(0); i != node; {
		parent = i
		child := i + 1
		for doc.Nodes[child].Next <= node {
			child = doc.Nodes[child].Next
		}
		i = child
	}
	return parent
}

// allowance is what schemas allow one value to be.
type allowance struct {
	types   normalize.TypeSet
	enum    []string // the strings allowed, if limited
	limited bool     // whether strings are limited to enum
	known   bool
}

var (
	anything = allowance{types: normalize.AnyType, known: true}
	nothing  = allowance{limited: true, known: true}
	unclear  = allowance{types: normalize.AnyType}
)

// and combines what both demand, or what either allows.
func (a allowance) and(b allowance) allowance {
	out := allowance{types: a.types & b.types, known: a.known && b.known, limited: a.limited || b.limited}
	switch {
	case a.limited && b.limited:
		out.enum = slices.DeleteFunc(slices.Clone(a.enum), func(v string) bool { return !slices.Contains(b.enum, v) })
	case a.limited:
		out.enum = a.enum
	case b.limited:
		out.enum = b.enum
	}
	if out.limited && len(out.enum) == 0 {
		out.types, out.enum = out.types&^normalize.TString, nil
	}
	return out
}

// or combines two branches of which either may hold.
func (a allowance) or(b allowance) allowance {
	// A branch without strings says nothing about which strings there are.
	freeA := a.types&normalize.TString != 0 && !a.limited
	freeB := b.types&normalize.TString != 0 && !b.limited
	out := allowance{types: a.types | b.types, known: a.known && b.known, limited: !freeA && !freeB}
	for _, side := range []allowance{a, b} {
		if !out.limited || side.types&normalize.TString == 0 {
			continue
		}
		for _, v := range side.enum {
			if !slices.Contains(out.enum, v) {
				out.enum = append(out.enum, v)
			}
		}
	}
	return out
}

// expecter works out allowances within a number of visits. Circles in place
// do not exist in a compiled schema, and every hop shortens the path.
type expecter struct {
	*places
	visits  int
	matches pattern.Budget
}

// at works out what a schema allows at the end of path, seen from the value it
// applies to.
func (e *expecter) at(schema any, path []hop) allowance {
	if e.visits--; e.visits < 0 {
		return unclear
	}
	m, isMap := schema.(map[string]any)
	switch {
	case schema == false:
		return nothing
	case !isMap:
		return anything
	}
	out := anything
	if _, ok := m["$ref"]; ok {
		out = unclear
		if to := e.target(m).schema; to != nil {
			out = e.at(to, path)
		}
		if hidesSiblings(m, e.draft) {
			return out
		}
	}
	return out.and(e.own(m, path)).and(e.combined(m, path))
}

// conditional are the keywords whose effect depends on the document.
var conditional = []string{
	"$dynamicRef", "$recursiveRef", "dependentSchemas", "if", "not", "unevaluatedItems", "unevaluatedProperties",
}

// combined is what the keywords made of other schemas for the same value allow.
func (e *expecter) combined(m map[string]any, path []hop) allowance {
	out := anything
	for _, keyword := range conditional {
		if _, ok := m[keyword]; ok {
			out = unclear
		}
	}
	if named, _ := m["dependencies"].(map[string]any); slices.ContainsFunc(valuesOf(named), isSchema) {
		out = unclear
	}
	parts, _ := m["allOf"].([]any)
	for _, part := range parts {
		out = out.and(e.at(part, path))
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		branches, ok := m[keyword].([]any)
		if !ok {
			continue
		}
		either := nothing
		for _, branch := range branches {
			either = either.or(e.at(branch, path))
		}
		out = out.and(either)
	}
	return out
}

// valuesOf returns the values of a map in no order.
func valuesOf(m map[string]any) []any {
	var out []any
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

// own is what the keywords of one schema allow at the end of path.
func (e *expecter) own(m map[string]any, path []hop) allowance {
	if len(path) == 0 {
		return ownTypes(m).and(ownValues(m))
	}
	next := path[0]
	holder := normalize.TObject
	if next.element {
		holder = normalize.TArray
	}
	if ownTypes(m).types&holder == 0 {
		return nothing // a branch for other values than the one on the path
	}
	out := anything
	if next.element {
		if sub, ok := element(m, next.index); ok {
			out = e.at(sub, path[1:])
		}
		return out
	}
	for _, sub := range e.member(m, next.name, &e.matches) {
		out = out.and(e.at(sub, path[1:]))
	}
	return out
}

// ownTypes reads type.
func ownTypes(m map[string]any) allowance {
	out := anything
	switch t := m["type"].(type) {
	case string:
		out.types = typeBits[t]
	case []any:
		out.types = 0
		for _, name := range t {
			name, _ := name.(string)
			out.types |= typeBits[name]
		}
	}
	return out
}

// ownValues reads enum and const: they limit the types as well.
func ownValues(m map[string]any) allowance {
	out := anything
	if values, ok := m["enum"].([]any); ok && len(values) > 0 {
		out = oneOfValues(values)
	}
	if v, ok := m["const"]; ok {
		out = out.and(oneOfValues([]any{v}))
	}
	return out
}

// oneOfValues allows just the given values.
func oneOfValues(values []any) allowance {
	out := nothing
	for _, v := range values {
		out.types |= typeOf(v)
		if s, ok := v.(string); ok {
			out.enum = append(out.enum, s)
		}
	}
	return out
}

// typeOf returns the type a value of the schema needs; 5.0 in an enum admits
// the integer 5.
func typeOf(v any) normalize.TypeSet {
	switch v := v.(type) {
	case bool:
		return normalize.TBoolean
	case json.Number:
		if isIntegral(string(v)) {
			return normalize.TInteger
		}
		return typeBits["number"]
	case string:
		return normalize.TString
	case []any:
		return normalize.TArray
	case map[string]any:
		return normalize.TObject
	}
	return normalize.TNull
}

// typeBits has integers among the numbers, so that types can be intersected.
var typeBits = map[string]normalize.TypeSet{
	"null": normalize.TNull, "boolean": normalize.TBoolean, "integer": normalize.TInteger, "number": normalize.TNumber | normalize.TInteger,
	"string": normalize.TString, "array": normalize.TArray, "object": normalize.TObject,
}
