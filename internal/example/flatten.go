package example

import (
	"net/url"
	"slices"
	"strings"

	"github.com/toolguard-go/toolguard/internal/jsonpointer"
)

// flatten returns the schema with references followed, allOf merged and one
// branch of each alternative taken and merged; false if nothing can be valid.
func (b *builder) flatten(schema any) (map[string]any, bool) {
	if allowed, ok := schema.(bool); ok {
		return map[string]any{}, allowed
	}
	m, ok := schema.(map[string]any)
	if !ok || !b.spend(1+len(m)/8) {
		return nil, false
	}
	flat := without(m, "$ref", "allOf", "anyOf", "oneOf", "if", "then", "else")
	if !b.mergeAll(flat, m) {
		return nil, false
	}
	for _, keyword := range [...]string{"anyOf", "oneOf"} {
		if branches, ok := m[keyword].([]any); ok && len(branches) > 0 && !b.mergeOne(flat, branches) {
			return nil, false
		}
	}
	return flat, b.mergeConditional(flat, m)
}

// mergeAll merges $ref and allOf into flat.
func (b *builder) mergeAll(flat, m map[string]any) bool {
	if target, ok := m["$ref"].(string); ok {
		tree, found := resolve(b.root, target)
		if !found || !b.follow(target) || !b.mergeSchema(flat, tree) {
			return false
		}
	}
	parts, _ := m["allOf"].([]any)
	for _, part := range parts {
		if !b.mergeSchema(flat, part) {
			return false
		}
	}
	return true
}

// mergeSchema flattens a schema and merges it into flat.
func (b *builder) mergeSchema(flat map[string]any, schema any) bool {
	part, ok := b.flatten(schema)
	if ok {
		merge(flat, part)
	}
	return ok
}

// mergeOne merges the chosen branch, or the next one that can be flattened.
func (b *builder) mergeOne(flat map[string]any, branches []any) bool {
	first := b.choose(len(branches))
	refs := len(b.path)
	for i := range branches {
		part, ok := b.flatten(branches[(first+i)%len(branches)])
		if ok && !disjoint(flat, part) {
			merge(flat, part)
			return true
		}
		b.path = b.path[:refs]
	}
	return false
}

// mergeConditional tries "leave it to chance", "if and then" and "else".
func (b *builder) mergeConditional(flat, m map[string]any) bool {
	condition, ok := m["if"]
	if !ok {
		return true
	}
	parts := [][]any{nil, {condition, m["then"]}, {m["else"]}}[b.choose(3)]
	for _, part := range parts {
		if part != nil && !b.mergeSchema(flat, part) {
			return false
		}
	}
	return true
}

// follow notes a reference, false if it was followed too often already.
func (b *builder) follow(target string) bool {
	visits := 0
	for _, r := range b.path {
		if r == target {
			visits++
		}
	}
	b.path = append(b.path, target)
	return visits < maxVisits
}

// without copies m, so that merging changes no schema, and leaves out keywords.
func without(m map[string]any, keywords ...string) map[string]any {
	rest := make(map[string]any, len(m))
	for k, v := range m {
		if !slices.Contains(keywords, k) {
			rest[k] = v
		}
	}
	return rest
}

// resolve follows a reference into the same document.
func resolve(tree any, target string) (any, bool) {
	pointer, local := strings.CutPrefix(target, "#")
	pointer, err := url.PathUnescape(pointer)
	if !local || err != nil {
		return nil, false
	}
	if pointer == "" || pointer == "/" {
		return tree, true
	}
	if pointer[0] != '/' {
		return nil, false // an anchor
	}
	return jsonpointer.Lookup(tree, jsonpointer.Tokens(pointer))
}
