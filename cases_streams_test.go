package toolguard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/httpguard"
)

// fetch is a tool that makes a request over a guarded client and reads the answer.
func fetch(client *http.Client, method string, read func(context.Context, io.ReadCloser) ([]byte, error)) run {
	return func(ctx context.Context) (toolguard.Result, error) {
		req, err := http.NewRequestWithContext(ctx, method, "http://feed/", nil)
		if err != nil {
			return toolguard.Result{}, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return toolguard.Result{}, err
		}
		defer resp.Body.Close()
		body, err := read(ctx, resp.Body)
		return toolguard.Result{Text: string(body)}, err
	}
}

func toItsEnd(_ context.Context, body io.ReadCloser) ([]byte, error) {
	return httpguard.ReadAll(body, 1<<20)
}

// streaming answers with the headers, then start, then again every two seconds
// for as long as anybody listens.
func streaming(contentType, start, again string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, start)
		for http.NewResponseController(w).Flush() == nil {
			select {
			case <-time.After(2 * time.Second):
				_, _ = io.WriteString(w, again)
			case <-r.Context().Done():
				return
			}
		}
	}
}

func TestSilentStreamEndsTheAttempt(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		handler http.HandlerFunc
		idle    time.Duration
		code    toolguard.Code
		after   time.Duration
	}{
		// Report: esengine/DeepSeek-Reasonix#3374, octos-org/octos#29 (case p01)
		"no bytes and no error": {streaming("text/event-stream", "data: a\n\n", ""), 5 * time.Second, toolguard.CodeDownstreamTimeout, 5 * time.Second},
		// Report: aaif-goose/goose#11679 (case p02)
		"only keep-alives": {streaming("text/event-stream", "data: a\n\n", ": ping\n\n"), 5 * time.Second, toolguard.CodeDownstreamTimeout, 5 * time.Second},
		"data for ever":    {streaming("text/event-stream", "data: a\n\n", "data: b\n\n"), 5 * time.Second, toolguard.CodeAttemptTimeout, 20 * time.Second},
		// Report: digitallyinduced/haskell-agent#617 (case p05)
		"headers and no body": {streaming("application/json", "", ""), caseForever, toolguard.CodeAttemptTimeout, 20 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				client, err := httpguard.NewClient(httpguard.Options{Base: serveInMemory(t, tt.handler), IdleTimeout: tt.idle})
				require.NoError(t, err)
				g := caseGuard(t, toolguard.Info{}, &toolguard.Options{Timeout: toolguard.TimeoutPolicy{Attempt: 20 * time.Second}}, fetch(client, http.MethodGet, toItsEnd))
				began := time.Now()
				env := doIn(t.Context(), g)
				assert.Equal(t, tt.code, codeOf(env))
				assert.Equal(t, tt.after, time.Since(began))
				assert.Zero(t, g.Stats().Abandoned)
			})
		})
	}
}

// Report: esengine/DeepSeek-Reasonix#3957, CommandCodeAI/command-code#785 (case p03)
func TestArgumentsThatMayBeCutOffAreRefused(t *testing.T) {
	t.Parallel()
	call, runs := caseSteps(answers("done"))
	g := caseGuard(t, toolguard.Info{Name: "set_timer"}, nil, call)
	for _, c := range []toolguard.Call{
		{Args: json.RawMessage(`{"minutes": 2`)},
		{Args: json.RawMessage(`{"minutes": 2`), Truncated: true},
		{Args: json.RawMessage(`{"minutes": 2}`), Truncated: true}, // 25 was meant
		{Truncated: true},
	} {
		env := g.Do(t.Context(), c)
		assert.Equal(t, toolguard.CodeTruncated, codeOf(env), "%+v", c)
		assert.Equal(t, toolguard.OutcomeNotStarted, env.Error.Outcome)
		assert.Nil(t, env.Args, "nothing is executed, nothing is kept")
	}
	assert.Zero(t, runs())
}

// Report: moonbitlang/openseek#343 (case p06)
func TestStreamHandedOnIsNotPlayedAgain(t *testing.T) {
	t.Parallel()
	for effect, attempts := range map[toolguard.Effect]int{
		toolguard.NonIdempotent: 1, // what a user has seen is an effect
		toolguard.ReadOnly:      3, // nobody has seen it: the tool may read again
	} {
		t.Run(effect.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				client, err := httpguard.NewClient(httpguard.Options{
					Base: serveInMemory(t, streaming("text/plain", "once", "")), IdleTimeout: time.Second,
				})
				require.NoError(t, err)
				shown := ""
				g := caseGuard(t, toolguard.Info{Effect: effect}, nil, func(ctx context.Context) (toolguard.Result, error) {
					r, err := fetch(client, http.MethodGet, toItsEnd)(ctx)
					if effect == toolguard.NonIdempotent {
						shown += r.Text
					}
					return r, err
				})
				env := doIn(t.Context(), g)
				assert.Equal(t, attempts, env.Attempts)
				var stalled *httpguard.StalledError
				require.ErrorAs(t, env.Err(), &stalled)
				assert.True(t, stalled.Partial())
				if effect == toolguard.NonIdempotent {
					assert.Equal(t, "once", shown)
					assert.Equal(t, toolguard.OutcomeUnknown, env.Error.Outcome)
					assert.False(t, env.Error.Retryable)
				}
			})
		})
	}
}

// Report: BerriAI/litellm#32159 (case p07)
func TestStreamThatBreaksOffIsNoSuccess(t *testing.T) {
	t.Parallel()
	broken := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"half\"")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	short := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "half")
	}
	unfinished := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: 1\n\ndata: 2\n\n")
	}
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		asItIs  bool // the body is read as it is
		until   func([]byte) bool
		code    toolguard.Code
	}{
		"connection dropped":            {broken, false, nil, toolguard.CodeConnectionLost},
		"connection dropped, as it is":  {broken, true, nil, toolguard.CodeConnectionLost},
		"shorter than stated":           {short, false, nil, toolguard.CodeConnectionLost},
		"shorter than stated, as it is": {short, true, nil, toolguard.CodeConnectionLost},
		"no terminator":                 {unfinished, false, httpguard.EndsWith("data: [DONE]"), toolguard.CodeConnectionLost},
		"none expected":                 {unfinished, false, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				client := &http.Client{Transport: &httpguard.Transport{Base: serveInMemory(t, tt.handler)}}
				read := func(ctx context.Context, body io.ReadCloser) ([]byte, error) {
					if tt.asItIs {
						return io.ReadAll(body)
					}
					watched, err := httpguard.NewIdleReader(ctx, body, httpguard.IdleOptions{Terminator: tt.until})
					if err != nil {
						return nil, err
					}
					return io.ReadAll(watched)
				}
				g := caseGuard(t, toolguard.Info{}, nil, fetch(client, http.MethodPost, read))
				env := doIn(t.Context(), g)
				assert.Equal(t, tt.code, codeOf(env))
				if tt.code != "" {
					assert.Equal(t, toolguard.OutcomeUnknown, env.Error.Outcome)
					assert.ErrorIs(t, env.Err(), io.ErrUnexpectedEOF)
				}
			})
		})
	}
}
