package httpguard

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pipeListener is a listener in memory: real sockets would hold fake time.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error { close(l.closed); return nil }

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serveInMemory returns a base transport that reaches handler without sockets.
func serveInMemory(t *testing.T, base *http.Transport, handler http.HandlerFunc) {
	t.Helper()
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: handler}
	go server.Serve(l)
	base.DialContext = l.dial
	t.Cleanup(func() {
		base.CloseIdleConnections()
		server.Close()
	})
}

// cases p01, p02, p05
func TestClientEndsASilentBody(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		contentType, first, again string
		partial                   bool
	}{
		"silent after the headers": {"application/json", "", "", false},
		"silent in the middle":     {"application/json", `{"half":`, "", true},
		"kept alive by comments":   {"text/event-stream; charset=utf-8", "data: 1\n\n", ": ping\n\n", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				base := newBase(time.Second, time.Second)
				serveInMemory(t, base, func(w http.ResponseWriter, req *http.Request) {
					w.Header().Set("Content-Type", tt.contentType)
					io.WriteString(w, tt.first)
					for http.NewResponseController(w).Flush() == nil && req.Context().Err() == nil {
						select {
						case <-time.After(2 * time.Second):
							io.WriteString(w, tt.again)
						case <-req.Context().Done():
						}
					}
				})
				client, err := NewClient(Options{Base: base, IdleTimeout: 5 * time.Second})
				require.NoError(t, err)
				ctx, a := attempt(t)
				began := time.Now()
				_, err = send(ctx, client.Transport, "GET", "http://service/", "")
				var stalled *StalledError
				require.ErrorAs(t, err, &stalled)
				assert.Equal(t, tt.partial, stalled.Partial())
				assert.Equal(t, 5*time.Second, time.Since(began))
				synctest.Wait()
				assert.True(t, a.Requests()[0].Lost)
			})
		})
	}
}

func TestClientWaitsForAnAnswerUpToItsLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		base := newBase(time.Second, 7*time.Second)
		serveInMemory(t, base, func(_ http.ResponseWriter, req *http.Request) {
			io.Copy(io.Discard, req.Body) // only then does the server notice that the client has gone
			<-req.Context().Done()
		})
		client, err := NewClient(Options{Base: base})
		require.NoError(t, err)
		ctx, a := attempt(t)
		began := time.Now()
		_, err = send(ctx, client.Transport, "POST", "http://service/", "x")
		var timeout net.Error
		require.ErrorAs(t, err, &timeout)
		assert.True(t, timeout.Timeout())
		assert.Equal(t, 7*time.Second, time.Since(began))
		assert.Equal(t, 1, a.UnsafeRequests())
		assert.False(t, a.DefiniteOnly())
	})
}

func TestClientLeavesASlowConsumerAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		base := newBase(time.Second, time.Second)
		serveInMemory(t, base, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })
		client, err := NewClient(Options{Base: base, IdleTimeout: time.Second})
		require.NoError(t, err)
		resp, err := client.Get("http://service/")
		require.NoError(t, err)
		defer resp.Body.Close()
		time.Sleep(time.Minute)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		assert.Equal(t, "hello", string(text))
	})
}

func TestDeadlineOfTheCallStillRules(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		base := newBase(time.Second, time.Second)
		serveInMemory(t, base, func(w http.ResponseWriter, req *http.Request) {
			http.NewResponseController(w).Flush()
			<-req.Context().Done()
		})
		client, err := NewClient(Options{Base: base, IdleTimeout: time.Hour})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err = send(ctx, client.Transport, "GET", "http://service/", "")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.NotErrorIs(t, err, os.ErrClosed)
	})
}

func TestClientDefaults(t *testing.T) {
	t.Parallel()
	client, err := NewClient(Options{})
	require.NoError(t, err)
	assert.Zero(t, client.Timeout)
	rt := client.Transport.(*Transport)
	base := rt.Base.(*http.Transport)
	assert.NotSame(t, http.DefaultTransport, base)
	assert.Equal(t, DefaultConnectTimeout, base.TLSHandshakeTimeout)
	assert.Equal(t, DefaultHeaderTimeout, base.ResponseHeaderTimeout)
	assert.Equal(t, &IdleOptions{FirstByte: DefaultIdle, Idle: DefaultIdle}, rt.Idle)
	assert.NotNil(t, base.Proxy)
	assert.Same(t, http.DefaultTransport, new(Transport).base())
}

func TestClientPassesItsOptionsOn(t *testing.T) {
	t.Parallel()
	var sent http.Header
	opts := Options{
		Base: roundTripFunc(func(req *http.Request) (*http.Response, error) {
			sent = req.Header
			return &http.Response{StatusCode: 204, Body: http.NoBody, Request: req}, nil
		}),
		IdempotencyHosts:  []string{"service.test"},
		IdempotencyHeader: "Request-Token",
		Propagate:         func(_ context.Context, h http.Header) { h.Set("Traceparent", "00-1") },
	}
	client, err := NewClient(opts)
	require.NoError(t, err)
	opts.IdempotencyHosts[0] = "changed later"
	ctx, _ := attempt(t)
	_, err = send(ctx, client.Transport, "POST", "http://service.test/", "x")
	require.NoError(t, err)
	assert.Len(t, sent[strings.ToLower(opts.IdempotencyHeader)], 1)
	assert.Equal(t, "00-1", sent.Get("Traceparent"))
}

// closingBase counts how often its idle connections are closed.
type closingBase struct {
	roundTripFunc
	closed int
}

func (b *closingBase) CloseIdleConnections() { b.closed++ }

func TestClientClosesIdleConnections(t *testing.T) {
	t.Parallel()
	base := new(closingBase)
	client, err := NewClient(Options{Base: base})
	require.NoError(t, err)
	client.CloseIdleConnections()
	assert.Equal(t, 1, base.closed)
	(&Transport{Base: roundTripFunc(nil)}).CloseIdleConnections() // one that cannot
}

func TestNewClientNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	tests := map[string]Options{
		"Options.ConnectTimeout -1ns is negative":                     {ConnectTimeout: -1},
		"Options.HeaderTimeout -1ns is negative":                      {HeaderTimeout: -1},
		"Options.IdleTimeout -1ns is negative":                        {IdleTimeout: -1},
		"Options.ConnectTimeout 1s has no effect on the given Base":   {ConnectTimeout: time.Second, Base: http.DefaultTransport},
		"Options.HeaderTimeout 1s has no effect on the given Base":    {HeaderTimeout: time.Second, Base: http.DefaultTransport},
		`Options.IdempotencyHosts: "https://a.test" is not a host`:    {IdempotencyHosts: []string{"https://a.test"}},
		`Options.IdempotencyHosts: "*.a.test" is not a host`:          {IdempotencyHosts: []string{"*.a.test"}},
		`Options.IdempotencyHosts: "" is not a host`:                  {IdempotencyHosts: []string{""}},
		`Options.IdempotencyHeader "Idempotency Key" is not a header`: {IdempotencyHeader: "Idempotency Key"},
		`Options.IdempotencyHeader "Schlüssel" is not a header name`:  {IdempotencyHeader: "Schlüssel"},
		`Options.IdempotencyHeader "Key:\r\nX" is not a header name`:  {IdempotencyHeader: "Key:\r\nX"},
	}
	for want, opts := range tests {
		_, err := NewClient(opts)
		assert.ErrorContains(t, err, "httpguard: "+want)
	}
}
