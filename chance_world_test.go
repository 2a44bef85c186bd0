package toolguard_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/toolguardtest"
)

// world is a program that runs: processes on one journal, and the truth.
type world struct {
	*program
	truth   truth
	journal *toolguard.MemoryJournal
	began   time.Time
	running sync.WaitGroup

	mu        sync.Mutex
	processes [2]*process
	answers   []*answer
	history   strings.Builder
}

// answer is what came of a call, to somebody who was still there.
type answer struct {
	*performing
	env   toolguard.Envelope
	ended time.Time
}

// performing is an act at work.
type performing struct {
	*act
	w            *world
	p            *process
	began        time.Time
	turn         string // of the action
	store        *toolguardtest.FaultyJournal
	failed, slow atomic.Bool // the journal, at some use
	lost         atomic.Bool // only the answer, of a write, the last time it failed
	faults       atomic.Int32

	mu                    sync.Mutex
	tried, stoodIn, asked int
	key                   string // of the tool's last attempt
}

type performingKey struct{}

func performingOf(ctx context.Context) *performing {
	a, _ := ctx.Value(performingKey{}).(*performing)
	return a
}

// process is a set of guards. One that is dead changes nothing any more, and nobody
// hears of it.
type process struct {
	w         *world
	dead      atomic.Bool
	guards    []*toolguard.Guard
	recoverer *toolguard.Recoverer
	journal   toolguard.Journal
}

// die ends the process, where it could be another one that goes on.
func (p *process) die() bool {
	if p.w.wrapped {
		p.dead.Store(true)
	}
	return p.w.wrapped
}

// routed is a process's way to the journal. What becomes of each use the act says.
type routed struct {
	toolguard.Journal
	p *process
}

func (r routed) of(ctx context.Context) toolguard.Journal {
	if a := performingOf(ctx); a != nil {
		return a.store
	}
	return r.Journal
}

func (r routed) Write(ctx context.Context, was toolguard.Version, e toolguard.Entry, records ...toolguard.Record) (toolguard.Entry, bool, error) {
	return r.of(ctx).Write(ctx, was, e, records...)
}

func (r routed) Append(ctx context.Context, records ...toolguard.Record) error {
	return r.of(ctx).Append(ctx, records...)
}

func (r routed) Scan(ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error) {
	return r.of(ctx).Scan(ctx, q)
}

func (r routed) Take(ctx context.Context, n int, hold time.Duration) ([]toolguard.Entry, error) {
	return r.of(ctx).Take(ctx, n, hold)
}

// fault is what becomes of the act's nth use of the journal.
func (a *performing) fault(use toolguardtest.JournalUse) toolguardtest.JournalFault {
	var f journalFate
	if use.N <= len(a.uses) {
		f = a.uses[use.N-1]
	}
	pass(f.takes)
	if f.takes > 0 {
		a.slow.Store(true)
	}
	if f.fault != toolguardtest.JournalWorks {
		a.failed.Store(true)
		a.faults.Add(1)
		a.lost.Store(f.fault == toolguardtest.JournalLosesAnswer && use.Method == "Write")
	}
	switch {
	case a.p.dead.Load() || f.dies == beforeIt && a.p.die():
		return toolguardtest.JournalRefuses
	case f.dies == afterIt && a.p.die():
		return toolguardtest.JournalLosesAnswer
	}
	return f.fault
}

func (a *performing) next(standsIn bool) *fate {
	a.mu.Lock()
	defer a.mu.Unlock()
	fates, n := a.fates, &a.tried
	if standsIn {
		fates, n = a.elsewhere, &a.stoodIn
	}
	*n++
	return &fates[min(*n, len(fates))-1]
}

func (a *performing) nextAsked() askedFate {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asked++; a.asked > len(a.act.asked) {
		return askedWell
	}
	return a.act.asked[a.asked-1]
}

// process returns the living one, or another in its place.
func (w *world) process(i int) *process {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.processes[i]; p == nil || p.dead.Load() {
		w.processes[i] = w.newProcess()
	}
	return w.processes[i]
}

// perform begins an act.
func (w *world) perform(a *act, p *process) (*performing, context.Context) {
	f := &performing{act: a, w: w, p: p, began: time.Now(), turn: a.scope.Turn}
	f.store = &toolguardtest.FaultyJournal{Journal: w.journal, Fault: f.fault}
	return f, toolguard.WithScope(context.WithValue(context.Background(), performingKey{}, f), a.scope)
}

// do does an act, and keeps the answer if there is one and somebody to hear it.
func (w *world) do(a *act) {
	p := w.process(a.process)
	f, ctx := w.perform(a, p)
	switch a.kind {
	case actCrash:
		p.die()
	case actRecover:
		_, _ = p.recoverer.Once(ctx)
	case actDecide:
		w.decide(ctx, f)
	case actResume:
		w.resume(ctx, f)
	default:
		w.call(ctx, f)
	}
}

func (w *world) call(ctx context.Context, f *performing) *answer {
	if f.patience > 0 {
		var leave context.CancelFunc
		ctx, leave = context.WithCancel(ctx)
		defer time.AfterFunc(f.patience, leave).Stop()
		defer leave()
	}
	args, _ := json.Marshal(chanceIn{Order: f.order, Reason: f.reason})
	return w.hear(f, f.p.guards[f.tool].Do(ctx, toolguard.Call{ID: fmt.Sprintf("call %d", f.n), Args: args}))
}

func (w *world) resume(ctx context.Context, f *performing) {
	e := w.pick(f.pick, func(toolguard.Entry) bool { return true })
	if i := w.toolOf(&e); i >= 0 {
		f.turn, f.tool = e.Scope.Turn, i
		w.hear(f, f.p.guards[i].Resume(ctx, e.Key))
	}
}

// hear keeps an answer.
func (w *world) hear(f *performing, env toolguard.Envelope) *answer {
	if f.p.dead.Load() {
		w.tell("#%d: the process is gone", f.n)
		return nil
	}
	a := &answer{performing: f, env: env, ended: time.Now()}
	w.truth.set(func() {
		for _, r := range w.truth.tries {
			if r.by == f && r.under == "" { // a stand-in's, before the tool itself had run
				r.under = env.Key
			}
		}
	})
	w.tell("#%d began at %v: %s, key %.6s, %s%v", f.n, f.began.Sub(w.began), verdict(env), env.Key, env.Result.Text, noteNames(env))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers = append(w.answers, a)
	return a
}

func noteNames(env toolguard.Envelope) (kinds []string) {
	for _, n := range env.Notes {
		kinds = append(kinds, string(n.Kind))
	}
	return kinds
}

// tell adds a line to the history that a failure prints.
func (w *world) tell(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(&w.history, "  %v "+format+"\n", append([]any{time.Since(w.began)}, args...)...)
}

// pick is one of the entries that count; the zero Entry if there is none.
func (w *world) pick(n int, counts func(toolguard.Entry) bool) toolguard.Entry {
	found, _ := w.journal.Scan(context.Background(), toolguard.Query{})
	found = slices.DeleteFunc(found, func(e toolguard.Entry) bool { return e.Digest == toolguard.Digest{} || !counts(e) })
	if len(found) == 0 {
		return toolguard.Entry{}
	}
	slices.SortFunc(found, func(a, b toolguard.Entry) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Key, b.Key))
	})
	return found[n%len(found)]
}

func (w *world) toolOf(e *toolguard.Entry) int {
	return slices.IndexFunc(w.tools, func(t programTool) bool { return t.name == e.Tool })
}

// decide is a person who looks at what there is to decide about, and does not lie.
func (w *world) decide(ctx context.Context, f *performing) {
	e := w.pick(f.pick, func(e toolguard.Entry) bool {
		return e.State == toolguard.StateAwaiting || e.State == toolguard.StateApproved || e.State == toolguard.StateUnknown || e.State == toolguard.StateParked || e.State == toolguard.StatePending
	})
	if e.State == toolguard.StateNone {
		return
	}
	r := toolguard.Ruling{Key: e.Key, Token: e.Token, Verdict: f.verdict, By: "bea"}
	done := w.truth.last(func(d *deed) bool { return d.under == e.Key })
	switch {
	case e.State == toolguard.StatePending: // it is nobody's to decide
	case e.State == toolguard.StateApproved:
		r.Verdict = toolguard.RulingDeny
	case e.State == toolguard.StateAwaiting:
		r.Verdict = toolguard.RulingApprove
		if f.verdict == toolguard.RulingAbort {
			r.Verdict = toolguard.RulingDeny
		}
	case r.Verdict == toolguard.RulingSucceeded && done == nil, r.Verdict == toolguard.RulingFailed && (done != nil || w.truth.mayAct(e.Key)):
		r.Verdict = toolguard.RulingAbort
	case r.Verdict == toolguard.RulingSucceeded:
		r.Result = toolguard.Result{Text: done.receipt()}
	}
	if f.edit != "" && (r.Verdict == toolguard.RulingApprove || r.Verdict == toolguard.RulingRetry) {
		r.Args, _ = json.Marshal(chanceIn{Order: f.edit})
	}
	now, err := toolguard.Decide(ctx, f.store, r)
	w.tell("#%d: %v %v %s on %.6s: %v, %v", f.n, e.State, r.Verdict, r.Args, e.Key, now.State, err)
	w.heed(e, r, now, err)
}

// heed notes what a person has decided, or may have.
func (w *world) heed(e toolguard.Entry, r toolguard.Ruling, now toolguard.Entry, err error) {
	if errors.Is(err, toolguard.ErrDecided) {
		return
	}
	s := saying{verdict: r.Verdict, whose: e.Scope.Principal, key: e.Key, order: orderOf(e.Args), sure: err == nil}
	if len(r.Args) > 0 {
		s.order = orderOf(r.Args)
		if r.Verdict == toolguard.RulingRetry { // another entry takes the place of this one
			s.key, s.instead = now.Key, e.Key
		}
	}
	w.truth.say(s)
}

func orderOf(args json.RawMessage) string {
	var in chanceIn
	_ = json.Unmarshal(args, &in)
	return in.Order
}
