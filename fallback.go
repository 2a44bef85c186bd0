package toolguard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolguard-go/toolguard/prompts"
)

// Fallback answers from elsewhere when the tool timed out or is unavailable.
// It never hides an effect that may have happened: it is used only where the
// tool is ReadOnly, or nothing was done and the alternative has the same effect.
// A degraded answer says so.
type Fallback struct {
	// Alternatives are tried in order. Each passes its own gates.
	Alternatives []Alternative
	// LastGood answers with the tool's last good result for the same arguments,
	// tenant and principal, if it is younger than this. If zero, it is not kept.
	// Only for ReadOnly tools.
	LastGood time.Duration
	// LastGoodMax is how many results are kept. If zero, 64.
	LastGoodMax int
	// LastGoodBytes bounds them together, as they were handed on, but for
	// Part.Raw; the one unused for longest goes first. If zero, 8 MiB.
	LastGoodBytes int
}

// Alternative is another tool that can answer the same question.
type Alternative struct {
	// Tool is guarded with default options and this guard's PassThrough, unless
	// it is a *Guard. What is the host's control flow ends the call.
	Tool Tool
	// Args turns the arguments into the alternative's. If nil, they are the same.
	Args func(json.RawMessage) (json.RawMessage, error)
	// Missing are the fields its answer lacks.
	Missing []string
	// SameEffect says that the alternative has the same effect as the tool on
	// the same thing, so that it may stand in for one that is not ReadOnly. What it
	// did is in the journal under this guard's key, and in the audit by its name; a
	// *Guard with that journal has an entry of its own as well, with the key and the
	// Status of its own service.
	SameEffect bool
}

func (f *Fallback) check(i *Info) error {
	if f == nil {
		return nil
	}
	errs := []error{notNegative("Fallback.LastGood", f.LastGood), notNegative("Fallback.LastGoodMax", f.LastGoodMax), notNegative("Fallback.LastGoodBytes", f.LastGoodBytes)}
	if f.LastGood > 0 && i.Effect != ReadOnly {
		errs = append(errs, badOption("Fallback.LastGood", f.LastGood, "zero for a tool that is not read_only"))
	}
	if f.LastGood == 0 && f.LastGoodMax > 0 {
		errs = append(errs, badOption("Fallback.LastGoodMax", f.LastGoodMax, "zero without LastGood"))
	}
	if f.LastGood == 0 && f.LastGoodBytes > 0 {
		errs = append(errs, badOption("Fallback.LastGoodBytes", f.LastGoodBytes, "zero without LastGood"))
	}
	if len(f.Alternatives) == 0 && f.LastGood == 0 {
		errs = append(errs, errors.New("toolguard: Options.Fallback has neither Alternatives nor LastGood"))
	}
	for n, a := range f.Alternatives {
		errs = append(errs, a.check(fmt.Sprintf("Fallback.Alternatives[%d]", n), i))
	}
	return errors.Join(errs...)
}

// check holds an alternative against the tool it stands in for.
func (a *Alternative) check(field string, i *Info) error {
	if a.Tool == nil {
		return badOption(field+".Tool", nil, "a tool")
	}
	own, err := infoOf(a.Tool)
	guard, made := a.Tool.(*Guard)
	switch {
	case err != nil || made && guard.body.Load() == nil:
		return badOption(field+".Tool", fmt.Sprintf("a %T that says nothing of itself", a.Tool), "a tool, or a guard made by New")
	case i.Effect != ReadOnly && !a.SameEffect:
		return badOption(field+".SameEffect", false, "true, since the tool is not read_only")
	case i.Effect == ReadOnly && own.Effect != ReadOnly:
		return badOption(field+".Tool", own.Name, "a read_only tool, like the one it stands in for")
	default:
		return nil
	}
}

// fallback is a Fallback at work.
type fallback struct {
	alternatives []alternative
	last         lastGood
}

type alternative struct {
	Alternative
	guard *Guard
	own   bool // nobody else knows the guard
}

// guards are those that nobody else can shut down, or read the counts of.
func (f *fallback) guards(yield func(*Guard) bool) {
	if f == nil {
		return
	}
	for i := range f.alternatives {
		if a := &f.alternatives[i]; a.own && !yield(a.guard) {
			return
		}
	}
}

func (g *Guard) buildFallback() error {
	if g.opts.Fallback == nil {
		return nil
	}
	f := &fallback{last: newLastGood(g.opts.Fallback)}
	for _, a := range g.opts.Fallback.Alternatives {
		guard, ok := a.Tool.(*Guard)
		if !ok {
			var err error
			if guard, err = New(a.Tool, &Options{Observer: g.opts.Observer, Observe: g.opts.Observe, PassThrough: g.opts.PassThrough}); err != nil {
				return err
			}
		}
		f.alternatives = append(f.alternatives, alternative{a, guard, !ok})
	}
	g.fallback = f
	return nil
}

// fallBack answers from elsewhere, where that is honest.
func (c *call) fallBack() {
	f := c.guard.fallback
	if f == nil || !c.mayFallBack() {
		return
	}
	failed := c.stage
	c.stage = StageRecover
	if !c.answeredBy(f) {
		c.stage = failed
	}
}

// answeredBy reports whether one of the places to look in had an answer.
func (c *call) answeredBy(f *fallback) bool {
	for i := range f.alternatives {
		a := &f.alternatives[i]
		if !c.mayFallBack() {
			return false
		}
		args, err := c.alternativeArgs(a)
		if err != nil {
			c.rarely().skipped = append(c.rarely().skipped, a.guard.info.Name)
			continue
		}
		if !c.intendsElsewhere(a) {
			return false
		}
		if c.tryAlternative(a, args) {
			return true
		}
	}
	return c.mayFallBack() && c.tryLastGood(f)
}

// mayFallBack: only where the tool could not answer, and never past an effect
// that may have happened.
func (c *call) mayFallBack() bool {
	gated := c.stage == StageDecide || c.stage == StageValidate
	if c.failure == nil || gated || c.failure.control || c.ctx.Err() != nil || !c.mayActElsewhere() {
		return false
	}
	switch c.failure.row().category {
	case CategoryTimeout, CategoryUnavailable:
		return c.guard.info.Effect == ReadOnly || c.outcome == OutcomeNotStarted || c.outcome == OutcomeFailed
	default:
		return false
	}
}

// mayActElsewhere: what has the same effect needs the same intent in the journal,
// unless it may happen twice.
func (c *call) mayActElsewhere() bool {
	effect := c.guard.info.Effect
	return effect == ReadOnly || effect == Idempotent || c.ledger != &unwritten && (!c.inJournal() || c.ledger.claimed)
}

// actsElsewhere says that stand-ins have the effect of the guard's tool.
func (g *Guard) actsElsewhere() bool {
	return g.info.Effect != ReadOnly && g.fallback != nil && len(g.fallback.alternatives) > 0
}

// intendsElsewhere writes down that a stand-in may have the effect from now on: if
// this process ends, the tool's Status must not be believed that there was none, nor
// does the tool's key stand for both.
func (c *call) intendsElsewhere(a *alternative) bool {
	l := c.ledger
	if !c.guard.actsElsewhere() || !c.inJournal() {
		return true
	}
	e := l.entry
	e.Code, e.Effect = CodeAbandoned, c.effectElsewhere()
	begins := line{kind: RecordStandIn, token: e.Token, why: a.guard.info.Name, outcome: OutcomeUnknown}
	ok, err := c.store(c.ctx, e.Version(), &e, append(l.lines, c.lineWith(&e, begins)))
	if !ok || err != nil {
		return false
	}
	l.lines = l.room[:0]
	l.mu.Lock() // renewals write it again
	defer l.mu.Unlock()
	l.entry.Code, l.entry.Effect = e.Code, e.Effect
	return true
}

// effectElsewhere is what may be done again of what a stand-in did.
func (c *call) effectElsewhere() Effect {
	if c.guard.info.Effect == IdempotentByKey {
		return NonIdempotent
	}
	return c.guard.info.Effect
}

func (c *call) tryAlternative(a *alternative, args json.RawMessage) bool {
	ctx, cancel := c.budgeted()
	defer cancel()
	began := time.Now()
	env := a.guard.Do(&standIn{ctx, c, c.grace()}, Call{ID: c.id, Args: args, Locale: c.locale})
	c.auditStandIn(&env, time.Since(began))
	if env.OK || env.Error.Outcome != OutcomeNotStarted && env.Error.Outcome != OutcomeFailed {
		c.rarely().stoodIn = true
	}
	if err := env.Control(); err != nil {
		c.failure = &failure{diagnosis: diagnosis{Verdict: Verdict{Code: CodeControlFlow}}, err: err, control: true}
		c.outcome = env.Error.Outcome
		return true
	}
	if !env.OK {
		if c.stoodIn() {
			c.outcome = env.Error.Outcome // now it is the stand-in's effect that may have happened
			if c.outcome == OutcomeSucceeded {
				c.withhold()
			}
		}
		return false
	}
	c.unsure = c.unsure || env.Result.InputRequired && env.Attempts > 1 && c.guard.actsElsewhere() // of those before it says nothing
	c.degrade(env.Result, &Degraded{Source: env.Tool, Missing: a.Missing})
	c.outcome = OutcomeSucceeded
	c.notes = append(c.notes, env.Notes...)
	return true
}

// auditStandIn notes what a stand-in came to, and under which key it can be asked about.
func (c *call) auditStandIn(env *Envelope, took time.Duration) {
	if !c.inJournal() {
		return
	}
	l := line{kind: RecordStandIn, token: c.ledger.entry.Token, why: env.Tool, took: max(took, 1), outcome: OutcomeSucceeded}
	if env.Key != "" {
		l.why += ", key " + env.Key
	}
	if !env.OK {
		l.code, l.outcome = env.Error.Code, env.Error.Outcome
	}
	c.ledger.lines = append(c.ledger.lines, c.lineWith(&c.ledger.entry, l))
}

func (c *call) stoodIn() bool { return c.rare != nil && c.rare.stoodIn }

// standIn is the context of a call that stands in for another. It leaves that call
// no more grace than the other has: whoever made that one has promised to be back.
type standIn struct {
	context.Context
	of    *call
	grace time.Duration
}

// Value implements [context.Context].
func (s *standIn) Value(key any) any {
	if _, ok := key.(graceKey); ok {
		return s.grace
	}
	return s.Context.Value(key)
}

// around returns the call that this one was made in, or stands in for; nil if there
// is none.
func (c *call) around() *call {
	ctx := c.ctx
	if s := c.ownSpan(); s != nil {
		ctx = s.Context
	}
	if s, ok := ctx.(*standIn); ok {
		return s.of
	}
	if c.outer != nil {
		return c.outer.call
	}
	return nil
}

// budgeted is the caller's context, ending with the call's budget.
func (c *call) budgeted() (context.Context, context.CancelFunc) {
	if end := c.deadline(); !end.IsZero() {
		return context.WithDeadline(c.ctx, end)
	}
	return context.WithCancel(c.ctx)
}

func (c *call) alternativeArgs(a *alternative) (args json.RawMessage, err error) {
	if a.Args == nil {
		return c.doc.Text, nil
	}
	err = c.isolate(func(context.Context) error {
		var err error
		args, err = a.Args(c.argsCopy())
		return err
	})
	if err != nil {
		return nil, err // it may still be writing
	}
	return args, nil
}

// LastKnownGood is the Source of a [Degraded] answer that was kept from before.
const LastKnownGood = "last known good"

func (c *call) degrade(r Result, d *Degraded) {
	c.decided, c.why = DecisionFallback, d.Source
	c.failure, c.result = nil, &r
	c.comesFrom(d)
}

// comesFrom says where the answer comes from, if not from the tool.
func (c *call) comesFrom(d *Degraded) {
	c.rarely().source = d
	kind := prompts.NoteDegraded
	if d.Source == LastKnownGood {
		kind = prompts.NoteLastKnownGood
	}
	c.notes = append(c.notes, Note{Kind: kind})
}
