package schema

import (
	"strconv"
	"time"

	"github.com/toolguard-go/toolguard/internal/jsonpointer"
	"github.com/toolguard-go/toolguard/internal/pattern"
	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// places answer which subschemas may apply to a value, without judging it:
// every branch counts. That is enough to know the names an object may have.
type places struct {
	resolver
	draft    int
	patterns map[string]*pattern.Pattern // of patternProperties
	spelled  map[string][]string         // the names a pattern admits, if it spells them out
	leads    map[uintptr][]any           // where the references of a subschema may lead
}

// newPlaces prepares the walk: patterns are compiled once, not per document.
func newPlaces(tree any, draft int) places {
	p := places{resolver: newResolver(tree), draft: draft, leads: leadsOf(tree),
		patterns: map[string]*pattern.Pattern{}, spelled: map[string][]string{}}
	walkAll(tree, func(_ string, s map[string]any) {
		named, _ := s["patternProperties"].(map[string]any)
		for source := range named {
			if re, err := pattern.Compile(source); err == nil {
				p.patterns[source] = re
				if names := spelledOut(source); names != nil {
					p.spelled[source] = names
				}
			}
		}
	})
	return p
}

// inPlace lists the subschemas of s for the same value, except that of $ref.
func inPlace(s map[string]any, draft int) []spot {
	if hidesSiblings(s, draft) {
		return nil
	}
	var out []spot
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		branches, _ := s[keyword].([]any)
		for i, b := range branches {
			out = append(out, spot{b, "/" + keyword + "/" + strconv.Itoa(i)})
		}
	}
	for _, keyword := range []string{"if", "then", "else", "not"} {
		if sub, ok := s[keyword]; ok {
			out = append(out, spot{sub, "/" + keyword})
		}
	}
	for _, keyword := range []string{"dependentSchemas", "dependencies"} {
		named, _ := s[keyword].(map[string]any)
		for name, sub := range named {
			out = append(out, spot{sub, "/" + keyword + "/" + jsonpointer.Escape(name)})
		}
	}
	return out
}

// hidesSiblings reports a $ref of draft 7 or earlier, beside which nothing counts.
func hidesSiblings(s map[string]any, draft int) bool {
	_, ok := s["$ref"].(string)
	return ok && draft < 2019
}

// closure returns the given schemas and all that apply to the same value.
// What not forbids is left out: it declares nothing.
func (p *places) closure(schemas ...any) []map[string]any {
	var out []map[string]any
	seen := map[uintptr]bool{}
	for queue := schemas; len(queue) > 0; queue = queue[1:] {
		s, ok := queue[0].(map[string]any)
		if !ok || seen[identity(s)] {
			continue
		}
		seen[identity(s)] = true
		out = append(out, s)
		queue = append(queue, p.leads[identity(s)]...)
		for _, sub := range inPlace(s, p.draft) {
			if sub.pointer != "/not" {
				queue = append(queue, sub.schema)
			}
		}
	}
	return out
}

// target returns what the $ref of s leads to, the zero spot if it has none or
// that is not known.
func (p *places) target(s map[string]any) spot {
	ref, ok := s["$ref"].(string)
	if !ok || p.nested {
		return spot{}
	}
	to, _ := p.resolve(ref)
	return to
}

// maxLookup bounds the matching of names for one violation: it only decides how
// the violation is worded.
const maxLookup = 2 * time.Millisecond

// at returns all schemas that may apply to a node.
func (p *places) at(doc *strictjson.Doc, node int32) []map[string]any {
	set := p.closure(p.root)
	matches := pattern.NewBudget(maxLookup)
	for i := int32(0); i != node; {
		child, index := i+1, 0
		for doc.Nodes[child].Next <= node {
			child = doc.Nodes[child].Next
			index++
		}
		set = p.child(set, doc, child, index, &matches)
		i = child
	}
	return set
}

// child returns the schemas of a child, given those of its parent.
func (p *places) child(set []map[string]any, doc *strictjson.Doc, child int32, index int, matches *pattern.Budget) []map[string]any {
	var subs []any
	for _, s := range set {
		if hidesSiblings(s, p.draft) {
			continue
		}
		if doc.Nodes[child].KeyEnd > 0 {
			subs = append(subs, p.member(s, doc.Key(child), matches)...)
		} else if sub, ok := element(s, index); ok {
			subs = append(subs, sub)
		}
	}
	return p.closure(subs...)
}

// member returns what s itself says about the member called name.
func (p *places) member(s map[string]any, name string, matches *pattern.Budget) []any {
	var subs []any
	named, _ := s["properties"].(map[string]any)
	if sub, ok := named[name]; ok {
		subs = append(subs, sub)
	}
	patterns, _ := s["patternProperties"].(map[string]any)
	for source, sub := range patterns {
		if re := p.patterns[source]; re != nil && re.MatchString(name, matches) {
			subs = append(subs, sub)
		}
	}
	if len(subs) == 0 {
		for _, keyword := range []string{"additionalProperties", "unevaluatedProperties"} {
			if sub, ok := s[keyword]; ok {
				subs = append(subs, sub)
			}
		}
	}
	return subs
}

// element returns what s itself says about element i, in any draft: a list is
// for the first elements, what stands beside it for the rest.
func element(s map[string]any, i int) (any, bool) {
	first, _ := s["prefixItems"].([]any)
	rest, ok := s["items"]
	if list, isList := rest.([]any); isList {
		first = list
		rest, ok = s["additionalItems"]
	}
	if i < len(first) {
		return first[i], true
	}
	return rest, ok
}

// declared returns the names under properties in the set.
func declared(set []map[string]any, draft int) map[string]bool {
	names := map[string]bool{}
	for _, s := range set {
		if hidesSiblings(s, draft) {
			continue
		}
		named, _ := s["properties"].(map[string]any)
		for name := range named {
			names[name] = true
		}
	}
	return names
}

// declares reports whether a schema of the set has name under properties.
func declares(set []map[string]any, name string, draft int) bool {
	for _, s := range set {
		named, _ := s["properties"].(map[string]any)
		if _, ok := named[name]; ok && !hidesSiblings(s, draft) {
			return true
		}
	}
	return false
}
