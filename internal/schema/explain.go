package schema

import (
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/toolguard-go/toolguard/internal/jsonpointer"
	"github.com/toolguard-go/toolguard/internal/near"
	"github.com/toolguard-go/toolguard/internal/pattern"
	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// explain turns a failed keyword into violations: one for each missing or
// unknown name, otherwise one.
func (s *Schema) explain(doc *strictjson.Doc, l leaf) []Violation {
	node := find(doc, l.path)
	v := Violation{
		Path: l.path, Node: node, Rule: l.rule,
		Kind: kindOf(doc, node), Got: strictjson.Preview(doc.Raw(node), maxSeen),
	}
	switch l.rule {
	case RuleRequired:
		return s.missing(doc, l, v)
	case RuleUnknownProperty:
		return s.unknown(doc, l, v)
	case RuleType, RuleEnum:
		v.wantList(l.values())
		v.Near = nearValues(doc, node, l)
	case RuleConst:
		v.Want = text(l.owner["const"])
	case RulePattern, RuleFormat:
		v.Want, _ = l.owner[l.keyword].(string)
	case RuleOneOf, RuleAnyOf:
		v.wantNames(l)
	case RuleDependentRequired:
		v.Name, v.Want = l.name, l.trigger
	case RulePropertyName:
		v.Name, v.Want = last(l.path), l.keyword
	case RuleOther:
		v.Want = l.keyword
	case RuleUniqueItems:
		v.repeated(doc)
	default:
		v.limit(doc, l)
	}
	return []Violation{v}
}

// limit fills bounds and what was compared to them.
func (v *Violation) limit(doc *strictjson.Doc, l leaf) {
	switch bound := l.owner[l.keyword].(type) {
	case json.Number:
		v.Limit = string(bound)
	case bool: // draft 4's flag, or additionalItems
		v.Limit = flaggedLimit(l)
	case nil:
		if l.rule == RuleContains {
			v.Limit = "1"
		}
	}
	switch l.rule {
	case RuleMinLength, RuleMaxLength:
		v.Count = utf8.RuneCountInString(doc.Str(v.Node))
	case RuleMinItems, RuleMaxItems, RuleMinProperties, RuleMaxProperties:
		v.Count = int(doc.Nodes[v.Node].Len)
	}
}

// flaggedLimit finds the bound that a boolean speaks of: draft 4's exclusive
// flags qualify the bound beside them, additionalItems counts the list.
func flaggedLimit(l leaf) string {
	switch l.keyword {
	case "exclusiveMinimum":
		return text(l.owner["minimum"])
	case "exclusiveMaximum":
		return text(l.owner["maximum"])
	case "additionalItems":
		items, _ := l.owner["items"].([]any)
		return strconv.Itoa(len(items))
	}
	return ""
}

// missing makes one violation for each required name that is absent.
func (s *Schema) missing(doc *strictjson.Doc, l leaf, v Violation) []Violation {
	names, _ := l.owner["required"].([]any)
	given := members(doc, v.Node)
	set := s.places.at(doc, v.Node)
	var strangers []string
	for name := range given {
		if !declares(set, name, s.draft) {
			strangers = append(strangers, name)
		}
	}
	slices.Sort(strangers)
	var out []Violation
	for _, n := range names {
		name, _ := n.(string)
		if _, ok := given[name]; ok || len(out) > 2*maxViolations {
			continue
		}
		one := v
		one.Name, one.Near = name, near.Names(name, strangers)
		out = append(out, one)
	}
	return out
}

// unknown makes one violation for each member that is not allowed.
func (s *Schema) unknown(doc *strictjson.Doc, l leaf, v Violation) []Violation {
	if l.keyword == "unevaluatedProperties" {
		object := find(doc, parent(l.path))
		return []Violation{s.stranger(doc, v.Node, v, s.open(doc, object))}
	}
	var out []Violation
	open := s.open(doc, v.Node)
	own, matches := []map[string]any{l.owner}, pattern.NewBudget(maxLookup)
	for c := v.Node + 1; c < doc.Nodes[v.Node].Next; c = doc.Nodes[c].Next {
		name := doc.Key(c)
		if declares(own, name, s.draft) || s.places.matched(own, name, &matches) || len(out) > 2*maxViolations {
			continue
		}
		out = append(out, s.stranger(doc, c, v, open))
	}
	return out
}

// open returns the declared names that an object does not have, sorted.
func (s *Schema) open(doc *strictjson.Doc, object int32) (names []string) {
	given := members(doc, object)
	for name := range declared(s.places.at(doc, object), s.draft) {
		if _, ok := given[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// stranger describes member c of an object that may not be there.
func (s *Schema) stranger(doc *strictjson.Doc, c int32, v Violation, open []string) Violation {
	v.Name = doc.Key(c)
	v.Node, v.Path = c, doc.Pointer(c)
	v.Kind, v.Got = kindOf(doc, c), strictjson.Preview(doc.Raw(c), maxSeen)
	v.Near = near.Names(v.Name, open)
	return v
}

// wantList shows the first of the values wanted. Types are names, not JSON.
func (v *Violation) wantList(values []any) {
	for _, value := range values[:min(len(values), maxWanted)] {
		shown := text(value)
		if name, ok := value.(string); ok && v.Rule == RuleType {
			shown = name
		}
		v.WantList = append(v.WantList, strictjson.Preview([]byte(shown), maxGot))
	}
	v.WantMore = len(values) - len(v.WantList)
}

// wantNames lists the names of which one is missing, and counts the matches.
func (v *Violation) wantNames(l leaf) {
	if l.rule == RuleOneOf && !l.none {
		v.Count = 2
	}
	for _, names := range l.wanted {
		list, _ := names.([]any)
		for _, n := range list {
			name, _ := n.(string)
			if len(v.WantList) < maxWanted && !slices.Contains(v.WantList, name) {
				v.WantList = append(v.WantList, strictjson.Preview([]byte(name), maxGot))
			}
		}
	}
}

// repeated moves the violation to the first element spelt like an earlier one.
func (v *Violation) repeated(doc *strictjson.Doc) {
	seen := map[string]bool{}
	for c := v.Node + 1; c < doc.Nodes[v.Node].Next; c = doc.Nodes[c].Next {
		raw := string(doc.Raw(c))
		if seen[raw] {
			v.Node, v.Path = c, doc.Pointer(c)
			v.Kind, v.Got = kindOf(doc, c), strictjson.Preview(doc.Raw(c), maxSeen)
			return
		}
		seen[raw] = true
	}
}

// nearValues returns the allowed strings that a given string is close to.
func nearValues(doc *strictjson.Doc, node int32, l leaf) []string {
	if l.rule != RuleEnum || doc.Nodes[node].Kind != strictjson.String {
		return nil
	}
	var candidates []string
	for _, v := range l.values() {
		if value, ok := v.(string); ok {
			candidates = append(candidates, value)
		}
	}
	found := near.Names(doc.Str(node), candidates)
	for i, value := range found {
		found[i] = text(value)
	}
	return found
}

// find returns the node at a JSON pointer, the nearest one above it if there
// is none.
func find(doc *strictjson.Doc, path string) int32 {
	node := int32(0)
	for _, token := range jsonpointer.Tokens(path) {
		next, ok := childAt(doc, node, token)
		if !ok {
			return node
		}
		node = next
	}
	return node
}

// childAt returns the child of a node that a pointer token names.
func childAt(doc *strictjson.Doc, node int32, token string) (int32, bool) {
	if doc.Nodes[node].Kind == strictjson.Object {
		return doc.Member(node, token)
	}
	index, err := strconv.Atoi(token)
	for c := node + 1; err == nil && c < doc.Nodes[node].Next; c = doc.Nodes[c].Next {
		if index == 0 {
			return c, true
		}
		index--
	}
	return 0, false
}

// members indexes the members of an object, none for another value.
func members(doc *strictjson.Doc, node int32) map[string]int32 {
	out := map[string]int32{}
	if doc.Nodes[node].Kind != strictjson.Object {
		return out
	}
	for c := node + 1; c < doc.Nodes[node].Next; c = doc.Nodes[c].Next {
		out[doc.Key(c)] = c
	}
	return out
}
