package httpguard

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/internal/evidence"
)

func TestRefusedConnectionSendsNothing(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l.Close()
	ctx, a := attempt(t)
	_, err = send(ctx, &Transport{Base: newPool(t)}, "POST", "http://"+l.Addr().String(), "x")
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	assert.True(t, a.NothingSent())
	assert.Zero(t, a.UnsafeRequests())
}

func TestUnknownHostSendsNothing(t *testing.T) {
	t.Parallel()
	noNetwork := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no network") }
	base := newPool(t)
	base.Proxy = nil
	base.DialContext = (&net.Dialer{Resolver: &net.Resolver{PreferGo: true, Dial: noNetwork}}).DialContext
	ctx, a := attempt(t)
	_, err := send(ctx, &Transport{Base: base}, "POST", "http://service.invalid/", "x")
	var dns *net.DNSError
	require.ErrorAs(t, err, &dns)
	assert.True(t, a.NothingSent())
}

func TestFailedTLSHandshakeSendsNothing(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = discardLog()
	server.StartTLS()
	defer server.Close()
	ctx, a := attempt(t)
	_, err := send(ctx, &Transport{Base: newPool(t)}, "POST", server.URL, "x")
	var unknown x509.UnknownAuthorityError
	require.ErrorAs(t, err, &unknown)
	assert.True(t, a.NothingSent())
}

func TestProxyThatRefusesTheTunnelSendsNothing(t *testing.T) {
	t.Parallel()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer proxy.Close()
	base := newPool(t)
	base.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(proxy.URL) }

	ctx, a := attempt(t)
	_, err := send(ctx, &Transport{Base: base}, "POST", "https://service.invalid/", "x")
	require.Error(t, err)
	assert.True(t, a.NothingSent(), "CONNECT failed, the request stayed here")

	// Without a tunnel the proxy itself is given the request.
	ctx, a = attempt(t)
	status, err := send(ctx, &Transport{Base: base}, "POST", "http://service.invalid/", "x")
	require.NoError(t, err)
	assert.Equal(t, http.StatusBadGateway, status)
	assert.False(t, a.NothingSent())
	assert.False(t, a.DefiniteOnly())
}

// case g15
func TestAnswerLostAfterTheServerCommitted(t *testing.T) {
	t.Parallel()
	server := newWireServer(t, func(int, *http.Request) string { return "" })
	ctx, a := attempt(t)
	_, err := send(ctx, &Transport{Base: newPool(t)}, "POST", server.url, "x")
	require.Error(t, err)
	assert.False(t, a.NothingSent())
	assert.Equal(t, 1, a.UnsafeRequests())
	assert.False(t, a.DefiniteOnly())
	_, answered := a.LastStatus()
	assert.False(t, answered)
	r := a.Requests()[0]
	assert.True(t, r.Unsafe && r.Traced && r.Connected && r.WroteHeaders && r.WroteRequest && r.Returned, "%+v", r)
	assert.False(t, r.FirstByte)
}

func TestDeadConnectionIsRedialledIfNothingWasWritten(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "x"} {
		server := newWireServer(t, func(int, *http.Request) string { return emptyOK })
		var first *brokenConn
		base := newPool(t)
		base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err != nil || first != nil {
				return conn, err
			}
			first = &brokenConn{Conn: conn}
			return first, nil
		}
		rt := &Transport{Base: base, IdempotencyHosts: []string{"127.0.0.1"}}
		ctx, a := attempt(t)
		_, err := send(ctx, rt, "POST", server.url, body)
		require.NoError(t, err)
		first.broken.Store(true)

		status, err := send(ctx, rt, "POST", server.url, body)
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, status)
		assert.Equal(t, 2, server.count(), "each request arrived once")
		assert.Equal(t, 2, a.UnsafeRequests())
	}
}

func TestSecondRequestFailsToDialAfterAPost(t *testing.T) {
	t.Parallel()
	server := newWireServer(t, func(int, *http.Request) string { return emptyOK })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l.Close()
	rt := &Transport{Base: newPool(t)}
	ctx, a := attempt(t)
	_, err = send(ctx, rt, "POST", server.url, "x")
	require.NoError(t, err)
	_, err = send(ctx, rt, "POST", "http://"+l.Addr().String(), "x")
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	assert.False(t, a.NothingSent())
	assert.Equal(t, 1, a.UnsafeRequests())
	assert.False(t, a.DefiniteOnly())
}

func TestTransportWithoutTraceProvesNothing(t *testing.T) {
	t.Parallel()
	refused := roundTripFunc(func(*http.Request) (*http.Response, error) { return nil, syscall.ECONNREFUSED })
	ctx, a := attempt(t)
	_, err := send(ctx, &Transport{Base: refused}, "POST", "http://service.invalid", "")
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	assert.True(t, a.Used())
	assert.False(t, a.NothingSent())
	assert.Equal(t, 1, a.UnsafeRequests())
}

func TestRequestStillDiallingMayYetBeSent(t *testing.T) {
	t.Parallel()
	ctx, a := attempt(t)
	dialling, release := make(chan struct{}), make(chan struct{})
	base := newPool(t)
	base.DialContext = func(context.Context, string, string) (net.Conn, error) {
		close(dialling)
		<-release
		return nil, syscall.ECONNREFUSED
	}
	done := make(chan error, 1)
	go func() {
		_, err := send(ctx, &Transport{Base: base}, "POST", "http://127.0.0.1:1", "x")
		done <- err
	}()
	<-dialling
	assert.False(t, a.NothingSent())
	close(release)
	require.Error(t, <-done)
	assert.True(t, a.NothingSent())
}

// case e08
func TestEndedContextStartsNothing(t *testing.T) {
	t.Parallel()
	ctx, a := attempt(t)
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	base := roundTripFunc(func(*http.Request) (*http.Response, error) {
		t.Error("the request was sent")
		return nil, io.EOF
	})
	body := &closeRecorder{Reader: strings.NewReader("x")}
	req, err := http.NewRequestWithContext(ctx, "POST", "http://service.invalid", body)
	require.NoError(t, err)
	_, err = (&Transport{Base: base}).RoundTrip(req)
	require.ErrorIs(t, err, context.Canceled)
	assert.True(t, a.NothingSent())
	assert.True(t, body.closed, "RoundTrip owes its caller a closed body")
}

// case g07
func TestStatusAndRetryAfterAreKept(t *testing.T) {
	t.Parallel()
	server := newWireServer(t, func(int, *http.Request) string {
		return "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 30\r\nContent-Length: 0\r\n\r\n"
	})
	ctx, a := attempt(t)
	status, err := send(ctx, &Transport{Base: newPool(t)}, "POST", server.url, "x")
	require.NoError(t, err)
	assert.Equal(t, 429, status)
	last, ok := a.LastStatus()
	assert.True(t, ok)
	assert.Equal(t, 429, last)
	wait, ok := a.RetryAfter()
	assert.True(t, ok)
	assert.InDelta(t, 30*time.Second, wait, float64(5*time.Second))
	assert.True(t, a.DefiniteOnly())
}

func TestRedirectsAreRequestsOfTheirOwn(t *testing.T) {
	t.Parallel()
	server := newWireServer(t, func(_ int, req *http.Request) string {
		if req.URL.Path == "/new" {
			return "HTTP/1.1 422 Unprocessable\r\nContent-Length: 0\r\n\r\n"
		}
		return "HTTP/1.1 307 Elsewhere\r\nLocation: /new\r\nContent-Length: 0\r\n\r\n"
	})
	ctx, a := attempt(t)
	status, err := send(ctx, &Transport{Base: newPool(t), IdempotencyHosts: []string{"127.0.0.1"}}, "POST", server.url, "x")
	require.NoError(t, err)
	assert.Equal(t, 422, status)
	assert.Equal(t, 2, a.UnsafeRequests())
	assert.True(t, a.DefiniteOnly(), "307 sends the request elsewhere, it does not carry it out")
	keys := []string{server.requests[0].Header.Get("Idempotency-Key"), server.requests[1].Header.Get("Idempotency-Key")}
	assert.NotEqual(t, keys[0], keys[1])
	assert.NotEmpty(t, keys[1])
}

// cases p07, g15
func TestBodyCutOffIsRecorded(t *testing.T) {
	t.Parallel()
	for name, idle := range map[string]*IdleOptions{"plain": nil, "watched": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newWireServer(t, func(int, *http.Request) string {
				return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nnonsense\r\n"
			})
			ctx, a := attempt(t)
			base := newPool(t)
			_, err := send(ctx, &Transport{Base: base, Idle: idle}, "POST", server.url, "x")
			require.Error(t, err)
			r := a.Requests()[0]
			assert.True(t, r.Lost)
			assert.EqualValues(t, 4, r.BodyBytes)
			assert.Equal(t, 200, r.Status)
		})
	}
}

func TestCallersRequestStaysAsItIs(t *testing.T) {
	t.Parallel()
	server := newWireServer(t, func(int, *http.Request) string { return emptyOK })
	ctx, _ := attempt(t)
	req, err := http.NewRequestWithContext(ctx, "POST", server.url, strings.NewReader("x"))
	require.NoError(t, err)
	req.Header.Set("X-Idempotency-Key", "mine")
	resp, err := (&Transport{Base: newPool(t), IdempotencyHosts: []string{"127.0.0.1"}}).RoundTrip(req)
	require.NoError(t, err)
	resp.Body.Close()
	assert.Equal(t, http.Header{"X-Idempotency-Key": {"mine"}}, req.Header)
	assert.NotNil(t, req.GetBody)
	assert.Same(t, req, resp.Request)
	assert.Equal(t, ctx, req.Context())
}

func TestTraceOfTheCallerStillFires(t *testing.T) {
	t.Parallel()
	server := newWireServer(t, func(int, *http.Request) string { return emptyOK })
	fired := false
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { fired = true },
	})
	_, err := send(ctx, &Transport{Base: newPool(t)}, "POST", server.url, "x")
	require.NoError(t, err)
	assert.True(t, fired)
}

func TestSwitchedProtocolKeepsItsConnection(t *testing.T) {
	t.Parallel()
	server := newWireServer(t, func(int, *http.Request) string {
		return "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"
	})
	req, err := http.NewRequestWithContext(t.Context(), "GET", server.url, nil)
	require.NoError(t, err)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "x")
	resp, err := (&Transport{Base: newPool(t), Idle: &IdleOptions{}}).RoundTrip(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	assert.Implements(t, (*io.ReadWriteCloser)(nil), resp.Body)
}

func TestTransportNamesABadLimit(t *testing.T) {
	t.Parallel()
	body := &closeRecorder{Reader: strings.NewReader("x")}
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://service.invalid", body)
	require.NoError(t, err)
	_, err = (&Transport{Idle: &IdleOptions{Idle: -1}}).RoundTrip(req)
	require.ErrorContains(t, err, "IdleOptions.Idle -1ns is negative")
	assert.True(t, body.closed, "RoundTrip owes its caller a closed body")
}

func TestBaseThatReturnsNothing(t *testing.T) {
	t.Parallel()
	base := roundTripFunc(func(*http.Request) (*http.Response, error) { return nil, nil })
	ctx, a := attempt(t)
	_, err := send(ctx, &Transport{Base: base}, "POST", "http://service.invalid", "")
	require.ErrorContains(t, err, "neither an answer nor an error")
	assert.False(t, a.NothingSent())
}

// A request's context must not stay behind in a long-lived parent.
func TestContextOfARequestIsReleased(t *testing.T) {
	t.Parallel()
	text := func() io.ReadCloser { return io.NopCloser(strings.NewReader("x")) }
	tests := map[string]struct {
		body     io.ReadCloser
		written  bool
		consume  func(io.Reader)
		released bool
	}{
		"body read":                      {text(), true, func(r io.Reader) { io.Copy(io.Discard, r) }, true},
		"body closed":                    {text(), true, func(r io.Reader) { r.(io.Closer).Close() }, true},
		"body open":                      {text(), true, func(io.Reader) {}, false},
		"no body":                        {http.NoBody, true, func(io.Reader) {}, true},
		"no body, upload still going on": {http.NoBody, false, func(io.Reader) {}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent context.Context
			base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
				sent = req.Context()
				if tt.written {
					httptrace.ContextClientTrace(sent).WroteRequest(httptrace.WroteRequestInfo{})
				}
				return &http.Response{StatusCode: 200, Body: tt.body}, nil
			})
			req, err := http.NewRequestWithContext(t.Context(), "POST", "http://service.invalid", nil)
			require.NoError(t, err)
			resp, err := (&Transport{Base: base}).RoundTrip(req)
			require.NoError(t, err)
			tt.consume(resp.Body)
			assert.Equal(t, tt.released, sent.Err() != nil)
			assert.NoError(t, req.Context().Err())
		})
	}
}

func TestOneAttemptOfManyRequestsAtOnce(t *testing.T) {
	t.Parallel()
	server := newWireServer(t, func(int, *http.Request) string { return emptyOK })
	ctx, a := attempt(t)
	rt := &Transport{Base: newPool(t), IdempotencyHosts: []string{"127.0.0.1"}, Idle: &IdleOptions{}}
	done := make(chan error)
	const n = 2 * evidence.MaxRequests
	for range n {
		go func() {
			_, err := send(ctx, rt, "POST", server.url, "x")
			done <- err
		}()
	}
	for range n {
		assert.NoError(t, <-done)
	}
	assert.Equal(t, n, a.UnsafeRequests())
	keys := map[string]bool{}
	for _, req := range server.requests {
		keys[req.Header.Get("Idempotency-Key")] = true
	}
	assert.Len(t, keys, n, "no two requests share a key")
}

type closeRecorder struct {
	io.Reader
	closed bool
}

func (c *closeRecorder) Close() error {
	c.closed = true
	return nil
}

type traceKey struct{}

// Headers of a trace go downstream, and the caller's request stays as it was.
func TestPropagateAddsHeadersToACopy(t *testing.T) {
	t.Parallel()
	var got []http.Header
	transport := &Transport{
		Base: roundTripFunc(func(r *http.Request) (*http.Response, error) {
			got = append(got, r.Header)
			return &http.Response{StatusCode: 204, Body: http.NoBody, Request: r}, nil
		}),
		Propagate: func(ctx context.Context, h http.Header) { h.Set("Traceparent", ctx.Value(traceKey{}).(string)) },
	}
	ctx := context.WithValue(t.Context(), traceKey{}, "00-1")
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		req, err := http.NewRequestWithContext(ctx, method, "http://service.test/", nil)
		require.NoError(t, err)
		req.Header.Set("X-Own", "kept")
		_, err = transport.RoundTrip(req)
		require.NoError(t, err)
		assert.Empty(t, req.Header.Get("Traceparent"))
		bare := req.Clone(ctx)
		bare.Header = nil
		_, err = transport.RoundTrip(bare)
		require.NoError(t, err)
	}
	require.Len(t, got, 4)
	for _, h := range got {
		assert.Equal(t, "00-1", h.Get("Traceparent"))
	}
	assert.Equal(t, "kept", got[2].Get("X-Own"))
}
