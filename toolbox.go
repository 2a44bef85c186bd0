package toolguard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
)

// Toolbox is the tools of an agent behind one door: it finds the tool a call
// names and answers every call, also one that names none. Safe for concurrent
// use. Make one with [NewToolbox].
type Toolbox struct {
	tools     []*boxed // in the order given
	directory directory
	nobody    *Guard // answers where no tool has the name
	aliases   bool
	visible   func(context.Context, Info) bool
	batch     BatchPolicy
	sessions  *Sessions
	readOnly  atomic.Bool
}

// boxed is a tool in a toolbox.
type boxed struct {
	guard    *Guard
	disabled atomic.Bool
}

// ToolboxOptions say how a toolbox behaves. Nil and the zero value are the
// documented defaults; NewToolbox copies the struct.
type ToolboxOptions struct {
	// Options hold for every tool that is not a *Guard; if Sessions is nil, the
	// toolbox brings its own. [With] gives one tool
	// others. A Breaker policy set here is not for tools that share their
	// dependency's breaker.
	Options
	// Batch is how [Toolbox.DoAll] and [Toolbox.DoEach] work.
	Batch BatchPolicy
	// Aliases lets a name stand for the only tool it can mean: one that differs
	// in case, hyphens, underscores, dots or spaces, or has debris of a chat
	// template around it. The answer notes it. Otherwise, and where it could
	// mean two tools, such a name is unknown.
	Aliases bool
	// ReadOnlyMode is the state [Toolbox.SetReadOnlyMode] begins with.
	ReadOnlyMode bool
	// Visible says which tools exist for whoever ctx is about. A tool it hides
	// is neither listed nor hinted at, and a call to it is answered like one to
	// a name no tool has. If nil, all do. If it fails, none does.
	Visible func(ctx context.Context, tool Info) bool
}

// NewToolbox returns a toolbox of tools. A nil opts means the defaults. A *Guard
// is taken in as it is, with its own options; every other tool gets a guard.
// Names must differ, also as each [Provider] would have them. All errors are
// reported together.
func NewToolbox(opts *ToolboxOptions, tools ...Tool) (*Toolbox, error) {
	if opts == nil {
		opts = new(ToolboxOptions)
	}
	common := opts.Options
	if common.Sessions == nil {
		common.Sessions, _ = NewSessions(SessionPolicy{}) // the zero policy makes sense
	}
	b := &Toolbox{aliases: opts.Aliases, visible: opts.Visible, batch: opts.Batch.withDefaults(), sessions: common.Sessions}
	b.readOnly.Store(opts.ReadOnlyMode)
	if err := errors.Join(b.buildNobody(&common), opts.Batch.check()); err != nil {
		return nil, err
	}
	if err := b.fill(&common, tools); err != nil {
		return nil, err
	}
	var err error
	if b.directory, err = newDirectory(b.tools); err != nil {
		return nil, err
	}
	return b, b.batch.checkTools(&b.directory)
}

// Sessions are those of the tools that are not a *Guard, to be told of turns.
func (b *Toolbox) Sessions() *Sessions { return b.sessions }

// nobody is the tool behind names that no tool has. It is never called.
type nobody struct{}

func (nobody) Info() Info { return Info{Name: "(unknown)"} }

func (nobody) Call(context.Context, json.RawMessage) (Result, error) { return Result{}, nil }

// buildNobody makes the guard of calls that lead nowhere. What is wrong with the
// options of all tools shows here, once.
func (b *Toolbox) buildNobody(opts *Options) (err error) {
	o := *opts
	o.Fallback, o.Dependencies = nil, nil
	b.nobody, err = New(nobody{}, &o)
	return err
}

func (b *Toolbox) fill(opts *Options, tools []Tool) error {
	var errs []error
	for i, tool := range tools {
		guard, err := boxGuard(opts, tool)
		if err != nil {
			errs = append(errs, fmt.Errorf("%w (tool %d of the toolbox)", err, i))
			continue
		}
		b.tools = append(b.tools, &boxed{guard: guard})
	}
	return errors.Join(errs...)
}

// Do answers one call by the tool that Call.Tool names. It is as total as
// [Guard.Do].
func (b *Toolbox) Do(ctx context.Context, in Call) Envelope { return b.do(ctx, in, via{}) }

func (b *Toolbox) do(ctx context.Context, in Call, v via) Envelope {
	if b == nil || b.nobody == nil {
		return unmade(in)
	}
	guard := b.lookUp(ctx, in.Tool, &v)
	return guard.open(ctx, in, &v, nil).run()
}

// offered returns the tools that may run now.
func (b *Toolbox) offered() []*boxed {
	var tools []*boxed
	for _, t := range b.tools {
		if !t.disabled.Load() && (!b.readOnly.Load() || t.guard.info.Effect == ReadOnly) {
			tools = append(tools, t)
		}
	}
	return tools
}

// Enable switches tools on again. It returns an error that names those the
// toolbox does not have; the others are switched on.
func (b *Toolbox) Enable(names ...string) error { return b.setDisabled(false, names) }

// Disable switches tools off: they are no longer listed, and calls to them are
// answered with [CodeToolDisabled]. Calls in progress go on. It returns an error
// that names those the toolbox does not have; the others are switched off.
func (b *Toolbox) Disable(names ...string) error { return b.setDisabled(true, names) }

func (b *Toolbox) setDisabled(disabled bool, names []string) error {
	var errs []error
	for _, name := range names {
		t, err := b.tool(name)
		if errs = append(errs, err); err == nil {
			t.disabled.Store(disabled)
		}
	}
	return errors.Join(errs...)
}

// SetReadOnlyMode switches all tools off that are not [ReadOnly], or on again,
// apart from what [Toolbox.Disable] does. Calls to them are answered with
// [CodeToolDisabled]: it is the operator's switch, not the caller's permission.
func (b *Toolbox) SetReadOnlyMode(on bool) { b.readOnly.Store(on) }

func (b *Toolbox) tool(name string) (*boxed, error) {
	if t, ok := b.directory.exact[name]; ok {
		return t, nil
	}
	return nil, fmt.Errorf("toolguard: the toolbox has no tool %q", preview(name))
}

// Guard returns the guard of a tool, or nil if the toolbox has none of this name.
func (b *Toolbox) Guard(name string) *Guard {
	t, err := b.tool(name)
	if err != nil {
		return nil
	}
	return t.guard
}

// Replace puts another body under a tool's name, for tests: what runs, and its
// Status, are tool's, while info, schema, options, Authorize and Check, breakers
// and counts stay. A *Guard that the toolbox took in is changed itself. Attempts
// in progress end as they began. It returns an error if the toolbox has no tool
// of this name, or tool is nil or made by [With].
func (b *Toolbox) Replace(name string, tool Tool) error {
	t, err := b.tool(name)
	if err != nil {
		return err
	}
	switch tool.(type) {
	case nil, *configured:
		return fmt.Errorf("toolguard: Replace %q: tool is %T, want one without options", name, tool)
	}
	t.guard.body.Store(newBody(tool))
	return nil
}

// Shutdown shuts down the guards of all tools, those taken in included, as
// [Guard.Shutdown] does. None admits a call once it has begun.
func (b *Toolbox) Shutdown(ctx context.Context) error {
	guards := []*Guard{b.nobody}
	for _, t := range b.tools {
		guards = append(guards, t.guard)
	}
	for _, g := range guards {
		g.door.shut()
	}
	var errs []error
	for _, g := range guards {
		errs = append(errs, g.Shutdown(ctx))
	}
	return errors.Join(errs...)
}

// ToolboxStats are a toolbox's counts since it was made.
type ToolboxStats struct {
	// Tools are those of each tool, by name.
	Tools map[string]Stats
	// Unknown are those of calls whose name led to no tool.
	Unknown Stats
}

// Stats returns the counts.
func (b *Toolbox) Stats() ToolboxStats {
	s := ToolboxStats{Tools: make(map[string]Stats, len(b.tools)), Unknown: b.nobody.Stats()}
	for _, t := range b.tools {
		s.Tools[t.guard.info.Name] = t.guard.Stats()
	}
	return s
}
