package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/adapters/mcpguard"
)

// tools are those of a server.
var tools = []*mcp.Tool{
	{Name: "read", InputSchema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"reason":{"type":"string"}},"additionalProperties":false}`)},
	{Name: "write", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
	{Name: "a/b", InputSchema: json.RawMessage(`{"type":"object"}`)},
}

// guarded returns the guards of a server under a configuration.
func guarded(t *testing.T, c *Config) *mcpguard.Guards {
	t.Helper()
	o := c.Options()
	g, err := mcpguard.New(&o)
	require.NoError(t, err)
	g.Learn(tools)
	return g
}

func parsed(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Parse([]byte(text))
	require.NoError(t, err)
	return c
}

func TestDeclarationsReachTheGuards(t *testing.T) {
	t.Parallel()
	c := parsed(t, `{"version":1,"defaults":{"timeout":{"attempt":"7s"}},"tools":{"write":{"timeout":{"attempt":"9s"}}},"mcp":{
		"source":"files","trust_hints":true,"doubt_errors":true,"effect":"idempotent","max_waiting":"3m","tools":{
		"read":{"effect":"read_only","class":"media","verify_with":["write"],"alternatives":["a/b"],"irrelevant":["reason"]},
		"write":{"effect":"unknown","repeats_normal":false},
		"a/b":{"effect":"non_idempotent","approve":true}}}}`)
	assert.True(t, c.Names())
	assert.True(t, c.Approvals())
	o := c.Options()
	assert.True(t, o.TrustHints)
	assert.True(t, o.DoubtErrors)
	assert.Equal(t, 3*time.Minute, o.MaxWaiting)
	g := guarded(t, c)
	require.NoError(t, c.Check(g))

	read := g.Guard("read").Info()
	assert.Equal(t, "files", read.Source)
	assert.Equal(t, toolguard.ReadOnly, read.Effect)
	assert.Equal(t, "media", read.Class)
	assert.Equal(t, []string{"write"}, read.VerifyWith)
	assert.Equal(t, []string{"a/b"}, read.Alternatives)
	assert.Equal(t, []string{"reason"}, read.Irrelevant)
	assert.Equal(t, 7*time.Second, g.Guard("read").Describe().Timeout.Attempt)
	assert.Equal(t, 9*time.Second, g.Guard("write").Describe().Timeout.Attempt)
	assert.False(t, g.Guard("write").Info().RepeatsNormal)
	assert.Equal(t, toolguard.RiskHigh, g.Guard("a/b").Info().Risk)
}

// An operator's word stands before any hint, and what is not said stays as it was.
func TestWhatIsNotDeclaredStays(t *testing.T) {
	t.Parallel()
	c := parsed(t, `{"version":1,"mcp":{"trust_hints":true,"tools":{"write":{"irrelevant":["x"]},"read":{"effect":"unknown"}}}}`)
	g := guarded(t, c)
	assert.Equal(t, toolguard.ReadOnly, g.Guard("write").Info().Effect, "by its hint")
	assert.True(t, g.Guard("read").Info().RepeatsNormal, "nobody knows what it does")
	none := guarded(t, Default())
	assert.Equal(t, toolguard.RiskNormal, none.Guard("a/b").Info().Risk)
	assert.False(t, Default().Names())
	assert.False(t, Default().Approvals())
	require.NoError(t, Default().Check(none))
	assert.True(t, parsed(t, `{"version":1,"tools":{"read":{"timeout":{"attempt":"1s"}}}}`).Names())
}

// What makes no sense is named, with its place, all of it at once.
func TestConfigurationsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		``:                                 {"policies:"},
		`[]`:                               {"object"},
		`{"version":1,"mcp":{"a":1}`:       {"policies:"},
		`{"mcp":{}}`:                       {"/version", "missing"},
		`{"version":2,"mcp":{}}`:           {"/version"},
		`{"version":1,"tols":{},"mcp":{}}`: {"/tols", `"tools"`},
		`{"version":1,"mcp":[]}`:           {"/mcp", "object"},
		`{"version":1,"mcp":{},"mcp":{}}`:  {"mcp"},
		`{"version":1,"tools":{"a":{}},"tools":{"b":{}},"mcp":{}}`:                                           {"tools"},
		`{"version":1,"mcp":{"tols":{}}}`:                                                                    {"/mcp/tols", `"tools"`},
		`{"version":1,"mcp":{"tools":{"a":{"efect":"read_only"}}}}`:                                          {"/mcp/tools/a/efect", `"effect"`},
		`{"version":1,"mcp":{"tools":{"a/b":{"verify_with":["x",7]}}}}`:                                      {"/mcp/tools/a~1b/verify_with/1", "string"},
		`{"version":1,"mcp":{"tools":{"a":{"effect":"sometimes"}}}}`:                                         {"/mcp/tools/a/effect", "sometimes", "read_only"},
		`{"version":1,"mcp":{"tools":{"a":{"approve":"yes"}}}}`:                                              {"/mcp/tools/a/approve", "true or false"},
		`{"version":1,"mcp":{"tools":{"a":{"effect":"idempotent_by_key"}}}}`:                                 {"/mcp/tools/a/effect", "no key"},
		`{"version":1,"mcp":{"effect":"idempotent_by_key"}}`:                                                 {"/mcp/effect", "no key"},
		`{"version":1,"mcp":{"tools":{"a":{"class":"slow"}}}}`:                                               {"/mcp/tools/a/class", `"slow"`},
		`{"version":1,"mcp":{"effect":4}}`:                                                                   {"/mcp/effect"},
		`{"version":1,"mcp":{"max_waiting":60}}`:                                                             {"/mcp/max_waiting", "no unit"},
		`{"version":1,"mcp":{"max_waiting":"-1s"}}`:                                                          {"/mcp/max_waiting", "negative"},
		`{"version":1,"mcp":{"max_waiting":"0s"}}`:                                                           {"/mcp/max_waiting"},
		`{"version":1,"mcp":{"source":7}}`:                                                                   {"/mcp/source", "string"},
		`{"version":1,"defaults":{"retry":{"budgt":3}},"mcp":{}}`:                                            {"/defaults/retry/budgt"},
		`{"version":1,"defaults":{"timeout":{"attempt":"1h","budget":"1s"}},"mcp":{"effect":"maybe","x":1}}`: {"/mcp/effect", "/mcp/x", "budget"},
	} {
		_, err := Parse([]byte(text))
		if !assert.Error(t, err, text) {
			continue
		}
		for _, w := range want {
			assert.ErrorContains(t, err, w, text)
		}
	}
}

// Tools that the server does not have are named beside those it has, wherever the
// configuration speaks of them.
func TestToolsTheServerDoesNotHave(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`{"version":1,"tools":{"raed":{"timeout":{"attempt":"1s"}}}}`:      {"/tools/raed", `"read"`},
		`{"version":1,"mcp":{"tools":{"raed":{}}}}`:                        {"/mcp/tools/raed", `no tool "raed"`, "a/b, read, write"},
		`{"version":1,"mcp":{"tools":{"read":{"verify_with":["wriet"]}}}}`: {"/mcp/tools/read/verify_with", `no tool "wriet"`},
		`{"version":1,"mcp":{"tools":{"a/b":{"alternatives":["c"]}}}}`:     {"/mcp/tools/a~1b/alternatives", `no tool "c"`},
		`{"version":1,"mcp":{"tools":{"read":{"irrelevant":["note"]}}}}`:   {"/mcp/tools/read/irrelevant", "note"},
	} {
		c := parsed(t, text)
		err := c.Check(guarded(t, c))
		if !assert.Error(t, err, text) {
			continue
		}
		for _, w := range want {
			assert.ErrorContains(t, err, w, text)
		}
	}
}

func TestLoadNamesTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "guard.json")
	_, err := Load(path)
	require.ErrorContains(t, err, path)
	require.NoError(t, os.WriteFile(path, []byte(`{"version":1,"mcp":{"x":1}}`), 0o600))
	_, err = Load(path)
	require.ErrorContains(t, err, path)
	require.ErrorContains(t, err, "/mcp/x")
	require.NoError(t, os.WriteFile(path, []byte(`{"version":1}`), 0o600))
	_, err = Load(path)
	require.NoError(t, err)
}
