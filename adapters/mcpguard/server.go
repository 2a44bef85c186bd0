package mcpguard

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolguard-go/toolguard"
)

const (
	methodCall = "tools/call"
	methodList = "tools/list"
)

// Server returns receiving middleware that guards every tool of the server it is
// added to. The guards learn the tools from the server itself. Add it last, so
// that what other middleware does to a call is guarded too.
func (g *Guards) Server() mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			call, ok := req.(*mcp.CallToolRequest)
			if !ok || method != methodCall || call.Params == nil {
				return next(ctx, method, req)
			}
			return g.serve(ctx, call, next)
		}
	}
}

// Handler returns a guarded tool handler, for a server that adds its tools one by
// one with Server.AddTool. An error is that of [toolguard.New], or says that the
// tool cannot be guarded.
func Handler(tool *mcp.Tool, handler mcp.ToolHandler, opts *Options) (mcp.ToolHandler, error) {
	g, err := New(opts)
	if err != nil {
		return nil, err
	}
	info := g.opts.infoOf(tool)
	guard, err := g.newGuard(info)
	if err != nil {
		return nil, err
	}
	g.guards[tool.Name] = &entry{info, guard}
	next := func(ctx context.Context, _ string, req mcp.Request) (mcp.Result, error) {
		return handler(ctx, req.(*mcp.CallToolRequest))
	}
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return g.answer(ctx, req, next)
	}, nil
}

// serve answers a call on the side of the server.
func (g *Guards) serve(ctx context.Context, call *mcp.CallToolRequest, next mcp.MethodHandler) (mcp.Result, error) {
	if g.Guard(call.Params.Name) == nil {
		g.learn(ctx, func(ctx context.Context, p *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
			return listed(next(ctx, methodList, &mcp.ServerRequest[*mcp.ListToolsParams]{Session: call.Session, Params: p, Extra: call.Extra}))
		})
	}
	answer, err := g.answer(ctx, call, next)
	if err != nil {
		return nil, err
	}
	return answer, nil
}

func (g *Guards) answer(ctx context.Context, call *mcp.CallToolRequest, next mcp.MethodHandler) (*mcp.CallToolResult, error) {
	if call.Session != nil {
		ctx = scoped(ctx, connection(call.Session.ID(), call.Session), principal(call))
	}
	ctx, w := g.Waiting(ctx)
	defer g.open.enter(call.Session, w)()
	env := g.Do(ctx, toolguard.Call{Tool: call.Params.Name, Args: call.Params.Arguments}, func(ctx context.Context, args json.RawMessage) (toolguard.Result, error) {
		attempt, params := *call, *call.Params
		attempt.Params, params.Arguments = &params, args
		result, err := next(ctx, methodCall, &attempt)
		return received(result, err)
	})
	return Answer(env)
}

// received turns what a method handler returned into an attempt's result.
func received(result mcp.Result, err error) (toolguard.Result, error) {
	if err != nil {
		return toolguard.Result{}, err
	}
	answer, _ := result.(*mcp.CallToolResult)
	return Result(answer)
}

func listed(result mcp.Result, err error) (*mcp.ListToolsResult, error) {
	if err != nil {
		return nil, err
	}
	list, _ := result.(*mcp.ListToolsResult)
	return list, nil
}

// principal is who a call is made for, if the server knows.
func principal(call *mcp.CallToolRequest) string {
	if call.Extra == nil || call.Extra.TokenInfo == nil {
		return ""
	}
	return call.Extra.TokenInfo.UserID
}
