package toolguard_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// turn is the context of one turn of the one conversation most tests are about.
func turn(name string) context.Context {
	return toolguard.WithScope(context.Background(), toolguard.Scope{Session: "chat", Turn: name, Principal: "ann"})
}

func sessionsOf(t testing.TB, p toolguard.SessionPolicy) *toolguard.Sessions {
	t.Helper()
	s, err := toolguard.NewSessions(p)
	require.NoError(t, err)
	return s
}

// counted is a tool that counts its runs and answers with what answer returns.
type counted struct {
	info   toolguard.Info
	answer func(ctx context.Context, n int, args string) (toolguard.Result, error)

	mu   sync.Mutex
	runs int
}

func (c *counted) Info() toolguard.Info { return c.info }

func (c *counted) Call(ctx context.Context, args json.RawMessage) (toolguard.Result, error) {
	c.mu.Lock()
	c.runs++
	n := c.runs
	c.mu.Unlock()
	return c.answer(ctx, n, string(args))
}

func (c *counted) ran() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs
}

// countedTool answers every call with the same text.
func countedTool(effect toolguard.Effect, text string) *counted {
	return &counted{
		info:   toolguard.Info{Name: "tool", Effect: effect},
		answer: func(context.Context, int, string) (toolguard.Result, error) { return toolguard.Result{Text: text}, nil },
	}
}

// failingTool fails every call.
func failingTool(effect toolguard.Effect, err error) *counted {
	return &counted{
		info:   toolguard.Info{Name: "tool", Effect: effect},
		answer: func(context.Context, int, string) (toolguard.Result, error) { return toolguard.Result{}, err },
	}
}

// oneTry is a policy under which what is counted are calls, not attempts.
func oneTry(s *toolguard.Sessions) *toolguard.Options {
	return &toolguard.Options{Sessions: s, Retry: toolguard.RetryPolicy{Off: true}, Breaker: toolguard.BreakerPolicy{Off: true}}
}

// everyTime is oneTry, without reuse, join and replay.
func everyTime(s *toolguard.Sessions) *toolguard.Options {
	o := oneTry(s)
	o.Dedupe.Off = true
	return o
}

func send(ctx context.Context, g *toolguard.Guard, args string) toolguard.Envelope {
	return g.Do(ctx, toolguard.Call{ID: "c", Args: json.RawMessage(args)})
}

func noted(env toolguard.Envelope, kind toolguard.NoteKind) *toolguard.Note {
	for i := range env.Notes {
		if env.Notes[i].Kind == kind {
			return &env.Notes[i]
		}
	}
	return nil
}
