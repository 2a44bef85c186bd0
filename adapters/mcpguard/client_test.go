package mcpguard_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/adapters/mcpguard"
)

// What the server gave is handed on as it is, however it is made up.
func TestAnswersAreCarriedIntact(t *testing.T) {
	t.Parallel()
	whole := &mcp.CallToolResult{
		Meta: mcp.Meta{"k": "v"},
		Content: []mcp.Content{
			&mcp.TextContent{Text: "before"},
			&mcp.ImageContent{MIMEType: "image/png", Data: []byte{1, 2, 3}},
			&mcp.TextContent{Text: "after", Annotations: &mcp.Annotations{Priority: 1}},
			&mcp.ResourceLink{URI: "file:///x", Name: "x"},
		},
		StructuredContent: object{"n": 1.0},
	}
	synctest.Test(t, func(t *testing.T) {
		handler := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return whole, nil }
		bare := call(t, session(t, serverWith(mcp.Tool{}, handler), bareClient()), "probe", nil)
		assert.Equal(t, bare, call(t, guardedClient(t, nil, mcp.Tool{}, handler), "probe", nil))
	})
}

// What the guard changes or adds is text; the rest stays beside it.
func TestAnswersThatAreChangedKeepTheRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cs := guardedClient(t, nil, mcp.Tool{}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{
				Content: []mcp.Content{
					&mcp.ImageContent{MIMEType: "image/png", Data: []byte{1, 2, 3}},
					&mcp.TextContent{Text: `{"ok":false,"tool":"x","error":{"code":"posing"}}`},
				},
				StructuredContent: object{"n": 1.0},
			}, nil
		})
		r := call(t, cs, "probe", nil)
		require.Len(t, r.Content, 2)
		assert.Contains(t, text(r), `"result":`)
		assert.Contains(t, text(r), "posing")
		assert.Equal(t, &mcp.ImageContent{MIMEType: "image/png", Data: []byte{1, 2, 3}}, r.Content[1])
		assert.Equal(t, object{"n": 1.0}, r.StructuredContent)
		assert.False(t, r.IsError)
	})
}

// A tool that fails may show what it saw. That stays, beside the guard's words, on
// either side.
func TestFailuresKeepWhatIsNoText(t *testing.T) {
	t.Parallel()
	picture := &mcp.ImageContent{MIMEType: "image/png", Data: []byte{1, 2, 3}}
	link := &mcp.ResourceLink{URI: "file:///x", Name: "x"}
	fails := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{
			Meta: mcp.Meta{"k": "v"}, IsError: true, StructuredContent: object{"n": 1.0},
			Content: []mcp.Content{&mcp.TextContent{Text: "no such button"}, picture, link},
		}, nil
	}
	for name, guarded := range map[string]func(*testing.T, *mcpguard.Options, mcp.Tool, mcp.ToolHandler) *mcp.ClientSession{
		"client": guardedClient, "server": guardedServer,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := call(t, guarded(t, nil, mcp.Tool{}, fails), "probe", nil)
				assert.Equal(t, "request_rejected", failed(t, r).Error.Code)
				require.Len(t, r.Content, 3)
				assert.Equal(t, []mcp.Content{picture, link}, r.Content[1:])
				assert.Equal(t, object{"n": 1.0}, r.StructuredContent)
				assert.Equal(t, "v", r.Meta["k"])

				r = call(t, guarded(t, &mcpguard.Options{Options: toolguard.Options{Render: toolguard.RenderPolicy{MaxParts: 2}}}, mcp.Tool{}, fails), "probe", nil)
				assert.Len(t, r.Content, 1, "what is beyond the cap of a result is left out here too")
			})
		})
	}
}

// What an attempt showed that is not the last is not the answer's.
func TestFailuresKeepNothingOfAnEarlierAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		cs := guardedClient(t, &mcpguard.Options{Effect: toolguard.ReadOnly}, mcp.Tool{}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if runs++; runs == 1 {
				return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "503 service unavailable"}, &mcp.ImageContent{MIMEType: "image/png", Data: []byte{1}}}}, nil
			}
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "bad"}
		})
		r := call(t, cs, "probe", nil)
		assert.Equal(t, "invalid_argument", failed(t, r).Error.Code)
		assert.Len(t, r.Content, 1)
		assert.Equal(t, 2, runs)
	})
}

func TestEmptyAnswersAreGivenWords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		assert.Contains(t, text(call(t, guardedClient(t, nil, mcp.Tool{}, says()), "probe", nil)), "nothing")
		f := failed(t, call(t, guardedClient(t, nil, mcp.Tool{}, saysError("")), "probe", nil))
		assert.NotEmpty(t, f.Error.Message)
		assert.NotEmpty(t, f.Suggestion)
	})
}

// A tool's own report of failure is one thing, a protocol error another, and both
// are read (case m05).
func TestErrorsOfToolsAndOfTheProtocol(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handler       mcp.ToolHandler
		opts          *mcpguard.Options
		code, outcome string
	}{
		"its own":         {saysError("no such layer"), nil, "request_rejected", "failed"},
		"its own, doubt":  {saysError("no such layer"), &mcpguard.Options{DoubtErrors: true}, "unknown_error", "unknown"},
		"a timeout":       {saysError("upstream request timed out"), nil, "downstream_timeout", "unknown"},
		"a lost one":      {saysError("read ECONNRESET: connection reset by peer"), nil, "connection_lost", "unknown"},
		"invalid params":  {fails(&jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "bad"}), nil, "invalid_argument", "failed"},
		"internal":        {fails(&jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "bad"}), nil, "server_error", "unknown"},
		"timeout":         {fails(&jsonrpc.Error{Code: -32001, Message: "Request timed out"}), nil, "downstream_timeout", "unknown"},
		"no such method":  {fails(&jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "bad"}), nil, "request_rejected", "not_started"},
		"a server's own":  {fails(&jsonrpc.Error{Code: -31999, Message: "bad"}), nil, "server_error", "unknown"},
		"resource is not": {fails(&jsonrpc.Error{Code: -32002, Message: "bad"}), nil, "not_found", "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := failed(t, call(t, guardedClient(t, c.opts, mcp.Tool{}, c.handler), "probe", nil))
				assert.Equal(t, c.code, f.Error.Code)
				assert.Equal(t, c.outcome, f.Error.Outcome)
			})
		})
	}
}

func fails(err error) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, err }
}

// Errors that the client has to answer to reach it untouched.
func TestErrorsForTheClientPassThrough(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sent := &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "needs sampling", Data: []byte(`{"x":1}`)}
		cs := guardedClient(t, nil, mcp.Tool{}, fails(sent))
		_, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "probe"})
		var got *jsonrpc.Error
		require.ErrorAs(t, err, &got)
		assert.Equal(t, sent, got)
	})
}

// A result that asks for input is neither a success nor a failure: the SDK sees it
// and asks, and the call that brings the input is no repeat.
func TestResultsThatAskForInputPassThrough(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept", Content: object{}}, nil
			},
		})
		client.AddSendingMiddleware(newGuards(t, nil).Client(nil))
		server := serverWith(mcp.Tool{}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if len(req.Params.InputResponses) > 0 {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "thanks"}}}, nil
			}
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"1": &mcp.ElicitParams{Message: "sure?", RequestedSchema: object{"type": "object", "properties": object{}}}}}, nil
		})
		assert.Equal(t, "thanks", text(call(t, session(t, server, client), "probe", nil)))
	})
}

// Hints make a guard careful; they allow repeats only where the host trusts them.
func TestHintsOnlyTighten(t *testing.T) {
	t.Parallel()
	reader := mcp.Tool{Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}
	writer := mcp.Tool{Annotations: &mcp.ToolAnnotations{}}
	for name, c := range map[string]struct {
		opts mcpguard.Options
		tool mcp.Tool
		runs int32
	}{
		"not trusted":             {mcpguard.Options{}, reader, 1},
		"trusted":                 {mcpguard.Options{TrustHints: true}, reader, 3},
		"trusted, says nothing":   {mcpguard.Options{TrustHints: true}, mcp.Tool{}, 1},
		"declared for all":        {mcpguard.Options{Effect: toolguard.ReadOnly}, mcp.Tool{}, 3},
		"declared, hint is worse": {mcpguard.Options{Effect: toolguard.ReadOnly}, writer, 1},
		"declared for this one": {mcpguard.Options{Info: func(_ *mcp.Tool, i toolguard.Info) toolguard.Info {
			i.Effect = toolguard.Idempotent
			return i
		}}, writer, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var runs atomic.Int32
				cs := guardedClient(t, &c.opts, c.tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					runs.Add(1)
					return saysError("service unavailable")(ctx, req)
				})
				failed(t, call(t, cs, "probe", nil))
				assert.Equal(t, c.runs, runs.Load())
			})
		})
	}
}

// Most read-only tools of GitHub's server say idempotentHint false (case d20).
func TestReadOnlyIsReadBeforeIdempotent(t *testing.T) {
	t.Parallel()
	g := newGuards(t, &mcpguard.Options{TrustHints: true})
	g.Learn([]*mcp.Tool{
		{Name: "a", InputSchema: anything, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: false}},
		{Name: "b", InputSchema: anything, Annotations: &mcp.ToolAnnotations{IdempotentHint: true}},
		{Name: "c", InputSchema: anything, Annotations: &mcp.ToolAnnotations{DestructiveHint: new(bool)}},
	})
	assert.Equal(t, toolguard.ReadOnly, g.Guard("a").Info().Effect)
	assert.Equal(t, toolguard.Idempotent, g.Guard("b").Info().Effect)
	assert.Equal(t, toolguard.NonIdempotent, g.Guard("c").Info().Effect)
}

// One bad tool hides no other, whatever is wrong with it.
func TestOneBadToolHidesNoOther(t *testing.T) {
	t.Parallel()
	g := newGuards(t, nil)
	tools := []*mcp.Tool{
		{Name: "", InputSchema: anything}, {Name: "two words", InputSchema: anything}, {Name: "a.b", InputSchema: anything}, {Name: "a_b", InputSchema: anything},
		{Name: "dangling", InputSchema: object{"type": "object", "properties": object{"c": object{"$ref": "#/$defs/Node"}}}},
		{Name: "loop", InputSchema: object{"$ref": "#"}},
		{Name: "types", InputSchema: object{"type": "dict", "properties": object{"x": object{"type": "float"}}}},
		{Name: "number", InputSchema: 5}, {Name: "text", InputSchema: "{]"}, {Name: "none"}, {Name: "ok", InputSchema: anything},
		nil,
	}
	g.Learn(tools)
	assert.Len(t, g.Tools(), len(tools)-1)
}

// A guard keeps what it has learnt while the list says the same of its tool.
func TestGuardsOutliveLists(t *testing.T) {
	t.Parallel()
	g := newGuards(t, nil)
	a, b := &mcp.Tool{Name: "a", InputSchema: object{"type": "object"}}, &mcp.Tool{Name: "b", InputSchema: anything}
	g.Learn([]*mcp.Tool{a, b})
	kept, changed := g.Guard("a"), g.Guard("b")
	g.Learn([]*mcp.Tool{{Name: "a", InputSchema: object{"type": "object"}}, {Name: "b", InputSchema: anything, Description: "new"}})
	assert.Same(t, kept, g.Guard("a"))
	assert.NotSame(t, changed, g.Guard("b"))
	g.Learn([]*mcp.Tool{b})
	assert.Nil(t, g.Guard("a"))
}

// The guards read the list when a name is new to them, whatever the page size.
func TestClientLearnsToolsByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{PageSize: 2})
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			server.AddTool(&mcp.Tool{Name: name, InputSchema: anything}, says(name))
		}
		client, guards := bareClient(), newGuards(t, nil)
		client.AddSendingMiddleware(guards.Client(nil))
		cs := session(t, server, client)
		assert.Equal(t, "e", text(call(t, cs, "e", nil)))
		assert.Len(t, guards.Tools(), 5)

		server.AddTool(&mcp.Tool{Name: "f", InputSchema: anything}, says("f"))
		assert.Equal(t, "f", text(call(t, cs, "f", nil)))
		server.RemoveTools("a")
		for _, err := range cs.Tools(t.Context(), nil) {
			require.NoError(t, err)
		}
		assert.Equal(t, "unknown_tool", failed(t, call(t, cs, "a", nil)).Error.Code)
	})
}

// Identical calls of a tool nobody has declared are all run, side by side and one
// after the other, until the conversation goes in circles.
func TestUndeclaredToolsRunEachTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		both := make(chan struct{}) // closed when the second has begun, beside the first
		cs := guardedClient(t, nil, mcp.Tool{}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if runs.Add(1) == 2 {
				close(both)
			}
			<-both
			return says("done")(ctx, req)
		})
		var calls sync.WaitGroup
		calls.Go(func() { call(t, cs, "probe", nil) })
		call(t, cs, "probe", nil)
		calls.Wait()
		assert.Equal(t, int32(2), runs.Load())
	})
}

// A write whose outcome nobody knows is not sent again by the next call.
func TestDoubtHoldsForTheConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		handler := func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			runs.Add(1)
			return saysError("504: gateway timeout")(ctx, req)
		}
		client := bareClient()
		client.AddSendingMiddleware(newGuards(t, nil).Client(nil))
		server := serverWith(mcp.Tool{}, handler)
		one, two := session(t, server, client), session(t, server, client)
		failed(t, call(t, one, "probe", nil))
		assert.Equal(t, "in_doubt", failed(t, call(t, one, "probe", nil)).Error.Code)
		assert.Equal(t, "downstream_timeout", failed(t, call(t, two, "probe", nil)).Error.Code, "another connection is another conversation")
		assert.Equal(t, int32(2), runs.Load())
	})
}
