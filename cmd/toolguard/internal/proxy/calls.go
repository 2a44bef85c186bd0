package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/adapters/mcpguard"
)

// call is the params of a tools/call, of which all but the arguments are handed on.
type call struct {
	name    string
	args    json.RawMessage
	members map[string]json.RawMessage
}

func readCall(params json.RawMessage) (c call, err error) {
	if err := json.Unmarshal(params, &c.members); err != nil {
		return c, err
	}
	err = json.Unmarshal(c.members["name"], &c.name)
	c.args = c.members["arguments"]
	return c, err
}

// with returns the params with other arguments: a retry sends what the guard made
// of them.
func (c *call) with(params, args json.RawMessage) json.RawMessage {
	if bytes.Equal(args, c.args) {
		return params
	}
	members := make(map[string]json.RawMessage, len(c.members)+1)
	for k, v := range c.members {
		members[k] = v
	}
	members["arguments"] = args
	changed, err := json.Marshal(members)
	if err != nil {
		return params // it came as JSON
	}
	return changed
}

// answer answers a call through the guard of its tool.
func (r *relay) answer(ctx context.Context, m *message) *message {
	c, err := readCall(m.Params)
	if err != nil {
		return refused(m.ID, &rpcError{Code: jsonrpc.CodeInvalidParams, Message: "tools/call: params want a name"})
	}
	// What breakers hold against a server that is gone is forgotten when it is back.
	_, _ = r.server.current(ctx) // else the call says what is wrong
	if r.guards.Guard(c.name) == nil || r.stale.Load() {
		r.refresh(ctx, c.members["_meta"], c.name)
	}
	env := r.do(r.scope(ctx, m), &c, func(ctx context.Context, args json.RawMessage) (toolguard.Result, error) {
		answer, err := r.server.ask(ctx, m.Method, c.with(m.Params, args), m.key())
		if err != nil {
			return toolguard.Result{}, err
		}
		if e := answer.failed(); e != nil {
			return toolguard.Result{}, &jsonrpc.Error{Code: e.Code, Message: e.Message, Data: e.Data}
		}
		return readResult(answer.Result)
	})
	if e, ok := errors.AsType[*jsonrpc.Error](env.Control()); ok {
		return refused(m.ID, &rpcError{Code: e.Code, Message: e.Message, Data: e.Data})
	}
	return answered(m.ID, writeResult(env))
}

// do makes the call, or goes on with the one of the conversation that it repeats,
// if that was left open and has been decided about.
func (r *relay) do(ctx context.Context, c *call, send mcpguard.Send) toolguard.Envelope {
	from, err := r.open.find(ctx, c)
	if err != nil {
		r.log.Warn("the journal does not say what was decided", "error", err)
	}
	var env toolguard.Envelope
	if from.State != toolguard.StateNone {
		env = r.guards.Resume(ctx, c.name, from.Key, send)
	} else {
		env = r.guards.Do(ctx, toolguard.Call{Tool: c.name, Args: c.args}, send)
	}
	r.open.note(ctx, c, from, &env)
	return env
}

// scope says which conversation a call belongs to, and where it came from.
func (r *relay) scope(ctx context.Context, m *message) context.Context {
	ctx = context.WithValue(ctx, relayKey{}, caller{r, m.key()})
	return toolguard.WithScope(ctx, toolguard.Scope{Session: r.name})
}

// learn takes over the tools of a list on its way to the client, if it is the whole.
func (r *relay) learn(asked, answer *message) {
	var list listPage
	if answer.failed() != nil || json.Unmarshal(answer.Result, &list) != nil {
		return
	}
	var params struct {
		Cursor string `json:"cursor"`
	}
	_ = json.Unmarshal(asked.Params, &params) // without params it is the first page
	switch {
	case params.Cursor != "":
	case list.NextCursor == "":
		r.stale.Store(false)
		r.guards.Learn(list.tools())
	default:
		r.stale.Store(true) // the next call asks for all of it
	}
}

// listPage is an answer to tools/list. Schemas are kept as they are.
type listPage struct {
	Tools      []json.RawMessage `json:"tools"`
	NextCursor string            `json:"nextCursor"`
}

// tools reads the tools that can be read.
func (p *listPage) tools() []*mcp.Tool {
	var all []*mcp.Tool
	for _, raw := range p.Tools {
		if t := readTool(raw); t != nil {
			all = append(all, t)
		}
	}
	return all
}

// readTool reads what a guard goes by. Members it does not understand hide no
// tool.
func readTool(raw json.RawMessage) *mcp.Tool {
	var t struct {
		Name        string          `json:"name"`
		Description json.RawMessage `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
		Annotations json.RawMessage `json:"annotations"`
	}
	if json.Unmarshal(raw, &t) != nil {
		return nil
	}
	tool := &mcp.Tool{Name: t.Name}
	_ = json.Unmarshal(t.Description, &tool.Description)
	if len(t.InputSchema) > 0 && string(t.InputSchema) != "null" {
		tool.InputSchema = t.InputSchema
	}
	hints := &mcp.ToolAnnotations{}
	if len(t.Annotations) > 0 && t.Annotations[0] == '{' && json.Unmarshal(t.Annotations, hints) == nil {
		tool.Annotations = hints
	}
	return tool
}

// Limits of asking for the list: a server may page without end, or not answer.
const (
	maxPages = 1000
	listing  = 5 * time.Second
)

// refresh sees to it that the guards know the wanted tool and the latest list. Of
// the calls that want it one asks. If the server cannot tell, the tool is taken to
// exist, and the next calls do not wait for an answer again.
func (r *relay) refresh(ctx context.Context, meta json.RawMessage, wanted string) {
	r.asking.Lock()
	defer r.asking.Unlock()
	if r.guards.Guard(wanted) != nil && !r.stale.Load() {
		return
	}
	if time.Since(r.refused) > listing && !r.list(ctx, meta) {
		r.refused = time.Now()
	}
	if time.Since(r.refused) <= listing {
		r.guards.Assume(wanted)
	}
}

// list asks the server for all its tools, in the way of the request at hand. It
// reports whether the server could tell.
func (r *relay) list(ctx context.Context, meta json.RawMessage) bool {
	ctx, cancel := context.WithTimeout(ctx, listing)
	defer cancel()
	r.stale.Store(false) // what changes from now on makes it so again
	var tools []*mcp.Tool
	cursor := ""
	for range maxPages {
		answer, err := r.server.ask(ctx, "tools/list", listParams(meta, cursor), "")
		var page listPage
		if err != nil || answer.failed() != nil || json.Unmarshal(answer.Result, &page) != nil {
			r.log.Info("the server does not list its tools", "error", err)
			r.stale.Store(true)
			return false
		}
		tools = append(tools, page.tools()...)
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	r.guards.Learn(tools)
	return true
}

// listParams are those of a request for a page. What the protocol wants in every
// request's _meta is that of the client; progress is of its own request alone.
func listParams(meta json.RawMessage, cursor string) json.RawMessage {
	params := make(map[string]any)
	var members map[string]json.RawMessage
	if json.Unmarshal(meta, &members) == nil && len(members) > 0 {
		if delete(members, "progressToken"); len(members) > 0 {
			params["_meta"] = members
		}
	}
	if cursor != "" {
		params["cursor"] = cursor
	}
	raw, _ := json.Marshal(params) // all of it came as JSON
	return raw
}
