package schema_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/internal/schema"
	"github.com/toolguard-go/toolguard/internal/strictjson"
)

func parse(t require.TestingT, text string) *strictjson.Doc {
	doc, err := strictjson.Parse([]byte(text), strictjson.Limits{})
	require.NoError(t, err, text)
	return &doc
}

func compile(t require.TestingT, text string, mode schema.Mode) *schema.Schema {
	s, err := schema.Compile(json.RawMessage(text), mode)
	require.NoError(t, err, text)
	return s
}

// brief shows violations as "path rule", the rest is looked at where it matters.
func brief(found []schema.Violation) []string {
	var out []string
	for _, v := range found {
		out = append(out, strings.TrimSpace(v.Path+" "+string(v.Rule)))
	}
	return out
}

func check(t require.TestingT, s *schema.Schema, text string) []string {
	found, more := s.Validate(parse(t, text))
	require.Zero(t, more)
	return brief(found)
}

// case d09
func TestAbsentSchemaAdmitsAnyObject(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " \n", "null", "{}", `{"type":"object"}`, "true"} {
		for _, mode := range []schema.Mode{schema.Strict, schema.Lenient} {
			s := compile(t, text, mode)
			assert.Empty(t, check(t, s, `{"any":[1,"x",null]}`), text)
			assert.Empty(t, check(t, s, `{}`), text)
			assert.Equal(t, []string{"type"}, check(t, s, `[1]`), text)
			assert.False(t, s.Required(), text)
			assert.False(t, s.ConstrainsNothing(), text)
			assert.Empty(t, s.Properties(), text)
			assert.Nil(t, s.UnknownTop(parse(t, `{"a":1}`)), text)
		}
	}
}

func TestStrictErrorsNameTheFault(t *testing.T) {
	t.Parallel()
	tests := []struct{ schema, want string }{
		{`{]`, "not JSON"}, // case d19
		{`{} {}`, "not JSON"},
		{`"object"`, "neither an object nor a boolean"},
		{`{"type":"dict"}`, "at /type"},
		{`{"properties":{"a/b":{"type":"strng"}}}`, "at /properties/a~1b/type"},
		{`{"properties":{"p":{"pattern":"(?=x)"}}}`, "at /properties/p/pattern"},
		{`{"properties":{"p":{"$ref":"#/$defs/Nowhere"}}}`, "Nowhere not found"},
		{`{"properties":{"p":{"$ref":"https://example.invalid/s.json"}}}`, "https://example.invalid/s.json leads out of the schema"},
		{`{"properties":{"p":{"$ref":"other.json"}}}`, "leads out of the schema"},
		{`{"$schema":"https://example.invalid/mine"}`, "https://example.invalid/mine leads out"},
		{`{"minimum":0,"exclusiveMinimum":true}`, "at /exclusiveMinimum"},
		{`{"properties":{"a":{"required":true}}}`, "at /properties/a/required"},
		{`{"type":"array"}`, "does not admit an object"},
		{`{"properties":{"a":{"minimum":1e9999999}}}`, "number 1e9999999"},
		{`{"properties":{"a":{"enum":[]}}}`, "empty enum at /properties/a"},
		{`{"$ref":"#"}`, "infinite loop"},
		{`{"properties":{"` + strings.Repeat("x", 1<<20) + `":{}}}`, "more than 1048576"},
		{strings.Repeat(`{"not":`, 200) + "{}" + strings.Repeat("}", 200), "deeper than 128"},
		{manyProperties(6000), "subschemas, more than 5000"},
	}
	for _, tt := range tests {
		_, err := schema.Compile(json.RawMessage(tt.schema), schema.Strict)
		require.Error(t, err, tt.schema[:min(80, len(tt.schema))])
		assert.Contains(t, err.Error(), tt.want)
		assert.Less(t, len(err.Error()), 1000)
	}
}

func manyProperties(n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf(`"p%d":{"type":"string"}`, i)
	}
	return `{"properties":{` + strings.Join(members, ",") + `},"required":["p0"]}`
}

// case d11: a file named by a schema is not opened, in either mode.
func TestNothingIsLoaded(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret.json")
	require.NoError(t, os.WriteFile(secret, []byte(`{"const":"hunter2"}`), 0o600))
	for _, uri := range []string{"file://" + secret, secret, "https://example.invalid/s.json", "http://127.0.0.1:1/x#/a", "urn:x:y"} {
		text := fmt.Sprintf(`{"properties":{"p":{"$ref":%q},"q":{"type":"integer"}}}`, uri)
		_, err := schema.Compile(json.RawMessage(text), schema.Strict)
		require.ErrorContains(t, err, "leads out of the schema", uri)
		assert.NotContains(t, err.Error(), "hunter2")

		s := compile(t, text, schema.Lenient)
		assert.Equal(t, []schema.Note{{Path: "/properties/p", Keyword: "$ref", Reason: schema.ReasonExternalRef}}, s.NotEnforced())
		assert.Equal(t, []string{"/q type"}, check(t, s, `{"p":1,"q":"x"}`))
	}
}

func TestMetaschemasAreKnown(t *testing.T) {
	t.Parallel()
	for _, uri := range []string{
		"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema",
		"https://json-schema.org/draft/2020-12/schema",
	} {
		s := compile(t, `{"properties":{"s":{"$ref":"`+uri+`"}}}`, schema.Strict)
		assert.Empty(t, check(t, s, `{"s":{"type":"string"}}`))
		found := check(t, s, `{"s":{"minLength":-1}}`)
		require.NotEmpty(t, found, uri)
		for _, v := range found {
			assert.Equal(t, "/s/minLength other", v)
		}
		assert.Empty(t, compile(t, `{"properties":{"s":{"$ref":"`+uri+`"}}}`, schema.Lenient).NotEnforced())
	}
}

// case d11: $schema is never fetched, whatever its spelling.
func TestDraftSpellings(t *testing.T) {
	t.Parallel()
	paths := map[string]int{
		"draft-04/schema": 4, "draft-06/schema": 6, "draft-07/schema": 7,
		"draft/2019-09/schema": 2019, "draft/2020-12/schema": 2020, "schema": 2020,
	}
	for path, draft := range paths {
		for _, start := range []string{"http", "https"} {
			for _, end := range []string{"", "#"} {
				uri := start + "://json-schema.org/" + path + end
				s := compile(t, `{"$schema":"`+uri+`","required":["a"]}`, schema.Strict)
				assert.Equal(t, draft, s.Draft(), uri)
				assert.Equal(t, []string{"required"}, check(t, s, `{}`), uri)
			}
		}
	}
	assert.Equal(t, 2020, compile(t, `{}`, schema.Strict).Draft())
}

func TestFacts(t *testing.T) {
	t.Parallel()
	s := compile(t, `{
		"properties":{"b":{},"a":{}}, "required":["a"],
		"allOf":[{"$ref":"#/$defs/more"}],
		"$defs":{"more":{"properties":{"c":{}},"patternProperties":{"^x-":{}}}}
	}`, schema.Strict)
	assert.True(t, s.Required())
	assert.Equal(t, []string{"a", "b", "c"}, s.Properties())
	assert.Equal(t, []string{"d", "aa"}, s.UnknownTop(parse(t, `{"a":1,"c":1,"x-y":1,"d":1,"aa":2}`)))

	assert.True(t, s.Admits(map[string]any{"a": json.Number("1")}))
	assert.False(t, s.Admits(map[string]any{"b": nil}))

	closed := compile(t, `{"properties":{"a":{}},"additionalProperties":{"type":"string"}}`, schema.Strict)
	assert.False(t, closed.Required())
	assert.Nil(t, closed.UnknownTop(parse(t, `{"z":"1"}`)))

	assert.True(t, compile(t, `{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, schema.Strict).Required())
	assert.Equal(t, []string{"z"}, compile(t, `{"type":"object","properties":{}}`, schema.Strict).UnknownTop(parse(t, `{"z":1}`)))
}

func TestRawAndDigest(t *testing.T) {
	t.Parallel()
	a := compile(t, `{"type":"object","properties":{"n":{"maximum":9007199254740993}}}`, schema.Strict)
	b := compile(t, ` {"properties": {"n": {"maximum": 9007199254740993}}, "type": "object"}`, schema.Lenient)
	c := compile(t, `{"type":"object","properties":{"n":{"maximum":9007199254740992}}}`, schema.Strict)
	assert.Len(t, a.Digest(), 64)
	assert.Equal(t, a.Digest(), b.Digest())
	assert.NotEqual(t, a.Digest(), c.Digest())
	assert.JSONEq(t, `{"type":"object","properties":{"n":{"maximum":9007199254740993}}}`, string(a.Raw()))
	assert.Nil(t, compile(t, "", schema.Strict).Raw())
}

// case d19: each schema has a compiler of its own.
func TestConcurrentCompileAndValidate(t *testing.T) {
	t.Parallel()
	shared := compile(t, `{"properties":{"n":{"type":"integer"},"u":{"format":"uri"}},"required":["n"]}`, schema.Strict)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			own := compile(t, fmt.Sprintf(`{"properties":{"a%d":{"type":"string","format":"date"}}}`, i), schema.Lenient)
			for range 20 {
				assert.Equal(t, []string{fmt.Sprintf("/a%d type", i)}, check(t, own, fmt.Sprintf(`{"a%d":1}`, i)))
				assert.Equal(t, []string{"required", "/u format"}, check(t, shared, `{"u":"no scheme"}`))
				assert.Empty(t, check(t, shared, `{"n":1,"u":"https://a.test"}`))
			}
		})
	}
	group.Wait()
}
