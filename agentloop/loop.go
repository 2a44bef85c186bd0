// Package agentloop is a small agent loop on a toolbox: the model replies, its
// calls are run and answered, the model reads the answers, until it has an
// answer of its own. It knows no provider: a [Model] is one method.
//
// A [Loop] keeps these promises, whatever model and tools do:
//
//   - every call of a reply is answered, also where the run is canceled;
//   - a run ends, and its last event says how and why;
//   - each call has a Run and a Step of its own, the same when a run is resumed;
//   - when a limit is reached the model gets one chance to answer with what it has.
//
// Loops of the same call again are the toolbox's to notice: give its options
// Sessions and the context a [toolguard.Scope] with a Session. Whoever has a loop
// already needs none of this package: docs/agent-loop.md shows where a toolbox
// goes.
package agentloop

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/prompts"
)

// Options say how a loop behaves. Nil and the zero value are the documented
// defaults; New copies the struct.
type Options struct {
	// MaxIterations is how often the model may reply with calls in one run. It is
	// then asked once more, to answer without. If zero, 10.
	MaxIterations int
	// System is the host's system prompt. The rules for reading answers
	// ([toolguard.SystemPrompt]) are put after it.
	System string
	// Words are those rules and the loop's own words to the model. If nil, English.
	// The answers of tools have the words their guards were given.
	Words *prompts.Catalogue
	// Model is how the model is asked: a guard's options, because models hang,
	// refuse and overload as tools do. If Timeout is zero, 300 s an attempt. A
	// reply is no tool's result: a Fallback is refused.
	Model toolguard.Options
}

// Loop runs conversations. Safe for concurrent use. Make one with [New].
type Loop struct {
	model      *toolguard.Guard
	box        *toolguard.Toolbox
	most       int // replies with calls
	system     string
	lastChance string
}

// New returns a loop of a model and the tools it may call. A nil opts means the
// defaults.
func New(model Model, box *toolguard.Toolbox, opts *Options) (*Loop, error) {
	if opts == nil {
		opts = new(Options)
	}
	switch {
	case model == nil:
		return nil, errors.New("agentloop: model is nil")
	case box == nil:
		return nil, errors.New("agentloop: toolbox is nil")
	case opts.MaxIterations < 0:
		return nil, fmt.Errorf("agentloop: Options.MaxIterations %d is negative", opts.MaxIterations)
	}
	guard, err := newModelGuard(model, opts.Model)
	if err != nil {
		return nil, fmt.Errorf("agentloop: Options.Model: %w", err)
	}
	l := &Loop{model: guard, box: box, most: opts.MaxIterations}
	if l.most == 0 {
		l.most = 10
	}
	words := opts.Words
	if words == nil {
		words = prompts.English()
	}
	l.system = joined(opts.System, words.SystemPrompt())
	l.lastChance = string(words.AppendStep(nil, prompts.StepFinishNow, nil))
	return l, nil
}

// joined puts two texts into paragraphs of their own.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// Run answers the last message of a conversation, which is the user's. Range over
// the events; each range is a run of its own. The last event is of [KindEnd],
// unless the range was left before: that cancels the run and returns once the
// calls in progress are answered. Between two events the run waits for the
// range, calls in progress do not.
//
// The scope of ctx gives tenant, principal and session, and may give Run and Turn,
// which are random otherwise.
func (l *Loop) Run(ctx context.Context, conversation []Message) iter.Seq[Event] {
	s := State{Messages: conversation}
	if n := len(conversation); n == 0 || conversation[n-1].Role != RoleUser {
		r := Result{Stop: StopInvalid, State: s, Err: errors.New("agentloop: the last message of the conversation is not the user's")}
		return func(yield func(Event) bool) { yield(Event{Kind: KindEnd, State: s, Result: r}) }
	}
	return l.Resume(ctx, s)
}

// run is one run of a loop.
type run struct {
	loop   *Loop
	ctx    context.Context
	cancel context.CancelFunc
	yield  func(Event) bool
	left   bool // the range was left
	state  State
}

// work takes turns: the model replies, its calls are answered.
func (r *run) work() Result {
	if err := r.state.check(); err != nil {
		return Result{Stop: StopInvalid, Err: err}
	}
	for {
		var end *Result
		switch last := r.state.last(); {
		case len(last.pending()) > 0: // answered even if ctx has ended
			end = r.answer()
		case r.ctx.Err() != nil:
			end = &Result{Stop: StopCanceled, Err: context.Cause(r.ctx)}
		case last.Role == RoleAssistant && len(last.Calls) == 0:
			end = &Result{Stop: r.stop(), Text: last.Text}
		default:
			end = r.reply()
		}
		if end != nil {
			return *end
		}
	}
}

// reply lets the model reply.
func (r *run) reply() *Result {
	if !r.emit(Event{Kind: KindAsk}) {
		return nil // which the loop notices
	}
	m, err := r.ask()
	switch {
	case err != nil && r.ctx.Err() != nil:
		return nil
	case err != nil:
		return &Result{Stop: StopModel, Err: err}
	}
	final := r.loop.exhausted(&r.state)
	r.state.Iteration++
	reply := m.identified(r.state.Iteration)
	if final {
		if reply.Text == "" {
			return &Result{Stop: StopLimit, Err: errors.New("agentloop: the model did not answer without tools")}
		}
		reply.Calls = nil // nobody will run them, and a call without an answer spoils the history
	}
	r.state = r.state.with(reply)
	r.emit(Event{Kind: KindReply})
	return nil
}

// answer runs the calls that have no answer yet.
func (r *run) answer() *Result {
	pending := r.state.last().pending()
	calls := make([]toolguard.Call, len(pending))
	for n, i := range pending {
		calls[n] = r.state.last().call(i, r.state.step(r.state.Iteration, i))
	}
	batch := toolguard.Batch{Envelopes: make([]toolguard.Envelope, len(calls))}
	for n, env := range r.loop.box.DoEach(toolguard.WithScope(r.ctx, r.scope()), calls) {
		batch.Envelopes[n] = env
		r.state = r.state.withLast(r.state.last().answered(pending[n], answerOf(&env)))
		r.emit(Event{Kind: KindAnswer, Index: pending[n], Envelope: env}) // if nobody takes it, the others are canceled and answered at once
	}
	last := r.state.last().distinct()
	if len(pending) == len(last.Calls) { // or the summary would not count all
		last.Hint = hint(batch)
	}
	r.state = r.state.withLast(last)
	return control(batch)
}

// hint is the summary of a batch in which something is lost for good. There is
// none beside a failure that can be mended: it would say to give up. A call on
// its own has said it all in its answer.
func hint(batch toolguard.Batch) string {
	for _, env := range batch.Envelopes {
		if f := env.Error; f != nil && (f.Retryable || f.Category == toolguard.CategoryParam) {
			return ""
		}
	}
	if len(batch.Envelopes) < 2 {
		return ""
	}
	return batch.Summary()
}

// control ends the run where the host has taken a call over.
func control(batch toolguard.Batch) *Result {
	for _, env := range batch.Envelopes {
		if err := env.Control(); err != nil {
			return &Result{Stop: StopControl, Err: err}
		}
	}
	return nil
}

// scope is that of all calls of the run.
func (r *run) scope() toolguard.Scope {
	s := toolguard.ScopeFrom(r.ctx)
	s.Run, s.Turn, s.Step = r.state.Run, r.state.Turn, r.state.Step
	return s
}

// emit hands an event over, and cancels the run if nobody takes it, a panic of
// the range included: what it waits for has to stop.
func (r *run) emit(e Event) bool {
	if r.left {
		return false
	}
	taken := false
	defer func() {
		if !taken {
			r.left = true
			r.cancel()
		}
	}()
	e.State = r.state
	taken = r.yield(e)
	return taken
}

// end hands over the last event.
func (r *run) end(result Result) {
	result.State = r.state
	r.emit(Event{Kind: KindEnd, Result: result})
}
