package example

import (
	"encoding/json"
	"slices"
)

const (
	// maxVisits bounds how often one reference is followed on one path: twice,
	// so that a tree may have one child if it must have one.
	maxVisits = 2
	// maxOffered bounds the examples and enum values that are looked at.
	maxOffered = 64
)

// A builder makes one attempt.
type builder struct {
	*search
	picks []pick
	sizes []int    // options of each choice point met so far
	path  []string // references being followed
	salt  int      // makes the items of one array differ
}

// spend takes n steps and reports whether there were as many left.
func (b *builder) spend(n int) bool {
	b.steps -= n
	return b.steps >= 0
}

// choose returns which of n options to take at this choice point.
func (b *builder) choose(n int) int {
	point := len(b.sizes)
	b.sizes = append(b.sizes, n)
	for _, p := range b.picks {
		if p.point == point {
			return min(p.option, n-1)
		}
	}
	return 0
}

// value makes a value for the schema, false if it cannot.
func (b *builder) value(schema any) (any, bool) {
	refs := len(b.path)
	defer func() { b.path = b.path[:refs] }()
	m, ok := b.flatten(schema)
	if !ok {
		return nil, false
	}
	return b.fromFlat(m)
}

// fromFlat makes a value for a schema without references and alternatives.
func (b *builder) fromFlat(m map[string]any) (any, bool) {
	offered, closed := b.offered(m)
	options := len(offered)
	if !closed {
		options++ // made up
	}
	if options == 0 {
		return nil, false
	}
	choice := b.choose(options)
	if closed || choice < len(offered) {
		return offered[(choice+b.salt)%max(len(offered), 1)], true
	}
	return b.byType(m)
}

// offered lists the values that the schema itself names and that fit at first
// sight. It is closed if no other value can be valid.
func (b *builder) offered(m map[string]any) (values []any, closed bool) {
	if v, ok := m["const"]; ok {
		return []any{v}, true
	}
	if v, ok := m["default"]; ok {
		values = append(values, v)
	}
	examples, _ := m["examples"].([]any)
	values = append(values, examples[:min(len(examples), maxOffered)]...)
	if enum, _ := m["enum"].([]any); len(enum) > 0 {
		enum = enum[:min(len(enum), maxOffered)]
		closed = true
		values = slices.DeleteFunc(values, func(v any) bool { return !contains(enum, v) })
		values = append(values, enum...)
	}
	types := typesOf(m)
	values = slices.DeleteFunc(values, func(v any) bool { return !fits(types, v) })
	if b.salt > 0 && !closed {
		return nil, false
	}
	return values, closed
}

// byType makes up a value of the first type for which it can.
func (b *builder) byType(m map[string]any) (any, bool) {
	types := typesOf(m)
	if types == nil {
		types = impliedTypes(m)
	}
	if len(types) == 0 {
		return nil, false
	}
	first := b.choose(len(types))
	for i := range types {
		if v, ok := b.ofType(types[(first+i)%len(types)], m); ok {
			return v, true
		}
	}
	return nil, false
}

// ofType makes a value of one type, false if the schema leaves none.
func (b *builder) ofType(name string, m map[string]any) (any, bool) {
	switch name {
	case "object":
		return b.object(m)
	case "array":
		return b.array(m)
	case "string":
		return b.text(m)
	case "integer", "number":
		return b.number(m, name == "integer")
	case "boolean":
		return (b.choose(2)+b.salt)%2 == 1, true
	}
	return nil, name == "null"
}

// typesOf returns the declared types, null last; nil if none are declared.
func typesOf(m map[string]any) []string {
	v, ok := m["type"]
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	types := []string{}
	for _, v := range list {
		if name, ok := v.(string); ok && name != "null" {
			types = append(types, name)
		}
	}
	if contains(list, "null") {
		types = append(types, "null")
	}
	return types
}

// impliedTypes guesses the type meant by a schema that declares none.
func impliedTypes(m map[string]any) []string {
	for _, hint := range []struct{ name, keyword string }{
		{"object", "properties"}, {"object", "required"}, {"object", "minProperties"},
		{"array", "items"}, {"array", "prefixItems"}, {"array", "minItems"}, {"array", "contains"},
		{"number", "minimum"}, {"number", "maximum"}, {"number", "exclusiveMinimum"}, {"number", "exclusiveMaximum"}, {"number", "multipleOf"},
	} {
		if _, ok := m[hint.keyword]; ok {
			return []string{hint.name, "string", "null"}
		}
	}
	return []string{"string", "number", "boolean", "object", "array", "null"}
}

// fits reports whether v has one of the types; nil stands for all.
func fits(types []string, v any) bool {
	if types == nil {
		return true
	}
	name := typeName(v)
	return slices.Contains(types, name) || name == "number" && slices.Contains(types, "integer")
}

// typeName returns the JSON type of a decoded value.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}
