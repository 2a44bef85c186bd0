package proxy

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/adapters/mcpguard"
	"github.com/toolguard-go/toolguard/httpguard"
)

// listen serves o over HTTP and returns the address.
func listen(t *testing.T, w *Web) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- w.Serve(ctx, ln) }()
	t.Cleanup(func() {
		stop()
		select {
		case err := <-ended:
			assert.NoError(t, err)
		case <-time.After(patienceOfTests):
			t.Error("the proxy does not end")
		}
	})
	return "http://" + ln.Addr().String() + "/mcp"
}

func web(o *Options) *Web { return &Web{Options: *o, MaxSessions: 8, Idle: time.Hour} }

// everything is a server over HTTP whose tools talk to the client.
func everything() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "e", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "ask", InputSchema: &anything{}}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "sure?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}}})
		if err != nil {
			return nil, err
		}
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: 1})
		return said(answer.Action), nil
	})
	s.AddTool(&mcp.Tool{Name: "echo", InputSchema: &anything{}}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return said(string(req.Params.Arguments)), nil
	})
	return s
}

// hosted is a server that is closed after the proxy in front of it.
func hosted(t *testing.T, h http.Handler) *httptest.Server {
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

type anything struct{}

func (*anything) MarshalJSON() ([]byte, error) { return []byte(`{"type":"object"}`), nil }

func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func upstreamOptions(t *testing.T, url string) *Options {
	t.Helper()
	client, err := mcpguard.HTTPClient(httpguard.Options{})
	require.NoError(t, err)
	guards, err := mcpguard.New(nil)
	require.NoError(t, err)
	return &Options{Upstream: &Upstream{URL: url, Client: client}, Guards: guards, MaxMessage: 1 << 20, Log: slog.New(slog.DiscardHandler)}
}

// sdkClient is the Go SDK's client of an address.
func sdkClient(t *testing.T, url string, progress func()) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
		},
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { progress() },
	})
	cs, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = cs.Close() })
	return cs
}

func callText(t *testing.T, cs *mcp.ClientSession, p *mcp.CallToolParams) string {
	t.Helper()
	r, err := cs.CallTool(t.Context(), p)
	require.NoError(t, err)
	require.NotEmpty(t, r.Content)
	return r.Content[0].(*mcp.TextContent).Text
}

// What a server asks of the client and tells it goes through both HTTP links.
func TestBothWaysOverHTTP(t *testing.T) {
	t.Parallel()
	server := everything()
	up := hosted(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	var progress atomic.Int32
	cs := sdkClient(t, listen(t, web(upstreamOptions(t, up.URL))), func() { progress.Add(1) })
	params := &mcp.CallToolParams{Name: "ask", Meta: mcp.Meta{"progressToken": "p"}}
	assert.Equal(t, "accept", callText(t, cs, params))
	assert.Eventually(t, func() bool { return progress.Load() == 1 }, patienceOfTests, 5*time.Millisecond)

	server.AddTool(&mcp.Tool{Name: "new", InputSchema: &anything{}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("new"), nil })
	assert.Equal(t, "new", callText(t, cs, &mcp.CallToolParams{Name: "new"}))
	assert.Contains(t, callText(t, cs, &mcp.CallToolParams{Name: "ecko"}), "echo")
}

// The protocol without sessions has no handshake: requests of strangers share a
// server and never an ID.
func TestSessionlessClients(t *testing.T) {
	t.Parallel()
	server := everything()
	up := hosted(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	url := listen(t, web(upstreamOptions(t, up.URL)))
	one, two := sdkClient(t, url, func() {}), sdkClient(t, url, func() {})
	assert.Equal(t, "2026-07-28", one.InitializeResult().ProtocolVersion)
	for i := range 5 {
		assert.Equal(t, `{"n":1}`, callText(t, one, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"n": 1}}), i)
		assert.Equal(t, `{"n":2}`, callText(t, two, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"n": 2}}), i)
	}
}

// The server is restarted and has forgotten the session: the handshake is repeated
// and the call, which was turned away, goes on.
func TestForgottenSessionIsRenewed(t *testing.T) {
	t.Parallel()
	server := everything()
	var handler atomic.Pointer[mcp.StreamableHTTPHandler]
	restart := func() {
		handler.Store(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	}
	restart()
	up := hosted(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.Load().ServeHTTP(w, r) }))
	cs := sdkClient(t, listen(t, web(upstreamOptions(t, up.URL))), func() {})
	assert.Equal(t, `{"n":1}`, callText(t, cs, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"n": 1}}))
	restart()
	assert.Equal(t, `{"n":2}`, callText(t, cs, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"n": 2}}))
}

// Statuses, Retry-After and connections that nobody takes reach the guard.
func TestUpstreamThatRefuses(t *testing.T) {
	t.Parallel()
	server := everything()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	var status atomic.Int32
	up := hosted(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s := status.Load(); s != 0 && r.Method == http.MethodPost {
			w.Header().Set("Retry-After", "600")
			w.Header().Set("Connection", "close") // the next request has to dial, also once nobody listens
			w.WriteHeader(int(s))
			return
		}
		handler.ServeHTTP(w, r)
	}))
	cs := sdkClient(t, listen(t, web(upstreamOptions(t, up.URL))), func() {})
	echo := func(n int) string {
		return callText(t, cs, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"n": n}})
	}
	echo(0)
	status.Store(http.StatusTooManyRequests)
	limited := echo(1)
	assert.Contains(t, limited, `"rate_limited"`)
	assert.Contains(t, limited, `"not_started"`)
	assert.Contains(t, limited, `"retry_after_ms":600000`)
	status.Store(http.StatusBadGateway)
	assert.Contains(t, echo(2), `"outcome":"unknown"`)
	status.Store(http.StatusForbidden)
	assert.Contains(t, echo(3), `"permission_denied"`)
	up.CloseClientConnections()
	up.Close()
	refused := echo(4)
	assert.Contains(t, refused, `"connection_refused"`)
	assert.Contains(t, refused, `"not_started"`)
}

func TestWhoMayConnect(t *testing.T) {
	t.Parallel()
	o, _ := options(t, "plain", nil)
	w := web(o)
	w.Token, w.Origins = "0123456789abcdef", []string{"https://app.example"}
	url := listen(t, w)
	for name, c := range map[string]struct {
		host, origin, token string
		status              int
	}{
		"with the token":      {"", "", "0123456789abcdef", http.StatusBadRequest}, // its message is none
		"no token":            {"", "", "", http.StatusUnauthorized},
		"wrong token":         {"", "", "0123456789abcdeX", http.StatusUnauthorized},
		"local page":          {"", "http://localhost:3000", "0123456789abcdef", http.StatusBadRequest},
		"allowed page":        {"", "https://app.example", "0123456789abcdef", http.StatusBadRequest},
		"other page":          {"", "https://evil.example", "0123456789abcdef", http.StatusForbidden},
		"page of a file":      {"", "null", "0123456789abcdef", http.StatusForbidden},
		"rebound name":        {"evil.example", "", "0123456789abcdef", http.StatusForbidden},
		"name of the loop":    {"localhost", "", "0123456789abcdef", http.StatusBadRequest},
		"looks like the loop": {"localhost.evil.example", "", "0123456789abcdef", http.StatusForbidden},
	} {
		req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(`{"x":1}`))
		require.NoError(t, err)
		if req.Host = c.host; c.host == "" {
			req.Host = req.URL.Host
		}
		if c.origin != "" {
			req.Header.Set("Origin", c.origin)
		}
		if c.token != "" {
			req.Header.Set("Authorization", "Bearer "+c.token)
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		_ = resp.Body.Close()
		assert.Equal(t, c.status, resp.StatusCode, name)
	}
}

// post sends a message and returns the answer's status, session and body.
func post(t *testing.T, url, session, body string) (int, string, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	if session != "" {
		req.Header.Set(sessionHeader, session)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, resp.Header.Get(sessionHeader), string(text)
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func TestSessionsOverHTTP(t *testing.T) {
	t.Parallel()
	o, ledger := options(t, "plain", nil)
	o.MaxMessage = 4 << 10
	w := web(o)
	w.MaxSessions = 2
	url := listen(t, w)
	d := &desk{t: t, ledger: ledger}

	status, first, body := post(t, url, "", hello)
	assert.Equal(t, http.StatusOK, status)
	require.NotEmpty(t, first)
	assert.Contains(t, body, "fake")
	_, second, _ := post(t, url, "", hello)
	assert.NotEqual(t, first, second)
	d.eventually("each has a server", func() bool { return len(d.notes("start")) == 2 })

	status, _, _ = post(t, url, "", hello)
	assert.Equal(t, http.StatusServiceUnavailable, status, "there are enough")
	status, _, _ = post(t, url, "no such", hello)
	assert.Equal(t, http.StatusNotFound, status)
	status, _, _ = post(t, url, "", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	assert.NotEqual(t, http.StatusOK, status)
	status, _, _ = post(t, url, first, `{"jsonrpc":"2.0","id":2,"method":"x","params":"`+strings.Repeat("x", 5<<10)+`"}`)
	assert.Equal(t, http.StatusRequestEntityTooLarge, status)
	status, _, _ = post(t, url, first, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	assert.Equal(t, http.StatusAccepted, status)
	_, _, body = post(t, url, first, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a"}}}`)
	assert.Contains(t, body, `{\"text\":\"a\"}`)

	req, err := http.NewRequest(http.MethodDelete, url, nil)
	require.NoError(t, err)
	req.Header.Set(sessionHeader, first)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	_ = resp.Body.Close()
	assert.Equal(t, http.StatusNoContent, resp.StatusCode)
	assert.Len(t, d.notes("eof"), 1, "its server is gone")
	status, _, _ = post(t, url, first, hello)
	assert.Equal(t, http.StatusNotFound, status)
}

// A conversation that is named is that of all clients: what one of them left
// unknown, and what was decided about it, holds for the next.
func TestNamedConversationOutlivesASession(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{"ops": "in_doubt", "": "connection_lost"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, _ := options(t, "plain", nil)
			w := web(o)
			w.Conversation = name
			url := listen(t, w)
			die := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"die","arguments":{"n":1}}}`
			_, first, _ := post(t, url, "", hello)
			_, _, body := post(t, url, first, die)
			assert.Contains(t, body, "connection_lost")
			_, second, _ := post(t, url, "", hello)
			_, _, body = post(t, url, second, die)
			assert.Contains(t, body, code)
		})
	}
}

func TestIdleSessionsEnd(t *testing.T) {
	t.Parallel()
	o, ledger := options(t, "plain", nil)
	w := web(o)
	w.Idle = 50 * time.Millisecond
	url := listen(t, w)
	post(t, url, "", hello)
	d := &desk{t: t, ledger: ledger}
	d.eventually("its server is gone", func() bool { return len(d.notes("eof")) == 1 })
}

func TestServerThatCannotBeStartedOverHTTP(t *testing.T) {
	t.Parallel()
	o, _ := options(t, "plain", nil)
	o.Command = []string{"/nonexistent/server"}
	_, _, body := post(t, listen(t, web(o)), "", hello)
	assert.Contains(t, body, "does not start")
}

func TestEventStreams(t *testing.T) {
	t.Parallel()
	in := newEvents(bytes.NewBufferString(": hi\n\nid: 7\nretry: 20\nevent: message\ndata: a\ndata: b\r\n\ndata:"+strings.Repeat("x", 100)+"\n\n"), 100)
	e, err := in.next()
	require.NoError(t, err)
	assert.Equal(t, event{id: "7", name: "message", data: []byte("a\nb"), retry: 20 * time.Millisecond}, e)
	e, err = in.next()
	require.NoError(t, err)
	assert.Len(t, e.data, 100)
	_, err = in.next()
	require.ErrorIs(t, err, io.EOF)
	_, err = newEvents(strings.NewReader("data: "+strings.Repeat("x", 200)+"\n\n"), 100).next()
	require.ErrorIs(t, err, errTooLarge)
}
