package toolguard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/toolguard-go/toolguard/prompts"
)

// Options say how a guard behaves. Nil and the zero value are the documented
// defaults; New copies it with all that is plain data in it. The policies are plain data; Off turns one
// off, and fields that then count no more must be zero. What follows the
// policies are collaborators, and a nil one is absent.
type Options struct {
	Arguments   ArgumentPolicy
	Timeout     TimeoutPolicy
	Retry       RetryPolicy
	Breaker     BreakerPolicy
	Concurrency ConcurrencyPolicy
	Loop        LoopPolicy
	Dedupe      DedupePolicy
	Journaling  JournalPolicy
	Approval    ApprovalPolicy
	Observe     ObservePolicy
	Render      RenderPolicy

	// Dependencies shares breakers and limits between guards.
	Dependencies *Dependencies
	// Sessions remember conversations, for several guards together.
	Sessions *Sessions
	// Journal remembers side effects over calls and processes. Without one a
	// conversation does, as long as Sessions keep it.
	Journal Journal
	// Approver is asked before calls run that Approval is about. One that answers
	// ApprovalPending wants a Journal: without one what it leaves open is kept in
	// memory, where no [Decide] reaches it, and waits until it expires.
	Approver Approver
	// NeedsApproval says of the calls Approval is about which need one; if nil, all.
	// Where it fails, they do.
	NeedsApproval func(ctx context.Context, args json.RawMessage) (bool, error)
	// Fallback answers when the tool is unavailable or too slow.
	Fallback *Fallback
	// Observer sees what happens.
	Observer Observer
	// Classifier is asked about an error before the built-in rules.
	Classifier Classifier
	// Authorize refuses calls the caller may not make, before anything is
	// answered. Any error is a refusal: make one with [Permission]. A tool made
	// by [Func] has a typed one; both are asked.
	Authorize func(ctx context.Context, args json.RawMessage) error
	// Check refuses calls a business rule forbids, after Authorize. Any error is
	// a refusal: make one with [Business] or [Param].
	Check func(ctx context.Context, args json.RawMessage) error
	// CheckResult finds failures that look like successes, in what the tool returned
	// or by looking up what is there under [Key]. [Failed] is one.
	CheckResult func(ctx context.Context, r Result) error
	// Refresh renews credentials once, when they expired before anything was done.
	Refresh func(ctx context.Context) error
	// PassThrough picks the errors that are the host's control flow: they reach
	// it untouched and are never retried.
	PassThrough func(error) bool
	// Redact is applied to foreign text beside the built-in redaction.
	Redact func(text string) string
	// Words replace the built-in phrases. A call that asks for a locale of its
	// own gets the built-in ones.
	Words *prompts.Catalogue
}

// gates are the typed functions of a tool made by [Func], without their types.
type gates struct {
	authorize, check func(context.Context, json.RawMessage) error
	status           func(ctx context.Context, key string, args json.RawMessage) (Outcome, Result, error)
	describe         func(json.RawMessage) string
}

// gated is implemented by tools with typed functions beside them.
type gated interface{ gates() gates }

// body is what runs inside a guard. [Toolbox.Replace] changes it.
type body struct {
	tool     Tool
	borrowed bool // the tool only reads what it is given
	status   func(ctx context.Context, key string, args json.RawMessage) (Outcome, Result, error)
}

func newBody(tool Tool) *body {
	b := &body{tool: tool}
	if t, ok := tool.(interface{ borrows() bool }); ok {
		b.borrowed = t.borrows()
	}
	if t, ok := tool.(gated); ok {
		b.status = t.gates().status
	}
	return b
}

// args gives the tool bytes of its own: an abandoned attempt may still hold the
// last. Tools made by [Func] only read them.
func (b *body) args(text json.RawMessage) json.RawMessage {
	if b.borrowed {
		return text
	}
	return slices.Clone(text)
}

// New returns a guard for tool. A nil opts means the defaults. Everything that
// makes no sense is an error that names field and value; all are reported.
func New(tool Tool, opts *Options) (*Guard, error) {
	tool, opts = unwrap(tool, opts)
	if tool == nil {
		return nil, errors.New("toolguard: New: tool is nil")
	}
	info, err := infoOf(tool)
	if err != nil {
		return nil, err
	}
	g := &Guard{info: info}
	g.body.Store(newBody(tool))
	if opts != nil {
		g.opts = apart(*opts)
		if f := opts.Fallback; f != nil {
			own := apart(*f)
			g.opts.Fallback = &own
		}
	}
	if t, ok := tool.(gated); ok {
		g.gates = t.gates()
	}
	err = g.check()
	if err == nil {
		err = g.build()
	}
	if err != nil {
		return nil, fmt.Errorf("%w (tool %q)", err, preview(g.info.Name))
	}
	return g, nil
}

// infoOf asks a tool what it is. A nil pointer in the interface panics here.
func infoOf(tool Tool) (info Info, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("toolguard: New: Info of %T panics: %v", tool, v)
		}
	}()
	return apart(tool.Info()), nil
}

// check refuses what makes no sense, before defaults hide it.
func (g *Guard) check() error {
	o, i := &g.opts, &g.info
	errs := []error{
		i.check(), o.Timeout.check(i.Class), o.Retry.check(), o.Concurrency.check(),
		o.Observe.check(), o.Render.check(), o.Arguments.check(), o.Loop.check(), o.Dedupe.check(), o.Journaling.check(), o.Approval.check(), g.checkJournal(), o.Fallback.check(i), o.checkOff(),
	}
	if g.gates.status != nil && i.Effect == ReadOnly {
		errs = append(errs, errors.New("toolguard: Status is set, want nil for a read_only tool: its outcome is never unknown"))
	}
	budget := o.Timeout.withDefaults(i.Class).Budget
	errs = append(errs, o.Breaker.check(budget), o.Dependencies.check(budget))
	if g.sharesBreaker() && o.Breaker != (BreakerPolicy{}) && o.Breaker != (BreakerPolicy{Off: true}) {
		errs = append(errs, badOption("Breaker", "set", "zero: the breaker of dependency "+i.Dependency+" is set in Dependencies.Breaker"))
	}
	if c, ok := g.body.Load().tool.(interface{ construction() error }); ok {
		errs = append(errs, c.construction())
	}
	return errors.Join(errs...)
}

func (i *Info) check() error {
	errs := []error{checkName("Info.Name", i.Name)}
	for n, name := range i.Alternatives {
		errs = append(errs, checkName(fmt.Sprintf("Info.Alternatives[%d]", n), name))
	}
	for n, name := range i.VerifyWith {
		errs = append(errs, checkName(fmt.Sprintf("Info.VerifyWith[%d]", n), name))
	}
	if int(i.Effect) >= len(effectNames) {
		errs = append(errs, fmt.Errorf("toolguard: Info.Effect is %v", i.Effect))
	}
	if int(i.Risk) >= len(riskNames) {
		errs = append(errs, fmt.Errorf("toolguard: Info.Risk is %v", i.Risk))
	}
	switch {
	case i.KeyTTL != 0 && i.Effect != IdempotentByKey:
		errs = append(errs, fmt.Errorf("toolguard: Info.KeyTTL is %v, want zero for a tool that is not %v", i.KeyTTL, IdempotentByKey))
	case i.KeyTTL < 0:
		errs = append(errs, fmt.Errorf("toolguard: Info.KeyTTL is %v, want zero or more", i.KeyTTL))
	}
	if i.SettleDelay < 0 {
		errs = append(errs, fmt.Errorf("toolguard: Info.SettleDelay is %v, want zero or more", i.SettleDelay))
	}
	if slices.Contains(i.Alternatives, i.Name) {
		errs = append(errs, fmt.Errorf("toolguard: Info.Alternatives names the tool %q itself", i.Name))
	}
	if slices.Contains(i.VerifyWith, i.Name) { // looking would be doing it again
		errs = append(errs, fmt.Errorf("toolguard: Info.VerifyWith names the tool %q itself", i.Name))
	}
	return errors.Join(append(errs, i.Poll.check())...)
}

func (g *Guard) sharesBreaker() bool {
	return g.info.Dependency != "" && g.opts.Dependencies != nil
}

// build fills in defaults and makes the mechanisms.
func (g *Guard) build() error {
	o := &g.opts
	setDefault(&g.info.Effect, NonIdempotent)
	if g.info.Effect == IdempotentByKey {
		setDefault(&g.info.KeyTTL, 24*time.Hour)
	}
	o.Timeout = o.Timeout.withDefaults(g.info.Class)
	o.Retry = o.Retry.withDefaults()
	o.Breaker = o.Breaker.withDefaults(o.Timeout.Budget)
	o.Concurrency = o.Concurrency.withDefaults()
	o.Loop = o.Loop.withDefaults()
	o.Dedupe = o.Dedupe.withDefaults()
	o.Journaling = o.Journaling.withDefaults()
	o.Approval = o.Approval.withDefaults()
	o.Observe = o.Observe.withDefaults()
	o.Render = o.Render.withDefaults()
	g.budget.share, g.budget.floor = o.Retry.Budget, o.Retry.BudgetFloor
	switch {
	case o.Breaker.Off:
	case g.sharesBreaker():
		g.breakers = o.Dependencies.shared()
	default:
		g.breakers = newBreakers(o.Breaker)
	}
	g.limiter = newLimiter(o.Concurrency, o.Dependencies.limit(g.info.Dependency))
	g.words = newWords(o.Render, o.Words)
	if o.Journal == nil && o.Approver != nil {
		o.Journal = NewMemoryJournal()
	}
	if !o.Journaling.Off {
		g.journal = newJournaling(o.Journal)
	} else if g.asksApproval() {
		return badOption("Journaling.Off", true, "false where Options.Approver is asked: approvals are written down")
	}
	g.events = newEvents(o.Observer, o.Observe, &g.counters)
	if err := errors.Join(g.buildArguments(), g.buildOutput(), g.buildFallback()); err != nil {
		return err
	}
	o.Sessions.register(g)
	return nil
}

// identity is what digests and keys know the tool by.
func (i *Info) identity() string {
	if i.Source == "" {
		return i.Name
	}
	return i.Source + "\x00" + i.Name
}

func preview(s string) string {
	if len(s) > 64 {
		return s[:64] + "…"
	}
	return s
}
