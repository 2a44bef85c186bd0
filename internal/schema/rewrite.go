package schema

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/toolguard-go/toolguard/internal/jsonpointer"
)

// A Rewrite is one repair Lenient mode makes.
type Rewrite struct {
	Name    string // lower_snake, as in Note.Reason
	Matches string // what it looks for
	Becomes string // what it puts there
}

// Rewrites returns the table of rewrites, in the order they are tried at each
// subschema. Everything else is left as it is or, if it does not compile, out.
func Rewrites() []Rewrite {
	out := make([]Rewrite, len(rewrites))
	for i, r := range rewrites {
		out[i] = r.Rewrite
	}
	return out
}

// A rewrite changes one subschema in place and names the keywords it changed.
type rewrite struct {
	Rewrite
	apply func(s map[string]any, draft int) []string
}

var rewrites = []rewrite{
	{Rewrite{"schema_uri", `a $schema that is no known draft's URI`, `the URI of the draft it names ("draft-07", "2020-12" …); otherwise removed`}, schemaURI},
	{Rewrite{"null_keyword", `null as the value of a keyword that cannot be null ("required": null)`, `removed`}, nullKeyword},
	{Rewrite{"type_alias", `type names of programming languages, in any case, with parameters or not (dict, HashMap, float, long, list[str], any …)`, `the JSON type; any, mixed and unknown: no type`}, typeAlias},
	{Rewrite{"exclusive_flag", `boolean exclusiveMinimum or exclusiveMaximum in draft 6 and later`, `the bound itself, exclusive; false or without a bound: removed`}, exclusiveFlag},
	{Rewrite{"exclusive_number", `numeric exclusiveMinimum or exclusiveMaximum in draft 4`, `the bound with a flag, unless there is another bound`}, exclusiveNumber},
	{Rewrite{"required_flag", `boolean required on a member or elsewhere`, `true on a member: its name in the parent's required; otherwise removed`}, requiredFlag},
	{Rewrite{"repeated_entry", `repeated entries in required or enum, an empty required in draft 4`, `the first of each; an empty list removed`}, repeatedEntry},
	{Rewrite{"items_list", `a list under items in 2020-12`, `prefixItems, and additionalItems as items`}, itemsList},
	{Rewrite{"nullable", `nullable: true beside type, enum, anyOf or oneOf`, `null as one more type, value or branch`}, nullable},
	{Rewrite{"boolean_schema", `true or false as a subschema in draft 4, other than of additional…`, `{} or {"not": {}}`}, booleanSchema},
}

// rewriteAll applies the table to every subschema, parents first: a member's
// boolean required is lifted before the member itself is looked at.
func rewriteAll(tree any, draft int) []Note {
	var notes []Note
	walkAll(tree, func(at string, s map[string]any) {
		for _, r := range rewrites {
			for _, keyword := range r.apply(s, draft) {
				notes = append(notes, Note{Path: at, Keyword: keyword, Reason: r.Name})
			}
		}
	})
	return notes
}

// schemaURI keeps the compiler from looking for a metaschema that is not there.
func schemaURI(s map[string]any, _ int) []string {
	uri, ok := s["$schema"].(string)
	if !ok || draftOf(uri) != 0 {
		return nil
	}
	if better := nearestDraft(uri); better != "" {
		s["$schema"] = better
	} else {
		delete(s, "$schema")
	}
	return []string{"$schema"}
}

// nullKeyword takes null for "not given", which is what serializers of optional
// fields mean by it. Under const and default null is a value.
func nullKeyword(s map[string]any, _ int) []string {
	var changed []string
	for _, keyword := range slices.Sorted(maps.Keys(s)) {
		if v, known := s[keyword], wellFormed[keyword]; v == nil && known != nil {
			delete(s, keyword)
			changed = append(changed, keyword)
		}
	}
	return changed
}

// typeAliases map lower-case type names of programming languages to JSON's.
// "" is a name that constrains nothing.
var typeAliases = map[string]string{
	"dict": "object", "dictionary": "object", "map": "object", "mapping": "object",
	"hashmap": "object", "hashtable": "object", "record": "object", "struct": "object",
	"float": "number", "float32": "number", "float64": "number", "double": "number", "decimal": "number",
	"int": "integer", "int32": "integer", "int64": "integer", "long": "integer", "short": "integer",
	"byte": "integer", "bigint": "integer", "uint": "integer", "uint32": "integer", "uint64": "integer",
	"list": "array", "tuple": "array", "set": "array", "arraylist": "array", "sequence": "array",
	"str": "string", "text": "string", "char": "string",
	"bool": "boolean",
	"none": "null", "nil": "null", "nonetype": "null",
	"any": "", "mixed": "", "unknown": "",
}

// typeAlias rewrites a single type name.
func typeAlias(s map[string]any, _ int) []string {
	switch t := s["type"].(type) {
	case string:
		name, ok := jsonType(t)
		if !ok || name == t {
			return nil
		}
		s["type"] = name
		if name == "" {
			delete(s, "type")
		}
		return []string{"type"}
	case []any:
		return typeListAlias(s, t)
	}
	return nil
}

// typeListAlias rewrites a union of types; a union with "any" is no constraint.
func typeListAlias(s map[string]any, types []any) []string {
	var out []any
	changed := false
	for _, v := range types {
		name, ok := "", false
		if t, isString := v.(string); isString {
			name, ok = jsonType(t)
		}
		switch {
		case !ok:
			return nil // left for the check of well-formedness
		case name == "":
			delete(s, "type")
			return []string{"type"}
		case slices.Contains(out, any(name)):
			changed = true
			continue
		}
		changed = changed || name != v
		out = append(out, name)
	}
	if !changed {
		return nil
	}
	s["type"] = out
	return []string{"type"}
}

// jsonType returns the JSON type a name stands for, "" for any type.
func jsonType(name string) (string, bool) {
	base := strings.ToLower(strings.TrimSpace(name))
	if i := strings.IndexAny(base, "[<"); i > 0 {
		base = base[:i]
	}
	if jsonTypes[base] {
		return base, true
	}
	alias, ok := typeAliases[base]
	return alias, ok
}

// exclusiveFlag turns draft 4 into what came after.
func exclusiveFlag(s map[string]any, draft int) []string {
	if draft < 6 {
		return nil
	}
	return append(liftFlag(s, "exclusiveMinimum", "minimum"), liftFlag(s, "exclusiveMaximum", "maximum")...)
}

// liftFlag moves the bound under the exclusive keyword. A flag without a bound
// never meant anything.
func liftFlag(s map[string]any, exclusive, bound string) []string {
	flag, ok := s[exclusive].(bool)
	if !ok {
		return nil
	}
	delete(s, exclusive)
	if limit, has := s[bound].(json.Number); has && flag {
		s[exclusive] = limit
		delete(s, bound)
	}
	return []string{exclusive}
}

// exclusiveNumber turns what came after into draft 4.
func exclusiveNumber(s map[string]any, draft int) []string {
	if draft != 4 {
		return nil
	}
	return append(lowerNumber(s, "exclusiveMinimum", "minimum"), lowerNumber(s, "exclusiveMaximum", "maximum")...)
}

// lowerNumber leaves a subschema alone that has both bounds: one of them would
// be lost.
func lowerNumber(s map[string]any, exclusive, bound string) []string {
	limit, ok := s[exclusive].(json.Number)
	if _, has := s[bound]; !ok || has {
		return nil
	}
	s[bound], s[exclusive] = limit, true
	return []string{exclusive}
}

// requiredFlag moves the flag of draft 3, and of hand-written member lists, to
// where the names of required members belong.
func requiredFlag(s map[string]any, _ int) []string {
	var changed []string
	if _, ok := s["required"].(bool); ok {
		delete(s, "required")
		changed = append(changed, "required")
	}
	members, _ := s["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		member, _ := members[name].(map[string]any)
		flag, ok := member["required"].(bool)
		if !ok {
			continue
		}
		delete(member, "required")
		if flag {
			makeRequired(s, name)
		}
		changed = append(changed, "properties/"+jsonpointer.Escape(name)+"/required")
	}
	return changed
}

// makeRequired adds name to the required members of s, once.
func makeRequired(s map[string]any, name string) {
	names, _ := s["required"].([]any)
	if !slices.Contains(names, any(name)) {
		s["required"] = append(names, name)
	}
}

// repeatedEntry removes repetitions, which metaschemas refuse and which say
// nothing.
func repeatedEntry(s map[string]any, draft int) []string {
	var changed []string
	for _, keyword := range []string{"required", "enum"} {
		entries, ok := s[keyword].([]any)
		if !ok {
			continue
		}
		kept := distinct(entries)
		switch {
		case len(entries) == 0 && keyword == "required" && draft == 4:
			delete(s, keyword)
		case len(kept) == len(entries):
			continue
		default:
			s[keyword] = kept
		}
		changed = append(changed, keyword)
	}
	return changed
}

// distinct keeps the first of equal entries. Entries of a thousand or more
// are left alone: nobody wrote them by hand.
func distinct(entries []any) []any {
	if len(entries) > 1000 {
		return entries
	}
	var kept []any
	for _, e := range entries {
		same := func(k any) bool { return reflect.DeepEqual(k, e) }
		if !slices.ContainsFunc(kept, same) {
			kept = append(kept, e)
		}
	}
	return kept
}

// itemsList reads items as the drafts before 2020-12 did: schemas without
// $schema are mostly older than the default.
func itemsList(s map[string]any, draft int) []string {
	items, ok := s["items"].([]any)
	if _, has := s["prefixItems"]; !ok || has || draft < 2020 {
		return nil
	}
	delete(s, "items")
	if len(items) > 0 {
		s["prefixItems"] = items
	}
	if rest, has := s["additionalItems"]; has {
		s["items"] = rest
		delete(s, "additionalItems")
	}
	return []string{"items"}
}

// nullable adds null the way OpenAPI's keyword means it. Without anything to
// add it to, null is admitted already.
func nullable(s map[string]any, _ int) []string {
	if s["nullable"] != true {
		return nil
	}
	delete(s, "nullable")
	switch t := s["type"].(type) {
	case string:
		s["type"] = []any{t, "null"}
	case []any:
		if !slices.Contains(t, any("null")) {
			s["type"] = append(t, "null")
		}
	}
	if values, ok := s["enum"].([]any); ok && !slices.Contains(values, nil) {
		s["enum"] = append(values, nil)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if branches, ok := s[keyword].([]any); ok && s["type"] == nil {
			s[keyword] = append(branches, map[string]any{"type": "null"})
		}
	}
	return []string{"nullable"}
}

// booleanSchema spells out what draft 4 has no short form for.
func booleanSchema(s map[string]any, draft int) []string {
	if draft != 4 {
		return nil
	}
	var changed []string
	eachSub(s, func(at string, sub any) any {
		keyword := strings.TrimPrefix(at, "/")
		flag, ok := sub.(bool)
		if !ok || strings.HasPrefix(keyword, "additional") {
			return sub
		}
		changed = append(changed, keyword)
		if flag {
			return map[string]any{}
		}
		return map[string]any{"not": map[string]any{}}
	})
	return changed
}
