package lint

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/cmd/toolguard/internal/schemas"
)

// found are the findings about one tool with this schema, as "path rule".
func found(t *testing.T, schema string) []string {
	t.Helper()
	return short(Tools([]schemas.Tool{{Name: "t", Description: "d", InputSchema: json.RawMessage(schema)}}))
}

func short(all []Finding) []string {
	var lines []string
	for _, f := range all {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s", f.Path, f.Rule)))
	}
	return lines
}

// Each rule, at the top and below, and what looks like it and is none.
func TestRules(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string][]string{
		`{"type":"object","properties":{"a":{"type":"string","description":"d"}}}`: nil,
		`{"type":"object"}`: nil,
		`true`:              nil,

		`{"q":{"type":"string","description":"d"}}`:                                                                                                {"constrains_nothing"},
		`{"type":"object","properties":{"a":{"$ref":"#/nowhere"}}}`:                                                                                {"not_enforced"},
		`{"type":"dict","properties":{"a":{"type":"float","description":"d"}}}`:                                                                    {"rewritten", "rewritten"},
		`{"type":"object","properties":{"a":{"type":"string"}}}`:                                                                                   {"/properties/a no_description"},
		`{"type":"object","properties":{"a":{"description":"d"}}}`:                                                                                 {"/properties/a no_type"},
		`{"type":"object","properties":{"a":{"enum":[1,2],"description":"d"}}}`:                                                                    nil,
		`{"type":"object","properties":{"a":{"const":1,"description":"d"}}}`:                                                                       nil,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"}],"description":"d"}}}`:                                                     nil,
		`{"type":"object","properties":{"a":{"type":["string","integer"],"description":"d"}}}`:                                                     {"/properties/a many_types"},
		`{"type":"object","properties":{"a":{"type":["string","null"],"description":"d"}}}`:                                                        nil,
		`{"type":"object","properties":{"a":{"type":"array","description":"d"}}}`:                                                                  {"/properties/a no_items"},
		`{"type":"object","properties":{"a":{"type":"array","items":{},"description":"d"}}}`:                                                       nil,
		`{"type":"object","properties":{"a":{"type":"array","prefixItems":[{"type":"string"}],"description":"d"}}}`:                                nil,
		`{"type":"object","properties":{"userId":{"type":"string","description":"d"},"user_id":{"type":"string","description":"d"}}}`:              {"/properties/user_id name_collides"},
		`{"type":"object","properties":{"a/b~c":{}}}`:                                                                                              {"/properties/a~1b~0c no_description", "/properties/a~1b~0c no_type"},
		`{"type":"object","properties":{"a":{"type":"object","description":"d","properties":{"b":{"type":"string"}}}}}`:                            {"/properties/a/properties/b no_description"},
		`{"type":"object","properties":{"a":{"type":"array","description":"d","items":{"type":"object","properties":{"b":{"description":"d"}}}}}}`: {"/properties/a/items/properties/b no_type"},
		`{"type":"object","properties":{"a":true,"b":5}}`:                                                                                          {"not_enforced"},
	} {
		assert.Equal(t, want, found(t, schema), schema)
	}
}

// Names are held against each other and against what providers take.
func TestNames(t *testing.T) {
	t.Parallel()
	tool := func(name string) schemas.Tool {
		return schemas.Tool{Name: name, Description: "d", InputSchema: json.RawMessage(`{"type":"object"}`)}
	}
	all := Tools([]schemas.Tool{tool("get-user"), tool("getUser"), tool("GET_USER"), tool("two words"), tool(strings.Repeat("x", 65)), tool("köln"), tool("ok_1")})
	var lines []string
	for _, f := range all {
		lines = append(lines, f.Tool+" "+string(f.Rule))
	}
	assert.Equal(t, []string{
		"getUser name_collides", "GET_USER name_collides", "two words name_unusable", strings.Repeat("x", 65) + " name_unusable", "köln name_unusable",
	}, lines)
	assert.Equal(t, []string{"no_description"}, short(Tools([]schemas.Tool{{Name: "t", Description: " ", InputSchema: json.RawMessage(`{"type":"object"}`)}})))
	assert.Empty(t, Tools([]schemas.Tool{{InputSchema: json.RawMessage(`{"type":"object"}`)}}), "a bare schema is no tool that a model has to choose")
}

// Schemas that are hostile end in findings, or in none, and soon.
func TestHostileSchemas(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 5000) + `{}` + strings.Repeat(`}}`, 5000)
	for _, schema := range []string{``, `null`, `5`, `[]`, `{"$ref":"#"}`, `{"properties":5}`, `{"properties":{"a":[1]}}`, `{"type":7}`, `{"items":{"items":{}}}`, deep, `{`} {
		assert.NotPanics(t, func() { found(t, schema) }, schema[:min(len(schema), 60)])
	}
}

func TestFindingsAsText(t *testing.T) {
	t.Parallel()
	f := Finding{Tool: "t", Path: "/properties/a", Rule: NoType, Text: "has no type"}
	assert.Equal(t, "t/properties/a: has no type (no_type)", f.String())
	text, err := json.Marshal(Finding{Rule: NoType, Text: "x"})
	require.NoError(t, err)
	assert.JSONEq(t, `{"rule":"no_type","text":"x"}`, string(text))
}

// Every rule is in the paper, and the paper has no other.
func TestRulesAreInThePaper(t *testing.T) {
	t.Parallel()
	paper, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "cli.md"))
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(paper), "| rule of `-lint` |")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "\n\n")
	var listed []string
	for line := range strings.Lines(table) {
		if rule, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ := strings.Cut(rule, "`")
			listed = append(listed, name)
		}
	}
	var rules []string
	for _, r := range []Rule{NotEnforced, Rewritten, ConstrainsNothing, Unguarded, NoDescription, NoType, ManyTypes, NoItems, NameCollides, NameUnusable} {
		rules = append(rules, string(r))
	}
	assert.Equal(t, rules, listed)
}
