package mcpguard_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/adapters/mcpguard"
)

// trackerTools are those of a server, over a session that the test may close.
func trackerTools(t *testing.T, opts *mcpguard.Options) (*mcp.ClientSession, []toolguard.Tool) {
	t.Helper()
	server := serverWith(mcp.Tool{Name: "create_issue", InputSchema: json.RawMessage(`{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in struct{ Title string }
			_ = json.Unmarshal(r.Params.Arguments, &in)
			switch in.Title {
			case "archived":
				return saysError("The project is archived.")(context.Background(), r)
			case "lost":
				return saysError("read ECONNRESET: socket hang up")(context.Background(), r)
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "created " + in.Title}, &mcp.ImageContent{MIMEType: "image/png", Data: []byte{1}}}}, nil
		})
	server.AddTool(&mcp.Tool{Name: "list", InputSchema: anything, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, says("none"))
	cs := session(t, server, bareClient())
	tools, err := mcpguard.Tools(t.Context(), cs, opts)
	require.NoError(t, err)
	return cs, tools
}

// A server's tools stand in a toolbox beside the host's, and fail as they do behind the
// middleware.
func TestToolsOfAServerInAToolbox(t *testing.T) {
	t.Parallel()
	cs, tools := trackerTools(t, &mcpguard.Options{Source: "tracker", TrustHints: true})
	own := toolguard.Text(toolguard.Info{Name: "echo"}, func(_ context.Context, s string) (string, error) { return s, nil })
	box, err := toolguard.NewToolbox(nil, append(tools, own)...)
	require.NoError(t, err)
	info := box.Guard("create_issue").Info()
	assert.Equal(t, "tracker", info.Source)
	assert.Equal(t, toolguard.ReadOnly, box.Guard("list").Info().Effect)

	do := func(args string) toolguard.Envelope {
		return box.Do(t.Context(), toolguard.Call{ID: "c", Tool: "create_issue", Args: json.RawMessage(args)})
	}
	good := do(`{"title":"a"}`)
	require.True(t, good.OK, good.ForModel())
	assert.Equal(t, "created a", good.Result.Text)
	require.Len(t, good.Result.Parts, 1)
	assert.Equal(t, "image/png", good.Result.Parts[0].MediaType)

	for args, want := range map[string]string{
		`{"title":"archived"}`: "request_rejected/failed",
		`{"title":"lost"}`:     "connection_lost/unknown",
		`{"titel":"a"}`:        "schema_violation/not_started",
	} {
		env := do(args)
		require.False(t, env.OK, args)
		assert.Equal(t, want, string(env.Error.Code)+"/"+env.Error.Outcome.String(), args)
	}
	assert.Contains(t, do(`{"title":"archived"}`).Error.Quote, "The project is archived.")
	require.NoError(t, cs.Close())
	env := do(`{"title":"b"}`)
	assert.Equal(t, "connection_lost/not_started", string(env.Error.Code)+"/"+env.Error.Outcome.String())
}

// What is said of one tool goes before what the toolbox says of all, and what makes no
// sense is an error.
func TestOptionsOfAServersTools(t *testing.T) {
	t.Parallel()
	cs, tools := trackerTools(t, &mcpguard.Options{
		Options: toolguard.Options{Retry: toolguard.RetryPolicy{MaxAttempts: 4}, Loop: toolguard.LoopPolicy{ToolCalls: 7}},
		For: func(i toolguard.Info) (o toolguard.Options) {
			if i.Name == "list" {
				o.Retry.MaxAttempts = 2
			}
			return o
		},
	})
	box, err := toolguard.NewToolbox(&toolguard.ToolboxOptions{Options: toolguard.Options{
		Loop: toolguard.LoopPolicy{ToolCalls: 9}, Timeout: toolguard.TimeoutPolicy{Attempt: 5e9},
	}}, tools...)
	require.NoError(t, err)
	list, create := box.Guard("list").Describe(), box.Guard("create_issue").Describe()
	assert.Equal(t, []int{2, 4}, []int{list.Retry.MaxAttempts, create.Retry.MaxAttempts})
	assert.Equal(t, []int{7, 7}, []int{list.Loop.ToolCalls, create.Loop.ToolCalls})
	assert.EqualValues(t, 5e9, create.Timeout.Attempt)

	_, err = mcpguard.Tools(t.Context(), cs, &mcpguard.Options{Effect: toolguard.IdempotentByKey})
	require.ErrorContains(t, err, "Options.Effect idempotent_by_key")
	require.NoError(t, cs.Close())
	_, err = mcpguard.Tools(t.Context(), cs, nil)
	require.Error(t, err)
}
