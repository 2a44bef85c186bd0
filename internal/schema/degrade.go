package schema

import (
	"maps"
	"slices"

	"github.com/toolguard-go/toolguard/internal/jsonpointer"
)

// Reasons why something in a schema is not enforced.
const (
	ReasonMalformed     = "malformed"      // the keyword's value is not what the keyword takes
	ReasonPattern       = "pattern"        // not a regular expression of Go's linear-time engine
	ReasonNumber        = "number"         // digits or exponent beyond what is safe to compute with
	ReasonDanglingRef   = "dangling_ref"   // the reference leads nowhere
	ReasonExternalRef   = "external_ref"   // the reference leads out of the schema
	ReasonCircularRef   = "circular_ref"   // the reference leads back to itself
	ReasonNotAnObject   = "not_an_object"  // a top-level type that excludes objects
	ReasonIdentifiers   = "identifiers"    // references, anchors and identifiers do not fit together
	ReasonBeyondCompile = "beyond_compile" // everything but top-level types, required and names
)

// sanitize takes out of every subschema what could not be compiled and returns
// a note for each piece that constrained something.
func sanitize(tree any) []Note {
	var notes []Note
	walkAll(tree, func(at string, s map[string]any) {
		for _, keyword := range slices.Sorted(maps.Keys(s)) {
			if reason := sanitizeKeyword(s, keyword); reason != "" {
				notes = append(notes, Note{Path: at, Keyword: keyword, Reason: reason})
			}
		}
		notes = append(notes, sanitizeSubschemas(s, at)...)
	})
	return notes
}

// sanitizeKeyword removes or mends one keyword and says why, "" if nothing is lost.
func sanitizeKeyword(s map[string]any, keyword string) string {
	v := s[keyword]
	if fits, ok := annotations[keyword]; ok && !fits(v) {
		delete(s, keyword)
		return ""
	}
	if positions[keyword] != 0 {
		return sanitizeHolder(s, keyword)
	}
	if _, hostile := hostileNumber(v); hostile {
		delete(s, keyword)
		if wellFormed[keyword] == nil && keyword != "const" {
			return ""
		}
		return ReasonNumber
	}
	fits, ok := wellFormed[keyword]
	if !ok || fits(v) {
		return ""
	}
	delete(s, keyword)
	return salvage(s, keyword, v)
}

// salvage keeps what a malformed keyword says beyond doubt.
func salvage(s map[string]any, keyword string, v any) string {
	if keyword == "pattern" && isString(v) {
		return ReasonPattern
	}
	if names, ok := v.([]any); ok && keyword == "required" {
		s[keyword] = slices.DeleteFunc(slices.Clone(names), func(n any) bool { return !isString(n) })
	}
	return ReasonMalformed
}

// sanitizeHolder checks only the container; what is in it comes later.
func sanitizeHolder(s map[string]any, keyword string) string {
	fits := false
	entries, isList := s[keyword].([]any)
	switch p := positions[keyword]; {
	case p == named || p == namedMixed:
		fits = isMap(s[keyword])
	case isList:
		fits = (p == list || p == singleList) && len(entries) > 0
	default:
		fits = (p == single || p == singleList) && isSchema(s[keyword])
	}
	if fits {
		return ""
	}
	delete(s, keyword)
	return ReasonMalformed
}

// sanitizeSubschemas puts an empty schema where something else stands, which
// keeps a property's name, and takes out patterns that do not compile.
func sanitizeSubschemas(s map[string]any, at string) []Note {
	var notes []Note
	eachSub(s, func(sub string, v any) any {
		if isSchema(v) {
			return v
		}
		notes = append(notes, Note{Path: at + sub, Reason: ReasonMalformed})
		return map[string]any{}
	})
	patterns, _ := s["patternProperties"].(map[string]any)
	for _, p := range slices.Sorted(maps.Keys(patterns)) {
		if !isPattern(p) {
			delete(patterns, p)
			notes = append(notes, Note{at + "/patternProperties/" + jsonpointer.Escape(p), "patternProperties", ReasonPattern})
		}
	}
	dependencies, _ := s["dependencies"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(dependencies)) {
		if v := dependencies[name]; !isSchema(v) && !isNames(v) {
			delete(dependencies, name)
			notes = append(notes, Note{at + "/dependencies/" + jsonpointer.Escape(name), "dependencies", ReasonMalformed})
		}
	}
	return notes
}

// references are dropped together when they do not compile although each
// looks right: identifiers can send any of them anywhere.
var references = []string{"$anchor", "$dynamicAnchor", "$dynamicRef", "$id", "$recursiveAnchor", "$recursiveRef", "$ref", "id"}

// dropReferences takes out every reference and identifier. Only those that
// constrained something get a note.
func dropReferences(tree any) []Note {
	var notes []Note
	walkAll(tree, func(at string, s map[string]any) {
		for _, keyword := range references {
			if _, ok := s[keyword].(string); !ok {
				continue
			}
			delete(s, keyword)
			if wellFormed[keyword] != nil {
				notes = append(notes, Note{Path: at, Keyword: keyword, Reason: ReasonIdentifiers})
			}
		}
	})
	return notes
}

// skeleton is what is enforced of a schema that cannot be compiled at all:
// types, required names and names at its top, still to be rewritten and sanitized.
func skeleton(tree any) map[string]any {
	s, _ := tree.(map[string]any)
	out := map[string]any{}
	if names, ok := s["required"].([]any); ok {
		out["required"] = names
	}
	members, ok := s["properties"].(map[string]any)
	if !ok || len(members) >= maxSubschemas {
		return out
	}
	if s["additionalProperties"] == false && s["patternProperties"] == nil {
		out["additionalProperties"] = false
	}
	kept := make(map[string]any, len(members))
	for name, v := range members {
		kept[name] = onlyType(v)
	}
	out["properties"] = kept
	return out
}

// onlyType keeps of a member what the skeleton enforces, as it was written:
// rewriting and sanitizing follow, as for any schema.
func onlyType(v any) map[string]any {
	member, _ := v.(map[string]any)
	out := map[string]any{}
	for _, keyword := range []string{"type", "nullable", "required"} {
		if v, ok := member[keyword]; ok && (keyword != "required" || isBool(v)) && shallow(v, 2) {
			out[keyword] = v
		}
	}
	return out
}
