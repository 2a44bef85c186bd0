package schema_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/internal/normalize"
	"github.com/toolguard-go/toolguard/internal/schema"
)

const number = normalize.TNumber | normalize.TInteger

// at returns the node at a path of names, "#" for the first element.
func at(t *testing.T, s *schema.Schema, text string, path ...string) normalize.Expectation {
	t.Helper()
	doc := parse(t, text)
	node := int32(0)
	for _, name := range path {
		if name == "#" {
			node++
			continue
		}
		next, ok := doc.Member(node, name)
		require.True(t, ok, name)
		node = next
	}
	return s.Expect(doc, node)
}

func TestExpectMember(t *testing.T) {
	t.Parallel()
	type e = normalize.Expectation
	tests := []struct {
		name, schema string
		want         e
	}{
		{"type", `{"properties":{"a":{"type":"integer"}}}`, e{Types: normalize.TInteger, Optional: true, Known: true}},
		{"required", `{"properties":{"a":{"type":"number"}},"required":["a"]}`, e{Types: number, Known: true}},
		{"required under a condition", `{"properties":{"a":{"type":"boolean"}},"dependentRequired":{"b":["a"]}}`, e{Types: normalize.TBoolean, Known: true}},
		{"union", `{"properties":{"a":{"type":["string","null"]}}}`, e{Types: normalize.TString | normalize.TNull, Optional: true, Known: true}},
		{"anyOf", `{"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`, e{Types: normalize.TInteger | normalize.TNull, Optional: true, Known: true}},
		{"intersection", `{"properties":{"a":{"type":["integer","string"],"allOf":[{"type":["number","null"]}]}}}`, e{Types: normalize.TInteger, Optional: true, Known: true}},
		{"undeclared", `{"properties":{"b":{}}}`, e{Types: normalize.AnyType, Optional: true, Known: true}},
		{"forbidden", `{"additionalProperties":false}`, e{Optional: true, Known: true}},
		{"additionalProperties", `{"additionalProperties":{"type":"array"}}`, e{Types: normalize.TArray, Optional: true, Known: true}},
		{"pattern", `{"patternProperties":{"^a":{"type":"array"}},"additionalProperties":false}`, e{Types: normalize.TArray, Optional: true, Known: true}},
		{"reference", `{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"boolean"}}}`, e{Types: normalize.TBoolean, Optional: true, Known: true}},
		{"reference hides its siblings", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/definitions/x","type":"null"}},"definitions":{"x":{"type":"boolean"}}}`,
			e{Types: normalize.TBoolean, Optional: true, Known: true}},
		{"enum", `{"properties":{"a":{"enum":["x","y",null,1]}}}`, e{Types: normalize.TString | normalize.TNull | normalize.TInteger, Enum: []string{"x", "y"}, Optional: true, Known: true}},
		{"const", `{"properties":{"a":{"const":"x"}}}`, e{Types: normalize.TString, Enum: []string{"x"}, Optional: true, Known: true}},
		{"enum in branches", `{"properties":{"a":{"oneOf":[{"enum":["x"]},{"const":"y"},{"type":"null"}]}}}`, e{Types: normalize.TString | normalize.TNull, Enum: []string{"x", "y"}, Optional: true, Known: true}},
		{"a branch with any string", `{"properties":{"a":{"anyOf":[{"enum":["x"]},{"type":"string"}]}}}`, e{Types: normalize.TString, Optional: true, Known: true}},
		{"disjoint enums", `{"properties":{"a":{"enum":["x",1],"allOf":[{"enum":["y",1]}]}}}`, e{Types: normalize.TInteger, Optional: true, Known: true}},
		{"a branch for other values", `{"anyOf":[{"type":"array"},{"type":"object","properties":{"a":{"type":"integer"}}}]}`, e{Types: normalize.TInteger, Optional: true, Known: true}},
		{"conditional", `{"properties":{"a":{"type":"integer"}},"if":{"required":["b"]},"then":{"properties":{"a":{"type":"null"}}}}`, e{Types: normalize.TInteger, Optional: true}},
		{"metaschema", `{"properties":{"a":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}`, e{Types: normalize.AnyType, Optional: true}},
		{"identifiers", `{"properties":{"a":{"$id":"x","$ref":"#/$defs/y","$defs":{"y":{"type":"null"}}}}}`, e{Types: normalize.AnyType, Optional: true}},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, at(t, compile(t, tt.schema, schema.Strict), `{"a":1}`, "a"), tt.name)
	}
}

func TestExpectElsewhere(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"type":"object","properties":{
		"l":{"prefixItems":[{"type":"string"}],"items":{"$ref":"#/$defs/n"}},"n":{"$ref":"#/$defs/n"}},
		"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"},"v":{"type":"null"}},"required":["v"]}}}`, schema.Strict)
	assert.Equal(t, normalize.Expectation{Types: normalize.TObject, Known: true}, at(t, s, `{}`))
	assert.Equal(t, normalize.Expectation{Types: normalize.TString, Known: true}, at(t, s, `{"l":[1]}`, "l", "#"))
	assert.Equal(t, normalize.Expectation{Types: normalize.TObject, Known: true}, at(t, s, `{"l":[1,2]}`, "l", "#", "#"))
	assert.Equal(t, normalize.Expectation{Types: normalize.TNull, Known: true}, at(t, s, `{"n":{"next":{"next":{"v":1}}}}`, "n", "next", "next", "v"))

	old := compile(t, `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"l":{"items":[{"type":"string"}],"additionalItems":{"type":"null"}}}}`, schema.Strict)
	assert.Equal(t, normalize.TString, at(t, old, `{"l":[1]}`, "l", "#").Types)
	assert.Equal(t, normalize.TNull, at(t, old, `{"l":[1,2]}`, "l", "#", "#").Types)
}

// A schema that doubles at every level is given up on, not followed.
func TestExpectIsBounded(t *testing.T) {
	t.Parallel()
	s := compile(t, doubling(30), schema.Strict)
	assert.False(t, at(t, s, `{"a":1}`, "a").Known)
}

// doubling is a small schema that applies 2^n subschemas to one value.
func doubling(n int) string {
	defs := `"d0":{"properties":{"a":{"type":"integer","maximum":5}}}`
	for i := range n {
		defs += fmt.Sprintf(`,"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i+1, i, i)
	}
	return fmt.Sprintf(`{"$ref":"#/$defs/d%d","$defs":{%s}}`, n, defs)
}
