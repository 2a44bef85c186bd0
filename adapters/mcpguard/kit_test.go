package mcpguard_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/adapters/mcpguard"
)

// anything is a schema that takes every object.
var anything = json.RawMessage(`{"type":"object"}`)

// serverWith is a bare server with one tool.
func serverWith(tool mcp.Tool, handler mcp.ToolHandler) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	if tool.Name == "" {
		tool.Name = "probe"
	}
	if tool.InputSchema == nil {
		tool.InputSchema = anything
	}
	s.AddTool(&tool, handler)
	return s
}

// session connects a client to a server in memory.
func session(t *testing.T, server *mcp.Server, client *mcp.Client) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	_, err := server.Connect(t.Context(), there, nil)
	require.NoError(t, err)
	cs, err := client.Connect(t.Context(), here, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = cs.Close() })
	return cs
}

func bareClient() *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
}

func newGuards(t *testing.T, opts *mcpguard.Options) *mcpguard.Guards {
	t.Helper()
	g, err := mcpguard.New(opts)
	require.NoError(t, err)
	return g
}

// guardedServer has one tool, guarded on its side.
func guardedServer(t *testing.T, opts *mcpguard.Options, tool mcp.Tool, handler mcp.ToolHandler) *mcp.ClientSession {
	t.Helper()
	s := serverWith(tool, handler)
	s.AddReceivingMiddleware(newGuards(t, opts).Server())
	return session(t, s, bareClient())
}

// guardedClient is one whose calls of a bare server's tool are guarded.
func guardedClient(t *testing.T, opts *mcpguard.Options, tool mcp.Tool, handler mcp.ToolHandler) *mcp.ClientSession {
	t.Helper()
	c := bareClient()
	c.AddSendingMiddleware(newGuards(t, opts).Client(nil))
	return session(t, serverWith(tool, handler), c)
}

type object = map[string]any

// call calls a tool and wants a result.
func call(t *testing.T, cs *mcp.ClientSession, name string, args any) *mcp.CallToolResult {
	t.Helper()
	r, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	require.NoError(t, err)
	return r
}

func text(r *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// failure reads the envelope of a result that is an error.
type failure struct {
	OK    *bool
	Error struct {
		Category, Code, Outcome, Message string
		Retryable                        bool
		Quote                            string
	}
	Suggestion string
}

func failed(t *testing.T, r *mcp.CallToolResult) failure {
	t.Helper()
	require.True(t, r.IsError, "want a failure, got %s", text(r))
	var f failure
	require.NoError(t, json.Unmarshal([]byte(text(r)), &f), text(r))
	require.NotNil(t, f.OK)
	return f
}

func says(texts ...string) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r := &mcp.CallToolResult{}
		for _, t := range texts {
			r.Content = append(r.Content, &mcp.TextContent{Text: t})
		}
		return r, nil
	}
}

func saysError(text string) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	}
}
