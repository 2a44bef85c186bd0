package mcpguard

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolguard-go/toolguard"
)

// Tools returns the tools that the server lists now, for a [toolguard.Toolbox] beside
// those of the host: the toolbox guards them. They send their calls by session, whose
// client must be without the middleware of [Guards.Client], or every call is guarded
// twice. A session that is lost is not replaced, and what the server asks of the client
// meanwhile takes the tool's time.
//
// Of opts, For, Source, Effect, TrustHints, Info and DoubtErrors are as in [Guards]; what
// its Options set goes before the toolbox's, as with [toolguard.With]. Schemas are
// enforced leniently: of a tool whose schema nothing can be made of, none is. A nil opts
// means the defaults. The error is that of the list, or names the option that makes no
// sense.
func Tools(ctx context.Context, session *mcp.ClientSession, opts *Options) ([]toolguard.Tool, error) {
	g, err := New(opts)
	if err != nil {
		return nil, err
	}
	listed, err := all(ctx, session.ListTools)
	if err != nil {
		return nil, err
	}
	g.Learn(listed)
	o := g.opts.Options
	if opts == nil || opts.Sessions == nil {
		o.Sessions = nil // the toolbox has its own
	}
	var tools []toolguard.Tool
	for _, name := range g.Tools() {
		info := g.Guard(name).Info()
		tool := &boxed{remote{info, g.opts.DoubtErrors}, session, name}
		tools = append(tools, toolguard.With(toolguard.With(tool, &o), g.opts.own(info)))
	}
	return tools, nil
}

// boxed is a tool of the server that sends its calls itself.
type boxed struct {
	remote
	session *mcp.ClientSession
	name    string // the server's own
}

// Call implements [toolguard.Tool].
func (b *boxed) Call(ctx context.Context, args json.RawMessage) (toolguard.Result, error) {
	return b.by(ctx, args, &sending{send: b.send})
}

func (b *boxed) send(ctx context.Context, args json.RawMessage) (toolguard.Result, error) {
	ctx, status := watched(ctx)
	answer, err := b.session.CallTool(ctx, &mcp.CallToolParams{Name: b.name, Arguments: args})
	if err = refused(int(status.Load()), err); err != nil {
		return toolguard.Result{}, err
	}
	r, err := Result(answer)
	r.Parts = slices.DeleteFunc(r.Parts, func(p toolguard.Part) bool {
		_, ours := p.Raw.(whole) // is for [Answer], which nobody asks here
		return ours
	})
	return r, err
}
