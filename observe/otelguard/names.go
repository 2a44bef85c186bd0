package otelguard

import (
	"sync"

	"github.com/toolguard-go/toolguard"
)

// tool is what is worked out once for each tool.
type tool struct {
	name        string // as recorded: redacted, bounded
	metric      string // in metrics: name, or what stands for many
	description string
	callSpan    string
	attemptSpan string
	lateSpan    string

	mu   sync.RWMutex
	sets map[setKey]set
}

// other stands for the tools beyond the limit. Tools have no such names.
const other = "(other)"

// names knows the tools. What a model invents never takes a place.
type names struct {
	limit    int
	redactor *toolguard.Redactor
	byName   sync.Map // name → *tool
	mu       sync.Mutex
	known    int
}

// of returns the tool of an event that has ended.
func (n *names) of(e *toolguard.Event) *tool {
	if t, ok := n.byName.Load(e.Tool); ok {
		return t.(*tool)
	}
	if e.Code == toolguard.CodeUnknownTool {
		return n.make(e, toolguard.UnknownTool)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known >= n.limit {
		return n.make(e, other)
	}
	t, loaded := n.byName.LoadOrStore(e.Tool, n.make(e, ""))
	if !loaded {
		n.known++
	}
	return t.(*tool)
}

// beginning returns the tool of an event whose call begins. Whether its name is
// one is not known yet.
func (n *names) beginning(e *toolguard.Event) *tool {
	if t, ok := n.byName.Load(e.Tool); ok {
		return t.(*tool)
	}
	return n.make(e, other)
}

func (n *names) make(e *toolguard.Event, metric string) *tool {
	t := &tool{
		name:        n.redactor.Text(e.Tool, maxName),
		description: n.redactor.Text(e.Description, maxDescription),
	}
	if t.metric = metric; metric == "" {
		t.metric = t.name
	}
	t.callSpan, t.attemptSpan, t.lateSpan = "execute_tool "+t.name, "attempt "+t.name, "late_answer "+t.name
	return t
}
