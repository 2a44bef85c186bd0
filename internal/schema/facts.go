package schema

import (
	"context"
	"maps"
	"slices"

	"github.com/toolguard-go/toolguard/internal/pattern"
	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// Properties returns the names declared at the top, in any branch, sorted.
func (s *Schema) Properties() []string {
	return slices.Sorted(maps.Keys(declared(s.places.closure(s.tree), s.draft)))
}

// UnknownTop returns the names at the top of doc that the schema neither
// declares nor speaks about: they are allowed, and may be slips all the same.
// It is nil where the schema has no properties or says what others are for.
func (s *Schema) UnknownTop(doc *strictjson.Doc) []string {
	if !doc.IsObject() {
		return nil
	}
	set := s.places.closure(s.tree)
	if !slices.ContainsFunc(set, func(m map[string]any) bool { return m["properties"] != nil }) {
		return nil
	}
	for _, m := range set {
		if m["additionalProperties"] != nil || m["unevaluatedProperties"] != nil {
			return nil
		}
	}
	var unknown []string
	matches := pattern.NewBudget(maxLookup)
	for c := int32(1); c < doc.Nodes[0].Next; c = doc.Nodes[c].Next {
		name := doc.Key(c)
		if !declares(set, name, s.draft) && !s.places.matched(set, name, &matches) {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// matched reports whether a pattern of the set speaks about name.
func (p *places) matched(set []map[string]any, name string, matches *pattern.Budget) bool {
	for _, s := range set {
		patterns, _ := s["patternProperties"].(map[string]any)
		for source := range patterns {
			if re := p.patterns[source]; re != nil && re.MatchString(name, matches) {
				return true
			}
		}
	}
	return false
}

// namesInBranches reports properties in subschemas that a fast validation may
// skip once it has seen enough: there, names differing only in case could hide.
func namesInBranches(tree any) bool {
	found := false
	walkAll(tree, func(_ string, s map[string]any) {
		for _, keyword := range []string{"anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "dependencies", "contains"} {
			found = found || mentionsNames(s[keyword])
		}
	})
	return found
}

// mentionsNames looks at every member below v, keyword or not: a mistake
// costs a little time, never a name.
func mentionsNames(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		if v["properties"] != nil || v["$ref"] != nil || v["$dynamicRef"] != nil || v["$recursiveRef"] != nil {
			return true
		}
		for _, sub := range v {
			if mentionsNames(sub) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, mentionsNames)
	}
	return false
}

// Admits reports whether a decoded value, with numbers as [json.Number], is
// valid. It judges examples before they are shown; documents go to
// [Schema.Validate], which also minds names that differ in case only.
func (s *Schema) Admits(v any) bool {
	return s.engine.validate(context.Background(), v, size(v)) == nil
}

// size counts the values in v.
func size(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, sub := range v {
			n += size(sub)
		}
	case []any:
		for _, sub := range v {
			n += size(sub)
		}
	}
	return n
}
