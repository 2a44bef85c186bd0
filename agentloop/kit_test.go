package agentloop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/agentloop"
)

// script is a model that replies as it is told and remembers what it was asked.
type script struct {
	replies []func(context.Context, agentloop.Request) (agentloop.Message, error)

	mu       sync.Mutex
	requests []agentloop.Request
}

func (s *script) Reply(ctx context.Context, req agentloop.Request) (agentloop.Message, error) {
	s.mu.Lock()
	n := len(s.requests)
	s.requests = append(s.requests, req)
	s.mu.Unlock()
	return s.replies[min(n, len(s.replies)-1)](ctx, req)
}

// asked is how often the model was.
func (s *script) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// last is the last request.
func (s *script) last() agentloop.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[len(s.requests)-1]
}

// model says one thing after the other; the last again and again.
func model(replies ...any) *script {
	s := new(script)
	for _, r := range replies {
		switch r := r.(type) {
		case agentloop.Message:
			s.replies = append(s.replies, func(context.Context, agentloop.Request) (agentloop.Message, error) { return r, nil })
		case string:
			s.replies = append(s.replies, func(context.Context, agentloop.Request) (agentloop.Message, error) {
				return agentloop.Message{Text: r}, nil
			})
		case error:
			s.replies = append(s.replies, func(context.Context, agentloop.Request) (agentloop.Message, error) { return agentloop.Message{}, r })
		case func(context.Context, agentloop.Request) (agentloop.Message, error):
			s.replies = append(s.replies, r)
		default:
			panic(fmt.Sprintf("no reply: %T", r))
		}
	}
	return s
}

// calls is a reply with calls, each "tool" or "tool args".
func calls(list ...string) agentloop.Message {
	var m agentloop.Message
	for i, c := range list {
		tool, args, ok := strings.Cut(c, " ")
		if !ok {
			args = "{}"
		}
		m.Calls = append(m.Calls, agentloop.Call{ID: fmt.Sprint("c", i), Tool: tool, Args: args})
	}
	return m
}

type body func(context.Context, json.RawMessage) (toolguard.Result, error)

// tool is a tool with a body.
type tool struct {
	info toolguard.Info
	body body
}

func (t tool) Info() toolguard.Info { return t.info }

func (t tool) Call(ctx context.Context, args json.RawMessage) (toolguard.Result, error) {
	return t.body(ctx, args)
}

func reads(name string, b body) tool {
	return tool{toolguard.Info{Name: name, Effect: toolguard.ReadOnly}, b}
}

func writes(name string, b body) tool { return tool{toolguard.Info{Name: name}, b} }

func says(text string) body {
	return func(context.Context, json.RawMessage) (toolguard.Result, error) {
		return toolguard.Result{Text: text}, nil
	}
}

func fails(err error) body {
	return func(context.Context, json.RawMessage) (toolguard.Result, error) { return toolguard.Result{}, err }
}

// waits until it is told to stop.
func waits(ctx context.Context, _ json.RawMessage) (toolguard.Result, error) {
	<-ctx.Done()
	return toolguard.Result{}, ctx.Err()
}

func boxOf(t *testing.T, tools ...toolguard.Tool) *toolguard.Toolbox {
	t.Helper()
	box, err := toolguard.NewToolbox(&toolguard.ToolboxOptions{Options: toolguard.Options{Retry: toolguard.RetryPolicy{Off: true}}}, tools...)
	require.NoError(t, err)
	return box
}

func loopOf(t *testing.T, m agentloop.Model, box *toolguard.Toolbox, opts *agentloop.Options) *agentloop.Loop {
	t.Helper()
	l, err := agentloop.New(m, box, opts)
	require.NoError(t, err)
	return l
}

func hello() []agentloop.Message { return []agentloop.Message{agentloop.User("hello")} }

// all runs to the end, checks what holds of every run, and returns the events.
func all(t *testing.T, events func(func(agentloop.Event) bool)) []agentloop.Event {
	t.Helper()
	var list []agentloop.Event
	for e := range events {
		list = append(list, e)
	}
	require.NotEmpty(t, list)
	for i, e := range list {
		assert.Equal(t, i == len(list)-1, e.Kind == agentloop.KindEnd, "event %d of %d is %s", i, len(list), e.Kind)
	}
	end := list[len(list)-1]
	assert.Equal(t, end.State, end.Result.State)
	if end.Result.Stop != agentloop.StopInvalid {
		legal(t, end.State)
	}
	return list
}

// legal says that a provider would take the history: every call has an answer,
// and an ID that no other call of the message has.
func legal(t *testing.T, s agentloop.State) {
	t.Helper()
	for i, m := range s.Messages {
		ids := map[string]bool{}
		assert.True(t, m.Text != "" || len(m.Calls) > 0, "message %d is empty", i)
		for j, c := range m.Calls {
			assert.NotNil(t, c.Answer, "message %d, call %d", i, j)
			assert.False(t, c.ID == "" || ids[c.ID], "message %d, call %d: id %q", i, j, c.ID)
			ids[c.ID] = true
		}
	}
}

func end(list []agentloop.Event) agentloop.Result { return list[len(list)-1].Result }

func kinds(list []agentloop.Event) string {
	var names []string
	for _, e := range list {
		names = append(names, string(e.Kind))
	}
	return strings.Join(names, " ")
}

// codes are what became of the calls of a message.
func codes(m agentloop.Message) (list []string) {
	for _, c := range m.Calls {
		switch {
		case c.Answer == nil:
			list = append(list, "none")
		case c.Answer.OK:
			list = append(list, "ok")
		default:
			list = append(list, string(c.Answer.Code))
		}
	}
	return list
}
