package toolguard_test

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/toolguardtest"
)

// Cases that no transcript can tell are table tests in cases_*_test.go, named
// for their rules, with the report in a comment. testdata/cases.md lists where
// each case went.

// caseTool is a tool made of a function.
type caseTool struct {
	info toolguard.Info
	call caseCall
}

type caseCall = func(context.Context, json.RawMessage) (toolguard.Result, error)

func (c caseTool) Info() toolguard.Info { return c.info }

func (c caseTool) Call(ctx context.Context, args json.RawMessage) (toolguard.Result, error) {
	return c.call(ctx, args)
}

func caseGuard(t *testing.T, info toolguard.Info, opts *toolguard.Options, call caseCall) *toolguard.Guard {
	t.Helper()
	if info.Name == "" {
		info.Name = "probe"
	}
	g, err := toolguard.New(caseTool{info, call}, opts)
	require.NoError(t, err)
	return g
}

// caseDo makes a call without arguments.
func caseDo(ctx context.Context, g *toolguard.Guard) toolguard.Envelope {
	return g.Do(ctx, toolguard.Call{ID: "call_7", Args: json.RawMessage("{}")})
}

// caseCode is the code of an answer, "" for a success.
func caseCode(env toolguard.Envelope) toolguard.Code {
	if env.OK {
		return ""
	}
	return env.Error.Code
}

// failing answers every call with err.
func failing(err error) caseCall {
	return func(context.Context, json.RawMessage) (toolguard.Result, error) { return toolguard.Result{}, err }
}

// succeeding answers every call with "done".
func succeeding(context.Context, json.RawMessage) (toolguard.Result, error) {
	return toolguard.Result{Text: "done"}, nil
}

// caseSteps answers the first call by the first step and so on, the last for ever.
func caseSteps(steps ...caseCall) (call caseCall, runs func() int) {
	var mu sync.Mutex
	n := 0
	call = func(ctx context.Context, args json.RawMessage) (toolguard.Result, error) {
		mu.Lock()
		step := steps[min(n, len(steps)-1)]
		n++
		mu.Unlock()
		return step(ctx, args)
	}
	return call, func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

// caseBubble runs one test in fake time.
func caseBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

// caseEvents keeps the events of a guard.
type caseEvents struct {
	mu     sync.Mutex
	events []toolguard.Event
}

func (c *caseEvents) Observe(_ context.Context, e toolguard.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, e)
}

func (c *caseEvents) of(kind toolguard.EventKind) (out []toolguard.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.events {
		if e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

// replyError is how an SDK reports an answer with an error status.
type replyError struct {
	StatusCode int
	Header     http.Header
}

func (e *replyError) Error() string { return "https://api.internal.example/v1?key=K: refused" }

func reply(status int, retryAfter string) error {
	e := &replyError{StatusCode: status, Header: http.Header{}}
	if retryAfter != "" {
		e.Header.Set("Retry-After", retryAfter)
	}
	return e
}

func serveInMemory(t *testing.T, handler http.HandlerFunc) *http.Transport {
	t.Helper()
	return toolguardtest.NewServer(t, handler).Transport()
}

const caseForever = 1000 * time.Hour
