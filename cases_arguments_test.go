package toolguard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// Report: cloudwego/eino#493 (case a04)
func TestExecutedArgumentsAreExposed(t *testing.T) {
	t.Parallel()
	var ran string
	g := guardOf(t, plain{
		info: toolguard.Info{Name: "probe", Schema: json.RawMessage(`{"properties":{"n":{"type":"integer"}}}`)},
		call: func(_ context.Context, args json.RawMessage) (toolguard.Result, error) {
			ran = string(args)
			copy(args, "######") // a tool may do as it likes with its copy
			return toolguard.Result{Text: "done"}, nil
		},
	}, nil)
	for _, text := range []string{"", "null", `{"n": "3",}`, `{"n": 3}`} {
		env := g.Do(t.Context(), toolguard.Call{Args: json.RawMessage(text)})
		require.True(t, env.OK)
		assert.Equal(t, ran, string(env.Args), "for %q", text)
		assert.True(t, json.Valid(env.Args))
	}
}

// Report: lsdefine/GenericAgent#746 (case a06)
func TestPreviewOfBadArgumentsIsShort(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"cut off":    `{"content": "` + strings.Repeat("lorem ipsum ", 17_000),
		"an array":   `["` + strings.Repeat("lorem ipsum ", 17_000) + `"]`,
		"not JSON":   strings.Repeat("lorem ipsum ", 17_000),
		"one string": `"` + strings.Repeat("lorem ipsum ", 17_000) + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := caseGuard(t, toolguard.Info{}, nil, answers("done")).Do(t.Context(), toolguard.Call{Args: json.RawMessage(text)})
			require.Equal(t, toolguard.CategoryParam, env.Error.Category)
			assertAnswer(t, &env, name)
			assert.Less(t, strings.Count(env.ForModel(), "lorem"), 20)
			assert.Contains(t, env.ForModel(), fmt.Sprint(len(text)), "the full length is stated")
		})
	}
}

// Report: nst/JSONTestSuite, test_parsing (case a21), dynamiq-ai/dynamiq#761 (case d12)
func TestDepthAndSizeAreBounded(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text, rule string
	}{
		"deep arrays":      {strings.Repeat("[", 100_000), "depth"},
		"deep objects":     {strings.Repeat(`{"":`, 100_000), "depth"},
		"closed again":     {`{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + "}", "depth"},
		"deep in a string": {`"` + strings.Repeat("[", 1000) + `"`, "not_object"},
		"large":            {`{"a":"` + strings.Repeat("x", 1<<20) + `"}`, "size"},
		"large number":     {`{"a":` + strings.Repeat("9", 2000) + `}`, "digits"},
		"large exponent":   {`{"a":1e9999999}`, "exponent"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call, runs := caseSteps(answers("done"))
			env := caseGuard(t, toolguard.Info{Effect: toolguard.ReadOnly}, nil, call).Do(t.Context(), toolguard.Call{Args: json.RawMessage(tt.text)})
			require.False(t, env.OK)
			assertAnswer(t, &env, name)
			assert.Equal(t, tt.rule, env.Error.Violations[0].Rule)
			assert.Zero(t, runs())
		})
	}
}

// Report: google-labs-code/stitch-sdk#367, samanhappy/mcphub#1024, anthropics/claude-code#77106 (case d03)
func TestBadSchemaConcernsItsToolAlone(t *testing.T) {
	t.Parallel()
	dangling := toolguard.Info{Name: "tree", Schema: json.RawMessage(`{"type":"object","properties":{"below":{"$ref":"#/$defs/Leaf"},"name":{"type":"string"}}}`)}
	_, err := toolguard.New(caseTool(dangling, answers("done")), nil)
	require.ErrorContains(t, err, "tree")
	require.ErrorContains(t, err, "#/$defs/Leaf")

	seen := &eventLog{}
	g := caseGuard(t, dangling, &toolguard.Options{Arguments: toolguard.ArgumentPolicy{Schema: toolguard.SchemaLenient}, Observer: seen}, answers("done"))
	assert.Len(t, g.Describe().NotEnforced, 1)
	assert.True(t, g.Do(t.Context(), toolguard.Call{Args: json.RawMessage(`{"below": 1, "name": "oak"}`)}).OK)
	assert.Equal(t, g.Describe().NotEnforced, seen.of(toolguard.EventCall)[0].NotEnforced)
	env := g.Do(t.Context(), toolguard.Call{Args: json.RawMessage(`{"below": 1, "name": 2}`)})
	assert.Equal(t, toolguard.CodeSchemaViolation, codeOf(env), "the rest of the schema is in force")
}

// Report: santhosh-tekuri/jsonschema#224, #207, xeipuuv/gojsonschema#129 (case d19)
func TestGuardsAreMadeConcurrently(t *testing.T) {
	t.Parallel()
	texts := map[string]bool{ // and whether it can be a schema
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`: true,
		`{"type":"object","properties":{"a":{"type":"string","format":"date"}}}`:                    true,
		`{"type":"object","properties":{"a":{"pattern":"("}}}`:                                      false,
		`{]`:  false,
		`"x"`: false,
		``:    true,
	}
	var all sync.WaitGroup
	for range 4 {
		for text, good := range texts {
			all.Go(func() {
				_, err := toolguard.New(caseTool(toolguard.Info{Name: "any", Schema: json.RawMessage(text)}, answers("done")), nil)
				assert.Equal(t, good, err == nil, "%s: %v", text, err)
			})
		}
	}
	all.Wait()
}

func TestDigestKnowsACallByItsMeaning(t *testing.T) {
	t.Parallel()
	cutOff := false
	digest := func(source, args string) toolguard.Digest {
		seen := &eventLog{}
		g := caseGuard(t, toolguard.Info{Source: source}, &toolguard.Options{Observer: seen}, answers("done"))
		g.Do(t.Context(), toolguard.Call{Args: json.RawMessage(args), Truncated: cutOff})
		d := seen.of(toolguard.EventCall)[0].Digest
		require.NotEqual(t, toolguard.Digest{}, d, "of %q", args)
		return d
	}
	// Report: BaseIntelligence/bounty-challenge#52101 (case i03)
	first := digest("files", `{"name":"a","row":1}`)
	for _, same := range []string{`{ "row": 1, "name": "a" }`, `{"name":"\u0061","row":1.0}`, `{"name":"a","row":10e-1}`} {
		assert.Equal(t, first, digest("files", same), same)
	}
	for _, other := range []string{`{"name":"a","row":"1"}`, `{"name":"A","row":1}`, `{"name":"a","row":1.0000000000000000001}`} {
		assert.NotEqual(t, first, digest("files", other), other)
	}
	// Report: juspay/neurolink#943 (case i15)
	assert.NotEqual(t, first, digest("archive", `{"name":"a","row":1}`), "the same name from elsewhere is another tool")
	// Report: OpenRouterTeam/typescript-agent#89 (case i07)
	assert.Equal(t, digest("files", `{"name":`), digest("files", `{"name":`), "what cannot be read is known by its bytes")
	assert.NotEqual(t, digest("files", `{"name":`), digest("files", `{"name`))
	cutOff = true
	assert.NotEqual(t, first, digest("files", `{"name":"a","row":1}`), "what may be cut off is no document")
}
