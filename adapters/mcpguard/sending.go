package mcpguard

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"

	"github.com/toolguard-go/toolguard"
)

// sending is what a call's attempts are made by, and what the last one left
// beside its failure.
type sending struct {
	send Send
	said atomic.Pointer[ToolError] // nil unless the last attempt has ended in one
}

type sendingKey struct{}

// Do answers a call of the tool that in.Tool names, making attempts by send. A
// name that no list has had is answered as unknown. The Parts of a [*ToolError]
// that the call comes to are those of the envelope's Result. It is as total as
// [toolguard.Guard.Do].
func (g *Guards) Do(ctx context.Context, in toolguard.Call, send Send) toolguard.Envelope {
	if guard := g.Guard(in.Tool); guard != nil {
		return g.by(ctx, guard, send, func(ctx context.Context) toolguard.Envelope { return guard.Do(ctx, in) })
	}
	g.mu.Lock()
	box := g.strange
	g.mu.Unlock()
	return box.Do(ctx, in)
}

// Resume goes on with the call of the tool that has this key in the journal, as
// [toolguard.Guard.Resume] does, making attempts by send. A tool that no list has
// had is answered as unknown.
func (g *Guards) Resume(ctx context.Context, tool, key string, send Send) toolguard.Envelope {
	guard := g.Guard(tool)
	if guard == nil {
		return g.Do(ctx, toolguard.Call{Tool: tool}, send)
	}
	return g.by(ctx, guard, send, func(ctx context.Context) toolguard.Envelope { return guard.Resume(ctx, key) })
}

func (g *Guards) by(ctx context.Context, guard *toolguard.Guard, send Send, do func(context.Context) toolguard.Envelope) toolguard.Envelope {
	s := &sending{send: send}
	env := do(context.WithValue(ctx, sendingKey{}, s))
	if said := s.said.Load(); !env.OK && said != nil {
		env.Result.Parts = g.fitting(guard, said.Parts)
	}
	return env
}

// fitting leaves out what is beyond the cap for the parts of a result.
func (g *Guards) fitting(guard *toolguard.Guard, parts []toolguard.Part) []toolguard.Part {
	size, limit := 0, guard.Describe().Render.MaxParts
	for i, p := range parts {
		if size += len(p.Data); size > limit {
			g.opts.Logger.Warn("parts of a failed result are left out", "source", g.opts.Source, "tool", guard.Info().Name, "parts", len(parts)-i)
			return parts[:i:i]
		}
	}
	return parts
}

// remote is a tool of the server. What it sends by comes with each call.
type remote struct {
	info  toolguard.Info
	doubt bool
}

// Info implements [toolguard.Tool].
func (r *remote) Info() toolguard.Info { return r.info }

// Call implements [toolguard.Tool].
func (r *remote) Call(ctx context.Context, args json.RawMessage) (toolguard.Result, error) {
	s, ok := ctx.Value(sendingKey{}).(*sending)
	if !ok {
		return toolguard.Result{}, toolguard.NotStarted(errors.New("mcpguard: the guard of a server's tool is called through Guards.Do"))
	}
	return r.by(ctx, args, s)
}

// by makes the call, and reads what comes of it.
func (r *remote) by(ctx context.Context, args json.RawMessage, s *sending) (toolguard.Result, error) {
	s.said.Store(nil)
	result, err := s.send(ctx, args)
	if said, ok := errors.AsType[*ToolError](err); ok {
		s.said.Store(said)
		return toolguard.Result{}, said.failure(r.doubt)
	}
	return result, protocolFailure(err)
}
