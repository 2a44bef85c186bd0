package toolguardtest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/agentloop"
)

// Subject is what [Matrix] and [Cases] put under test. [Guarded], [Boxed] and [Looped]
// make one; fill in the fields yourself for something else, such as another
// framework's loop, whose texts [Read] turns into envelopes.
type Subject struct {
	// Guard is the guard of the tool: its declarations say what is to be expected.
	Guard *toolguard.Guard
	// Box is the toolbox the tool is in, if it is in one: cases about names and about
	// siblings need it.
	Box *toolguard.Toolbox
	// Args are valid arguments of the tool, which its Authorize and Check let pass.
	Args string
	// Do makes one call, as a model would, and returns the answers the model got
	// for it. One is right.
	Do func(ctx context.Context, call toolguard.Call) []toolguard.Envelope
	// Replace puts another tool under the guard, as [toolguard.Toolbox.Replace] does.
	Replace func(tool toolguard.Tool) error
	// Approver and Journal are those of the guard: with both, cases about approvals
	// ask and decide as a person would.
	Approver *Approver
	Journal  toolguard.Journal
	// Limit is how long a call may take at most. If zero, the guard's budget, grace
	// and patience with its observer.
	Limit time.Duration
}

// Guarded is a guard by itself. args are valid arguments of its tool. The tool is
// replaced in the guard for good: give each test a new one.
func Guarded(guard *toolguard.Guard, args string) Subject {
	s := Subject{Guard: guard, Args: args}
	if guard == nil {
		return s
	}
	box, err := toolguard.NewToolbox(nil, guard)
	s.Replace = func(tool toolguard.Tool) error {
		if err != nil {
			return err
		}
		return box.Replace(guard.Info().Name, tool)
	}
	s.Do = func(ctx context.Context, call toolguard.Call) []toolguard.Envelope {
		return []toolguard.Envelope{guard.Do(ctx, call)}
	}
	return s
}

// Boxed is a tool of a toolbox.
func Boxed(box *toolguard.Toolbox, tool, args string) Subject {
	s := Subject{Args: args, Box: box}
	if box == nil {
		return s
	}
	s.Guard = box.Guard(tool)
	s.Replace = func(body toolguard.Tool) error { return box.Replace(tool, body) }
	s.Do = func(ctx context.Context, call toolguard.Call) []toolguard.Envelope {
		return []toolguard.Envelope{box.Do(ctx, call)}
	}
	return s
}

// Looped is a whole agent loop around a toolbox. The model calls the tool once and
// then answers; newLoop makes the loop with that model as production would.
func Looped(box *toolguard.Toolbox, tool, args string, newLoop func(agentloop.Model) (*agentloop.Loop, error)) Subject {
	s := Boxed(box, tool, args)
	s.Do = func(ctx context.Context, call toolguard.Call) []toolguard.Envelope {
		loop, err := newLoop(Replay(
			agentloop.Message{Truncated: call.Truncated, Calls: []agentloop.Call{{ID: call.ID, Tool: call.Tool, Args: string(call.Args)}}},
			agentloop.Message{Text: "That is all."},
		))
		if err != nil {
			return []toolguard.Envelope{brokenSubject(call, err)}
		}
		var answers []toolguard.Envelope
		for e := range loop.Run(ctx, []agentloop.Message{agentloop.User("Please do it.")}) {
			if e.Kind == agentloop.KindAnswer {
				answers = append(answers, e.Envelope)
			}
		}
		return answers
	}
	return s
}

// brokenSubject is the answer of what could not be made: no rule lets it pass.
func brokenSubject(call toolguard.Call, err error) toolguard.Envelope {
	return toolguard.Envelope{CallID: call.ID, Tool: call.Tool, Error: &toolguard.Failure{Message: err.Error()}}
}

// check says what a test author has to mend.
func (s *Subject) check() error {
	const hint = "return Guarded(guard, args), Boxed(box, name, args) or Looped(…)"
	switch {
	case s.Guard == nil:
		return fmt.Errorf("the subject has no tool: its Guard is nil, or the toolbox has no tool of this name; %s", hint)
	case s.Do == nil || s.Replace == nil:
		return fmt.Errorf("the subject has no Do or no Replace; %s", hint)
	case !json.Valid([]byte(s.Args)):
		return fmt.Errorf("the subject's Args %q are no JSON; give arguments that the tool accepts, such as {}", s.Args)
	}
	return nil
}

// call is a call with valid arguments.
func (s *Subject) call(id string) toolguard.Call {
	return toolguard.Call{ID: id, Tool: s.Guard.Info().Name, Args: json.RawMessage(s.Args)}
}

// hour bounds calls of guards that have no limit of their own.
const hour = time.Hour

func (s *Subject) limit() time.Duration {
	d := s.Guard.Describe()
	switch {
	case s.Limit > 0:
		return s.Limit
	case d.Timeout.Off:
		return hour + time.Second // the context's deadline, and the default grace
	}
	return d.Timeout.Budget + d.Timeout.Grace + d.Observe.Patience
}
