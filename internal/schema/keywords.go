package schema

import (
	"maps"
	"slices"
	"strconv"

	"github.com/toolguard-go/toolguard/internal/jsonpointer"
)

// A position says where subschemas stand in the value of a keyword.
type position uint8

const (
	single     position = iota + 1 // the value is a schema
	list                           // the elements are schemas
	named                          // the members are schemas
	singleList                     // a schema or a list of them: items
	namedMixed                     // members are schemas or lists of names: dependencies
)

// positions are the keywords that hold subschemas. Whatever stands elsewhere
// is a value: a member called "type" under properties, "required" inside a
// const and "$ref" inside a default are no keywords.
var positions = map[string]position{
	"additionalItems":       single,
	"additionalProperties":  single,
	"contains":              single,
	"else":                  single,
	"if":                    single,
	"not":                   single,
	"propertyNames":         single,
	"then":                  single,
	"unevaluatedItems":      single,
	"unevaluatedProperties": single,
	"items":                 singleList,
	"allOf":                 list,
	"anyOf":                 list,
	"oneOf":                 list,
	"prefixItems":           list,
	"$defs":                 named,
	"definitions":           named,
	"dependentSchemas":      named,
	"patternProperties":     named,
	"properties":            named,
	"dependencies":          namedMixed,
}

// eachSub calls fn for every value of s that stands where a subschema belongs,
// well-formed or not, and puts the answer in its place. at is a JSON pointer
// relative to s. The order is that of sorted keywords and names.
func eachSub(s map[string]any, fn func(at string, sub any) any) {
	for _, keyword := range slices.Sorted(maps.Keys(s)) {
		at := "/" + jsonpointer.Escape(keyword)
		switch v := s[keyword].(type) {
		case map[string]any:
			switch positions[keyword] {
			case single, singleList:
				s[keyword] = fn(at, v)
			case named, namedMixed:
				eachNamed(v, at, positions[keyword], fn)
			}
		case []any:
			if p := positions[keyword]; p == list || p == singleList {
				for i := range v {
					v[i] = fn(at+"/"+strconv.Itoa(i), v[i])
				}
			}
		case bool:
			if p := positions[keyword]; p == single || p == singleList {
				s[keyword] = fn(at, v)
			}
		}
	}
}

// eachNamed visits the members of a keyword such as properties. A list of
// names under dependencies is no subschema.
func eachNamed(m map[string]any, at string, p position, fn func(string, any) any) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if _, names := m[name].([]any); names && p == namedMixed {
			continue
		}
		m[name] = fn(at+"/"+jsonpointer.Escape(name), m[name])
	}
}

// walk calls fn for s and every schema object below it, parents first.
func walk(s any, at string, fn func(at string, s map[string]any)) {
	m, ok := s.(map[string]any)
	if !ok {
		return
	}
	fn(at, m)
	eachSub(m, func(sub string, v any) any {
		walk(v, at+sub, fn)
		return v
	})
}
