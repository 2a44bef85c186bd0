package accept

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/internal/schema/schematest"
	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// agree holds documents for which both validators must give one answer:
// nothing in these schemas is beyond this package.
var agree = []struct {
	name, schema   string
	draft          int
	valid, invalid []string
}{
	{name: "types", schema: `{"properties":{"s":{"type":"string"},"b":{"type":"boolean"},"z":{"type":["null","array"]}}}`,
		valid:   []string{`{}`, `{"s":"","b":true,"z":null}`, `{"b":false,"z":[]}`, `[]`},
		invalid: []string{`{"s":1}`, `{"b":"false"}`, `{"z":{}}`, `{"s":null}`}}, // case b05
	{name: "integers", schema: `{"type":"integer"}`,
		valid:   []string{`5`, `-0`, `5.0`, `1e2`, `12.50e1`, `0.0e-30`, `1000000000000000000000`, `1000000000000000000000.0`, `1E400`},
		invalid: []string{`5.5`, `1e-1`, `1000000000000000000000.5`, `"5"`, `1e-400`}}, // case b16
	{name: "number or integer", schema: `{"type":["number","integer"]}`, valid: []string{`5.5`, `5`}, invalid: []string{`"5"`}},
	{name: "exact limits", schema: `{"minimum":-9007199254740993,"maximum":9007199254740992}`,
		valid:   []string{`9007199254740992`, `9007199254740992.0`, `-9007199254740993`, `9.007199254740992e15`, `1e-400`, `"x"`},
		invalid: []string{`9007199254740993`, `9007199254740992.5`, `-9007199254740994`, `1e400`, `18446744071636006420`}}, // cases b10, b12
	{name: "wide limits", schema: `{"minimum":0,"exclusiveMaximum":18446744073709551616}`,
		valid: []string{`18446744071636006420`, `0`, `0.0`}, invalid: []string{`18446744073709551616`, `-1`, `1e20`}},
	{name: "small limits", schema: `{"exclusiveMinimum":0,"maximum":1}`,
		valid: []string{`0.7`, `1`, `1.0`, `1e-400`}, invalid: []string{`0`, `0.0`, `-0`, `1.0000000000000000000000001`}},
	{name: "multiples", schema: `{"multipleOf":0.01}`,
		valid: []string{`1`, `0.07`, `1e300`, `-3.10`, `123456789012345678901.25`}, invalid: []string{`0.075`, `1e-3`, `123456789012345678901.255`}},
	{name: "lengths in code points", schema: `{"minLength":2,"maxLength":3}`,
		valid: []string{`"éé"`, `"日本語"`, `"\u00e9\n"`, `"\ud83d\ude00x"`, `7`}, invalid: []string{`"é"`, `"日本語x"`, `"\ud83d\ude00"`}},
	{name: "pattern and format", schema: `{"properties":{"p":{"pattern":"^a+$"},"d":{"format":"date"},"u":{"format":"zip"}}}`,
		valid: []string{`{"p":"aa","d":"2026-01-31","u":"?"}`, `{"p":"\u0061","d":7}`}, invalid: []string{`{"p":"ab"}`, `{"d":"2026-02-31"}`, `{"p":"a\n"}`}},
	{name: "enum and const", schema: `{"properties":{"e":{"enum":["a",1,null,true,[1,{"x":2.0}],{"k":[]}]},"c":{"const":100}}}`,
		valid:   []string{`{"e":"a"}`, `{"e":"\u0061"}`, `{"e":1.0}`, `{"e":null}`, `{"e":true}`, `{"e":[1e0,{"x":2}]}`, `{"e":{"k":[]}}`, `{"c":1e2}`},
		invalid: []string{`{"e":"b"}`, `{"e":2}`, `{"e":false}`, `{"e":[]}`, `{"e":[1,{"x":3}]}`, `{"e":[1,{"x":2},3]}`, `{"e":[1]}`, `{"e":[1,{"y":2}]}`, `{"e":{"k":{}}}`, `{"e":{}}`, `{"c":101}`, `{"c":"100"}`}},
	{name: "empty enum", schema: `{"enum":[]}`, valid: []string{`1`}},
	{name: "const null", schema: `{"const":null}`, valid: []string{`null`}, invalid: []string{`0`, `false`}},
	{name: "draft 4 knows no const", draft: 4, schema: `{"const":1}`, valid: []string{`1`, `2`}},
	{name: "required", schema: `{"properties":{"a":{}},"required":["a","b"]}`,
		valid: []string{`{"a":1,"b":2}`, `{"\u0061":1,"b":2,"c":3}`, `7`}, invalid: []string{`{"a":1}`, `{"b":1,"c":2}`, `{}`}},
	{name: "required twice", schema: `{"allOf":[{"required":["a"]},{"required":["a","b"]}]}`, valid: []string{`{"a":1,"b":2}`}, invalid: []string{`{"a":1}`}},
	{name: "closed", schema: `{"properties":{"a":{}},"required":["z"],"additionalProperties":false}`, valid: nil, invalid: []string{`{"a":1}`, `{"z":1}`, `{"z":1,"b":1}`}}, // case d13
	{name: "closed with patterns", schema: `{"properties":{"a":{}},"patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}`,
		valid: []string{`{"a":1,"x-1":"s"}`, `{}`}, invalid: []string{`{"a":1,"b":2}`, `{"x-1":1}`}},
	{name: "extra members", schema: `{"properties":{"a":{}},"additionalProperties":{"type":"integer"}}`, valid: []string{`{"a":"s","b":2}`}, invalid: []string{`{"b":"s"}`}},
	{name: "many properties", schema: `{"properties":{"a":{"type":"null"},"b":{},"c":{},"d":{},"e":{},"f":{},"g":{},"h":{},"i":{},"j":{"type":"null"}},"required":["j"],"additionalProperties":false}`,
		valid: []string{`{"j":null,"a":null}`}, invalid: []string{`{"a":null}`, `{"j":1}`, `{"j":null,"k":1}`}},
	{name: "sizes", schema: `{"minProperties":1,"maxProperties":2,"minItems":1,"maxItems":2}`,
		valid: []string{`{"a":1}`, `[1,2]`}, invalid: []string{`{}`, `{"a":1,"b":1,"c":1}`, `[]`, `[1,2,3]`}},
	{name: "names", schema: `{"propertyNames":{"pattern":"^[a-z]+$","maxLength":3}}`,
		valid: []string{`{"abc":1,"\u0061":2}`, `{}`}, invalid: []string{`{"abcd":1}`, `{"A":1}`}},
	{name: "names of type string", schema: `{"propertyNames":{"type":"string"},"additionalProperties":{"type":"string"}}`, valid: []string{`{"abc":"x"}`}, invalid: []string{`{"a":1}`}},
	{name: "names refused", schema: `{"propertyNames":{"type":"integer"}}`, valid: []string{`{}`}, invalid: []string{`{"a":1}`}},
	{name: "dependencies", schema: `{"dependentRequired":{"a":["b"]},"dependentSchemas":{"c":{"minProperties":2}},"dependencies":{"d":["a"],"e":false}}`,
		valid: []string{`{"b":1}`, `{"a":1,"b":1}`, `{"c":1,"x":1}`, `{"a":1,"b":1,"d":1}`}, invalid: []string{`{"a":1}`, `{"c":1}`, `{"d":1}`, `{"e":1}`}},
	{name: "dependentRequired is unknown to draft 7", draft: 7, schema: `{"dependentRequired":{"a":["b"]}}`, valid: []string{`{"a":1}`}},
	{name: "items", schema: `{"items":{"type":"integer"}}`, valid: []string{`[]`, `[1,2.0]`}, invalid: []string{`[1,"2"]`}},
	{name: "prefixItems", schema: `{"prefixItems":[{"type":"string"},{"type":"integer"}],"items":false}`, valid: []string{`[]`, `["a",1]`}, invalid: []string{`[1]`, `["a",1,2]`}},
	{name: "prefixItems is unknown to draft 2019", draft: 2019, schema: `{"prefixItems":[{"type":"string"}]}`, valid: []string{`[1]`}},
	{name: "item list of draft 7", draft: 7, schema: `{"items":[{"type":"string"}],"additionalItems":{"type":"integer"}}`, valid: []string{`["a",1]`, `[]`}, invalid: []string{`[1]`, `["a","b"]`}},
	{name: "closed item list of draft 7", draft: 7, schema: `{"items":[{}],"additionalItems":false}`, valid: []string{`[1]`}, invalid: []string{`[1,2]`}},
	{name: "additionalItems alone", draft: 7, schema: `{"items":{},"additionalItems":false}`, valid: []string{`[1,2]`}},
	{name: "contains", schema: `{"contains":{"type":"string"},"minContains":2,"maxContains":3}`, valid: []string{`["a",1,"b"]`, `7`}, invalid: []string{`[]`, `["a"]`, `["a","b","c","d"]`}},
	{name: "contains none", schema: `{"contains":{"type":"string"},"minContains":0}`, valid: []string{`[]`}},
	{name: "unique", schema: `{"uniqueItems":true}`,
		valid:   []string{`[1,"1",true,null,[1],{"a":1}]`, `[{"a":1,"b":2},{"a":1,"b":3}]`, `[[1,2],[2,1]]`, `[{"a":1},{"b":1}]`, `[[1],[1,2]]`, `[{"a":1},{"a":1,"b":1}]`},
		invalid: []string{`[1,1.0]`, `["a","\u0061"]`, `[{"a":1,"b":[2]},{"b":[2.0],"a":1}]`, `[[1,2],[1,2]]`, `[null,null]`}},
	{name: "oneOf", schema: `{"oneOf":[{"type":"integer"},{"minimum":5}]}`, valid: []string{`1`, `5.5`, `"x"`}, invalid: []string{`6`, `1.5`}},
	{name: "not and if", schema: `{"not":{"required":["x"]},"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`,
		valid: []string{`{"a":1,"b":1}`, `{"c":1}`}, invalid: []string{`{"x":1,"c":1}`, `{"a":1}`, `{}`}},
	{name: "then without if", schema: `{"then":false,"else":false}`, valid: []string{`1`}},
	{name: "boolean schemas", schema: `{"properties":{"a":true,"b":false}}`, valid: []string{`{"a":1}`}, invalid: []string{`{"b":1}`}},
	{name: "draft 4 exclusive limits", draft: 4, schema: `{"minimum":1,"exclusiveMinimum":true,"maximum":3,"exclusiveMaximum":false}`, valid: []string{`2`, `3`}, invalid: []string{`1`, `4`}},
	{name: "draft 7 reference hides siblings", draft: 7, schema: `{"properties":{"a":{"$ref":"#/definitions/s","maxLength":1}},"definitions":{"s":{"type":"string"}}}`, valid: []string{`{"a":"long"}`}, invalid: []string{`{"a":1}`}},
	{name: "draft 2020 reference with siblings", schema: `{"properties":{"a":{"$ref":"#/$defs/s","maxLength":1}},"$defs":{"s":{"type":"string"}}}`, valid: []string{`{"a":"l"}`}, invalid: []string{`{"a":1}`, `{"a":"long"}`}},
	{name: "recursion", schema: `{"properties":{"children":{"type":"array","items":{"$ref":"#"}},"v":{"type":"integer"}},"additionalProperties":false}`, // case d12
		valid: []string{`{"children":[{"v":1,"children":[]},{}]}`}, invalid: []string{`{"children":[{"children":[{"v":"1"}]}]}`}},
	{name: "pointers", schema: `{"properties":{"a/b":{"type":"string"},"c":{"$ref":"#/properties/a~1b"},"d":{"$ref":"#/allOf/0"}},"allOf":[{"type":"object"}]}`,
		valid: []string{`{"c":"s","d":{}}`}, invalid: []string{`{"c":1}`, `{"d":1}`}},
	{name: "identifiers without references", schema: `{"$id":"https://example.com/a","properties":{"a":{"$id":"b","type":"string"}}}`, valid: []string{`{"a":""}`}, invalid: []string{`{"a":1}`}},
	{name: "declared draft", draft: 4, schema: `{"$schema":"http://json-schema.org/draft-07/schema#","const":1}`, valid: []string{`1`}, invalid: []string{`2`}},
}

func TestAgreesWithGeneralValidator(t *testing.T) {
	t.Parallel()
	for _, tt := range agree {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			opts := Options{Draft: tt.draft}
			for _, doc := range tt.valid {
				a := ask(t, tt.schema, doc, opts)
				assert.True(t, a.general, "jsonschema/v5 refuses %s", doc)
				assert.True(t, a.fast.Accepted, "not accepted: %s", doc)
			}
			for _, doc := range tt.invalid {
				a := ask(t, tt.schema, doc, opts)
				assert.False(t, a.general, "jsonschema/v5 accepts %s", doc)
				assert.False(t, a.fast.Accepted, "accepted: %s", doc)
			}
		})
	}
}

func TestLeavesToGeneralValidator(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"unevaluated":       `{"unevaluatedProperties":false}`,
		"dynamic reference": `{"$dynamicRef":"#"}`,
		"anchor":            `{"$ref":"#a","$defs":{"x":{"$anchor":"a"}}}`,
		"percent-encoding":  `{"$ref":"#/$defs/%61","$defs":{"a":{}}}`,
		"odd pointer":       `{"$ref":"#/allOf/00","allOf":[{}]}`,
		"bad escape":        `{"$ref":"#/$defs/a~b","$defs":{"a~b":{}}}`,
		"empty token":       `{"$ref":"#/"}`,
		"missing target":    `{"$ref":"#/$defs/x"}`,
		"other document":    `{"$ref":"https://example.com/a.json"}`,
		"moved base":        `{"$defs":{"a":{"$id":"https://example.com/","$ref":"#/$defs/b","$defs":{"b":false}},"b":true},"$ref":"#/$defs/a"}`,
		"own meta-schema":   `{"$schema":"https://example.com/meta"}`,
		"loop":              `{"$ref":"#"}`,
		"long loop":         `{"anyOf":[{"type":"string"},{"$ref":"#/$defs/a"}],"$defs":{"a":{"allOf":[{"not":{"$ref":"#"}}]}}}`,
		"dependent loop":    `{"dependentSchemas":{"k":{"$ref":"#"}}}`,
		"absurd number":     `{"anyOf":[{"type":"string"},{"enum":[1e99999999]}]}`,
		"nested absurdity":  `{"enum":["x",[{"a":1e99999999}]]}`,
		"zero multiple":     `{"multipleOf":0}`,
		"look-ahead":        `{"pattern":"(?=a)"}`,
		"no schema":         `{"properties":{"a":1}}`,
		"unknown type":      `{"type":"dict"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Compile(schematest.Decode(t, schema), Options{})
			assert.False(t, p.Decides())
			assert.Equal(t, Verdict{}, p.Check(parse(t, `"x"`)))
		})
	}
}

func TestUndecidedOptions(t *testing.T) {
	t.Parallel()
	assert.False(t, Compile(true, Options{Draft: 5}).Decides())
	assert.False(t, Compile(map[string]any{"minimum": 1.0}, Options{}).Decides(), "numbers must keep their digits")
	assert.False(t, Compile(nil, Options{}).Decides())
	assert.Equal(t, Verdict{}, (*Program)(nil).Check(parse(t, `1`)))
	assert.Equal(t, Verdict{}, Compile(true, Options{}).Check(nil))
	assert.True(t, Compile(true, Options{}).Check(parse(t, `1`)).Accepted)
}

func TestPanickingFormatIsUndecided(t *testing.T) {
	t.Parallel()
	opts := Options{Formats: map[string]func(string) bool{"date": func(string) bool { panic("no") }}}
	p := Compile(schematest.Decode(t, `{"format":"date"}`), opts)
	assert.Equal(t, Verdict{}, p.Check(parse(t, `"x"`)))
}

func TestFoldCheck(t *testing.T) {
	t.Parallel()
	const closed = `{"properties":{"path":{"type":"string"},"force":{"type":"boolean"}}}`
	const union = `{"anyOf":[{"required":["a"]},{"properties":{"Path":{}}}]}`
	for _, tt := range []struct {
		schema, doc string
		accepted    bool
	}{
		{closed, `{"path":"a","force":true,"other":1}`, true},
		{closed, `{"path":"a","Force":true}`, false},
		{closed, `{"force":true,"Force":true}`, false},
		{closed, `{"\u0046orce":true}`, false},
		{`{"properties":{"key":{}}}`, `{"\u212aey":1}`, false}, // the Kelvin sign folds to k
		{`{"properties":{"a":` + closed + `}}`, `{"a":{"PATH":"x"}}`, false},
		{`{"items":` + closed + `}`, `[{},{"Path":"x"}]`, false},
		{`{"properties":{"foo":{}},"patternProperties":{"^F":{}}}`, `{"Foo":1}`, false},
		{`{"required":["foo"]}`, `{"foo":1,"FOO":2}`, true},
		{union, `{"a":1,"path":2}`, false},
		{union, `{"a":1,"Path":2}`, true},
		{`{"not":` + closed + `}`, `{"Path":"x"}`, false},
	} {
		tree, doc := schematest.Decode(t, tt.schema), parse(t, tt.doc)
		assert.Equal(t, tt.accepted, Compile(tree, Options{FoldCheck: true}).Check(doc).Accepted, "%s %s", tt.schema, tt.doc)
	}
	assert.True(t, Compile(schematest.Decode(t, closed), Options{}).Check(parse(t, `{"Force":1}`)).Accepted)
}

func TestIntegralFloats(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		schema, doc string
		want        bool
	}{
		{`{"properties":{"n":{"type":"integer"}}}`, `{"n":5.0}`, true},
		{`{"properties":{"n":{"type":"integer"}}}`, `{"n":1E2}`, true},
		{`{"properties":{"n":{"type":"integer"}}}`, `{"n":5}`, false},
		{`{"type":"number"}`, `5.0`, false},
		{`{"type":["integer","number"]}`, `5.0`, false},
		{`{"anyOf":[{"type":"null"},{"type":"integer"}]}`, `5.0`, true},
		{`{"allOf":[{"type":"number"},{"type":"integer"}]}`, `5.0`, true},
		{`{}`, `5.0`, false},
	} { // case b16
		v := Compile(schematest.Decode(t, tt.schema), Options{}).Check(parse(t, tt.doc))
		assert.True(t, v.Accepted, tt.doc)
		assert.Equal(t, tt.want, v.HasIntegralFloat, "%s %s", tt.schema, tt.doc)
	}
}

func TestBoundsOnWork(t *testing.T) {
	t.Parallel()
	// Two equal branches double the work at each level of the document.
	const doubling = `{"$defs":{"n":{"anyOf":[
		{"properties":{"c":{"$ref":"#/$defs/n"}},"required":["x"]},
		{"properties":{"c":{"$ref":"#/$defs/n"}},"required":["y"]}]}},"$ref":"#/$defs/n"}`
	deep := strings.Repeat(`{"c":`, 60) + `1` + strings.Repeat(`}`, 60)
	v := Compile(schematest.Decode(t, doubling), Options{}).Check(parse(t, deep))
	assert.Equal(t, Verdict{Exhausted: true}, v)

	var chain strings.Builder
	for range 5000 {
		chain.WriteString(`{"allOf":[`)
	}
	chain.WriteString(`true` + strings.Repeat(`]}`, 5000))
	assert.False(t, Compile(schematest.Decode(t, chain.String()), Options{}).Check(parse(t, `1`)).Accepted)

	many := "[0"
	for i := range maxUnique {
		many += "," + strconv.Itoa(i+1)
	}
	many += "]"
	assert.Equal(t, Verdict{}, Compile(schematest.Decode(t, `{"uniqueItems":true}`), Options{}).Check(parse(t, many)))
}

// Limits of the parser can be raised; what lies beyond ours is not looked at.
func TestNumbersOutOfBounds(t *testing.T) {
	t.Parallel()
	limits := strictjson.Limits{MaxExponent: 1_000_000, MaxDigits: 1 << 20}
	for _, number := range []string{"1e1000000", "-1e-1000000", "1e401", strings.Repeat("9", 1001) + ".0"} {
		doc, err := strictjson.Parse([]byte(number), limits)
		require.NoError(t, err)
		for _, schema := range []string{`{"type":"integer"}`, `{"minimum":0}`, `{"not":{"enum":[1]}}`, `{"anyOf":[{"const":1},{}]}`, `{"not":{"type":"integer"}}`} {
			assert.Equal(t, Verdict{}, Compile(schematest.Decode(t, schema), Options{}).Check(&doc), "%s %.20s", schema, number)
		}
		assert.True(t, Compile(schematest.Decode(t, `{"type":"number"}`), Options{}).Check(&doc).Accepted)
	}
}

func TestDeepDocuments(t *testing.T) {
	t.Parallel()
	p := Compile(schematest.Decode(t, `{"items":{"$ref":"#"}}`), Options{})
	for depth, accepted := range map[int]bool{400: true, 1100: false} {
		text := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		doc, err := strictjson.Parse([]byte(text), strictjson.Limits{MaxDepth: depth})
		require.NoError(t, err)
		assert.Equal(t, accepted, p.Check(&doc).Accepted, depth)
	}
}

func TestProgramIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	p := Compile(schematest.Decode(t, mediumSchema), Options{Formats: testFormats})
	doc := parse(t, mediumDocument)
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for range 100 {
				assert.True(t, p.Check(doc).Accepted)
			}
		})
	}
}

func TestNoAllocations(t *testing.T) {
	for _, c := range benchmarkCases(t) {
		p := Compile(c.tree, Options{Formats: testFormats, FoldCheck: true})
		doc := parse(t, c.document)
		require.True(t, p.Check(doc).Accepted, c.name)
		assert.Zero(t, testing.AllocsPerRun(1000, func() { p.Check(doc) }), c.name)
	}
}
