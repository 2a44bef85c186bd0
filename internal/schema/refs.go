package schema

import (
	"net/url"
	"reflect"
	"strings"

	"github.com/toolguard-go/toolguard/internal/jsonpointer"
)

// A spot is a subschema and where it stands.
type spot struct {
	schema  any    // nil if it is not part of the tree: a metaschema
	pointer string // JSON pointer
}

// A resolver follows references through one tree without loading anything.
type resolver struct {
	root    any
	home    string          // URI of the whole schema
	anchors map[string]spot // by name
	nested  bool            // has identifiers below the top: only the compiler knows where references lead
}

// newResolver indexes identifiers and anchors. Up to draft 7 an anchor is an
// identifier with nothing but a fragment.
func newResolver(root any) resolver {
	r := resolver{root: root, home: home(root), anchors: map[string]spot{}}
	walk(root, "", func(at string, s map[string]any) {
		for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
			if name, ok := s[keyword].(string); ok {
				r.anchors[name] = spot{s, at}
			}
		}
		for _, keyword := range []string{"$id", "id"} {
			id, _ := s[keyword].(string)
			base, name, _ := strings.Cut(id, "#")
			switch {
			case name != "":
				r.anchors[name] = spot{s, at}
			case base != "" && at != "":
				r.nested = true
			}
		}
	})
	return r
}

// resolve returns what ref leads to, and the reason if it leads nowhere.
func (r resolver) resolve(ref string) (to spot, reason string) {
	base, _, _ := strings.Cut(ref, "#")
	fragment, here := within(r.home, ref)
	switch {
	case base != "" && draftOf(base) != 0:
		return spot{}, ""
	case !here:
		return spot{}, ReasonExternalRef
	case fragment != "" && fragment[0] != '/':
		to, ok := r.anchors[fragment]
		if !ok {
			return spot{}, ReasonDanglingRef
		}
		return to, ""
	}
	to, ok := resolvePointer(r.root, fragment)
	if !ok {
		return spot{}, ReasonDanglingRef
	}
	return to, ""
}

// home returns the URI that references at the top count from.
func home(root any) string {
	s, _ := root.(map[string]any)
	for _, keyword := range []string{"$id", "id"} {
		if id, _ := s[keyword].(string); id != "" && id[0] != '#' {
			uri, _ := absolute(baseURI, id)
			return uri
		}
	}
	return baseURI
}

// within returns the fragment of a reference that leads into the schema at home,
// however that is spelled.
func within(home, ref string) (fragment string, ok bool) {
	if fragment, ok = strings.CutPrefix(ref, "#"); ok || ref == "" {
		return fragment, true
	}
	uri, fragment := absolute(home, ref)
	return fragment, uri == home
}

// resolvePointer follows the fragment of a reference. Like the compiler, it
// takes "/" for the whole schema.
func resolvePointer(root any, fragment string) (spot, bool) {
	if fragment == "" || fragment == "/" {
		return spot{schema: root}, true
	}
	path := jsonpointer.Tokens(fragment)
	for i, token := range path {
		if plain, err := url.PathUnescape(token); err == nil {
			path[i] = plain
		}
	}
	v, ok := jsonpointer.Lookup(root, path)
	return spot{v, fragment}, ok && isSchema(v)
}

// walkAll is [walk], and goes on where references lead outside the usual
// places, such as #/components/schemas. It sees every object once.
func walkAll(root any, fn func(at string, s map[string]any)) {
	seen := map[uintptr]bool{}
	var fragments []string
	home := home(root)
	visit := func(at string, s map[string]any) {
		if seen[identity(s)] {
			return
		}
		seen[identity(s)] = true
		fn(at, s)
		ref, _ := s["$ref"].(string)
		if fragment, ok := within(home, ref); ok && strings.HasPrefix(fragment, "/") {
			fragments = append(fragments, fragment)
		}
	}
	walk(root, "", visit)
	for len(fragments) > 0 {
		to, _ := resolvePointer(root, fragments[0])
		fragments = fragments[1:]
		if m, ok := to.schema.(map[string]any); ok && !seen[identity(m)] {
			walk(m, to.pointer, visit)
		}
	}
}

// identity tells one schema object from another that looks the same.
func identity(s map[string]any) uintptr { return reflect.ValueOf(s).Pointer() }

// dropBadRefs removes references that lead nowhere, out of the schema or back
// to themselves without looking at anything smaller.
func dropBadRefs(root any, draft int) []Note {
	r := newResolver(root)
	if r.nested {
		return nil
	}
	var notes []Note
	walkAll(root, func(at string, s map[string]any) {
		ref, ok := s["$ref"].(string)
		if !ok {
			return
		}
		if _, reason := r.resolve(ref); reason != "" {
			delete(s, "$ref")
			notes = append(notes, Note{Path: at, Keyword: "$ref", Reason: reason})
		}
	})
	c := circles{resolver: r, draft: draft, state: map[uintptr]int{}}
	walkAll(root, func(at string, s map[string]any) { c.visit(at, s) })
	return append(notes, c.notes...)
}

// circles finds references that apply a subschema to the very value it is
// being applied to.
type circles struct {
	resolver
	draft int
	state map[uintptr]int
	notes []Note
}

const (
	visiting = 1
	visited  = 2
)

// visit reports whether s is already being visited, and cuts the reference
// that led back to it.
func (c *circles) visit(at string, s map[string]any) (circular bool) {
	id := identity(s)
	if c.state[id] != 0 {
		return c.state[id] == visiting
	}
	c.state[id] = visiting
	if ref, ok := s["$ref"].(string); ok {
		to, _ := c.resolve(ref)
		if m, isMap := to.schema.(map[string]any); isMap && c.visit(to.pointer, m) {
			delete(s, "$ref")
			c.notes = append(c.notes, Note{Path: at, Keyword: "$ref", Reason: ReasonCircularRef})
		}
	}
	for _, sub := range inPlace(s, c.draft) {
		if m, ok := sub.schema.(map[string]any); ok {
			c.visit(at+sub.pointer, m)
		}
	}
	c.state[id] = visited
	return false
}
