package mcpguard

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolguard-go/toolguard"
)

// Questions returns middleware that sees what a server asks of its client while a
// tool runs: elicitation, sampling, roots. Until the client answers, the call does
// not use up its time, for up to [Options.MaxWaiting]. Without it that time is the
// tool's. It is receiving middleware of a guarded client, and sending middleware of
// a guarded server:
//
//	client.AddReceivingMiddleware(guards.Questions())
//	server.AddSendingMiddleware(guards.Questions())
//
// A server's question is about the call whose context the handler asks under; if
// that cannot be told, as on a client, about all calls of the session in progress.
func (g *Guards) Questions() mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch method {
			case "elicitation/create", "sampling/createMessage", "roots/list":
				defer g.open.pause(ctx, req.GetSession())()
			}
			return next(ctx, method, req)
		}
	}
}

// Waiting has the time not count in which calls under ctx wait for somebody, for up
// to Options.MaxWaiting, once that is begun and ended. It is for programs that make
// calls with [Guards.Do] and see the server's questions themselves. A call from
// inside another one has the other's: that waits too.
func (g *Guards) Waiting(ctx context.Context) (context.Context, *toolguard.Waiting) {
	if w := toolguard.WaitingFrom(ctx); w != nil {
		return ctx, w
	}
	w, _ := toolguard.NewWaiting(g.opts.MaxWaiting) // it was checked
	return toolguard.WithWaiting(ctx, w), w
}

// inProgress are the calls of each session that may be waiting. The zero value is
// ready.
type inProgress struct {
	mu   sync.Mutex
	open map[mcp.Session]map[*toolguard.Waiting]int // how often each has entered
}

func (p *inProgress) enter(s mcp.Session, w *toolguard.Waiting) (leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		p.open = make(map[mcp.Session]map[*toolguard.Waiting]int)
	}
	if p.open[s] == nil {
		p.open[s] = make(map[*toolguard.Waiting]int)
	}
	p.open[s][w]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.open[s][w]--; p.open[s][w] == 0 {
			delete(p.open[s], w)
		}
		if len(p.open[s]) == 0 {
			delete(p.open, s)
		}
	}
}

// pause stops the clocks of the calls that a question is about.
func (p *inProgress) pause(ctx context.Context, s mcp.Session) (end func()) {
	if w := toolguard.WaitingFrom(ctx); w != nil {
		return w.Begin()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var ends []func()
	for w := range p.open[s] {
		ends = append(ends, w.Begin())
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}
