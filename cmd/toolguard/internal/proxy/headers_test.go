package proxy

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/adapters/mcpguard"
)

// markedTool has arguments that are said again in headers.
const markedTool = `{"type":"object","properties":{
	"region":{"type":"string","x-mcp-header":"Region"},"shard":{"type":"integer","x-mcp-header":"Shard"},"dry":{"type":"boolean","x-mcp-header":"Dry"},
	"in":{"type":"object","properties":{"tenant":{"type":"string","x-mcp-header":"Tenant"}}},
	"ratio":{"type":"number","x-mcp-header":"Ratio"},"bad":{"type":"string","x-mcp-header":"no name"},"free":{"type":"string"}}}`

func markedCall(args string) *message {
	return request(json.RawMessage("1"), "tools/call", json.RawMessage(`{"name":"m","arguments":`+args+`}`))
}

func markedGuards(t *testing.T) *mcpguard.Guards {
	t.Helper()
	g, err := mcpguard.New(nil)
	require.NoError(t, err)
	g.Learn([]*mcp.Tool{{Name: "m", InputSchema: json.RawMessage(markedTool)}})
	return g
}

func TestHeadersSayWhatTheBodySays(t *testing.T) {
	t.Parallel()
	g := markedGuards(t)
	for args, want := range map[string]map[string]string{
		`{"region":"eu","shard":7,"dry":true,"in":{"tenant":"a"},"free":"x"}`: {"Region": "eu", "Shard": "7", "Dry": "true", "Tenant": "a"},
		`{"region":"Köln","shard":-3.0}`:                                      {"Region": "=?base64?S8O2bG4=?=", "Shard": "-3"},
		`{"region":" eu","shard":null}`:                                       {"Region": "=?base64?IGV1?="},
		`{"region":"=?base64?x?=","shard":1e300}`:                             {"Region": "=?base64?PT9iYXNlNjQ/eD89?="},
		`{"region":["eu"],"ratio":0.5,"bad":"x"}`:                             {},
		`{"region":"a\r\nX-Evil: 1"}`:                                         {"Region": "=?base64?YQ0KWC1FdmlsOiAx?="},
	} {
		h := make(http.Header)
		setHeaders(h, markedCall(args), g)
		got := make(map[string]string)
		for name := range h {
			if rest, ok := strings.CutPrefix(name, paramPrefix); ok {
				got[rest] = h.Get(name)
			}
		}
		assert.Equal(t, want, got, args)
		assert.Equal(t, "tools/call", h.Get("Mcp-Method"))
		assert.Equal(t, "m", h.Get("Mcp-Name"))
		assert.NoError(t, compareHeaders(h, markedCall(args), g), args)
	}
}

func TestHeadersThatSaySomethingElseAreRefused(t *testing.T) {
	t.Parallel()
	g := markedGuards(t)
	for header, value := range map[string]string{
		"Mcp-Method": "tools/list", "Mcp-Name": "n", "Mcp-Param-Region": "us", "Mcp-Param-Shard": "8", "Mcp-Param-Tenant": "=?base64?!?=",
	} {
		m := markedCall(`{"region":"eu","shard":7,"in":{"tenant":"a"}}`)
		h := make(http.Header)
		setHeaders(h, m, g)
		h.Set(header, value)
		assert.ErrorContains(t, compareHeaders(h, m, g), header)
		h.Del(header)
		if strings.HasPrefix(header, paramPrefix) {
			assert.NoError(t, compareHeaders(h, m, g), "who has not seen the list does not know it")
		} else {
			assert.ErrorContains(t, compareHeaders(h, m, g), header)
		}
	}
}

// The Go SDK's server takes what the proxy sends, whether the client knew the
// headers or not, and gets the repaired arguments in both places. A client whose
// headers are wrong is told so as that server would tell it.
func TestParametersInHeadersThroughTheProxy(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "e", Version: "1"}, nil)
	schema := `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"shard":{"type":"integer","x-mcp-header":"Shard"}}}`
	server.AddTool(&mcp.Tool{Name: "m", InputSchema: json.RawMessage(schema)}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return said(string(req.Params.Arguments)), nil
	})
	var shard atomic.Value
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	up := hosted(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "tools/call" {
			shard.Store(r.Header.Get("Mcp-Param-Shard"))
		}
		handler.ServeHTTP(w, r)
	}))
	url := listen(t, web(upstreamOptions(t, up.URL)))
	cs := sdkClient(t, url, func() {})
	text := callText(t, cs, &mcp.CallToolParams{Name: "m", Arguments: map[string]any{"region": "Köln", "shard": "7"}})
	assert.Contains(t, text, `\"shard\":7`)
	assert.Equal(t, "7", shard.Load())

	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"m","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`))
	require.NoError(t, err)
	req.Header.Set("Mcp-Method", "tools/call")
	req.Header.Set("Mcp-Name", "other")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	assert.Equal(t, http.StatusBadRequest, resp.StatusCode)
	var answer struct{ Error struct{ Code int64 } }
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&answer))
	assert.Equal(t, int64(mcp.CodeHeaderMismatch), answer.Error.Code)
}
