package example

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/toolguard-go/toolguard/internal/schema/schematest"
)

func TestGenerate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, schema, want string }{
		{"nothing required", `{"properties":{"a":{"type":"string"}}}`, `{}`},
		{"no schema to speak of", `{}`, `{}`},
		{"true", `true`, `{}`},
		{"required only", `{"properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"boolean"}},"required":["b","a"]}`, `{"a":"string","b":1}`},
		{"undeclared but required", `{"required":["a"]}`, `{"a":"string"}`},
		{"every type", `{"required":["s","n","i","b","z","o","a"],"properties":{"s":{"type":"string"},"n":{"type":"number"},"i":{"type":"integer"},"b":{"type":"boolean"},"z":{"type":"null"},"o":{"type":"object"},"a":{"type":"array"}}}`,
			`{"a":[],"b":false,"i":1,"n":1,"o":{},"s":"string","z":null}`},
		{"const, default, examples, enum", `{"required":["c","d","x","e"],"properties":{"c":{"const":7},"d":{"type":"string","default":"main"},"x":{"type":"string","examples":["a","b"]},"e":{"enum":["low","high"]}}}`,
			`{"c":7,"d":"main","e":"low","x":"a"}`},
		{"useless default", `{"required":["a","b","c"],"properties":{"a":{"type":"string","default":null},"b":{"type":"integer","minimum":5,"default":1},"c":{"enum":["x","y"],"default":"z"}}}`,
			`{"a":"string","b":5,"c":"x"}`},
		{"default among enum", `{"required":["a"],"properties":{"a":{"enum":["x","y"],"default":"y"}}}`, `{"a":"y"}`},
		{"empty enum", `{"required":["a"],"properties":{"a":{"type":"string","enum":[]}}}`, `{"a":"string"}`},
		{"null last", `{"required":["a"],"properties":{"a":{"type":["null","integer"]}}}`, `{"a":1}`},
		{"formats", `{"required":["d","t","m","u","i","p"],"properties":{"d":{"format":"date"},"t":{"format":"date-time"},"m":{"format":"email"},"u":{"format":"uri"},"i":{"format":"uuid"},"p":{"format":"ipv4"}}}`,
			`{"d":"2026-01-31","i":"00000000-0000-0000-0000-000000000000","m":"user@example.com","p":"192.0.2.1","t":"2026-01-31T12:00:00Z","u":"https://example.com"}`},
		{"lengths", `{"required":["a","b","c"],"properties":{"a":{"maxLength":3,"type":"string"},"b":{"minLength":8,"type":"string"},"c":{"maxLength":0,"type":"string"}}}`, `{"a":"str","b":"stringxx","c":""}`},
		{"patterns", `{"required":["a","b","c","d"],"properties":{"a":{"pattern":"^[A-Z]{2}-\\d+$"},"b":{"pattern":"^[a-z]+$"},"c":{"pattern":"^(foo|bar)\\.txt$"},"d":{"pattern":"^#?[0-9a-f]*$","minLength":4}}}`,
			`{"a":"AA-0","b":"string","c":"foo.txt","d":"#aaa"}`},
		{"numbers", `{"required":["a","b","c","d","e","f","g"],"properties":{"a":{"minimum":10},"b":{"exclusiveMinimum":10,"type":"integer"},"c":{"type":"number","maximum":0.5},"d":{"type":"integer","multipleOf":7,"minimum":50},"e":{"exclusiveMinimum":0,"exclusiveMaximum":0.1},"f":{"type":"number","multipleOf":0.25,"exclusiveMaximum":0},"g":{"type":"integer","minimum":9007199254740993}}}`,
			`{"a":10,"b":11,"c":0.5,"d":56,"e":0.05,"f":-0.25,"g":9007199254740993}`},
		{"one item to show its shape", `{"required":["a"],"properties":{"a":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}}}}`, `{"a":[{"id":1}]}`},
		{"minItems", `{"required":["a","b"],"properties":{"a":{"type":"array","items":{"type":"integer"},"minItems":2},"b":{"type":"array","items":{"type":"string"},"minItems":3,"uniqueItems":true}}}`, `{"a":[1,1],"b":["string","string2","string3"]}`},
		{"maxItems", `{"required":["a"],"properties":{"a":{"type":"array","items":{"type":"integer"},"maxItems":0}}}`, `{"a":[]}`},
		{"unique enum", `{"required":["a"],"properties":{"a":{"items":{"enum":["x","y"]},"minItems":2,"uniqueItems":true}}}`, `{"a":["x","y"]}`},
		{"tuple", `{"required":["a"],"properties":{"a":{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":false,"minItems":2}}}`, `{"a":[1,"string"]}`},
		{"contains", `{"required":["a"],"properties":{"a":{"type":"array","contains":{"const":"x"}}}}`, `{"a":["x"]}`},
		{"anyOf", `{"required":["a","b"],"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"null"}]},"b":{"type":"string","anyOf":[{"type":"integer"},{"const":"x"}]}}}`, `{"a":1,"b":"x"}`},
		{"anyOf of required", `{"properties":{"id":{"type":"integer"},"name":{"type":"string"}},"oneOf":[{"required":["id"]},{"required":["name"]}]}`, `{"id":1}`},
		{"oneOf needs another branch", `{"required":["a"],"properties":{"a":{"oneOf":[{"type":"number"},{"type":"integer"},{"const":"x"}]}}}`, `{"a":"x"}`},
		{"allOf", `{"allOf":[{"properties":{"a":{"minimum":3}},"required":["a"]},{"properties":{"a":{"type":"integer","maximum":9}}},{"required":["b"]}]}`, `{"a":3,"b":"string"}`},
		{"merged limits", `{"required":["a","b","c"],"properties":{"a":{"allOf":[{"type":"integer","minimum":3},{"minimum":7}]},"b":{"allOf":[{"type":"number","maximum":-3},{"maximum":-7}]},"c":{"allOf":[{"enum":["x","y"]},{"enum":["y","z"]}]}}}`, `{"a":7,"b":-7,"c":"y"}`},
		{"merged properties", `{"properties":{"a":{"type":["string","integer"]}},"allOf":[{"properties":{"a":{"type":"number"}}},{"required":["a"]},{"required":["a"]}]}`, `{"a":1}`},
		{"unique default", `{"required":["a"],"properties":{"a":{"items":{"type":"string","default":"main"},"minItems":3,"uniqueItems":true}}}`, `{"a":["main","string2","string3"]}`},
		{"unique objects", `{"required":["a"],"properties":{"a":{"items":{"required":["k","n"],"type":"object","properties":{"k":{"const":"x"},"n":{"type":"integer"}}},"minItems":2,"uniqueItems":true}}}`, `{"a":[{"k":"x","n":1},{"k":"x","n":2}]}`},
		{"odd classes", `{"required":["a","b","c"],"properties":{"a":{"pattern":"^[^a-zA-Z0-9]+$","minLength":3},"b":{"pattern":"^(?:日|本)..?$"},"c":{"pattern":"end$","minLength":5,"maxLength":5}}}`, `{"a":"---","b":"日a","c":"xxend"}`},
		{"base64", `{"required":["a"],"properties":{"a":{"type":"string","contentEncoding":"base64"}}}`, `{"a":"c3RyaW5n"}`},
		{"then", `{"properties":{"k":{"enum":["a"]}},"required":["k"],"if":{"required":["x"]},"then":{"required":["y"]},"else":{"required":["z"]}}`, `{"k":"a","x":"string","y":"string"}`},
		{"else", `{"properties":{"k":{"enum":["a"]}},"required":["k"],"if":{"required":["x"]},"then":false,"else":{"required":["z"]}}`, `{"k":"a","z":"string"}`},
		{"not", `{"required":["a"],"properties":{"a":{"enum":["x","y"]}},"not":{"properties":{"a":{"const":"x"}}}}`, `{"a":"y"}`},
		{"conditional", `{"properties":{"k":{"enum":["a","b"]}},"required":["k"],"if":{"properties":{"k":{"const":"a"}}},"then":{"required":["x"]}}`, `{"k":"a","x":"string"}`},
		{"references", `{"$defs":{"p":{"type":"object","properties":{"x":{"$ref":"#/$defs/n"}},"required":["x"]},"n":{"type":"integer"}},"properties":{"p":{"$ref":"#/$defs/p","description":"where"}},"required":["p"]}`, `{"p":{"x":1}}`},
		{"recursion ends", `{"$defs":{"n":{"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]}},"required":["v","next"]}},"$ref":"#/$defs/n"}`, `{"next":{"next":null,"v":1},"v":1}`},
		{"recursion in items", `{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}}},"required":["children"]}`, `{"children":[{"children":[]}]}`},
		{"minProperties", `{"properties":{"b":{"type":"integer"},"a":{"type":"string"}},"minProperties":1}`, `{"a":"string"}`},
		{"minProperties of a map", `{"additionalProperties":{"type":"integer"},"minProperties":2}`, `{"key1":1,"key2":1}`},
		{"named members", `{"patternProperties":{"^x-[a-z]+$":{"type":"integer"}},"additionalProperties":false,"minProperties":1}`, `{"x-a":1}`},
		{"propertyNames", `{"propertyNames":{"enum":["red","blue"]},"additionalProperties":{"type":"integer"},"minProperties":2}`, `{"blue":1,"red":1}`},
		{"dependentRequired", `{"required":["a"],"dependentRequired":{"a":["b"],"b":["c"]}}`, `{"a":"string","b":"string","c":"string"}`},
		{"dependentSchemas", `{"required":["a"],"dependentSchemas":{"a":{"required":["b"],"properties":{"b":{"type":"integer"}}}}}`, `{"a":"string","b":1}`},
		{"draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","required":["a"],"dependencies":{"a":["b"],"b":{"required":["c"]}},"properties":{"c":{"items":[{"const":1}],"minItems":1}}}`, `{"a":"string","b":"string","c":[1]}`},
		{"no escaping", `{"required":["a"],"properties":{"a":{"const":"<a&b>"}}}`, `{"a":"<a&b>"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tree := schematest.Decode(t, tt.schema)
			valid, err := judge(tree)
			require.NoError(t, err)
			got, ok := Generate(tree, valid)
			require.True(t, ok)
			assert.Equal(t, tt.want, string(got))
			again, _ := Generate(schematest.Decode(t, tt.schema), valid)
			assert.Equal(t, got, again, "not deterministic")
		})
	}
}

func TestNoExample(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"false":            `false`,
		"not an object":    `{"type":"string"}`,
		"impossible":       `{"required":["a"],"properties":{"a":{"type":"integer","minimum":2,"maximum":1}}}`,
		"too long":         `{"required":["a"],"properties":{"a":{"type":"string","minLength":2000}}}`,
		"too many items":   `{"required":["a"],"properties":{"a":{"type":"array","items":{"type":"integer"},"minItems":1000000000}}}`,
		"too large":        `{"required":["a"],"properties":{"a":{"type":"array","items":{"type":"string","minLength":200},"minItems":20}}}`,
		"too many members": `{"required":[` + strings.TrimSuffix(manyNames(65), ",") + `]}`,
		"endless":          `{"type":"object","required":["a"],"properties":{"a":{"$ref":"#"}}}`,
		"loop":             `{"$ref":"#"}`,
		"elsewhere":        `{"required":["a"],"properties":{"a":{"$ref":"https://example.com/a"}}}`,
		"no schema":        `7`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := Generate(schematest.Decode(t, schema), func(any) bool { return name != "impossible" })
			assert.False(t, ok, string(got))
		})
	}
}

// manyNames returns n different names, each with a comma behind it.
func manyNames(n int) string {
	var names strings.Builder
	for i := range n {
		names.WriteString(`"n` + strconv.Itoa(i) + `",`)
	}
	return names.String()
}

// The search must end soon on schemas made to keep it busy.
func TestSearchIsBounded(t *testing.T) {
	t.Parallel()
	var wide strings.Builder // each level has two members of the next
	wide.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range 60 {
		next := `{"$ref":"#/$defs/d` + strconv.Itoa(i+1) + `"}`
		wide.WriteString(`"d` + strconv.Itoa(i) + `":{"required":["a","b"],"additionalProperties":` + next + `,"type":"object"},`)
	}
	wide.WriteString(`"d60":{"anyOf":[{},{},{}]}}}`)
	huge := strings.ReplaceAll(manyNames(60), `,`, `:{"type":"integer","multipleOf":1e-1000000,"minimum":1e1000000},`)
	for _, schema := range []string{
		wide.String(),
		`{"required":["a"],"properties":{"a":{"allOf":[{"enum":[` + manyNames(50_000) + `0]},{"enum":[` + manyNames(50_000) + `1]}]}}}`,
		`{"properties":{` + strings.TrimSuffix(huge, ",") + `},"minProperties":60}`,
		`{"required":[` + manyNames(30) + `"z"],"additionalProperties":{"type":"boolean"}}`,
		`{"required":[` + manyNames(50_000) + `"z"],"allOf":[{"required":[` + manyNames(50_000) + `"z"]}]}`,
		`{"required":["a"],"properties":{"a":{"multipleOf":1e-1000000,"minimum":1e1000000}}}`,
		`{"required":["a"],"properties":{"a":{"pattern":"^((((a{100}){100}){100}){100})$"}}}`,
		`{"required":["a"],"properties":{"a":{"pattern":"((((((\\b*)*x?)*)*)*)*)*$y"}}}`,
		`{"required":["a"],"properties":{"a":` + strings.Repeat(`{"items":`, 2000) + `{}` + strings.Repeat(`}`, 2000) + `}}`,
	} {
		calls := 0
		_, ok := Generate(schematest.Decode(t, schema), func(any) bool { calls++; return false })
		assert.False(t, ok)
		assert.LessOrEqual(t, calls, maxAttempts)
	}
}

// randomSchema draws a schema that mostly can be satisfied.
func randomSchema(t *rapid.T, depth int) any {
	m := map[string]any{}
	kinds := []string{"string", "integer", "number", "boolean", "enum"}
	if depth > 0 {
		kinds = append(kinds, "object", "object", "array", "anyOf", "allOf", "$ref")
	}
	number := func(low, high int) any { return json.Number(strconv.Itoa(rapid.IntRange(low, high).Draw(t, "n"))) }
	sub := func() any { return randomSchema(t, depth-1) }
	switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
	case "string":
		m["minLength"] = number(0, 9)
		m[rapid.SampledFrom([]string{"pattern", "format", "title"}).Draw(t, "keyword")] =
			rapid.SampledFrom([]string{"^[a-z]+$", `^\d{2,}-x?`, "date", "uuid", "email"}).Draw(t, "rule")
		m["type"] = kind
	case "integer", "number":
		m["type"], m["minimum"], m["exclusiveMaximum"] = kind, number(-50, 0), number(1, 99)
		m["multipleOf"] = json.Number(rapid.SampledFrom([]string{"1", "0.5", "3", "0.01"}).Draw(t, "multiple"))
	case "enum":
		m[kind] = []any{"x", number(0, 9), nil}
	case "object":
		m["properties"], m["required"] = map[string]any{"a": sub(), "b": sub(), "c": sub()}, []any{"a", "d"}
		m["type"], m["minProperties"], m["dependentRequired"] = kind, number(0, 4), map[string]any{"d": []any{"b"}}
	case "array":
		m["type"], m["items"], m["minItems"], m["uniqueItems"] = kind, sub(), number(0, 2), rapid.Bool().Draw(t, "unique")
	case "anyOf":
		m[kind] = []any{sub(), sub()}
	case "allOf":
		m[kind] = []any{sub(), map[string]any{"not": map[string]any{"const": "string"}}}
	case "$ref":
		m[kind] = "#/$defs/x"
	default:
		m["type"] = kind
	}
	return m
}

func TestEveryExampleIsValid(t *testing.T) {
	t.Parallel()
	made, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		tree := map[string]any{"type": "object", "properties": map[string]any{"p": randomSchema(t, 3), "q": randomSchema(t, 2)},
			"required": []any{"p", "q"}, "$defs": map[string]any{"x": randomSchema(t, 1)}}
		valid, err := judge(tree)
		if err != nil {
			t.Skip(err)
		}
		all++
		text, ok := Generate(tree, valid)
		if !ok {
			return
		}
		made++
		require.LessOrEqual(t, len(text), maxBytes)
		d := json.NewDecoder(strings.NewReader(string(text)))
		d.UseNumber()
		var document any
		require.NoError(t, d.Decode(&document))
		require.True(t, valid(document), "%s", text)
	})
	t.Logf("examples for %d of %d schemas", made, all)
	assert.GreaterOrEqual(t, made*100, all*80)
}

func FuzzGenerate(f *testing.F) {
	f.Add([]byte(`{"required":["a"],"properties":{"a":{"anyOf":[{"pattern":"^a|b{2,}$"},{"multipleOf":0.3}]}}}`))
	f.Add([]byte(`{"allOf":[{"$ref":"#/properties/x"}],"properties":{"x":{"items":[{"if":true,"then":{"enum":[1]}}]}}}`))
	f.Add([]byte(`{"minProperties":3,"propertyNames":{"maxLength":2},"dependencies":{"k":{"required":["z"]}},"type":["object",5]}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		d := json.NewDecoder(strings.NewReader(string(schema)))
		d.UseNumber()
		var tree any
		if d.Decode(&tree) != nil {
			return
		}
		text, ok := Generate(tree, func(any) bool { return true })
		if ok && (!json.Valid(text) || len(text) > maxBytes || text[0] != '{') {
			t.Fatalf("%s for %s", text, schema)
		}
	})
}
