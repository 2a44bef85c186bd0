package toolguard_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/toolguard-go/toolguard"
)

// truth is what really happened: the downstream's books, and what people said.
type truth struct {
	mu    sync.Mutex
	tries []*attempted
	deeds []*deed
	says  []saying
	wrong []string // what no downstream should ever see
}

// attempted is one run of a tool.
type attempted struct {
	at      time.Time
	tool    *programTool
	service string // the tool's, or a stand-in's
	key     string // it had
	under   string // the key of the call it is an attempt of
	order   string
	scope   toolguard.Scope
	by      *performing
	fate    *fate
	over    bool // nothing of it may act any more
	ended   time.Time
	fine    bool // it told of its success in time
	touched bool // it acted, or asked for what was done already
}

// deed is one effect.
type deed struct {
	*attempted
	n  int
	at time.Time
}

func (d *deed) receipt() string { return fmt.Sprintf("receipt %d of %s", d.n, d.order) }

// saying is what somebody who may decide has said.
type saying struct {
	at      time.Time
	verdict toolguard.RulingVerdict
	whose   string // principal's call it is about
	key     string
	instead string // the key it takes the place of
	order   string
	sure    bool             // it is written down
	wide    *toolguard.Scope // it is for all calls of the tool in this scope
	tool    *programTool
}

func (t *truth) say(s saying) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.at = time.Now()
	t.says = append(t.says, s)
}

// keySlack is for how long beyond its word a downstream knows a key: requests take
// their time.
const keySlack = 10 * minute

// act is a request that has arrived. A downstream that honours keys does it once.
func (t *truth) act(a *attempted) *deed {
	t.mu.Lock()
	defer t.mu.Unlock()
	a.touched = true
	if a.tool.effect == toolguard.IdempotentByKey {
		for i := len(t.deeds) - 1; i >= 0; i-- {
			d := t.deeds[i]
			if d.key != a.key || d.service != a.service || time.Since(d.at) >= a.tool.keyTTL+keySlack {
				continue
			}
			if d.order != a.order && !d.by.failed.Load() && !a.by.failed.Load() { // else docs/rough_edges.md, "A journal that was away"
				t.wrong = append(t.wrong, fmt.Sprintf("the key of receipt %d comes again with order %s", d.n, a.order))
			}
			return d
		}
	}
	d := &deed{attempted: a, n: len(t.deeds) + 1, at: time.Now()}
	t.deeds = append(t.deeds, d)
	return d
}

// done is the last effect of a service under a key, or nil.
func (t *truth) done(service, key string) *deed {
	return t.last(func(d *deed) bool { return d.service == service && d.key == key })
}

// first is the first effect that is asked for, or nil.
func (t *truth) first(is func(*deed) bool) *deed {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range t.deeds {
		if is(d) {
			return d
		}
	}
	return nil
}

// last is the last effect that is asked for, or nil.
func (t *truth) last(is func(*deed) bool) *deed {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := len(t.deeds) - 1; i >= 0; i-- {
		if is(t.deeds[i]) {
			return t.deeds[i]
		}
	}
	return nil
}

// hasEnded says that the service has had requests under the key, that none did anything,
// and that all it knows of are over: of an attempt that has not yet sent one it does not.
func (t *truth) hasEnded(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	seen := false
	for _, a := range t.tries {
		if a.key == key && (a.touched || a.fate.stray > 0 && !a.over) {
			return false
		}
		seen = seen || a.key == key && a.over
	}
	return seen
}

// mayAct says that something under the key may act yet.
func (t *truth) mayAct(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range t.tries {
		if !a.over && a.under == key {
			return true
		}
	}
	return false
}

func (t *truth) set(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
}

var (
	errGone     = errors.New("this process is gone")
	errNoAnswer = errors.New("no answer")
)

// request is an attempt at work.
type request struct {
	*attempted
	w   *world
	p   *process
	ctx context.Context
}

// serve does what the attempt's fate says.
func (r *request) serve() (toolguard.Result, error) {
	f := r.fate
	defer r.end()
	if err := r.wait(f.before); err != nil {
		return toolguard.Result{}, err
	}
	if f.dies == beforeIt && r.p.die() {
		return toolguard.Result{}, errGone
	}
	result := toolguard.Result{Text: "what was asked for"}
	if f.acts && r.tool.effect != toolguard.ReadOnly {
		result.Text = r.w.truth.act(r.attempted).receipt()
	}
	if f.dies == afterIt && r.p.die() {
		return toolguard.Result{}, errGone
	}
	if err := r.wait(f.after); err != nil {
		return toolguard.Result{}, err
	}
	return r.answer(result)
}

func (r *request) answer(result toolguard.Result) (toolguard.Result, error) {
	switch r.fate.ends {
	case endsUnsure:
		return toolguard.Result{}, toolguard.MaybeDone(errNoAnswer)
	case endsDown:
		return toolguard.Result{}, toolguard.Unavailable("down")
	case endsInPanic:
		panic("a nil map")
	case endsNotStarted:
		return toolguard.Result{}, toolguard.NotStarted(toolguard.Unavailable("closed"))
	case endsWithoutEffect:
		return toolguard.Result{}, toolguard.NoEffect(toolguard.Business("sold out"))
	case endsAsking:
		return toolguard.Result{Text: "which one?", InputRequired: true}, nil
	case endsRejected:
		if r.tool.check && r.service == r.tool.name {
			return toolguard.Result{Text: `{"ok":false}`}, nil
		}
		return toolguard.Result{}, toolguard.NoEffect(errNoAnswer)
	default:
		fine := r.ctx.Err() == nil
		r.w.truth.set(func() { r.fine = fine })
		return result, nil
	}
}

// wait takes its time. In a process that is gone nothing goes on.
func (r *request) wait(d time.Duration) error {
	switch {
	case d == 0:
	case r.fate.obeys:
		select {
		case <-r.ctx.Done():
			return r.ctx.Err()
		case <-time.After(d):
		}
	default:
		pass(d)
	}
	if r.p.dead.Load() {
		return errGone
	}
	return nil
}

// end is when nothing of the attempt goes on but what it has sent.
func (r *request) end() {
	over := func() { r.w.truth.set(func() { r.over = true }) }
	r.w.truth.set(func() { r.ended = time.Now() })
	if r.fate.stray == 0 || r.tool.effect == toolguard.ReadOnly {
		over()
		return
	}
	r.w.running.Go(func() {
		pass(r.fate.stray)
		r.w.truth.act(r.attempted)
		over()
	})
}

// asked is what the tool's service says of a key.
func (w *world) askStatus(ctx context.Context, p *process, t *programTool, key string) (toolguard.Outcome, toolguard.Result, error) {
	how := askedWell
	if a := performingOf(ctx); a != nil {
		how = a.nextAsked()
	}
	if t.deaf {
		how = askedInVain
	}
	switch how {
	case askedInVain:
		return 0, toolguard.Result{}, errNoAnswer
	case askedTooLong:
		pass(20 * time.Second)
		return 0, toolguard.Result{}, errNoAnswer
	case askedUnknown:
		return toolguard.OutcomeUnknown, toolguard.Result{}, nil
	}
	if p.dead.Load() {
		return 0, toolguard.Result{}, errGone
	}
	if d := w.truth.done(t.name, key); d != nil {
		return toolguard.OutcomeSucceeded, toolguard.Result{Text: d.receipt()}, nil
	}
	if how == askedForGood && w.truth.hasEnded(key) {
		return toolguard.OutcomeFailed, toolguard.Result{}, nil
	}
	return toolguard.OutcomeNotStarted, toolguard.Result{}, nil
}
