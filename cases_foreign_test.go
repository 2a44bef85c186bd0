package toolguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// Report: modelcontextprotocol/go-sdk#958, SolaceProducts/solace-broker-mcp#96 (case f01)
func TestPanicIsAnAnswer(t *testing.T) {
	t.Parallel()
	for effect, outcome := range map[toolguard.Effect]toolguard.Outcome{
		toolguard.ReadOnly:      toolguard.OutcomeFailed,
		toolguard.NonIdempotent: toolguard.OutcomeUnknown,
	} {
		seen := &eventLog{}
		g := caseGuard(t, toolguard.Info{Effect: effect}, &toolguard.Options{Observer: seen},
			func(context.Context) (toolguard.Result, error) {
				var stock map[string]int
				//lint:ignore SA5000 the panic is the point
				stock["secret-sku"]++
				return toolguard.Result{}, nil
			})
		env := doIn(t.Context(), g)
		assert.Equal(t, toolguard.CodePanic, codeOf(env))
		assert.Equal(t, outcome, env.Error.Outcome)
		assert.Equal(t, 1, env.Attempts, "a panic is not retried")
		for _, text := range []string{"nil map", "goroutine", ".go"} {
			assert.NotContains(t, env.ForModel(), text)
		}
		assert.Error(t, seen.of(toolguard.EventCall)[0].Err, "the operator is told")
	}
}

// panicky panics wherever it is asked.
type panicky struct{}

func (panicky) Error() string                            { panic("error text") }
func (panicky) MarshalJSON() ([]byte, error)             { panic("marshal") }
func (panicky) Observe(context.Context, toolguard.Event) { panic("observe") }

// Report: mark3labs/mcp-go#879 (case f03)
func TestPanicInUserCodeHasItsAnswer(t *testing.T) {
	t.Parallel()
	gate := func(context.Context, json.RawMessage) error { panic("gate") }
	unavailable := fails(reply(503, ""))
	tests := map[string]struct {
		opts toolguard.Options
		call run
		want toolguard.Code // "" is a success
		runs int
	}{
		"authorize fails closed": {toolguard.Options{Authorize: gate}, answers("done"), toolguard.CodeCheckFailed, 0},
		"check fails closed":     {toolguard.Options{Check: gate}, answers("done"), toolguard.CodeCheckFailed, 0},
		"result check": {toolguard.Options{CheckResult: func(context.Context, toolguard.Result) error { panic("check") }},
			answers("done"), "", 1},
		"classifier is skipped": {toolguard.Options{Classifier: func(context.Context, error) (toolguard.Verdict, bool) { panic("classify") }},
			fails(reply(404, "")), toolguard.CodeNotFound, 1},
		"observer":     {toolguard.Options{Observer: panicky{}}, answers("done"), "", 1},
		"redactor":     {toolguard.Options{Redact: func(string) string { panic("redact") }}, fails(errors.New("odd")), toolguard.CodeUnknownError, 1},
		"pass through": {toolguard.Options{PassThrough: func(error) bool { panic("pass") }}, fails(errors.New("odd")), toolguard.CodeUnknownError, 1},
		"refresh": {toolguard.Options{Refresh: func(context.Context) error { panic("refresh") }},
			fails(reply(401, "")), toolguard.CodeAuthExpired, 1},
		"alternative": {toolguard.Options{Retry: toolguard.RetryPolicy{Off: true}, Fallback: &toolguard.Fallback{Alternatives: []toolguard.Alternative{{
			Tool: caseTool(toolguard.Info{Name: "mirror", Effect: toolguard.ReadOnly}, func(context.Context) (toolguard.Result, error) {
				panic("mirror")
			}),
		}}}}, unavailable, toolguard.CodeServiceUnavailable, 1},
		"arguments of an alternative": {toolguard.Options{Retry: toolguard.RetryPolicy{Off: true}, Fallback: &toolguard.Fallback{Alternatives: []toolguard.Alternative{{
			Tool: caseTool(toolguard.Info{Name: "mirror", Effect: toolguard.ReadOnly}, answers("done")),
			Args: func(json.RawMessage) (json.RawMessage, error) { panic("args") },
		}}}}, unavailable, toolguard.CodeServiceUnavailable, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call, runs := caseSteps(tt.call)
			env := doIn(t.Context(), caseGuard(t, toolguard.Info{Effect: toolguard.ReadOnly}, &tt.opts, call))
			assert.Equal(t, tt.want, codeOf(env))
			assert.Equal(t, tt.runs, runs())
			assertAnswer(t, &env, name)
		})
	}
}

func TestPanicInTypedFunctionsHasItsAnswer(t *testing.T) { // case f03
	t.Parallel()
	type input struct{}
	pay := func(context.Context, input) (string, error) { return "", toolguard.MaybeDone(errors.New("no answer")) }
	tool := toolguard.Func(toolguard.Info{Name: "pay"}, pay)
	tool.Status = func(context.Context, string, input) (toolguard.Outcome, toolguard.Result, error) { panic("status") }
	g, err := toolguard.New(tool, nil)
	require.NoError(t, err)
	env := doIn(t.Context(), g)
	assert.Equal(t, toolguard.CodeUnknownError, codeOf(env))
	assert.Equal(t, toolguard.OutcomeUnknown, env.Error.Outcome)
}

// refusal is an error type whose nil pointer finds its way into an error.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

// Report: liushuangls/go-anthropic#119, michaeldcanady/servicenow-sdk-go#583, golang/go#12956 (case f04)
func TestTypedNilIsNoError(t *testing.T) {
	t.Parallel()
	var none *refusal
	typed := toolguard.Func(toolguard.Info{Name: "typed"}, func(context.Context, struct{}) (string, error) { return "done", none })
	g, err := toolguard.New(typed, nil)
	require.NoError(t, err)
	for _, g := range []*toolguard.Guard{g, caseGuard(t, toolguard.Info{}, nil,
		func(context.Context) (toolguard.Result, error) {
			return toolguard.Result{Text: "done"}, none
		})} {
		env := doIn(t.Context(), g)
		require.True(t, env.OK)
		assert.Equal(t, "done", env.Result.Text)
		require.Len(t, env.Notes, 1)
		assert.EqualValues(t, "typed_nil_error", env.Notes[0].Kind)
	}
}

// oddError is an error of which everything can be odd.
type oddError struct {
	text   func() string
	unwrap func() error
}

func (e *oddError) Error() string {
	if e.text == nil {
		return "odd"
	}
	return e.text()
}

func (e *oddError) Unwrap() error {
	if e.unwrap == nil {
		return nil
	}
	return e.unwrap()
}

// listError cannot be a key of a map.
type listError []error

func (listError) Error() string     { return "list" }
func (l listError) Unwrap() []error { return l }

// Report: gotestyourself/gotest.tools#185 (case f05)
func TestOddErrorsHaveAnAnswer(t *testing.T) {
	t.Parallel()
	self := &oddError{}
	self.unwrap = func() error { return self }
	ring := listError{nil}
	ring[0] = ring
	tests := map[string]error{
		"text panics":          panicky{},
		"text exits":           &oddError{text: func() string { runtime.Goexit(); return "" }},
		"text is huge":         &oddError{text: func() string { return strings.Repeat("z", 50<<20) }},
		"plain text is huge":   errors.New(strings.Repeat("z", 50<<20)),
		"wraps itself":         self,
		"wraps itself, listed": ring,
		"wraps nothing":        listError{nil, nil},
		"unwrapping panics":    &oddError{unwrap: func() error { panic("unwrap") }},
	}
	for name, err := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := caseGuard(t, toolguard.Info{}, &toolguard.Options{Render: toolguard.RenderPolicy{QuoteCauses: true}}, fails(err))
			env := doIn(t.Context(), g)
			assert.Equal(t, toolguard.CategoryUnknown, env.Error.Category)
			assertAnswer(t, &env, name)
		})
	}
	t.Run("text blocks", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			release := make(chan struct{})
			g := caseGuard(t, toolguard.Info{}, &toolguard.Options{Render: toolguard.RenderPolicy{QuoteCauses: true}},
				fails(&oddError{text: func() string { <-release; return "" }}))
			began := time.Now()
			env := doIn(t.Context(), g)
			assert.Equal(t, toolguard.CategoryUnknown, env.Error.Category)
			assert.Less(t, time.Since(began), 10*time.Second)
			close(release)
		})
	})
}

// caseLink is a value that may contain itself.
type caseLink struct {
	Next *caseLink `json:"next"`
}

// Report: rilldata/rill#8521 (case f06)
func TestResultThatCannotBeWrittenIsStillASuccess(t *testing.T) {
	t.Parallel()
	ring := &caseLink{}
	ring.Next = ring
	for name, out := range map[string]any{
		"not a number":       map[string]float64{"rate": math.NaN()},
		"a channel":          struct{ C chan int }{make(chan int)},
		"a ring":             ring,
		"a panic on the way": panicky{},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs := 0
			tool := toolguard.Func(toolguard.Info{Name: "transfer", Effect: toolguard.Idempotent}, func(context.Context, struct{}) (any, error) {
				runs++
				return out, nil
			})
			g, err := toolguard.New(tool, nil)
			require.NoError(t, err)
			env := doIn(t.Context(), g)
			assert.True(t, env.OK)
			assert.Equal(t, 1, runs)
			require.Len(t, env.Notes, 1)
			assert.EqualValues(t, "result_unmarshalable", env.Notes[0].Kind)
			assert.Contains(t, env.ForModel(), env.Notes[0].Text)
		})
	}
}
