package mcpguard

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolguard-go/toolguard"
)

// Client returns sending middleware that guards every call a client makes of the
// server's tools. The guards learn the tools from the lists that pass by, and
// read the list themselves where a name is new to them. Add it last, so that what
// other middleware does to a call is guarded too. One set of guards is for the
// sessions of one server.
//
// With redial, a session that is lost is replaced: once, for all calls that need
// it. The call that lost it goes on only if nothing can have been done, or the
// tool is repeatable. A nil redial replaces none.
func (g *Guards) Client(redial *Redial) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		c := &client{Guards: g, redial: redial, next: next}
		return c.handle
	}
}

// client is the middleware of one client.
type client struct {
	*Guards
	redial *Redial
	next   mcp.MethodHandler
}

func (c *client) handle(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
	session, ok := req.GetSession().(*mcp.ClientSession)
	if !ok {
		return c.next(ctx, method, req)
	}
	switch params := req.GetParams().(type) {
	case *mcp.ListToolsParams:
		return c.list(ctx, session, params)
	case *mcp.CallToolParams:
		if params != nil {
			return c.call(ctx, session, params)
		}
	}
	return c.next(ctx, method, req)
}

// send hands a request on.
func (c *client) send(ctx context.Context, method string, session *mcp.ClientSession, params mcp.Params) (mcp.Result, error) {
	return c.next(ctx, method, &mcp.ClientRequest[mcp.Params]{Session: session, Params: params})
}

// list lets a list pass by. What it shows is learnt: as it is if it is the whole,
// else from the server.
func (c *client) list(ctx context.Context, session *mcp.ClientSession, params *mcp.ListToolsParams) (mcp.Result, error) {
	result, err := c.send(ctx, methodList, session, params)
	if err != nil {
		return result, err
	}
	first := params == nil || params.Cursor == ""
	switch list, _ := result.(*mcp.ListToolsResult); {
	case list == nil || !first:
	case list.NextCursor == "":
		c.Learn(list.Tools)
	default:
		c.learnFrom(ctx, session)
	}
	return result, nil
}

func (c *client) learnFrom(ctx context.Context, session *mcp.ClientSession) {
	c.learn(ctx, func(ctx context.Context, p *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
		return listed(c.send(ctx, methodList, session, p))
	})
}

// call answers a call. Its own failures are results, so that CallTool returns an
// error only where the client itself has to act.
func (c *client) call(ctx context.Context, session *mcp.ClientSession, params *mcp.CallToolParams) (mcp.Result, error) {
	args, err := json.Marshal(params.Arguments)
	if err != nil {
		return nil, err
	}
	if c.Guard(params.Name) == nil {
		if live, err := c.live(ctx, session); err == nil {
			c.learnFrom(ctx, live)
		}
	}
	c.reconnect(ctx, session)
	ctx, _ = c.Waiting(scoped(ctx, connection(session.ID(), session), ""))
	answer, err := Answer(c.Do(ctx, toolguard.Call{Tool: params.Name, Args: args}, c.attempt(session, params)))
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// live is the session to send by. One that took the place of another is a new
// start for the breakers.
func (c *client) live(ctx context.Context, session *mcp.ClientSession) (*mcp.ClientSession, error) {
	live, fresh, err := c.redial.live(ctx, session)
	if fresh {
		c.Reconnected()
	}
	return live, err
}

// reconnect gets a lost session back before a call: where a breaker is open, or the
// conversation has seen too many failures, no attempt would do so.
func (c *client) reconnect(ctx context.Context, session *mcp.ClientSession) {
	if !c.redial.isDown() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, DefaultConnectTimeout)
	defer cancel()
	_, _ = c.live(ctx, session) // else an attempt says what is wrong
}

// attempt sends a call by the session there is.
func (c *client) attempt(session *mcp.ClientSession, call *mcp.CallToolParams) Send {
	return func(ctx context.Context, args json.RawMessage) (toolguard.Result, error) {
		live, err := c.live(ctx, session)
		if err != nil {
			return toolguard.Result{}, errors.Join(ErrNotSent, err)
		}
		defer c.open.enter(live, toolguard.WaitingFrom(ctx))()
		params := *call
		params.Arguments = args
		ctx, status := watched(ctx)
		result, err := received(c.send(ctx, methodCall, live, &params))
		err = refused(int(status.Load()), err)
		if gone(err) || errors.Is(err, ErrNotSent) {
			c.redial.lost(live)
		}
		return result, err
	}
}
