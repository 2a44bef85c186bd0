package toolguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/toolguard-go/toolguard"
)

var providers = []toolguard.Provider{
	toolguard.ProviderOpenAI, toolguard.ProviderOpenAIResponses, toolguard.ProviderAnthropic, toolguard.ProviderMCP,
}

// golden compares JSON with a file, or writes the file: -update.
func golden(t *testing.T, name string, got json.RawMessage) {
	t.Helper()
	pretty, err := json.MarshalIndent(got, "", "  ")
	require.NoError(t, err, "%s", got)
	file := filepath.Join("testdata", "providers", name+".json")
	if updating() {
		require.NoError(t, os.WriteFile(file, append(pretty, '\n'), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(pretty)+"\n", "run: go test -run %s . -update", t.Name())
}

type searchIn struct {
	Query string   `json:"query" jsonschema:"what to look for"`
	Kinds []string `json:"kinds,omitempty"`
}

type moveIn struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// offered are tools of every shape that is rendered differently.
func offered() []toolguard.Tool {
	return []toolguard.Tool{
		toolguard.Func(toolguard.Info{Name: "search", Description: "Looks for \"things\".", Effect: toolguard.ReadOnly}, func(context.Context, searchIn) (string, error) { return "", nil }),
		toolguard.Func(toolguard.Info{Name: "files.move", Effect: toolguard.Idempotent}, func(context.Context, moveIn) (string, error) { return "", nil }),
		plain{info: toolguard.Info{Name: "ping"}},
		plain{info: toolguard.Info{Name: "note", Schema: json.RawMessage("{\n  \"properties\": {\"text\": {\"type\": \"string\", \"maxLength\": 10}}\n}")}},
		plain{info: toolguard.Info{Name: "tag", Schema: json.RawMessage(`{"type":"object","minProperties":1}`)}},
		says(strings.Repeat("long_", 20)),
	}
}

func TestToolsGolden(t *testing.T) {
	t.Parallel()
	box := boxOf(t, nil, offered()...)
	for _, p := range providers {
		list, err := box.Tools(t.Context(), p)
		require.NoError(t, err)
		golden(t, "tools_"+p.String(), list)
	}
	_, err := box.Tools(t.Context(), 9)
	assert.ErrorContains(t, err, "there is no Provider(9)")
}

// listed are the names in a provider's list.
func listed(t *testing.T, box *toolguard.Toolbox, p toolguard.Provider) (names []string) {
	t.Helper()
	list, err := box.Tools(context.Background(), p)
	require.NoError(t, err)
	var tools []struct {
		Name     string
		Function struct{ Name string }
	}
	require.NoError(t, json.Unmarshal(list, &tools))
	for _, tool := range tools {
		names = append(names, tool.Name+tool.Function.Name)
	}
	return names
}

func TestToolsListsWhatMayRun(t *testing.T) {
	t.Parallel()
	box := boxOf(t, &toolguard.ToolboxOptions{Visible: hides("secret")},
		says("secret"), says("clock"), toolNamed("pay", toolguard.NonIdempotent, answers("")), says("off"))
	require.NoError(t, box.Disable("off"))
	for _, p := range providers {
		assert.Equal(t, []string{"clock", "pay"}, listed(t, box, p))
	}
	box.SetReadOnlyMode(true)
	assert.Equal(t, []string{"clock"}, listed(t, box, toolguard.ProviderMCP))
	assert.Empty(t, listed(t, boxOf(t, nil), toolguard.ProviderOpenAI))
}

var nameRule = map[toolguard.Provider]*regexp.Regexp{
	toolguard.ProviderOpenAI:          regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
	toolguard.ProviderOpenAIResponses: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
	toolguard.ProviderAnthropic:       regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`),
	toolguard.ProviderMCP:             regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,128}$`),
}

// Whatever tools are called, each provider gets names by its rules, and each of
// these leads back to its tool.
func TestProviderNamesLeadBack(t *testing.T) {
	t.Parallel()
	printable := rapid.StringN(1, 20, 60).Filter(func(s string) bool {
		return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || strings.ContainsRune(" \"'`\uFFFD", r) })
	})
	name := rapid.OneOf(rapid.StringMatching(`[a-z._:/-]{1,6}`), rapid.StringMatching(`[a-zA-Z0-9_.-]{60,140}`), printable)
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(name, 1, 8, rapid.ID[string]).Draw(t, "names")
		var tools []toolguard.Tool
		for i, n := range names {
			tools = append(tools, toolNamed(n, toolguard.ReadOnly, answers(strconv.Itoa(i))))
		}
		box, err := toolguard.NewToolbox(nil, tools...)
		if err != nil {
			assert.ErrorContains(t, err, "by the rules of")
			return
		}
		for _, p := range providers {
			list, err := box.Tools(context.Background(), p)
			require.NoError(t, err)
			var got []struct {
				Name     string
				Function struct{ Name string }
			}
			require.NoError(t, json.Unmarshal(list, &got))
			for i, tool := range got {
				wire := tool.Name + tool.Function.Name
				assert.Regexp(t, nameRule[p], wire)
				assert.Equal(t, strconv.Itoa(i), ask(box, wire).Result.Text)
				if nameRule[p].MatchString(names[i]) {
					assert.Equal(t, names[i], wire, "a name that is right is left alone")
				}
			}
		}
	})
}

func TestStrictMode(t *testing.T) {
	t.Parallel()
	closed := func(properties, required string) string {
		return `{"type":"object","additionalProperties":false,"properties":{` + properties + `},"required":[` + required + `]}`
	}
	many := strings.TrimSuffix(strings.Repeat(`"NAME":{"type":"string"},`, 1), ",")
	deep := `{"type":"string"}`
	for range 6 {
		deep = closed(`"a":`+deep, `"a"`)
	}
	for schema, want := range map[string]bool{
		``:                                     false,
		closed(``, ``):                         true,
		closed(`"a":{"type":"string"}`, `"a"`): true,
		closed(`"a":{"type":["string","null"],"description":"d"}`, `"a"`):                                       true,
		closed(`"a":{"enum":["x","y"]}`, `"a"`):                                                                 true,
		closed(`"a":{"type":"array","items":{"type":"integer"}}`, `"a"`):                                        true,
		closed(`"a":{"anyOf":[{"type":"string"},`+closed(`"b":{"const":1}`, `"b"`)+`]}`, `"a"`):                 true,
		closed(`"a":`+closed(`"b":{"type":"number"}`, `"b"`), `"a"`):                                            true,
		strings.Replace(closed(`"a":{"$ref":"#/$defs/t"}`, `"a"`), `{`, `{"$defs":{"t":{"type":"string"}},`, 1): true,

		`{"type":"object"}`: false,
		`{"type":"object","properties":{},"additionalProperties":true}`:          false,
		closed(`"a":{"type":"string"}`, ``):                                      false,
		closed(`"a":{"type":"object"}`, `"a"`):                                   false,
		closed(`"a":{"type":["object","null"]}`, `"a"`):                          false,
		closed(`"a":{"type":"object","properties":{},"required":[]}`, `"a"`):     false,
		closed(`"a":{"type":"array"}`, `"a"`):                                    false,
		closed(`"a":{"type":"array","items":{}}`, `"a"`):                         false,
		closed(`"a":{}`, `"a"`):                                                  false,
		closed(`"a":true`, `"a"`):                                                false,
		closed(`"a":{"type":"string","maxLength":3}`, `"a"`):                     false,
		closed(`"a":{"oneOf":[{"type":"string"}]}`, `"a"`):                       false,
		closed(`"a":{"anyOf":[{"type":"string","minLength":1}]}`, `"a"`):         false,
		closed(`"a":{"$ref":"#/properties/b"},"b":{"type":"string"}`, `"a","b"`): false,
		closed(`"a":{"$ref":"#","description":"d"}`, `"a"`):                      false,
		strings.Replace(closed(``, ``), `{`, `{"$defs":{"t":{"not":{}}},`, 1):    false,
		strings.Replace(closed(``, ``), `{`, `{"anyOf":[{"type":"object"}],`, 1): false,
		closed(manyOf(many, 101)):                                                false,
		deep:                                                                     false,
	} {
		box, err := toolguard.NewToolbox(nil, plain{info: toolguard.Info{Name: "t", Schema: json.RawMessage(schema)}})
		require.NoError(t, err, schema)
		for _, p := range providers[:2] {
			list, err := box.Tools(t.Context(), p)
			require.NoError(t, err)
			var tools []struct {
				Strict     *bool
				Parameters json.RawMessage
				Function   struct {
					Strict     *bool
					Parameters json.RawMessage
				}
			}
			require.NoError(t, json.Unmarshal(list, &tools))
			strict, parameters := tools[0].Strict, tools[0].Parameters
			if p == toolguard.ProviderOpenAI {
				strict, parameters = tools[0].Function.Strict, tools[0].Function.Parameters
			}
			require.NotNil(t, strict, "it is said in any case")
			assert.Equal(t, want, *strict, schema)
			if want {
				assert.JSONEq(t, schema, string(parameters), "nothing is changed")
			}
		}
	}
}

// manyOf repeats a property under n names.
func manyOf(property string, n int) (properties, required string) {
	var p, r []string
	for i := range n {
		name := "p" + strings.Repeat("x", i)
		p, r = append(p, strings.Replace(property, "NAME", name, 1)), append(r, `"`+name+`"`)
	}
	return strings.Join(p, ","), strings.Join(r, ",")
}

func TestEnvelopesGolden(t *testing.T) {
	t.Parallel()
	png := toolguard.Part{MediaType: "image/png", Data: []byte("\x89PNG")}
	wav := toolguard.Part{MediaType: "audio/wav", Data: []byte("RIFF")}
	pdf := toolguard.Part{MediaType: "application/pdf", Data: []byte("%PDF")}
	for name, tool := range map[string]plain{
		"text": says("clock"),
		"object": toolNamed("clock", toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) {
			return toolguard.Result{JSON: json.RawMessage(`{"h":12}`)}, nil
		}),
		"list": toolNamed("clock", toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) {
			return toolguard.Result{JSON: json.RawMessage(`[12]`)}, nil
		}),
		"empty": toolNamed("clock", toolguard.ReadOnly, answers("")),
		"parts": toolNamed("clock", toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) {
			return toolguard.Result{Text: "a \"clock\"", Parts: []toolguard.Part{png, wav, pdf, {MediaType: "image/svg+xml", Data: []byte("<svg/>")}, {MediaType: "image/png", Raw: 1}}}, nil
		}),
		"failure": toolNamed("clock", toolguard.NonIdempotent, fails(errors.New("lost"))),
	} {
		env := do(guardOf(t, tool, &toolguard.Options{Timeout: toolguard.TimeoutPolicy{Attempt: time.Minute}}))
		if env.Error != nil {
			env.Error.Incident = "k3f9"
		}
		before := len(env.Notes)
		for _, p := range providers {
			golden(t, "answer_"+name+"_"+p.String(), env.ForProvider(p))
		}
		assert.Len(t, env.Notes, before, "the envelope stays what it was")
	}
}

func TestForProviderIsTotal(t *testing.T) {
	t.Parallel()
	for _, env := range []toolguard.Envelope{
		{OK: true}, {OK: true, CallID: "\xff\"\n", Result: toolguard.Result{Text: "\xff", Parts: []toolguard.Part{{MediaType: "image/png\"", Data: []byte("x")}, {MediaType: "audio/\xff", Data: []byte("x")}}}},
		{Error: &toolguard.Failure{}},
	} {
		for p := range toolguard.Provider(6) {
			assert.True(t, json.Valid(env.ForProvider(p)), "%v %s", p, env.ForProvider(p))
		}
	}
}

// Envelopes are copied freely: one rendering does not write into another's notes.
func TestForProviderSharesNoNotes(t *testing.T) {
	t.Parallel()
	env := toolguard.Envelope{OK: true, Notes: make([]toolguard.Note, 0, 4), Result: toolguard.Result{Parts: []toolguard.Part{{MediaType: "image/png", Data: []byte("x")}}}}
	env.ForProvider(toolguard.ProviderOpenAI)
	assert.Empty(t, env.Notes[:1][0].Text)
}

func TestProviderTexts(t *testing.T) {
	t.Parallel()
	for _, p := range providers {
		text, err := p.MarshalText()
		require.NoError(t, err)
		var back toolguard.Provider
		require.NoError(t, back.UnmarshalText(text))
		assert.Equal(t, p, back)
	}
	assert.Error(t, new(toolguard.Provider).UnmarshalText([]byte("azure")))
	assert.Equal(t, "Provider(9)", toolguard.Provider(9).String())
}
