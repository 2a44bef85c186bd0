package jsonpointer

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	assert.Nil(t, Tokens(""))
	assert.Equal(t, []string{""}, Tokens("/"))
	assert.Equal(t, []string{"a", "", "0"}, Tokens("/a//0"))
	assert.Equal(t, []string{"~1", "/"}, Tokens("/~01/~1"))
}

// Any name survives its spelling as a token.
func TestEscapeIsUndone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringOf(rapid.SampledFrom([]rune("~/01a"))), 1, 4).Draw(t, "names")
		pointer := ""
		for _, name := range names {
			pointer += "/" + Escape(name)
		}
		assert.Equal(t, names, Tokens(pointer))
	})
}

func TestLookup(t *testing.T) {
	t.Parallel()
	tree := map[string]any{"a": []any{"x", map[string]any{"": nil}}, "0": "zero"}
	for pointer, want := range map[string]any{"": tree, "/0": "zero", "/a/0": "x", "/a/1/": nil} {
		got, ok := Lookup(tree, Tokens(pointer))
		assert.True(t, ok, pointer)
		assert.Equal(t, want, got, pointer)
	}
	for _, pointer := range []string{"/b", "/a/2", "/a/-1", "/a/x", "/a/0/0", "/0/0"} {
		_, ok := Lookup(tree, Tokens(pointer))
		assert.False(t, ok, pointer)
	}
}
