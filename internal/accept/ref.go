package accept

import (
	"strconv"
	"strings"

	"github.com/toolguard-go/toolguard/internal/jsonpointer"
)

// ref returns the node that $ref points to. Only plain pointers into the same
// document are followed; anchors, percent-encoding and other documents are not.
func (s schema) ref() *node {
	target, _ := s.m["$ref"].(string)
	pointer, ok := strings.CutPrefix(target, "#")
	tree, found := resolve(s.root, pointer)
	if !ok || !found || s.hasID() {
		s.beyond = true
		return nil
	}
	return s.at(pointer, tree)
}

// resolve follows a JSON pointer. It finds only pointers in their plainest
// spelling, so that one location has one spelling and one node.
func resolve(tree any, pointer string) (any, bool) {
	if pointer == "" {
		return tree, true
	}
	if !isPlain(pointer) {
		return nil, false
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		var ok bool
		if tree, ok = step(tree, token); !ok {
			return nil, false
		}
	}
	return tree, true
}

// step follows one token. Tokens that are not spelled the canonical way, such
// as the index 00, are not found.
func step(tree any, token string) (any, bool) {
	switch t := tree.(type) {
	case map[string]any:
		name := jsonpointer.Unescape(token)
		v, ok := t[name]
		return v, ok && jsonpointer.Escape(name) == token
	case []any:
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(t) || strconv.Itoa(i) != token {
			return nil, false
		}
		return t[i], true
	}
	return nil, false
}

// isPlain reports whether a pointer reads the same with and without URL
// decoding. "#/" is not plain: it means the member "" by the RFC and the root
// to jsonschema/v5.
func isPlain(pointer string) bool {
	const marks = "/~_-.$"
	for _, r := range pointer {
		letter := 'a' <= r|0x20 && r|0x20 <= 'z' && r < 0x80
		if !letter && (r < '0' || r > '9') && !strings.ContainsRune(marks, r) {
			return false
		}
	}
	return pointer[0] == '/' && len(pointer) > 1
}

// hasID reports an identifier anywhere in the schema: references could be
// resolved against it. One inside an enum is harmless but looks the same.
func (c *compiler) hasID() bool {
	keyword := "$id"
	if c.draft == 4 {
		keyword = "id"
	}
	if c.id == nil {
		found := containsString(c.root, keyword)
		c.id = &found
	}
	return *c.id
}

// containsString looks for a member of that name with a string as its value;
// a property that is called like it has a schema as its value.
func containsString(tree any, member string) bool {
	switch t := tree.(type) {
	case map[string]any:
		if _, ok := t[member].(string); ok {
			return true
		}
		for _, v := range t {
			if containsString(v, member) {
				return true
			}
		}
	case []any:
		for _, v := range t {
			if containsString(v, member) {
				return true
			}
		}
	}
	return false
}

// hasInPlaceCycle reports subschemas that apply themselves to the same value
// again. jsonschema/v5 refuses most of them when compiling and ends the whole
// validation on the others, even in a branch of anyOf that does not matter.
func hasInPlaceCycle(nodes map[string]*node) bool {
	const active, done = 1, 2
	state := make(map[*node]int, len(nodes))
	var cyclic func(n *node) bool
	cyclic = func(n *node) bool {
		if state[n] != 0 {
			return state[n] == active
		}
		state[n] = active
		for _, next := range n.sameValue() {
			if cyclic(next) {
				return true
			}
		}
		state[n] = done
		return false
	}
	for _, n := range nodes {
		if cyclic(n) {
			return true
		}
	}
	return false
}
