package schema_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/internal/schema"
)

func tree(t require.TestingT, s *schema.Schema) string {
	out, err := json.Marshal(s.Tree())
	require.NoError(t, err)
	return string(out)
}

var rewriteTests = []struct{ name, from, to string }{
	{"schema_uri", `{"$schema":"https://json-schema.org/draft-7/schema","type":"object"}`, `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`},
	{"schema_uri", `{"$schema":"2019-09","type":"object"}`, `{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"object"}`},
	{"schema_uri", `{"$schema":"https://example.invalid/x","type":"object"}`, `{"type":"object"}`},
	{"null_keyword", `{"type":"object","properties":{},"required":null}`, `{"type":"object","properties":{}}`}, // case d08
	{"null_keyword", `{"properties":{"a":{"enum":null,"items":null,"type":"array"}}}`, `{"properties":{"a":{"type":"array"}}}`},
	// case d17
	{"type_alias", `{"type":"dict","properties":{"x":{"type":"float"},"opt":{"type":"any"}}}`, `{"type":"object","properties":{"x":{"type":"number"},"opt":{}}}`},
	{"type_alias", `{"properties":{"a":{"type":"STRING"},"b":{"type":"HashMap"},"c":{"type":"list[str]"},"d":{"type":"Tuple"},"e":{"type":"long"},"f":{"type":"bool"}}}`,
		`{"properties":{"a":{"type":"string"},"b":{"type":"object"},"c":{"type":"array"},"d":{"type":"array"},"e":{"type":"integer"},"f":{"type":"boolean"}}}`},
	{"type_alias", `{"properties":{"a":{"type":["str","None","string"]},"b":{"type":["int","any"]}}}`, `{"properties":{"a":{"type":["string","null"]},"b":{}}}`},
	// case d05
	{"exclusive_flag", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"ttl":{"type":"integer","minimum":0,"exclusiveMinimum":true}}}`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"ttl":{"type":"integer","exclusiveMinimum":0}}}`},
	{"exclusive_flag", `{"properties":{"n":{"maximum":9,"exclusiveMaximum":false},"m":{"exclusiveMaximum":true}}}`, `{"properties":{"n":{"maximum":9},"m":{}}}`},
	{"exclusive_number", `{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"n":{"exclusiveMinimum":0}}}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"n":{"minimum":0,"exclusiveMinimum":true}}}`},
	// case d08
	{"required_flag", `{"type":"object","properties":{"a":{"type":"string","required":true},"b":{"required":false}}}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{}},"required":["a"]}`},
	{"required_flag", `{"required":true,"properties":{"o":{"properties":{"x":{"required":true}},"required":["x"]}}}`, `{"properties":{"o":{"properties":{"x":{}},"required":["x"]}}}`},
	{"repeated_entry", `{"required":["a","b","a"],"properties":{"a":{"enum":[1,"1",1]}}}`, `{"required":["a","b"],"properties":{"a":{"enum":[1,"1"]}}}`},
	{"repeated_entry", `{"$schema":"http://json-schema.org/draft-04/schema#","required":[]}`, `{"$schema":"http://json-schema.org/draft-04/schema#"}`},
	{"items_list", `{"properties":{"p":{"items":[{"type":"number"},{"type":"string"}],"additionalItems":false}}}`, `{"properties":{"p":{"prefixItems":[{"type":"number"},{"type":"string"}],"items":false}}}`},
	{"nullable", `{"properties":{"a":{"type":"string","nullable":true},"b":{"type":["integer"],"nullable":true,"enum":[1]},"c":{"anyOf":[{"type":"string"}],"nullable":true}}}`,
		`{"properties":{"a":{"type":["string","null"]},"b":{"type":["integer","null"],"enum":[1,null]},"c":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`},
	{"boolean_schema", `{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":true,"b":false},"additionalProperties":false}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{},"b":{"not":{}}},"additionalProperties":false}`},
}

func TestRewrites(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	for _, tt := range rewriteTests {
		s := compile(t, tt.from, schema.Lenient)
		assert.JSONEq(t, tt.to, tree(t, s), tt.from)
		assert.Empty(t, s.NotEnforced(), tt.from)
		require.NotEmpty(t, s.Rewrites(), tt.from)
		for _, note := range s.Rewrites() {
			assert.Equal(t, tt.name, note.Reason, tt.from)
		}
		covered[tt.name] = true
		_, err := schema.Compile(json.RawMessage(tt.to), schema.Strict)
		assert.NoError(t, err, "what comes out compiles strictly")
		assert.Empty(t, compile(t, tt.to, schema.Lenient).Rewrites(), "and needs no second pass")
	}
	for _, r := range schema.Rewrites() {
		assert.True(t, covered[r.Name], "%s has no test", r.Name)
		assert.NotEmpty(t, r.Matches)
		assert.NotEmpty(t, r.Becomes)
	}
}

// What only looks like a keyword is a name or a value, and stays.
func TestRewritesLeaveNamesAndValuesAlone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"properties":{"type":{"type":"string"},"required":{"type":"boolean"},"nullable":{},"$ref":{"type":"string"},"items":{},"enum":{},"exclusiveMinimum":{}}}`,
		`{"properties":{"a":{"const":{"type":"dict","required":true,"items":null}}}}`,
		`{"properties":{"a":{"enum":[{"type":"dict","exclusiveMinimum":true},null]}}}`,
		`{"properties":{"a":{"default":{"type":"float","required":null,"$ref":"file:///x"}}}}`,
		`{"properties":{"a":{"examples":[{"type":"any","nullable":true}]}}}`,
		`{"$defs":{"type":{"type":"string"},"required":{}},"properties":{"a":{"$ref":"#/$defs/type"}}}`,
		`{"dependentRequired":{"type":["required"]},"patternProperties":{"^type$":{}}}`,
		`{"properties":{"a":{"nullable":false,"type":"string"}}}`,
	} {
		s := compile(t, text, schema.Lenient)
		assert.Empty(t, s.Rewrites(), text)
		assert.Empty(t, s.NotEnforced(), text)
		assert.JSONEq(t, text, tree(t, s))
	}
}

// case d12: references stay references, however deep they recurse.
func TestRecursiveSchemas(t *testing.T) {
	t.Parallel()
	const text = `{"type":"object","properties":{"root":{"$ref":"#/$defs/node"}},
		"$defs":{"node":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}}}}}`
	for _, mode := range []schema.Mode{schema.Strict, schema.Lenient} {
		s := compile(t, text, mode)
		assert.JSONEq(t, text, tree(t, s))
		assert.Empty(t, s.NotEnforced())
		assert.Empty(t, check(t, s, `{"root":{"children":[{"name":"a","children":[{}]}]}}`))
		assert.Equal(t, []string{"/root/children/0/children/0/name type", "/root/children/0/children/1/Name case_mismatch"},
			check(t, s, `{"root":{"children":[{"children":[{"name":5},{"Name":""}]}]}}`))
	}
}

// case d15: nothing is checked, and nothing is guessed either.
func TestFlatMapOfMembersIsReported(t *testing.T) {
	t.Parallel()
	for text, flat := range map[string]bool{
		`{"query":{"type":"string","description":"SQL"}}`:                        true,
		`{"type":{"type":"string"},"limit":{"description":"how many"}}`:          true,
		`{"type":"object","query":{"type":"string"}}`:                            true,
		`{"query":{"type":"string"},"properties":{"query":{"type":"string"}}}`:   false,
		`{"type":"object","$defs":{"a":{"type":"string"}}}`:                      false,
		`{"type":"object","x-hint":{"colour":"red"},"default":{"type":"table"}}`: false,
	} {
		s := compile(t, text, schema.Lenient)
		assert.Equal(t, flat, s.ConstrainsNothing(), text)
		if flat {
			assert.Empty(t, check(t, s, `{"qurey":5}`))
		}
		if s, err := schema.Compile([]byte(text), schema.Strict); err == nil { // some are no schema at all
			assert.Equal(t, flat, s.ConstrainsNothing(), "strict: %s", text)
		}
	}
	assert.True(t, compile(t, `{"query":{"type":"string","description":"SQL"}}`, schema.Strict).ConstrainsNothing())
}
