// Package toolguard makes a tool call safe to hand to a language model.
//
// A [Guard] stands where the tool stood. Every call through it ends, in bounded
// time, in exactly one [Envelope]: the tool's result, or a failure that says what
// happened, whether anything was done, and what to do next.
//
//	refund := toolguard.Func(toolguard.Info{Name: "refund", Effect: toolguard.NonIdempotent}, pay.Refund)
//	guard, err := toolguard.New(refund, nil)
//	…
//	env := guard.Do(ctx, toolguard.Call{ID: call.ID, Args: call.Arguments})
//	reply(call.ID, env.ForModel())
package toolguard

// This file is the whole pipeline: [Guard.Do] keeps the accounts, run names the
// five stages, and each stage names its mechanisms. Every mechanism has a file of
// its own.

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/toolguard-go/toolguard/internal/schema"
)

// Tool is an operation an agent can call. [Func], [Action] and [Text] make one
// of an ordinary function. Implementations:
//   - may be called concurrently;
//   - return from Info the same value every time, without blocking;
//   - may keep args, which is theirs alone;
//   - should stop when ctx ends, though a guard does not depend on it.
type Tool interface {
	Info() Info
	Call(ctx context.Context, args json.RawMessage) (Result, error)
}

// Info is what a tool's author declares about it.
type Info struct {
	// Name is how the model calls the tool: 1 to 256 bytes of printable
	// characters without spaces and quotes. It is required.
	Name        string
	Description string
	// Version changes when the tool's behaviour does; it is recorded only.
	Version string
	// Source is where the tool comes from, such as an MCP server. Together with
	// Name it is the tool's identity.
	Source string
	// Schema is the JSON Schema of the arguments, any draft from 4 to 2020-12.
	// If empty, any object is accepted.
	Schema json.RawMessage
	// OutputSchema is the JSON Schema of the result, which may be of any type: a Text
	// that is no JSON is a string. A result that breaks it counts as an answer that
	// could not be read. If empty, any result is accepted.
	OutputSchema json.RawMessage
	// Effect says what running the tool again may do. If zero, NonIdempotent.
	Effect Effect
	// Risk says how much harm a call may do.
	Risk Risk
	// KeyTTL is how long the downstream of an IdempotentByKey tool remembers a
	// key. If zero, 24 h.
	KeyTTL time.Duration
	// SettleDelay is how long a request may still be on its way to the downstream
	// after its outcome was unknown. "Not started" from Status counts only then. If
	// zero, 1 min.
	SettleDelay time.Duration
	// KeyField names a top-level argument that takes the idempotency key, in place
	// of whatever the model wrote there. The schema must admit it.
	KeyField string
	// Durability is what the journal must survive at least. If it is set, New wants a
	// journal; if zero, any will do, and none.
	Durability Durability
	// SingleRequest promises that an attempt makes one request to one service
	// and nothing else with an effect, so that this request's fate is the
	// attempt's: a refused connection then proves that nothing was done. Where
	// package httpguard records the requests, its record decides instead. An
	// http.Client that follows redirects makes more than one request.
	SingleRequest bool
	// Class chooses the timeout in TimeoutPolicy.Classes.
	Class string
	// Dependency names the service behind the tool, where several tools share
	// one. Nothing is shared unless their guards have the same
	// Options.Dependencies; without it the name only labels the tool's own breaker.
	Dependency string
	// Alternatives are tools a model may use instead while this one is down.
	Alternatives []string
	// VerifyWith are other tools that show whether this one took effect. The model is sent to
	// them by these names, and to Alternatives: nothing checks that there are such tools,
	// because they need not be in the same toolbox.
	VerifyWith []string
	// RepeatsNormal says that identical calls are meant each time, such as a
	// second cup of coffee; otherwise an identical successful write is answered
	// as done already within a turn.
	RepeatsNormal bool
	// Poll declares a tool that is meant to be asked again and again.
	Poll Poll
	// Irrelevant are top-level arguments that do not make a call a different
	// one, such as a reason or a trace id. The schema must admit them.
	Irrelevant []string
}

// Result is what a tool returns. Set Text or JSON; if both are set, the model
// reads JSON.
type Result struct {
	Text string
	JSON json.RawMessage
	// Parts are images and other blocks, carried to the host untouched.
	Parts []Part
	// InputRequired says that the tool asks for something first. It is neither a
	// success nor a failure, and the call that follows is no repeat.
	InputRequired bool

	extra *extra
}

// extra is what only few results carry.
type extra struct {
	notes    []Note    // what the edge that made the result has to say about it
	envelope *Envelope // the answer of an inner guard
}

func (x *extra) adopted() *Envelope {
	if x == nil {
		return nil
	}
	return x.envelope
}

// Part is one block of a result that is not text.
type Part struct {
	// MediaType is the block's MIME type.
	MediaType string
	Data      []byte
	// Raw is the host's own form of the block, for adapters.
	Raw any
}

// Call is one request from the model.
type Call struct {
	// Tool is the name as the model wrote it. A [Toolbox] goes by it; a Guard
	// has one tool only and does not look at it.
	Tool string
	// ID is the model's identifier for the call. It goes into the envelope and
	// the events, and protects nothing: a model makes a new one each time.
	ID string
	// Args is the text the model wrote as arguments. It is copied.
	Args json.RawMessage
	// Truncated says that the model's output was cut off, so that Args cannot be
	// trusted even if they parse.
	Truncated bool
	// Locale of the words for the model. If empty, RenderPolicy.Locale.
	Locale string
	// Step takes the place of Scope.Step, for the tool too. If empty, Scope.Step
	// stays; in a batch of a resumable run the call's place is added to it, so
	// that two calls of one tool do not have one [Key].
	Step string
}

// Guard decorates one tool. It is safe for concurrent use and is itself a
// [Tool]. Make one with [New].
type Guard struct {
	body     atomic.Pointer[body]
	info     Info
	opts     Options
	gates    gates
	args     arguments
	output   *schema.Schema // of results; nil if they have none
	budget   retryBudget
	breakers *breakers
	limiter  *limiter
	fallback *fallback
	words    words
	events   *events
	journal  *journaling // nil without one
	door     door
	counters counters
	pace     pace
	hanging  accounts
}

// Info returns the tool's info, a copy of all of it.
func (g *Guard) Info() Info { return apart(g.info) }

// Call makes a Guard a Tool: a failure is the rendered envelope with a nil
// error, so that a guard can stand where the bare tool stood. Only errors the
// host declared as control flow come back as errors.
func (g *Guard) Call(ctx context.Context, args json.RawMessage) (Result, error) {
	env := g.Do(ctx, Call{Args: args})
	if err := env.Control(); err != nil {
		return Result{}, err
	}
	if env.OK && len(env.Notes) == 0 {
		return env.Result, nil
	}
	return Result{Text: env.ForModel(), Parts: env.Result.Parts, extra: &extra{envelope: &env}}, nil
}

// Do answers one call. It never panics, and it returns within the call's budget
// plus grace even if the tool does not. Cancelling ctx stops it sooner.
func (g *Guard) Do(ctx context.Context, in Call) Envelope {
	if g == nil || g.body.Load() == nil {
		return unmade(in)
	}
	return g.open(ctx, in, nil, nil).run()
}

// run answers the call.
func (c *call) run() (e Envelope) {
	if a := c.begin(); a != nil {
		c.current.Store(a)
		go func() {
			if a.trace != nil {
				growStackForSpans()
			} else {
				growStack()
			}
			a.call.lead(a)
		}()
		c.await()
	}
	c.guard.close(c, &e)
	return e
}

// begin is all that comes before the tool runs. It returns the first attempt, or
// nil if the call is settled without one.
func (c *call) begin() (a *attempt) {
	defer c.rescue()
	if c.decide() && c.validate() {
		c.stage = StageExecute
		if c.claimed() { // the intent is written down
			a = c.place()
		}
	}
	if a == nil {
		c.recordUnlessOpen()
		c.recover()
		c.finish()
	}
	return a
}

// lead runs a call from its first attempt on, on a goroutine of its own. If an
// attempt is abandoned that goroutine is lost, and another leads.
func (c *call) lead(a *attempt) {
	defer c.rescue()
	if c.execute(a) {
		c.conclude()
	}
}

// resume goes on with a call whose attempt took the leading goroutine with it.
func (c *call) resume(a *attempt) {
	defer c.rescue()
	if c.execute(c.next(a)) {
		c.conclude()
	}
}

// execute makes attempts, one at a time. Each has a slot and a permit, runs under
// its deadline, and has its error classified. It reports whether this goroutine
// still leads.
func (c *call) execute(a *attempt) bool {
	for a != nil {
		if !a.run() {
			return false
		}
		a = c.next(a)
	}
	return true
}

// next weighs an attempt and returns the one that follows it, if one does.
func (c *call) next(a *attempt) *attempt {
	c.weigh(a)
	if c.failure == nil || !c.retry() {
		return nil
	}
	return c.place()
}

func (c *call) conclude() {
	c.confirm()
	c.recover()
	c.finish()
}

// decide: what is asked?
func (c *call) decide() bool {
	c.stage = StageDecide
	return c.admitted() &&
		c.found() && // what is to be resumed
		c.resolved() && // by the toolbox the call came through
		c.allotted() && // the turn's limits
		c.parsed() && // strictly, then what normalisation can repair without loss
		c.keyed() && // by what the journal has of it
		c.matched() && // the schema
		c.authorized() &&
		c.recalled() && // what the journal knows of it
		c.unrepeated() // what the conversation knows of it
}

// validate: may it run now?
func (c *call) validate() bool {
	c.stage = StageValidate
	return c.checked() && // business rules
		c.approved() // by a person or a policy
}

// confirm: did it take?
func (c *call) confirm() {
	c.stage = StageConfirm
	c.checkResult()      // a success that is none
	c.askStatus()        // an outcome nobody knows
	c.recordUnlessOpen() // what the journal is told
}

// recover: what now?
func (c *call) recover() {
	c.fallBack() // to an answer from elsewhere
}
