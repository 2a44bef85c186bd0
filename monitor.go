package toolguard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolguard-go/toolguard/internal/lru"
)

// MonitorOptions say what a [Monitor] watches for. Nil and the zero value are the
// documented defaults.
type MonitorOptions struct {
	// Window is how far back it looks, in twelve steps. If zero, 1 min.
	Window time.Duration
	// Rate of failures above which a tool raises an alert, above 0 and below 1.
	// If zero, 0.1.
	Rate float64
	// Clear is the rate at or below which the alert ends, up to Rate. If zero,
	// half of Rate.
	Clear float64
	// MinCalls is how many calls the window must hold before an alert is raised.
	// If zero, 20.
	MinCalls int
	// Categories are those that count as failures. If nil, timeout, unavailable
	// and unknown: a refusal is an answer. Calls whose caller gave up count as
	// neither.
	Categories []Category
	// MaxTools bounds the tools kept; the one unused for longest goes first, its
	// alert with it. If zero, 256, of about 10 KiB each.
	MaxTools int
	// Alert is called when an alert begins and when it ends, one call at a time,
	// in order, from a goroutine of its own and outside of locks: it may take its
	// time and ask the monitor. What it panics with is dropped.
	Alert func(Alert)
}

// Alert says that a tool began to fail too often, or that it does so no more.
type Alert struct {
	// Firing is true when the alert begins, false when it ends.
	Firing bool
	// At is when, Since when it began.
	At, Since time.Time
	// Health is what the window held.
	Health ToolHealth
}

// ToolHealth is what a [Monitor] knows of a tool's calls in its window.
type ToolHealth struct {
	Tool string
	// Calls counts those whose caller did not give up, Failures what of them
	// failed, Rate is their share.
	Calls, Failures int
	Rate            float64
	// ByCategory counts every call that did not succeed.
	ByCategory map[Category]int
	// Percentiles of how long calls took, to within five per cent; zero without calls.
	P50, P95, P99 time.Duration
	// Firing says that there is an alert.
	Firing bool
}

func (o MonitorOptions) withDefaults() MonitorOptions {
	setDefault(&o.Window, time.Minute)
	setDefault(&o.Rate, 0.1)
	setDefault(&o.Clear, o.Rate/2)
	setDefault(&o.MinCalls, 20)
	setDefault(&o.MaxTools, 256)
	if o.Categories == nil {
		o.Categories = []Category{CategoryTimeout, CategoryUnavailable, CategoryUnknown}
	}
	o.Categories = slices.Clone(o.Categories)
	return o
}

func (o MonitorOptions) check() error {
	var errs []error
	bad := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("toolguard: MonitorOptions.%s is %v, want %s", field, value, want))
	}
	if o.Window < monitorSteps*time.Millisecond || o.Window > 24*time.Hour {
		bad("Window", o.Window, "between 12ms and 24h")
	}
	if !(o.Rate > 0 && o.Rate < 1) {
		bad("Rate", o.Rate, "above 0 and below 1")
	}
	if !(o.Clear > 0 && o.Clear <= o.Rate) {
		bad("Clear", o.Clear, "above 0 and up to Rate")
	}
	if o.MinCalls < 0 {
		bad("MinCalls", o.MinCalls, "zero or more")
	}
	if o.MaxTools < 0 || o.MaxTools > 1<<16 {
		bad("MaxTools", o.MaxTools, "between 0 and 65536")
	}
	return errors.Join(errs...)
}

// Monitor is an [Observer] that watches how often tools fail, and how long their
// calls take, over a window that slides. It is for programs that no metrics
// system watches. It is safe for concurrent use; make one with [NewMonitor].
type Monitor struct {
	opts MonitorOptions
	step time.Duration

	mu      sync.Mutex
	tools   *lru.Cache[string, *watched]
	firing  map[string]*watched
	timer   *time.Timer // while anything fires
	pending []Alert
	telling bool
}

// NewMonitor returns a monitor, or an error that names the option that makes no sense.
func NewMonitor(opts *MonitorOptions) (*Monitor, error) {
	var o MonitorOptions
	if opts != nil {
		o = *opts
	}
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	return &Monitor{
		opts: o, step: o.Window / monitorSteps,
		tools: lru.New[string, *watched](o.MaxTools), firing: make(map[string]*watched),
	}, nil
}

// Observe implements [Observer]. It looks at events of calls only.
func (m *Monitor) Observe(_ context.Context, e Event) {
	if e.Kind != EventCall || e.Code == CodeCanceled || e.Code == CodeCallerDeadline {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.at(monitored(&e))
	w.add(e.Time, m.step, &e, !e.OK && slices.Contains(m.opts.Categories, e.Category))
	m.judge(w, e.Time)
}

// monitored is the name a call is counted under. Names that led to no tool are the
// model's inventions.
func monitored(e *Event) string {
	if e.Code == CodeUnknownTool {
		return UnknownTool
	}
	return e.Tool
}

// UnknownTool is the name that monitors, metrics and reports count calls under
// whose name led to no tool. No tool can have it.
const UnknownTool = "(unknown tool)"

func (m *Monitor) at(tool string) *watched {
	if w, ok := m.tools.Get(tool); ok {
		return w
	}
	w := &watched{tool: strings.Clone(tool)}
	if old, evicted := m.tools.Put(tool, w); evicted && m.firing[old.tool] == old {
		delete(m.firing, old.tool)
	}
	return w
}

// judge raises the tool's alert or ends it. Between the two rates nothing changes.
func (m *Monitor) judge(w *watched, now time.Time) {
	w.slide(now, m.step)
	calls, failures := w.sums()
	rate := share(failures, calls)
	switch {
	case w.since.IsZero() && calls >= m.opts.MinCalls && rate > m.opts.Rate:
		w.since = now
		m.firing[w.tool] = w
		m.tell(Alert{Firing: true, At: now, Since: now, Health: w.health()})
		m.arm()
	case !w.since.IsZero() && rate <= m.opts.Clear:
		since := w.since
		w.since = time.Time{}
		delete(m.firing, w.tool)
		m.tell(Alert{At: now, Since: since, Health: w.health()})
	}
}

// arm sees to it that an alert ends also if no more calls come.
func (m *Monitor) arm() {
	if len(m.firing) > 0 && m.timer == nil {
		m.timer = time.AfterFunc(m.step, m.look)
	}
}

func (m *Monitor) look() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.timer = nil
	now := time.Now()
	for _, w := range m.firing {
		m.judge(w, now)
	}
	m.arm()
}

// tell queues an alert for the function. It is bounded: a tool has two at most
// that matter, and the function may hang.
func (m *Monitor) tell(a Alert) {
	if m.opts.Alert == nil {
		return
	}
	if len(m.pending) >= 2*m.opts.MaxTools {
		m.pending = slices.Delete(m.pending, 0, 1)
	}
	m.pending = append(m.pending, a)
	if !m.telling {
		m.telling = true
		go m.drain()
	}
}

// drain calls the function until nothing is pending. One that ends its goroutine
// has another one started.
func (m *Monitor) drain() {
	done := false
	defer func() {
		if !done {
			_ = recover()
			go m.drain()
		}
	}()
	for {
		a, ok := m.next()
		if !ok {
			done = true
			return
		}
		m.opts.Alert(a)
	}
}

func (m *Monitor) next() (a Alert, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.pending) == 0 {
		m.telling, m.pending = false, nil
		return Alert{}, false
	}
	a, m.pending = m.pending[0], m.pending[1:]
	return a, true
}

// Tools returns the health of every tool the monitor knows, by name.
func (m *Monitor) Tools() []ToolHealth {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	var all []ToolHealth
	for _, w := range m.tools.All {
		w.slide(now, m.step)
		all = append(all, w.health())
	}
	slices.SortFunc(all, func(a, b ToolHealth) int { return strings.Compare(a.Tool, b.Tool) })
	return all
}
