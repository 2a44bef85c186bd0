package toolguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/httpguard"
)

// A status query that finds nothing while the attempt still runs proves nothing:
// the attempt may act any moment.
func TestAStatusQueryIsNotBelievedWhileTheAttemptRuns(t *testing.T) {
	t.Parallel()
	for _, said := range []toolguard.Outcome{toolguard.OutcomeFailed, toolguard.OutcomeNotStarted} {
		inBubble(t, said.String(), func(t *testing.T) {
			paid, asked := 0, 0
			release := make(chan struct{})
			tool := toolguard.Action(toolguard.Info{Name: "pay"}, func(context.Context, struct{}) error {
				<-release
				paid++
				return nil
			})
			tool.Status = func(context.Context, string, struct{}) (toolguard.Outcome, toolguard.Result, error) {
				asked++
				return said, toolguard.Result{}, nil
			}
			standIn := named{"pay_elsewhere", toolguard.NonIdempotent, func(context.Context) (toolguard.Result, error) {
				paid++
				return toolguard.Result{}, nil
			}}
			g, err := toolguard.New(tool, &toolguard.Options{
				Timeout:  toolguard.TimeoutPolicy{Attempt: time.Second, Budget: time.Minute},
				Fallback: &toolguard.Fallback{Alternatives: []toolguard.Alternative{{Tool: standIn, SameEffect: true}}},
			})
			require.NoError(t, err)
			assert.Equal(t, "abandoned/unknown", verdict(do(g)))
			assert.Equal(t, 1, asked)
			close(release)
			synctest.Wait()
			assert.Equal(t, 1, paid)
		})
	}
}

// A client that follows redirects makes two requests, whatever the author
// promised; the record knows.
func TestTheRecordOverrulesAPromiseOfOneRequest(t *testing.T) {
	t.Parallel()
	charged := 0
	base := transportFunc(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/charge" {
			charged++
			return &http.Response{StatusCode: http.StatusSeeOther, Header: http.Header{"Location": {"/receipt"}}, Body: http.NoBody, Request: r}, nil
		}
		return &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	})
	client := &http.Client{Transport: &httpguard.Transport{Base: base}}
	tool := toolguard.Action(toolguard.Info{Name: "charge", SingleRequest: true}, func(ctx context.Context, _ struct{}) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://pay.test/charge", http.NoBody)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		return httpguard.CheckResponse(resp)
	})
	g, err := toolguard.New(tool, &toolguard.Options{Retry: toolguard.RetryPolicy{BaseDelay: 1}})
	require.NoError(t, err)
	env := do(g)
	assert.Equal(t, 1, charged)
	assert.Equal(t, toolguard.OutcomeUnknown, env.Error.Outcome)
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Plain text beside a claim may be a failure of its own.
func TestAClaimDoesNotSpeakForTheErrorBesideIt(t *testing.T) {
	t.Parallel()
	charged := 0
	g := guardOf(t, toolOf(toolguard.NonIdempotent, func(context.Context) (toolguard.Result, error) {
		charged++
		return toolguard.Result{}, fmt.Errorf("%w; %w", errors.New("booking lost after the charge"), toolguard.NotStarted(errors.New("no mail")))
	}), &toolguard.Options{Retry: toolguard.RetryPolicy{BaseDelay: 1}})
	assert.Equal(t, toolguard.OutcomeUnknown, do(g).Error.Outcome)
	assert.Equal(t, 1, charged)
}

// Whatever happens on the way out of a goroutine that ends, somebody leads on.
func TestAGoroutineThatEndsAndPanicsLosesNoCall(t *testing.T) {
	t.Parallel()
	inBubble(t, "", func(t *testing.T) {
		g := guardOf(t, toolOf(toolguard.NonIdempotent, func(context.Context) (toolguard.Result, error) {
			defer func() { panic("on the way out") }()
			runtime.Goexit()
			return toolguard.Result{}, nil
		}), &toolguard.Options{Timeout: toolguard.TimeoutPolicy{Off: true}})
		for range 12 {
			assert.Equal(t, toolguard.OutcomeUnknown, do(g).Error.Outcome)
		}
		assert.Zero(t, g.Stats().Abandoned)
	})
}

// A context whose methods panic cannot hang a call.
func TestAContextThatPanicsHangsNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, "", func(t *testing.T) {
		g := guardOf(t, toolOf(toolguard.ReadOnly, answers("fine")), &toolguard.Options{Observer: &eventLog{}})
		began := time.Now()
		env := doIn(brokenContext{context.Background()}, g)
		assert.Equal(t, "ok", verdict(env), "what an event says of a deadline is no reason to lose a success")
		assert.LessOrEqual(t, time.Since(began), 2*time.Second)
	})
}

type brokenContext struct{ context.Context }

func (brokenContext) Deadline() (time.Time, bool) { panic("no deadline") }

// Arguments are copied before anything is done with them, repairs included.
func TestRepairedArgumentsAreACopy(t *testing.T) {
	t.Parallel()
	g := guardOf(t, toolOf(toolguard.ReadOnly, answers("fine")), nil)
	for _, text := range []string{"{\"a\":1}", "\ufeff{\"a\":1}", "```json\n{\"a\":1}\n```", "{}{\"a\":1}", "\u00a0{\"a\":1}"} {
		buffer := []byte(text)
		env := g.Do(t.Context(), toolguard.Call{Args: buffer})
		require.True(t, env.OK, text)
		for i := range buffer {
			buffer[i] = 'x'
		}
		assert.Equal(t, `{"a":1}`, string(env.Args), text)
	}
}

// Where both deadlines are one instant, nobody can say the tool was too slow.
func TestEqualDeadlinesAreTheCallers(t *testing.T) {
	t.Parallel()
	inBubble(t, "", func(t *testing.T) {
		g := guardOf(t, toolOf(toolguard.ReadOnly, obeys), &toolguard.Options{Retry: once, Timeout: toolguard.TimeoutPolicy{Attempt: time.Minute}})
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			env := doIn(ctx, g)
			cancel()
			require.Equal(t, toolguard.CodeCallerDeadline, env.Error.Code)
		}
		assert.Equal(t, toolguard.BreakerClosed, stateOf(g))
	})
}

// A slow redactor is bounded for all texts of a call together.
func TestASlowRedactorIsBoundedAsAWhole(t *testing.T) {
	t.Parallel()
	inBubble(t, "", func(t *testing.T) {
		g, err := toolguard.New(toolguard.Action(toolguard.Info{Name: "book"}, func(context.Context, struct {
			A, B, C, D int
		}) error {
			return nil
		}), &toolguard.Options{Redact: func(s string) string { time.Sleep(400 * time.Millisecond); return s }})
		require.NoError(t, err)
		began := time.Now()
		env := g.Do(t.Context(), toolguard.Call{Args: json.RawMessage(`{"A":"x","B":"x","C":"x","D":"x","E":1,"F":2}`)})
		assert.Equal(t, toolguard.CodeSchemaViolation, env.Error.Code)
		assert.LessOrEqual(t, time.Since(began), 2*time.Second)
		time.Sleep(time.Second) // the last one ends
	})
}
