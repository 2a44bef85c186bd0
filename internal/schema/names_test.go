package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/toolguard-go/toolguard/internal/schema"
)

func TestNearNames(t *testing.T) {
	t.Parallel()
	const declared = `{"properties":{"user_id":{},"file":{},"to":{},"x":{},"recipient":{},"maxResults":{}},"additionalProperties":false}`
	s := compile(t, declared, schema.Strict)
	for name, want := range map[string][]string{
		"userId":                         {"user_id"},
		"user-ids":                       {"user_id"},
		"fiel":                           {"file"},
		"flie":                           {"file"},
		"fl":                             nil, // two edits are half of a short name
		"too":                            {"to"},
		"y":                              nil,
		"recipeints":                     {"recipient"},
		"max_result":                     {"maxResults"},
		"reciever":                       nil,
		"":                               nil,
		strings.Repeat("recipient", 100): nil,
	} {
		found, _ := s.Validate(parse(t, fmt.Sprintf(`{%q:1}`, name)))
		require.Len(t, found, 1, name)
		require.Equal(t, schema.RuleUnknownProperty, found[0].Rule, name)
		assert.Equal(t, want, found[0].Near, name)
	}
	// A name that is given already was not meant a second time.
	found, _ := s.Validate(parse(t, `{"file":1,"fiel":2}`))
	assert.Nil(t, found[0].Near)
}

func TestCaseMismatch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, schema, args string
		want               []string
	}{
		{"extras allowed", `{"properties":{"path":{}}}`, `{"Path":1}`, []string{"/Path case_mismatch"}},
		{"extras forbidden: said once", `{"properties":{"path":{}},"additionalProperties":false}`, `{"PATH":1}`, []string{"/PATH case_mismatch"}},
		{"beside the right one", `{"properties":{"path":{}}}`, `{"path":"a","pAth":"b"}`, []string{"/pAth case_mismatch"}},
		{"both declared", `{"properties":{"id":{},"ID":{}}}`, `{"ID":1}`, nil},
		{"Kelvin sign", `{"properties":{"key":{}}}`, "{\"\u212aey\":1}", []string{"/\u212aey case_mismatch"}},
		{"escaped", `{"properties":{"path":{}}}`, `{"\u0050ath":1}`, []string{"/Path case_mismatch"}},
		{"a pattern does not excuse it", `{"properties":{"path":{}},"patternProperties":{"":{}}}`, `{"Path":1}`, []string{"/Path case_mismatch"}},
		{"in an array", `{"properties":{"l":{"items":{"properties":{"a":{}}}}}}`, `{"l":[{"a":1},{"A":1}]}`, []string{"/l/1/A case_mismatch"}},
		{"by reference", `{"properties":{"o":{"$ref":"#/$defs/o"}},"$defs":{"o":{"properties":{"a":{}}}}}`, `{"o":{"A":1}}`, []string{"/o/A case_mismatch"}},
		{"under additionalProperties", `{"additionalProperties":{"properties":{"a":{}}}}`, `{"k":{"A":1}}`, []string{"/k/A case_mismatch"}},
		{"in a branch nobody needed", `{"anyOf":[{"properties":{"b":{}}},{"properties":{"path":{}}}]}`, `{"Path":1}`, []string{"/Path case_mismatch"}},
		{"in a condition", `{"if":{"required":["x"]},"then":{"properties":{"path":{}}}}`, `{"Path":1}`, []string{"/Path case_mismatch"}},
		{"declared elsewhere", `{"allOf":[{"properties":{"id":{}}},{"properties":{"ID":{}}}]}`, `{"ID":1,"id":2}`, nil},
		{"not says nothing about names", `{"not":{"properties":{"path":{"const":1}},"required":["path"]}}`, `{"Path":1}`, nil},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, check(t, compile(t, tt.schema, schema.Strict), tt.args), tt.name)
	}
}

// What Go's decoder would put into a field by folding case is what is found.
func TestCaseMismatchIsWhatGoFolds(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"properties":{"task":{}}}`, schema.Strict)
	rapid.Check(t, func(t *rapid.T) {
		var name strings.Builder
		for _, variants := range []string{"tT", "aAå", "sSſ", "kK\u212a"} {
			name.WriteRune(rapid.SampledFrom([]rune(variants)).Draw(t, "rune"))
		}
		var into struct {
			Task int `json:"task"`
		}
		text := fmt.Sprintf(`{%q:1}`, name.String())
		require.NoError(t, json.Unmarshal([]byte(text), &into))
		folded := into.Task == 1 && name.String() != "task"
		require.Equal(t, folded, len(check(t, s, text)) > 0, text)
	})
}
