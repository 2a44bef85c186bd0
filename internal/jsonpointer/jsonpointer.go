// Package jsonpointer reads and writes JSON pointers (RFC 6901).
package jsonpointer

import (
	"strconv"
	"strings"
)

var (
	escapes   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapes = strings.NewReplacer("~1", "/", "~0", "~")
)

// Escape returns a member's name as a token of a pointer.
func Escape(name string) string { return escapes.Replace(name) }

// Unescape returns the name that a token stands for.
func Unescape(token string) string { return unescapes.Replace(token) }

// Tokens splits a pointer into the names and indexes on its way.
func Tokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	path := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, token := range path {
		path[i] = Unescape(token)
	}
	return path
}

// Lookup follows names and indexes through a decoded value.
func Lookup(v any, path []string) (any, bool) {
	for _, name := range path {
		switch c := v.(type) {
		case map[string]any:
			next, ok := c[name]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(c) {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, true
}
