package toolguardtest

import (
	"context"
	"fmt"
	"sync"

	"github.com/toolguard-go/toolguard/agentloop"
)

// Model is a scripted model, an [agentloop.Model]. It remembers what it was asked.
// Safe for concurrent use, though a conversation has one at a time. A model of another
// framework can be made of it: give Reply the conversation so far and send what it
// returns.
type Model struct {
	next func(req agentloop.Request, n int) (agentloop.Message, error)

	mu       sync.Mutex
	requests []agentloop.Request
}

// ModelFunc makes a model of a function. n is the number of the reply, from 1.
func ModelFunc(next func(req agentloop.Request, n int) (agentloop.Message, error)) *Model {
	return &Model{next: next}
}

// Reply implements [agentloop.Model].
func (m *Model) Reply(ctx context.Context, req agentloop.Request) (agentloop.Message, error) {
	if err := ctx.Err(); err != nil {
		return agentloop.Message{}, err
	}
	m.mu.Lock()
	m.requests = append(m.requests, req)
	n := len(m.requests)
	m.mu.Unlock()
	return m.next(req, n)
}

// Requests are what the model was asked, in order.
func (m *Model) Requests() []agentloop.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]agentloop.Request(nil), m.requests...)
}

// Replay says these messages one after the other. Asked once more, it fails, with an
// error that says so.
func Replay(messages ...agentloop.Message) *Model {
	return ModelFunc(func(_ agentloop.Request, n int) (agentloop.Message, error) {
		if n > len(messages) {
			return agentloop.Message{}, fmt.Errorf("toolguardtest: the model is asked for its %s reply, but its script has %d: give Replay another message", ordinal(n), len(messages))
		}
		return messages[n-1], nil
	})
}
