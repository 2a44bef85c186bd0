package mcpguard_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Arguments that the protocol has repeated in headers are those that run: what the
// guard has repaired is there as it was repaired.
func TestHeadersOfParametersAreThoseOfTheCall(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{"shard":{"type":"integer","x-mcp-header":"Shard"},"q":{"type":"string"}}}`)
	server := serverWith(mcp.Tool{InputSchema: schema}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return says(string(req.Params.Arguments))(ctx, req)
	})
	var header atomic.Value
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "tools/call" {
			header.Store(r.Header.Get("Mcp-Param-Shard"))
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	cs := overHTTP(t, web)
	_, err := cs.ListTools(t.Context(), nil) // the SDK knows the headers from there
	require.NoError(t, err)

	assert.Contains(t, text(call(t, cs, "probe", object{"shard": "7", "q": "x"})), `{\"q\":\"x\",\"shard\":7}`)
	assert.Equal(t, "7", header.Load())
}
