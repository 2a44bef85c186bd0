package schema_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/internal/schema"
	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// One violation per rule, with every parameter it carries. Node is compared by
// the value that stands there.
func TestRules(t *testing.T) {
	t.Parallel()
	type v = schema.Violation
	tests := []struct {
		schema, args string
		want         v
	}{
		{`{"required":["to"]}`, `{"b":1}`, v{Rule: schema.RuleRequired, Name: "to", Kind: "object", Got: `{"b":1}`}},
		// case d13
		{`{"properties":{"vars":{}},"additionalProperties":false}`, `{"vras":{"tag":"v1"}}`,
			v{Path: "/vras", Rule: schema.RuleUnknownProperty, Name: "vras", Kind: "object", Got: `{"tag":"v1"}`, Near: []string{"vars"}}},
		{`{"properties":{"a":{"type":["integer","null"]}}}`, `{"a":1.5}`, v{Path: "/a", Rule: schema.RuleType, WantList: []string{"integer", "null"}, Kind: "number", Got: "1.5"}},
		{`{"properties":{"a":{"enum":["open","closed",1]}}}`, `{"a":"Open"}`,
			v{Path: "/a", Rule: schema.RuleEnum, WantList: []string{`"open"`, `"closed"`, "1"}, Kind: "string", Got: `"Open"`, Near: []string{`"open"`}}},
		{`{"properties":{"a":{"const":{"x":1}}}}`, `{"a":{"x":2}}`, v{Path: "/a", Rule: schema.RuleConst, Want: `{"x":1}`, Kind: "object", Got: `{"x":2}`}},
		{`{"properties":{"a":{"minimum":0.10}}}`, `{"a":0}`, v{Path: "/a", Rule: schema.RuleMinimum, Limit: "0.10", Kind: "integer", Got: "0"}},
		// case b12: exact beyond 64 bits
		{`{"properties":{"a":{"maximum":18446744073709551615}}}`, `{"a":18446744073709551616}`,
			v{Path: "/a", Rule: schema.RuleMaximum, Limit: "18446744073709551615", Kind: "integer", Got: "18446744073709551616"}},
		{`{"properties":{"a":{"exclusiveMinimum":0}}}`, `{"a":0.0}`, v{Path: "/a", Rule: schema.RuleExclusiveMinimum, Limit: "0", Kind: "integer", Got: "0.0"}},
		{`{"properties":{"a":{"exclusiveMaximum":9007199254740993}}}`, `{"a":9007199254740993}`,
			v{Path: "/a", Rule: schema.RuleExclusiveMaximum, Limit: "9007199254740993", Kind: "integer", Got: "9007199254740993"}},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"maximum":5,"exclusiveMaximum":true}}}`, `{"a":5}`,
			v{Path: "/a", Rule: schema.RuleExclusiveMaximum, Limit: "5", Kind: "integer", Got: "5"}},
		{`{"properties":{"a":{"multipleOf":0.1}}}`, `{"a":0.25}`, v{Path: "/a", Rule: schema.RuleMultipleOf, Limit: "0.1", Kind: "number", Got: "0.25"}},
		{`{"properties":{"a":{"minLength":3}}}`, `{"a":"日本"}`, v{Path: "/a", Rule: schema.RuleMinLength, Limit: "3", Count: 2, Kind: "string", Got: `"日本"`}},
		{`{"properties":{"a":{"maxLength":1}}}`, `{"a":"\u65e5x"}`, v{Path: "/a", Rule: schema.RuleMaxLength, Limit: "1", Count: 2, Kind: "string", Got: `"\u65e5x"`}},
		{`{"properties":{"a":{"pattern":"^\\d+$"}}}`, `{"a":"x"}`, v{Path: "/a", Rule: schema.RulePattern, Want: `^\d+$`, Kind: "string", Got: `"x"`}},
		{`{"properties":{"a":{"format":"date"}}}`, `{"a":"today"}`, v{Path: "/a", Rule: schema.RuleFormat, Want: "date", Kind: "string", Got: `"today"`}},
		{`{"properties":{"a":{"minItems":2}}}`, `{"a":[1]}`, v{Path: "/a", Rule: schema.RuleMinItems, Limit: "2", Count: 1, Kind: "array", Got: "[1]"}},
		{`{"properties":{"a":{"maxItems":1}}}`, `{"a":[1,2]}`, v{Path: "/a", Rule: schema.RuleMaxItems, Limit: "1", Count: 2, Kind: "array", Got: "[1,2]"}},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"items":[{}],"additionalItems":false}}}`, `{"a":[1,2]}`,
			v{Path: "/a", Rule: schema.RuleMaxItems, Limit: "1", Count: 2, Kind: "array", Got: "[1,2]"}},
		{`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[1,2,1]}`, v{Path: "/a/2", Rule: schema.RuleUniqueItems, Kind: "integer", Got: "1"}},
		{`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[1,1.0]}`, v{Path: "/a", Rule: schema.RuleUniqueItems, Kind: "array", Got: "[1,1.0]"}},
		{`{"properties":{"a":{"contains":{"type":"string"}}}}`, `{"a":[1]}`, v{Path: "/a", Rule: schema.RuleContains, Limit: "1", Kind: "array", Got: "[1]"}},
		{`{"properties":{"a":{"contains":{"const":1},"maxContains":1}}}`, `{"a":[1,1]}`, v{Path: "/a", Rule: schema.RuleMaxContains, Limit: "1", Kind: "array", Got: "[1,1]"}},
		{`{"minProperties":1}`, `{}`, v{Rule: schema.RuleMinProperties, Limit: "1", Kind: "object", Got: "{}"}},
		{`{"maxProperties":1}`, `{"a":1,"b":2}`, v{Rule: schema.RuleMaxProperties, Limit: "1", Count: 2, Kind: "object", Got: `{"a":1,"b":2}`}},
		{`{"properties":{"a":{"oneOf":[{"minimum":1},{"maximum":5}]}}}`, `{"a":3}`, v{Path: "/a", Rule: schema.RuleOneOf, Count: 2, Kind: "integer", Got: "3"}},
		{`{"properties":{"a":{"not":{"type":"null"}}}}`, `{"a":null}`, v{Path: "/a", Rule: schema.RuleNot, Kind: "null", Got: "null"}},
		{`{"dependentRequired":{"cc":["to","x/y"]}}`, `{"cc":1,"to":2}`, v{Rule: schema.RuleDependentRequired, Name: "x/y", Want: "cc", Kind: "object", Got: `{"cc":1,"to":2}`}},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a/b":["c"]}}`, `{"a/b":1}`, v{Rule: schema.RuleDependentRequired, Name: "c", Want: "a/b", Kind: "object", Got: `{"a/b":1}`}},
		{`{"properties":{"a":false}}`, `{"a":true}`, v{Path: "/a", Rule: schema.RuleFalseSchema, Kind: "boolean", Got: "true"}},
		{`{"properties":{"required":false}}`, `{"required":0}`, v{Path: "/required", Rule: schema.RuleFalseSchema, Kind: "integer", Got: "0"}},
		{`{"properties":{"abc":{}},"unevaluatedProperties":false}`, `{"abd":1}`, v{Path: "/abd", Rule: schema.RuleUnknownProperty, Name: "abd", Kind: "integer", Got: "1", Near: []string{"abc"}}},
		{`{"propertyNames":{"pattern":"^[a-z]+$"}}`, `{"A":1}`, v{Path: "/A", Rule: schema.RulePropertyName, Name: "A", Want: "pattern", Kind: "integer", Got: "1"}},
		{`{"properties":{"propertyNames":{"type":"string"}}}`, `{"propertyNames":1}`, v{Path: "/propertyNames", Rule: schema.RuleType, WantList: []string{"string"}, Kind: "integer", Got: "1"}},
		{`{"properties":{"userId":{}}}`, `{"userid":1}`, v{Path: "/userid", Rule: schema.RuleCaseMismatch, Name: "userid", Want: "userId", Kind: "integer", Got: "1"}},
		{`{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, v{Rule: schema.RuleRequired, Name: "b", Kind: "object", Got: `{"a":1}`}},
		{`{"allOf":[{"$ref":"#/$defs/x"}],"$defs":{"x":{"properties":{"~/%é":{"type":"string"}}}}}`, `{"~/%é":1}`,
			v{Path: "/~0~1%é", Rule: schema.RuleType, WantList: []string{"string"}, Kind: "integer", Got: "1"}},
		{`{"$id":"https://a.test/tool.json","properties":{"a":{"$ref":"#/$defs/x y"}},"$defs":{"x y":{"minimum":5}}}`, `{"a":1}`,
			v{Path: "/a", Rule: schema.RuleMinimum, Limit: "5", Kind: "integer", Got: "1"}},
	}
	for _, tt := range tests {
		s := compile(t, tt.schema, schema.Strict)
		doc := parse(t, tt.args)
		found, more := s.Validate(doc)
		assert.Zero(t, more)
		if !assert.Len(t, found, 1, tt.schema) {
			t.Log(brief(found))
			continue
		}
		assert.Equal(t, tt.want.Path, doc.Pointer(found[0].Node), tt.schema)
		found[0].Node = 0
		assert.Equal(t, tt.want, found[0], tt.schema)
	}
}

// A wrong name and the one that is missing for it point at each other.
func TestMissingAndUnknownNamesPointAtEachOther(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"properties":{"recipient":{},"subject":{}},"required":["recipient"],"additionalProperties":false}`, schema.Strict)
	found, _ := s.Validate(parse(t, `{"recipeint":"a","subject":"b"}`))
	require.Equal(t, []string{"required", "/recipeint unknown_property"}, brief(found))
	assert.Equal(t, []string{"recipeint"}, found[0].Near)
	assert.Equal(t, []string{"recipient"}, found[1].Near)
}

func TestAllViolationsAtOnceAndSorted(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"properties":{"a":{"type":"string"},"b":{"minimum":5,"multipleOf":2},"c":{"items":{"type":"integer"}}},"required":["y","x"],"additionalProperties":false}`, schema.Strict)
	doc := parse(t, `{"c":["1",2,null],"b":1,"a":5,"z":1}`)
	want := []string{"required", "required", "/a type", "/b minimum", "/b multiple_of", "/c/0 type", "/c/2 type", "/z unknown_property"}
	for range 20 { // the library's own order is random
		found, _ := s.Validate(doc)
		require.Equal(t, want, brief(found))
		require.Equal(t, []string{"x", "y"}, []string{found[0].Name, found[1].Name})
	}
}

func TestEverythingIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 500)
	values := make([]string, 50)
	for i := range values {
		values[i] = fmt.Sprintf(`"%d%s"`, i, long)
	}
	s := compile(t, `{"properties":{"e":{"enum":[`+strings.Join(values, ",")+`]},"p":{"pattern":"^x`+long+`"},"l":{"items":{"type":"null"}},"`+long+`":{"type":"null"}}}`, schema.Strict)

	found, more := s.Validate(parse(t, `{"e":"`+long+`","p":"`+long+`","`+long+`":1}`))
	assert.Zero(t, more)
	require.Len(t, found, 3)
	for _, v := range found {
		assert.LessOrEqual(t, len(v.Got), 4<<10)
		assert.LessOrEqual(t, len(v.Path), 200)
		assert.LessOrEqual(t, len(v.Want), 200)
		assert.True(t, utf8.ValidString(v.Got+v.Path+v.Want))
	}
	assert.Len(t, found[0].WantList, 20)
	assert.Equal(t, 30, found[0].WantMore)

	found, more = s.Validate(parse(t, `{"l":[`+strings.Repeat("1,", 4999)+`1]}`))
	assert.Len(t, found, 20)
	assert.Equal(t, 4980, more)

	names := ""
	for i := range 100 {
		names += fmt.Sprintf(`"n%d",`, i)
	}
	found, _ = compile(t, `{"required":[`+names+`"z"]}`, schema.Strict).Validate(parse(t, `{}`))
	assert.Len(t, found, 20)
}

func TestWhatIsNoObjectIsOneViolation(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"required":["a"]}`, schema.Strict)
	found, _ := s.Validate(parse(t, ` "x"`))
	assert.Equal(t, []schema.Violation{{Rule: schema.RuleType, WantList: []string{"object"}, Kind: "string", Got: ` "x"`}}, found)
	found, _ = s.Validate(&strictjson.Doc{Text: []byte("{")})
	assert.Equal(t, []schema.Violation{{Rule: schema.RuleType, WantList: []string{"object"}, Got: "{"}}, found)
}

func TestAcceptingDoesNotAllocate(t *testing.T) {
	s := compile(t, `{"type":"object","properties":{"to":{"type":"string","minLength":1},"n":{"type":"integer","minimum":0},"tags":{"type":"array","items":{"enum":["a","b"]}}},"required":["to"],"additionalProperties":false}`, schema.Strict)
	doc := parse(t, `{"to":"x","n":5,"tags":["a","b"]}`)
	require.Empty(t, check(t, s, `{"to":"x","n":5,"tags":["a","b"]}`))
	assert.Zero(t, testing.AllocsPerRun(1000, func() { s.Validate(doc) }))
}

func BenchmarkValidate(b *testing.B) {
	s := compile(b, `{"type":"object","properties":{"to":{"type":"string"},"n":{"type":"integer"}},"required":["to"],"additionalProperties":false}`, schema.Strict)
	for name, text := range map[string]string{"valid": `{"to":"x","n":5}`, "invalid": `{"too":"x","n":"5"}`} {
		doc := parse(b, text)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Validate(doc)
			}
		})
	}
}
