package schema

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// However a reference is written, a name that differs in case is found where
// the validator would apply the subschema.
func TestCaseMismatchBehindReferences(t *testing.T) {
	t.Parallel()
	const object = `"type":"object","properties":{"amount":{"type":"integer","maximum":10}}}`
	for name, text := range map[string]string{
		"relative id":     `{"$id":"https://example.com/r","$defs":{"x":{"$id":"/x",` + object + `},"properties":{"p":{"$ref":"/x"}}}`,
		"absolute id":     `{"$id":"https://example.com/r","$defs":{"x":{"$id":"https://example.com/x",` + object + `},"properties":{"p":{"$ref":"https://example.com/x"}}}`,
		"own name":        `{"$id":"https://example.com/a/r.json","$defs":{"x":{` + object + `},"properties":{"p":{"$ref":"r.json#/$defs/x"}}}`,
		"inside another":  `{"$id":"https://example.com/r","$defs":{"x":{"$id":"x","$defs":{"y":{` + object + `},"$ref":"#/$defs/y"}},"properties":{"p":{"$ref":"x"}}}`,
		"anchor inside":   `{"$id":"https://example.com/r","$defs":{"x":{"$id":"x","$defs":{"y":{"$anchor":"n",` + object + `}}},"properties":{"p":{"$ref":"x#n"}}}`,
		"urn":             `{"$id":"urn:example:r","$defs":{"x":{` + object + `},"properties":{"p":{"$ref":"urn:example:r#/$defs/x"}}}`,
		"dynamic":         `{"$defs":{"x":{"$dynamicAnchor":"n",` + object + `},"properties":{"p":{"$dynamicRef":"#n"}}}`,
		"recursive":       `{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"properties":{"amount":{"maximum":10},"p":{"$recursiveRef":"#"}}}`,
		"old anchor":      `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"x":{"$id":"#n",` + object + `},"properties":{"p":{"$ref":"#n"}}}`,
		"draft 4":         `{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://example.com/r","definitions":{"x":{"id":"x",` + object + `},"properties":{"p":{"$ref":"x"}}}`,
		"escaped":         `{"$defs":{"a b":{` + object + `},"properties":{"p":{"$ref":"#/$defs/a%20b"}}}`,
		"pattern":         `{"properties":{"p":{"patternProperties":{"^amount$":{"maximum":10}}}}}`,
		"pattern of some": `{"properties":{"p":{"patternProperties":{"^(?:account|(am)?ount)$":{"maximum":10}}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Compile(json.RawMessage(text), Strict)
			require.NoError(t, err)
			assert.Equal(t, []Rule{RuleMaximum}, rulesFor(t, s, `{"p":{"amount":99}}`), "the schema applies")
			assert.Empty(t, rulesFor(t, s, `{"p":{"amount":9}}`))
			assert.Equal(t, []Rule{RuleCaseMismatch}, rulesFor(t, s, `{"p":{"AMOUNT":99}}`))
		})
	}
}

func TestPatternThatSpellsNoNames(t *testing.T) {
	t.Parallel()
	s, err := Compile(json.RawMessage(`{"patternProperties":{"^[a-z]+$":{"type":"integer"},"^x-":{},"(?i)^ID$":{}}}`), Strict)
	require.NoError(t, err)
	assert.Empty(t, rulesFor(t, s, `{"Name":1,"X-Trace":2,"id":3}`))
}

func rulesFor(t *testing.T, s *Schema, text string) (rules []Rule) {
	t.Helper()
	doc, err := strictjson.Parse([]byte(text), strictjson.Limits{})
	require.NoError(t, err)
	found, _ := s.Validate(&doc)
	for _, v := range found {
		rules = append(rules, v.Rule)
	}
	return rules
}
