package mcpguard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolguard-go/toolguard"
)

// Guards are the guards of one server's tools. They learn which there are from
// the server's lists. Safe for concurrent use. Make them with [New].
type Guards struct {
	opts Options

	listing sync.Mutex // held while the server is asked for its list
	open    inProgress

	mu      sync.Mutex
	guards  map[string]*entry  // by the server's own names
	strange *toolguard.Toolbox // answers calls to names that no tool has
}

// entry is a tool with its guard. The guard, with all it has counted, stays as
// long as the list says the same of the tool.
type entry struct {
	info  toolguard.Info
	guard *toolguard.Guard
}

// Send makes one attempt of a call: it sends the arguments to the server and
// returns its answer, as [Result] makes it. It should stop when ctx ends. Errors
// are read by what they are: a [*ToolError], a protocol error of the SDK, one
// that wraps [ErrNotSent] or [ErrLost], or that of a transport.
type Send func(ctx context.Context, args json.RawMessage) (toolguard.Result, error)

// New returns guards that know of no tool yet. A nil opts means the defaults.
// It returns an error that names what makes no sense.
func New(opts *Options) (*Guards, error) {
	g := &Guards{guards: make(map[string]*entry)}
	if opts != nil {
		g.opts = *opts
	}
	if err := g.opts.check(); err != nil {
		return nil, err
	}
	if g.opts.Logger == nil {
		g.opts.Logger = slog.New(slog.DiscardHandler)
	}
	if g.opts.Sessions == nil {
		g.opts.Sessions, _ = toolguard.NewSessions(toolguard.SessionPolicy{}) // the zero policy makes sense
	}
	g.opts.Arguments.Schema = toolguard.SchemaLenient
	g.opts.PassThrough = passing(g.opts.PassThrough)
	if err := g.meet(nil); err != nil {
		return nil, err
	}
	return g, nil
}

// Learn takes over a complete list of the server's tools: all pages of it. Tools
// that are as they were keep their guards; those that are gone are unknown from
// now on. One that can only be guarded in part, or not at all, hides no other.
func (g *Guards) Learn(tools []*mcp.Tool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	tools = slices.DeleteFunc(slices.Clone(tools), func(t *mcp.Tool) bool { return t == nil })
	guards := make(map[string]*entry, len(tools))
	for _, tool := range tools {
		if guards[tool.Name] != nil {
			continue
		}
		if e := g.guard(tool); e != nil {
			guards[tool.Name] = e
		}
	}
	g.guards = guards
	if err := g.meet(tools); err != nil {
		g.opts.Logger.Warn("names of tools cannot be suggested", "source", g.opts.Source, "error", err)
	}
}

// Assume adds a tool of which only the name is known, until the next list: the
// server could not be asked. It does nothing for a tool there is a guard for, or
// an empty name.
func (g *Guards) Assume(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if name == "" || g.guards[name] != nil {
		return
	}
	if e := g.guard(&mcp.Tool{Name: name}); e != nil {
		guards := maps.Clone(g.guards)
		guards[name] = e
		g.guards = guards
	}
}

// Tools returns the names of the tools there are guards for, sorted.
func (g *Guards) Tools() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Sorted(maps.Keys(g.guards))
}

// Guard returns the guard of a tool by the server's name for it, or nil. It is there to be
// looked at: its calls are made by [Guards.Do]. For a toolbox see the function [Tools].
func (g *Guards) Guard(name string) *toolguard.Guard {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e := g.guards[name]; e != nil {
		return e.guard
	}
	return nil
}

// Reconnected says that a new server, or a new session of it, has taken the place
// of one that was lost. What breakers and conversations hold against the lost one
// for failures in a row says nothing of this: tools whose breakers have counted
// some get new guards, which remember the same conversations, and with them what
// is unknown. Calls in progress go on with the old ones.
func (g *Guards) Reconnected() {
	g.mu.Lock()
	defer g.mu.Unlock()
	guards := maps.Clone(g.guards)
	for name, e := range guards {
		g.opts.Sessions.Returned(e.guard)
		if counted(e.guard) {
			if fresh := g.entry(name, e.info); fresh != nil {
				guards[name] = fresh
			}
		}
	}
	g.guards = guards
}

// counted reports whether a breaker of the guard holds anything against its tool.
func counted(guard *toolguard.Guard) bool {
	return slices.ContainsFunc(guard.Stats().Breakers, func(b toolguard.BreakerInfo) bool {
		return !b.Forced && (b.Streak > 0 || b.State != toolguard.BreakerClosed)
	})
}

// Sessions are those that conversations over these guards are remembered in.
func (g *Guards) Sessions() *toolguard.Sessions { return g.opts.Sessions }

// Shutdown admits no more calls and waits for those in progress, as
// [toolguard.Guard.Shutdown] does.
func (g *Guards) Shutdown(ctx context.Context) error {
	g.mu.Lock()
	entries := slices.Collect(maps.Values(g.guards))
	g.mu.Unlock()
	errs := make([]error, len(entries))
	var all sync.WaitGroup
	for i, e := range entries {
		all.Go(func() { errs[i] = e.guard.Shutdown(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// guard returns the guard of a tool: the one there was if the tool is the same.
func (g *Guards) guard(tool *mcp.Tool) *entry {
	info := g.opts.infoOf(tool)
	if old := g.guards[tool.Name]; old != nil && reflect.DeepEqual(old.info, info) {
		return old
	}
	return g.entry(tool.Name, info)
}

// entry makes the guard of a tool: one without a schema if nothing can be made of
// that.
func (g *Guards) entry(name string, info toolguard.Info) *entry {
	guard, err := g.newGuard(info)
	if err != nil {
		g.opts.Logger.Warn("a tool is guarded without its schema", "source", g.opts.Source, "tool", name, "error", err)
		bare := info
		bare.Schema = nil
		guard, err = g.newGuard(bare)
	}
	if err != nil {
		g.opts.Logger.Error("a tool cannot be guarded and is not served", "source", g.opts.Source, "tool", name, "error", err)
		return nil
	}
	if d := guard.Describe(); len(d.NotEnforced) > 0 {
		g.opts.Logger.Info("not all of a tool's schema is enforced", "source", g.opts.Source, "tool", name, "not_enforced", d.NotEnforced)
	}
	return &entry{info, guard}
}

func (g *Guards) newGuard(info toolguard.Info) (*toolguard.Guard, error) {
	return toolguard.New(toolguard.With(&remote{info, g.opts.DoubtErrors}, g.opts.own(info)), &g.opts.Options)
}

// own are the options of one tool.
func (o *Options) own(info toolguard.Info) *toolguard.Options {
	var own toolguard.Options
	if o.For != nil {
		own = o.For(info)
	}
	if own.Arguments == (toolguard.ArgumentPolicy{}) {
		own.Arguments = o.Arguments
	}
	own.Arguments.Schema = toolguard.SchemaLenient
	if own.PassThrough != nil {
		own.PassThrough = passing(own.PassThrough)
	}
	return &own
}

// meet makes the toolbox that answers calls to names that no tool has. It holds
// the guards only to name them: of those that a model could not tell apart, the
// first.
func (g *Guards) meet(tools []*mcp.Tool) error {
	var guards []toolguard.Tool
	taken := make(map[string]bool)
	for _, tool := range tools {
		if e, like := g.guards[tool.Name], alike(tool.Name); e != nil && !taken[like] {
			taken[like] = true
			guards = append(guards, e.guard)
		}
	}
	box, err := toolguard.NewToolbox(&toolguard.ToolboxOptions{Options: g.opts.Options}, guards...)
	if err != nil {
		return fmt.Errorf("mcpguard: %w", err)
	}
	g.strange = box
	return nil
}

// alike is the same for names that some provider could not tell apart.
func alike(name string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, name)
}
