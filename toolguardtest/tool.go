package toolguardtest

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/toolguard-go/toolguard"
)

// Tool is a tool that follows a script: its first run takes the first step, its
// second run the second. A run beyond the script fails the test, unless
// [Tool.Then] says what to do there. Safe for concurrent use.
type Tool struct {
	t      testing.TB
	info   toolguard.Info
	ledger *Ledger

	mu       sync.Mutex
	steps    []Step
	rest     Step // after steps; nil if the script ends
	runs     []*Run
	live     int
	peak     int
	released chan struct{}
	once     sync.Once
}

// NewTool returns a tool that takes these steps. An empty info.Name is "tool".
// What hangs in it is released when t ends.
func NewTool(t testing.TB, info toolguard.Info, steps ...Step) *Tool {
	t.Helper()
	if info.Name == "" {
		info.Name = "tool"
	}
	tool := &Tool{t: t, info: info, ledger: &Ledger{}, steps: steps, released: make(chan struct{})}
	t.Cleanup(tool.Release)
	return tool
}

// Always returns a tool that takes the same step in every run.
func Always(t testing.TB, info toolguard.Info, step Step) *Tool {
	t.Helper()
	return NewTool(t, info).Then(step)
}

// Around returns a scripted tool in the place of another one: it has its info, and
// [Through] steps reach it. The typed functions beside a tool made by
// [toolguard.Func] do not come along; [toolguard.Toolbox.Replace] keeps them.
func Around(t testing.TB, tool toolguard.Tool, steps ...Step) *Tool {
	t.Helper()
	return NewTool(t, tool.Info(), steps...)
}

// Then says what the tool does in every run after its script. It returns the tool.
func (tool *Tool) Then(step Step) *Tool {
	tool.mu.Lock()
	defer tool.mu.Unlock()
	tool.rest = step
	return tool
}

// Info implements [toolguard.Tool].
func (tool *Tool) Info() toolguard.Info { return tool.info }

// Call implements [toolguard.Tool]: it takes the next step.
func (tool *Tool) Call(ctx context.Context, args json.RawMessage) (toolguard.Result, error) {
	r, step := tool.begin(ctx, args)
	defer tool.end()
	if step == nil {
		tool.t.Errorf("toolguardtest: tool %q runs for the %s time, but its script has %d step(s): give NewTool another step, or say with Then what it does from there on",
			tool.info.Name, ordinal(r.N), len(tool.steps))
		return toolguard.Result{}, toolguard.NotStarted(toolguard.Unavailable("The script of this tool has run out."))
	}
	return step(r)
}

func (tool *Tool) begin(ctx context.Context, args json.RawMessage) (*Run, Step) {
	tool.mu.Lock()
	defer tool.mu.Unlock()
	r := &Run{Ctx: ctx, Args: slices.Clone(args), N: len(tool.runs) + 1, Key: toolguard.Key(ctx), tool: tool}
	tool.runs = append(tool.runs, r)
	tool.live++
	tool.peak = max(tool.peak, tool.live)
	if r.N <= len(tool.steps) {
		return r, tool.steps[r.N-1]
	}
	return r, tool.rest
}

func (tool *Tool) end() {
	tool.mu.Lock()
	defer tool.mu.Unlock()
	tool.live--
}

// Release ends all hanging, now and from here on. The test's end does it too.
func (tool *Tool) Release() { tool.once.Do(func() { close(tool.released) }) }

// Ledger returns what the tool has done.
func (tool *Tool) Ledger() *Ledger { return tool.ledger }

// Runs is how often the tool was run.
func (tool *Tool) Runs() int {
	tool.mu.Lock()
	defer tool.mu.Unlock()
	return len(tool.runs)
}

// Peak is how many runs there were at once, at most.
func (tool *Tool) Peak() int {
	tool.mu.Lock()
	defer tool.mu.Unlock()
	return tool.peak
}

// Args are the arguments of each run so far.
func (tool *Tool) Args() []json.RawMessage {
	tool.mu.Lock()
	defer tool.mu.Unlock()
	args := make([]json.RawMessage, 0, len(tool.runs))
	for _, r := range tool.runs {
		args = append(args, slices.Clone(r.Args))
	}
	return args
}

// Run is one run of a [Tool].
type Run struct {
	// Ctx is the context of the run.
	Ctx context.Context
	// Args are its arguments, a copy.
	Args json.RawMessage
	// N is its number, from 1.
	N int
	// Key is the idempotency key of the call, "" outside of a guard.
	Key string

	tool *Tool
}

// Commit enters an effect into the tool's [Ledger].
func (r *Run) Commit() { r.tool.ledger.commit(r.tool.info.Effect, r.Key, string(r.Args)) }

// Released is closed when the tool is released; see [Tool.Release].
func (r *Run) Released() <-chan struct{} { return r.tool.released }
