package mcpguard_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/adapters/mcpguard"
	"github.com/toolguard-go/toolguard/httpguard"
)

// mortal is a server whose sessions can be ended, behind a client that gets them
// back.
type mortal struct {
	server *mcp.Server
	client *mcp.Client
	dials  atomic.Int32
	refuse atomic.Bool
	pipe   atomic.Pointer[net.Conn] // the server's end
}

func newMortal(t *testing.T, opts *mcpguard.Options, handler mcp.ToolHandler) *mortal {
	m := &mortal{server: serverWith(mcp.Tool{}, handler), client: bareClient()}
	m.client.AddSendingMiddleware(newGuards(t, opts).Client(&mcpguard.Redial{Connect: m.dial(t)}))
	return m
}

// die ends the latest session as a process does that is killed.
func (m *mortal) die() { _ = (*m.pipe.Load()).Close() }

func (m *mortal) dial(t *testing.T) func(context.Context) (*mcp.ClientSession, error) {
	return func(ctx context.Context) (*mcp.ClientSession, error) {
		if m.dials.Add(1); m.refuse.Load() {
			return nil, errors.New("nobody there")
		}
		here, there := net.Pipe()
		if _, err := m.server.Connect(context.WithoutCancel(ctx), &mcp.IOTransport{Reader: there, Writer: there}, nil); err != nil {
			return nil, err
		}
		m.pipe.Store(&there)
		cs, err := m.client.Connect(context.WithoutCancel(ctx), &mcp.IOTransport{Reader: here, Writer: here}, nil)
		if err == nil {
			t.Cleanup(func() { _ = cs.Close() })
		}
		return cs, err
	}
}

// A session that is lost between calls is replaced, once for all who need it.
func TestLostSessionIsReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMortal(t, nil, says("done"))
		cs, err := m.dial(t)(t.Context())
		require.NoError(t, err)
		call(t, cs, "probe", object{"n": 0})
		m.die()
		synctest.Wait()

		answers := make(chan *mcp.CallToolResult)
		for i := range 8 {
			go func() { answers <- call(t, cs, "probe", object{"n": i + 1}) }()
		}
		for range 8 {
			assert.Equal(t, "done", text(<-answers))
		}
		assert.Equal(t, int32(2), m.dials.Load())

		m.refuse.Store(true)
		m.die()
		synctest.Wait()
		f := failed(t, call(t, cs, "probe", object{"n": 9}))
		assert.Equal(t, "connection_lost", f.Error.Code)
		assert.Equal(t, "not_started", f.Error.Outcome)
	})
}

// A server dies with a call in its hands (case m03). What was sent may have
// been done; only a repeatable tool is sent again.
func TestSessionLostInTheMiddle(t *testing.T) {
	t.Parallel()
	for effect, want := range map[toolguard.Effect]int32{toolguard.EffectUnknown: 1, toolguard.Idempotent: 2} {
		t.Run(effect.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var runs atomic.Int32
				dying := make(chan struct{})
				m := newMortal(t, &mcpguard.Options{Effect: effect}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					if runs.Add(1) == 1 {
						close(dying)
						<-ctx.Done() // the SDK's server notices
					}
					return says("done")(ctx, req)
				})
				cs, err := m.dial(t)(t.Context())
				require.NoError(t, err)
				go func() { <-dying; m.die() }()
				r := call(t, cs, "probe", nil)
				assert.Equal(t, want, runs.Load())
				if want == 2 {
					assert.False(t, r.IsError, text(r))
					return
				}
				f := failed(t, r)
				assert.Equal(t, "connection_lost", f.Error.Code)
				assert.Equal(t, "unknown", f.Error.Outcome)
				assert.Equal(t, "done", text(call(t, cs, "probe", object{"other": 1})), "the next call gets a new session")
			})
		})
	}
}

// A server that dies takes all calls in progress along, which is more failures in
// a row than a breaker takes. Once it is back its tools can be called again.
func TestBreakersBeginAnewWithANewSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const calls = 8
		var runs atomic.Int32
		dying := make(chan struct{})
		m := newMortal(t, nil, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if runs.Add(1) <= calls {
				if runs.Load() == calls {
					close(dying)
				}
				<-ctx.Done()
			}
			return says("done")(ctx, req)
		})
		cs, err := m.dial(t)(t.Context())
		require.NoError(t, err)
		go func() { <-dying; m.die() }()
		answers := make(chan *mcp.CallToolResult)
		for i := range calls {
			go func() { answers <- call(t, cs, "probe", object{"n": i}) }()
		}
		for range calls {
			assert.Equal(t, "connection_lost", failed(t, <-answers).Error.Code)
		}
		assert.Equal(t, "done", text(call(t, cs, "probe", object{"n": calls})))
		assert.Equal(t, int32(2), m.dials.Load())

		m.refuse.Store(true)
		m.die()
		synctest.Wait()
		for i, code := range []string{"connection_lost", "connection_lost", "breaker_open"} {
			assert.Equal(t, code, failed(t, call(t, cs, "probe", object{"n": 100 + i})).Error.Code)
		}
		assert.Equal(t, "loop_detected", failed(t, call(t, cs, "probe", object{"n": 200})).Error.Code, "while it is away the model is stopped")
		m.refuse.Store(false)
		assert.Equal(t, "done", text(call(t, cs, "probe", object{"n": 300})))
		assert.Equal(t, "in_doubt", failed(t, call(t, cs, "probe", object{"n": 0})).Error.Code, "what the conversation knows stays known")
	})
}

// A server that has forgotten the session ran nothing, which only the status of
// the call's own request proves (case m01).
func TestSessionForgottenByAnHTTPServer(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusNotFound, http.StatusBadRequest} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			var runs atomic.Int32
			server := serverWith(mcp.Tool{}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				runs.Add(1)
				return says("done")(ctx, req)
			})
			var handler atomic.Pointer[http.Handler]
			restart := func() {
				h := http.Handler(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
				handler.Store(&h)
			}
			restart()
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				(*handler.Load()).ServeHTTP(&turn{w, status}, r)
			}))
			defer web.Close()

			httpClient, err := mcpguard.HTTPClient(httpguard.Options{})
			require.NoError(t, err)
			client := bareClient()
			connect := func(ctx context.Context) (*mcp.ClientSession, error) {
				return client.Connect(context.WithoutCancel(ctx), &mcp.StreamableClientTransport{Endpoint: web.URL, HTTPClient: httpClient, DisableStandaloneSSE: true}, nil)
			}
			client.AddSendingMiddleware(newGuards(t, nil).Client(&mcpguard.Redial{Connect: connect}))
			cs, err := connect(t.Context())
			require.NoError(t, err)
			assert.Equal(t, "done", text(call(t, cs, "probe", object{"n": 1})))
			restart()
			assert.Equal(t, "done", text(call(t, cs, "probe", object{"n": 2})))
			assert.Equal(t, int32(2), runs.Load())
		})
	}
}

// turn answers another status where the session is not found.
type turn struct {
	http.ResponseWriter
	status int
}

func (w *turn) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *turn) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

func (w *turn) WriteHeader(status int) {
	if status == http.StatusNotFound {
		status = w.status
	}
	w.ResponseWriter.WriteHeader(status)
}

// The SDK hides status and Retry-After; the client of this package keeps them.
func TestRefusedAndLimitedByAnHTTPServer(t *testing.T) {
	t.Parallel()
	limited := false
	server := serverWith(mcp.Tool{}, says("done"))
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if limited {
			w.Header().Set("Retry-After", "600")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	cs := overHTTP(t, web)
	call(t, cs, "probe", nil)
	limited = true
	r := call(t, cs, "probe", object{"n": 2})
	f := failed(t, r)
	assert.Equal(t, "rate_limited", f.Error.Code)
	assert.Equal(t, "not_started", f.Error.Outcome)
	assert.Contains(t, text(r), `"retry_after_ms":600000`)
}

// overHTTP is the session of a guarded client with a web server. It ends before that.
func overHTTP(t *testing.T, web *httptest.Server) *mcp.ClientSession {
	httpClient, err := mcpguard.HTTPClient(httpguard.Options{})
	require.NoError(t, err)
	client := bareClient()
	client.AddSendingMiddleware(newGuards(t, nil).Client(nil))
	cs, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: web.URL, HTTPClient: httpClient, DisableStandaloneSSE: true}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = cs.Close() })
	return cs
}
