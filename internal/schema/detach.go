package schema

import (
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// detach takes the keywords whose cost the validator does not bound out of a
// compiled schema, where a [step] evaluates them instead. Metaschemas, which the
// library shares between all schemas, have no steps and stay as they are.
func detach(s *jsonschema.Schema, seen map[*jsonschema.Schema]bool) {
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	if st, ok := s.Extensions[stepsName].(*step); ok {
		if st.pattern != nil {
			s.Pattern = nil
		}
		if st.multipleOf != "" {
			s.MultipleOf = nil
		}
	}
	for _, sub := range children(s) {
		detach(sub, seen)
	}
}

// children returns the subschemas of a compiled schema; some may be nil.
func children(s *jsonschema.Schema) []*jsonschema.Schema {
	out := []*jsonschema.Schema{
		s.Ref, s.RecursiveRef, s.DynamicRef, s.Not, s.If, s.Then, s.Else, s.PropertyNames,
		s.UnevaluatedProperties, s.Items2020, s.Contains, s.UnevaluatedItems, s.ContentSchema,
	}
	out = slices.Concat(out, s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems)
	out = slices.AppendSeq(out, maps.Values(s.Properties))
	out = slices.AppendSeq(out, maps.Values(s.PatternProperties))
	out = slices.AppendSeq(out, maps.Values(s.DependentSchemas))
	loose := slices.Collect(maps.Values(s.Dependencies))
	for _, v := range append(loose, s.AdditionalProperties, s.Items, s.AdditionalItems) {
		switch v := v.(type) {
		case *jsonschema.Schema:
			out = append(out, v)
		case []*jsonschema.Schema:
			out = append(out, v...)
		}
	}
	return out
}
