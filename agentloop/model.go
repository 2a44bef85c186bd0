package agentloop

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/toolguard-go/toolguard"
)

// Model is a language model behind an API. Implementations
//
//   - may be called from several goroutines, and again for the same request when
//     an attempt failed;
//   - send req.System, req.Messages with all answers and hints, and the tools, and
//     return what the model says: text, calls, or both, and whether it was cut off;
//   - return when ctx ends;
//   - return errors as they are: what [toolguard.New] knows of them decides
//     whether the model is asked once more. Retries of an SDK should be off;
//   - do not change what req refers to.
type Model interface {
	Reply(ctx context.Context, req Request) (Message, error)
}

// Request is what a model is asked.
type Request struct {
	// System is the system prompt: the host's, and toolguard's rules for reading
	// answers.
	System string
	// Messages are the conversation. Every call in them has its answer.
	Messages []Message
	// Tools lists the tools that may be called now in a provider's form; see
	// [toolguard.Toolbox.Tools].
	Tools func(toolguard.Provider) (json.RawMessage, error)
	// AnswerOnly says that no more calls will be run: the adapter tells the
	// provider so (tool_choice none). The tools stay in the request, because
	// some providers want them wherever the history has calls.
	AnswerOnly bool
}

// defaultAttempt is how long a model may think where nothing else is said. It is
// what the group llm of package policies says, too.
const defaultAttempt = 300 * time.Second

// newModelGuard makes the guard that asks the model: panics, hangs, retries and
// what an error means are the same for models as for tools.
func newModelGuard(m Model, opts toolguard.Options) (*toolguard.Guard, error) {
	if opts.Fallback != nil {
		//lint:ignore ST1005 it begins with a field's name
		return nil, errors.New("Fallback is set, but nothing stands in for a reply")
	}
	if opts.Sessions != nil {
		//lint:ignore ST1005 it begins with a field's name
		return nil, errors.New("Sessions are set, but asking the model again is no repeat")
	}
	if t := &opts.Timeout; !t.Off && t.Attempt == 0 && len(t.Classes) == 0 {
		t.Attempt = defaultAttempt
	}
	return toolguard.New(modelTool{m}, &opts)
}

// modelTool is a model as a tool. Request and reply bypass the guard, which is
// made for texts that a model reads, not for those it wrote.
type modelTool struct{ model Model }

func (modelTool) Info() toolguard.Info {
	return toolguard.Info{Name: "model", Effect: toolguard.ReadOnly}
}

func (t modelTool) Call(ctx context.Context, _ json.RawMessage) (toolguard.Result, error) {
	q := ctx.Value(questionKey{}).(*question)
	reply, err := t.model.Reply(ctx, q.request)
	if err != nil {
		return toolguard.Result{}, err
	}
	if err := reply.check(); err != nil {
		return toolguard.Result{}, err
	}
	q.reply.Store(&reply)
	return toolguard.Result{Text: "replied"}, nil
}

// question is a request on its way through the guard, and its reply. No attempt
// follows one that was abandoned, so that a late reply is never taken for
// another's.
type question struct {
	request Request
	reply   atomic.Pointer[Message]
}

type questionKey struct{}

// check refuses what cannot become part of a conversation.
func (m *Message) check() error {
	switch {
	case m.Text == "" && len(m.Calls) == 0:
		return toolguard.Unavailable("the model replied with nothing")
	case len(m.Extra) > 0 && !json.Valid(m.Extra):
		return toolguard.Unavailable("the reply of the model has an Extra that is no JSON")
	}
	return nil
}

// ask asks the model for the next message.
func (r *run) ask() (*Message, error) {
	q := &question{request: r.request()}
	scope := r.scope()
	scope.Step = r.state.step(r.state.Iteration+1, "model")
	ctx := context.WithValue(toolguard.WithScope(r.ctx, scope), questionKey{}, q)
	env := r.loop.model.Do(ctx, toolguard.Call{Args: json.RawMessage("{}")})
	if err := env.Control(); err != nil {
		return nil, err
	}
	if err := env.Err(); err != nil {
		return nil, err
	}
	if reply := q.reply.Load(); reply != nil {
		return reply, nil
	}
	return nil, errors.New("agentloop: the model's guard has answered without asking it")
}

// request puts together what the model is asked. That no more calls will be run
// is said in the request alone: in the next turn it would no longer be true.
func (r *run) request() Request {
	messages := slices.Clone(r.state.Messages)
	final := r.loop.exhausted(&r.state)
	if final {
		last := &messages[len(messages)-1]
		last.Hint = joined(last.Hint, r.loop.lastChance)
	}
	return Request{
		System: r.loop.system, Messages: messages, AnswerOnly: final,
		Tools: func(p toolguard.Provider) (json.RawMessage, error) {
			return r.loop.box.Tools(toolguard.WithScope(r.ctx, r.scope()), p)
		},
	}
}
