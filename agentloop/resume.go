package agentloop

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/toolguard-go/toolguard"
)

// State is what a run has come to: all that [Loop.Resume] needs. It is plain
// data and marshals to JSON.
type State struct {
	// Run and Turn are those of the [toolguard.Scope] of every call. Step is what
	// the steps of the calls begin with, so that a run resumed derives the same
	// keys, and another run does not.
	Run  string `json:"run"`
	Turn string `json:"turn"`
	Step string `json:"step"`
	// Iteration is how often the model has replied.
	Iteration int `json:"iteration"`
	// Messages are the conversation, before this run and since.
	Messages []Message `json:"messages"`
}

// Resume goes on from a state, as [Loop.Run] does. Calls that are answered are
// not run again; those that are not have the Run and Step they had before, hence
// the same idempotency key. Whether one of them took effect before the run broke
// off, only a downstream that honours that key can tell. A state that had ended
// with an answer ends with the same at once.
func (l *Loop) Resume(ctx context.Context, s State) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		if ctx == nil {
			ctx = context.Background()
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		r := &run{loop: l, ctx: ctx, cancel: cancel, yield: yield, state: s.named(toolguard.ScopeFrom(ctx))}
		r.end(r.work())
	}
}

// named returns the state with what identifies the run: the host's, or random.
// A turn is part of every step, because a host's Run may go on over several.
func (s State) named(scope toolguard.Scope) State {
	if s.Run == "" {
		s.Run = orRandom(scope.Run)
	}
	if s.Turn == "" {
		s.Turn = orRandom(scope.Turn)
	}
	if s.Step == "" {
		s.Step = s.Turn
		if scope.Step != "" { // this loop is a step of something
			s.Step = scope.Step + "/" + s.Turn
		}
	}
	return s
}

func orRandom(id string) string {
	if id != "" {
		return id
	}
	return rand.Text()
}

// step names a step of the run.
func (s *State) step(iteration int, what any) string {
	return fmt.Sprintf("%s/%d.%v", s.Step, iteration, what)
}

// last returns the last message.
func (s *State) last() *Message { return &s.Messages[len(s.Messages)-1] }

// with returns the state with a message more.
func (s State) with(m Message) State {
	s.Messages = append(slices.Clip(s.Messages), m)
	return s
}

// withLast returns the state with another last message. States handed out
// before keep theirs.
func (s State) withLast(m Message) State {
	s.Messages = slices.Clone(s.Messages)
	*s.last() = m
	return s
}

// check refuses states that a run cannot go on from.
func (s *State) check() error {
	if len(s.Messages) == 0 {
		return errors.New("agentloop: the conversation is empty")
	}
	if s.Iteration < 0 {
		return fmt.Errorf("agentloop: State.Iteration %d is negative", s.Iteration)
	}
	for i := range s.Messages {
		if err := s.Messages[i].fits(i == len(s.Messages)-1); err != nil {
			return fmt.Errorf("agentloop: message %d: %w", i, err)
		}
	}
	return nil
}

// fits says whether a message can stand where it does.
func (m *Message) fits(last bool) error {
	switch {
	case m.Role != RoleUser && m.Role != RoleAssistant:
		return fmt.Errorf("there is no role %q", m.Role)
	case m.Role == RoleUser && len(m.Calls) > 0:
		return errors.New("a user makes no calls")
	case !last && len(m.pending()) > 0:
		return fmt.Errorf("call %d has no answer", m.pending()[0])
	}
	return nil
}
