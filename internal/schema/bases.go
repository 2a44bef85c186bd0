package schema

import (
	"net/url"
	"slices"
	"strings"
)

// bases knows where references of any kind may lead. Identifiers nest, a
// reference counts from the nearest, and a dynamic one may end at every anchor
// of its name: all of them are kept, because each may apply.
type bases struct {
	referring []referrer
	resources map[string][]any // by URI
	anchors   map[string][]any // by URI and name, and dynamic ones by name alone
	recursive []any            // subschemas that $recursiveRef may end at
}

// A referrer is a subschema with references, and the URIs they may count from.
type referrer struct {
	schema map[string]any
	bases  []string
}

// leadsOf returns, for each subschema with references, every subschema they may
// lead to. It looks at a tree once, without asking which draft heeds which identifier: a
// reference that leads to one place too many costs a look, one too few a hole.
func leadsOf(tree any) map[uintptr][]any {
	b := &bases{resources: map[string][]any{baseURI: {tree}}, anchors: map[string][]any{}}
	b.index(tree, baseURI, maxDepth)
	leads := make(map[uintptr][]any, len(b.referring))
	for _, r := range b.referring {
		leads[identity(r.schema)] = b.targets(r)
	}
	return leads
}

// index goes through everything, keyword or not: references lead into
// subschemas at unusual places too.
func (b *bases) index(v any, base string, depth int) {
	if depth < 0 {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		inner := b.identify(v, base)
		if refers(v) {
			// Up to draft 7 an identifier beside a reference is ignored.
			b.referring = append(b.referring, referrer{v, slices.Compact([]string{base, inner})})
		}
		base = inner
		for _, sub := range v {
			b.index(sub, base, depth-1)
		}
	case []any:
		for _, sub := range v {
			b.index(sub, base, depth-1)
		}
	}
}

// identify enters the identifiers and anchors of s, and returns the URI that
// references below it count from.
func (b *bases) identify(s map[string]any, base string) string {
	outer := base
	for _, keyword := range []string{"$id", "id"} {
		id, _ := s[keyword].(string)
		if id == "" {
			continue
		}
		uri, name := absolute(outer, id)
		if name != "" {
			b.anchors[uri+"#"+name] = append(b.anchors[uri+"#"+name], s)
			continue
		}
		b.resources[uri] = append(b.resources[uri], s)
		base = uri
	}
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		if name, ok := s[keyword].(string); ok {
			b.anchors[base+"#"+name] = append(b.anchors[base+"#"+name], s)
			b.anchors[name] = append(b.anchors[name], s)
		}
	}
	if s["$recursiveAnchor"] == true {
		b.recursive = append(b.recursive, s)
	}
	return base
}

// absolute resolves a reference against a URI and splits its fragment off.
func absolute(base, ref string) (uri, fragment string) {
	from, err := url.Parse(base)
	if err != nil {
		return ref, ""
	}
	to, err := from.Parse(ref)
	if err != nil {
		return ref, ""
	}
	fragment = to.EscapedFragment()
	to.Fragment, to.RawFragment = "", ""
	return to.String(), fragment
}

// referring keywords lead from one subschema to another.
var referringKeywords = []string{"$ref", "$dynamicRef", "$recursiveRef"}

func refers(s map[string]any) bool {
	return slices.ContainsFunc(referringKeywords, func(keyword string) bool { return s[keyword] != nil })
}

// targets returns every subschema that the references of r may lead to.
func (b *bases) targets(r referrer) (out []any) {
	for _, keyword := range referringKeywords {
		ref, ok := r.schema[keyword].(string)
		if !ok {
			continue
		}
		for _, base := range r.bases {
			out = append(out, b.find(base, ref)...)
		}
		switch _, name, _ := strings.Cut(ref, "#"); keyword {
		case "$dynamicRef":
			out = append(out, b.anchors[name]...)
		case "$recursiveRef":
			out = append(out, b.recursive...)
		}
	}
	return out
}

// find returns what ref leads to, counted from base.
func (b *bases) find(base, ref string) (out []any) {
	uri, fragment := absolute(base, ref)
	if fragment != "" && fragment[0] != '/' {
		return b.anchors[uri+"#"+fragment]
	}
	for _, resource := range b.resources[uri] {
		if to, ok := resolvePointer(resource, fragment); ok {
			out = append(out, to.schema)
		}
	}
	return out
}
