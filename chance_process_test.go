package toolguard_test

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolguard-go/toolguard"
)

// chanceIn is what the tools of programs take.
type chanceIn struct {
	Order  string `json:"order"`
	Reason string `json:"reason,omitempty"`
	Key    string `json:"key,omitempty"`
}

const approvalHolds = time.Hour

// newProcess makes guards of a process of its own on the journal of all.
func (w *world) newProcess() *process {
	p := &process{w: w, journal: w.journal}
	if w.wrapped {
		p.journal = routed{w.journal, p}
	}
	var sessions *toolguard.Sessions
	if w.sessions {
		sessions = must(toolguard.NewSessions(toolguard.SessionPolicy{}))
	}
	for i := range w.tools {
		p.guards = append(p.guards, w.newGuard(p, &w.tools[i], sessions))
	}
	p.recoverer = must(toolguard.NewRecoverer(p.journal, nil, p.guards...))
	return p
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (w *world) newGuard(p *process, t *programTool, sessions *toolguard.Sessions) *toolguard.Guard {
	opts := patient()
	opts.Journal, opts.Sessions = p.journal, sessions
	opts.Journaling.Checked, opts.Journaling.Lease = true, w.lease
	if t.crowded {
		opts.Concurrency.Max = 1
	}
	if t.check {
		opts.CheckResult = toolguard.Failed
	}
	if t.approval {
		opts.Approver, opts.Approval.Expiry = clerk{p, t}, approvalHolds
	}
	if alternative := w.standIn(p, t); alternative != nil {
		opts.Fallback = &toolguard.Fallback{Alternatives: []toolguard.Alternative{{Tool: alternative, SameEffect: t.effect != toolguard.ReadOnly}}}
	}
	tool := w.newTool(p, t, t.name)
	tool.Authorize = func(ctx context.Context, _ chanceIn) error {
		if a := performingOf(ctx); a != nil && a.forbidden {
			return toolguard.Permission("not for you")
		}
		return nil
	}
	return must(toolguard.New(tool, opts))
}

// patient are options under which only what a program is about keeps a tool from running.
func patient() *toolguard.Options {
	return &toolguard.Options{
		Timeout: toolguard.TimeoutPolicy{Attempt: 10 * time.Second, Budget: 25 * time.Second},
		Breaker: noBreaker, Loop: toolguard.LoopPolicy{Off: true},
	}
}

// newTool is the tool, or a stand-in for it, whose attempts the act's fates are about.
func (w *world) newTool(p *process, t *programTool, service string) *toolguard.Typed[chanceIn] {
	info := toolguard.Info{
		Name: service, Effect: t.effect, RepeatsNormal: t.repeats, Irrelevant: []string{"reason"},
		KeyTTL: t.keyTTL, SettleDelay: t.settle,
	}
	if t.keyField {
		info.KeyField = "key"
	}
	tool := toolguard.Func(info, func(ctx context.Context, in chanceIn) (toolguard.Result, error) {
		if p.dead.Load() {
			return toolguard.Result{}, errGone
		}
		return w.begin(ctx, p, t, service, in).serve()
	})
	if t.status && service == t.name {
		tool.Status = func(ctx context.Context, key string, _ chanceIn) (toolguard.Outcome, toolguard.Result, error) {
			return w.askStatus(ctx, p, t, key)
		}
	}
	return tool
}

func (w *world) standIn(p *process, t *programTool) toolguard.Tool {
	switch tool := w.newTool(p, t, "another_"+t.name); t.standIn {
	case plainStandIn:
		return tool
	case guardStandIn:
		opts := patient()
		opts.Journal = p.journal
		return must(toolguard.New(tool, opts))
	default:
		return nil
	}
}

// begin enters an attempt into the books.
func (w *world) begin(ctx context.Context, p *process, t *programTool, service string, in chanceIn) *request {
	by := performingOf(ctx)
	standsIn := service != t.name
	a := &attempted{
		at: time.Now(), tool: t, service: service, key: toolguard.Key(ctx), order: in.Order,
		scope: toolguard.ScopeFrom(ctx), by: by, fate: by.next(standsIn),
	}
	by.mu.Lock()
	if !standsIn {
		by.key = a.key
	}
	a.under = by.key
	by.mu.Unlock()
	a.scope.Turn = by.turn
	w.tell("#%d runs %s for %s under %.6s: %v", by.n, service, in.Order, a.key, *a.fate)
	w.truth.set(func() {
		w.truth.tries = append(w.truth.tries, a)
		if t.keyField && in.Key != a.key {
			w.truth.wrong = append(w.truth.wrong, "the argument is not the key")
		}
	})
	return &request{a, w, p, ctx}
}

// clerk is who approves, in the process that asks.
type clerk struct {
	p *process
	t *programTool
}

func (d clerk) Approve(ctx context.Context, r toolguard.ApprovalRequest) (toolguard.Answer, error) {
	a, s := performingOf(ctx), saying{verdict: toolguard.RulingApprove, whose: r.Scope.Principal, key: r.Key, order: orderOf(r.Args), sure: true, tool: d.t}
	answer := toolguard.Answer{Verdict: toolguard.ApprovalGranted, By: "cleo"}
	switch a.answer {
	case waits:
		return toolguard.Answer{Verdict: toolguard.ApprovalPending}, nil
	case denies:
		return toolguard.Answer{By: "cleo"}, nil
	case breaks:
		return toolguard.Answer{}, errNoAnswer
	case widens:
		answer.Wider, s.wide = toolguard.WiderSession, &r.Scope
	case edits:
		answer.Verdict, answer.Args, s.order = toolguard.ApprovalEdited, must(json.Marshal(chanceIn{Order: a.edit})), a.edit
	}
	d.p.w.truth.say(s)
	return answer, nil
}
