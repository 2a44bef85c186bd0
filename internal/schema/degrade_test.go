package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/toolguard-go/toolguard/internal/schema"
)

// What cannot be compiled is left out by itself and named; the rest holds.
func TestLenientKeepsWhatItCan(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, schema string
		notes        []string
		args         string
		want         []string
	}{
		{"look-ahead", `{"properties":{"p":{"type":"string","pattern":"^(?!a)"}}}`,
			[]string{"/properties/p pattern: pattern"}, `{"p":5}`, []string{"/p type"}},
		{"pattern property", `{"patternProperties":{"(?=x)":{"type":"string"},"^y":{"type":"string"}}}`,
			[]string{"/patternProperties/(?=x) patternProperties: pattern"}, `{"y":5,"x":5}`, []string{"/y type"}},
		// case d03
		{"dangling", `{"type":"object","properties":{"child":{"$ref":"#/$defs/Node"},"n":{"type":"integer"}}}`,
			[]string{"/properties/child $ref: dangling_ref"}, `{"child":1,"n":"x"}`, []string{"/n type"}},
		{"OpenAPI reference", `{"properties":{"p":{"items":{"$ref":"#/components/schemas/X"},"type":"array"}}}`,
			[]string{"/properties/p/items $ref: dangling_ref"}, `{"p":5}`, []string{"/p type"}},
		{"OpenAPI reference with its target", `{"properties":{"p":{"$ref":"#/components/schemas/X"}},"components":{"schemas":{"X":{"type":"dict","required":["a"]}}}}`,
			nil, `{"p":{}}`, []string{"/p required"}},
		{"circle", `{"properties":{"a":{"$ref":"#/$defs/a"},"n":{"type":"integer"}},"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"$ref":"#/$defs/a"}}}`,
			[]string{"/$defs/b $ref: circular_ref"}, `{"a":1,"n":""}`, []string{"/n type"}},
		{"itself", `{"$ref":"#","required":["a"]}`, []string{"/ $ref: circular_ref"}, `{}`, []string{"required"}},
		{"odd type", `{"properties":{"p":{"type":"file","minLength":3}}}`,
			[]string{"/properties/p type: malformed"}, `{"p":"ab"}`, []string{"/p min_length"}},
		{"member without a schema", `{"properties":{"p":"a string","q":null},"additionalProperties":false}`,
			[]string{"/properties/p schema: malformed", "/properties/q schema: malformed"}, `{"p":1,"r":2}`, []string{"/r unknown_property"}},
		{"names that are none", `{"required":["a",5,null]}`, []string{"/ required: malformed"}, `{}`, []string{"required"}},
		{"hostile bound", `{"properties":{"n":{"type":"integer","maximum":1e9999999}}}`,
			[]string{"/properties/n maximum: number"}, `{"n":""}`, []string{"/n type"}},
		{"hostile value", `{"properties":{"n":{"const":[1e9999999],"default":1e9999999,"type":"array"}}}`,
			[]string{"/properties/n const: number"}, `{"n":""}`, []string{"/n type"}},
		{"bounds", `{"properties":{"s":{"minLength":-1,"maxLength":"5","multipleOf":0,"type":"string"}}}`,
			[]string{"/properties/s maxLength: malformed", "/properties/s minLength: malformed", "/properties/s multipleOf: malformed"}, `{"s":1}`, []string{"/s type"}},
		{"broken annotations", `{"title":5,"description":["x"],"properties":{"a":{"examples":"x","type":"string","$comment":1}}}`,
			nil, `{"a":1}`, []string{"/a type"}},
		{"empty lists", `{"properties":{"a":{"enum":[],"anyOf":[],"type":["string"]}}}`,
			[]string{"/properties/a anyOf: malformed", "/properties/a enum: malformed"}, `{"a":1}`, []string{"/a type"}},
		{"array at the top", `{"type":"array","required":["a"]}`, []string{"/ type: not_an_object"}, `{}`, []string{"required"}},
		{"not a schema", `["object"]`, []string{"/ schema: malformed"}, `{"a":1}`, nil},
		{"clashing identifiers", `{"properties":{"a":{"$id":"x","type":"string"},"b":{"$id":"x","$ref":"#/$defs/c"}},"$defs":{"c":{}}}`,
			[]string{"/properties/b $ref: identifiers"}, `{"a":1}`, []string{"/a type"}},
		{"foreign vocabulary", `{"$vocabulary":{"https://example.invalid/v":true},"required":["a"]}`, nil, `{}`, []string{"required"}},
		{"too deep", `{"required":["a"],"properties":{"a":{"type":"int"},"b":` + strings.Repeat(`{"not":`, 200) + "{}" + strings.Repeat("}", 200) + `},"additionalProperties":false}`,
			[]string{"/ schema: beyond_compile"}, `{"a":"","c":1}`, []string{"/a type", "/c unknown_property"}},
		{"too many", manyProperties(6000), []string{"/ schema: beyond_compile"}, `{}`, []string{"required"}},
		{"too long", `{"properties":{"a":{"type":["str","None"],"description":"` + strings.Repeat("x", 1<<20) + `"},"b":{"required":true}}}`,
			[]string{"/ schema: beyond_compile"}, `{"a":1}`, []string{"required", "/a type"}},
	}
	for _, tt := range tests {
		s := compile(t, tt.schema, schema.Lenient)
		var notes []string
		for _, n := range s.NotEnforced() {
			notes = append(notes, n.String())
		}
		assert.Equal(t, tt.notes, notes, tt.name)
		assert.Equal(t, tt.want, check(t, s, tt.args), tt.name)
	}
}

func TestLenientRefusesOnlyWhatIsNotJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{]`, `{"a":1} x`, `{'a':1}`} {
		_, err := schema.Compile(json.RawMessage(text), schema.Lenient)
		assert.ErrorContains(t, err, "not JSON", text)
	}
}

// A schema of any shape compiles leniently, twice alike, and judges a document.
func TestLenientIsTotal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapidSchema(t, 4, true)
		a, b := compile(t, text, schema.Lenient), compile(t, text, schema.Lenient)
		require.Equal(t, a.Digest(), b.Digest(), text)
		require.Equal(t, a.NotEnforced(), b.NotEnforced(), text)
		found, _ := a.Validate(parse(t, rapidObject(t)))
		for _, v := range found {
			require.NotEqual(t, schema.RuleInternal, v.Rule, text)
		}
	})
}

func FuzzLenient(f *testing.F) {
	for _, tt := range rewriteTests {
		f.Add(tt.from)
	}
	f.Add(`{"$ref":"#/properties/a","properties":{"a":{"$ref":"#"}}}`)
	f.Add(`{"$dynamicRef":"#x","$defs":{"a":{"$dynamicAnchor":"x","$id":"y"}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := schema.Compile(json.RawMessage(text), schema.Lenient)
		if err != nil {
			return
		}
		found, _ := s.Validate(parse(t, `{"a":[1,{"A":null}],"b":"x"}`))
		for _, v := range found {
			require.NotEqual(t, "panic", v.Want)
		}
		_, err = schema.Compile(json.RawMessage(text), schema.Strict)
		if err != nil {
			require.NotContains(t, err.Error(), "panic")
		}
	})
}
