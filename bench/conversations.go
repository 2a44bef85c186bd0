package bench

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/toolguard-go/toolguard"
)

// lookUp is a read-only tool: of such a one a conversation remembers the answers.
type lookUp struct{}

// Info implements [toolguard.Tool].
func (lookUp) Info() toolguard.Info {
	return toolguard.Info{Name: "look_up", Effect: toolguard.ReadOnly}
}

// Call implements [toolguard.Tool].
func (lookUp) Call(context.Context, json.RawMessage) (toolguard.Result, error) {
	return toolguard.Result{Text: "a result of some length, as most of them are"}, nil
}

// sessions keep as many results as two hundred calls a second leave there in the
// ten seconds that they are of use. Without the bound the hundreds of thousands
// of this loop would be measured, of which none is in the processor's cache.
func sessions() *toolguard.Sessions {
	s, err := toolguard.NewSessions(toolguard.SessionPolicy{MaxKept: 1 << 20})
	if err != nil {
		panic(err) // the policy is a constant
	}
	return s
}

// talkative returns a guard that refuses no number of calls.
func talkative(s *toolguard.Sessions) *toolguard.Guard {
	opts := quick()
	opts.Sessions = s
	opts.Loop = toolguard.LoopPolicy{ToolCalls: 1 << 30, TurnCalls: 1 << 30, NoteAfter: 1 << 30}
	g, err := toolguard.New(lookUp{}, &opts)
	if err != nil {
		panic(err)
	}
	return g
}

// talkOf makes calls of one conversation, no two alike, so that each of them is
// looked up, counted, run and remembered.
func talkOf(sessions func() *toolguard.Sessions) func() Call {
	return func() Call {
		var s *toolguard.Sessions
		if sessions != nil {
			s = sessions()
		}
		g := talkative(s)
		var n atomic.Int64
		scope := toolguard.Scope{Principal: "ann", Session: "chat", Turn: "one"}
		return func(ctx context.Context) error {
			args := append(strconv.AppendInt([]byte(`{"n":`), n.Add(1), 10), '}')
			env := g.Do(toolguard.WithScope(ctx, scope), toolguard.Call{ID: "tc_1", Args: args})
			return expectCode(&env, "")
		}
	}
}

// atOnce is how many calls of a batch run at once, by default.
const atOnce = 8

func lookUps() (*toolguard.Toolbox, []toolguard.Call) {
	box, err := toolguard.NewToolbox(nil, lookUp{})
	if err != nil {
		panic(err)
	}
	calls := make([]toolguard.Call, 64)
	for i := range calls {
		calls[i] = toolguard.Call{ID: strconv.Itoa(i), Tool: "look_up", Args: noArgs}
	}
	return box, calls
}

func batchOf() Call {
	box, calls := lookUps()
	return func(ctx context.Context) error {
		if !box.DoAll(ctx, calls).OK() {
			return errors.New("a call failed")
		}
		return nil
	}
}

// groupOf runs the same guard without a batch around it.
func groupOf() Call {
	box, calls := lookUps()
	guard := box.Guard("look_up")
	return func(ctx context.Context) error {
		envelopes := make([]toolguard.Envelope, len(calls))
		var group errgroup.Group
		group.SetLimit(atOnce)
		for i, call := range calls {
			group.Go(func() error {
				envelopes[i] = guard.Do(ctx, call)
				return expectCode(&envelopes[i], "")
			})
		}
		return group.Wait()
	}
}
