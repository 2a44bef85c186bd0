package httpguard

import (
	"context"
	"errors"
	"net/http"
)

// Transport is an [http.RoundTripper] that records what becomes of each request
// of a guarded attempt, keeps unsafe requests from being sent twice, and adds
// idempotency keys where it is told to. It leaves the caller's request as it is.
//
// The zero value is ready and sends with [http.DefaultTransport]. The fields
// must not be changed once it is in use; it may be used concurrently.
//
// Outside a guarded call it works the same, but nobody reads the record and
// there is no call key to derive idempotency keys from.
type Transport struct {
	// Base sends the requests. If nil, http.DefaultTransport itself, with its
	// pool of connections, as it is at the time of the request. The record can
	// only prove that nothing was sent if Base reports to [net/http/httptrace],
	// as *http.Transport does; with any other every request counts as sent.
	Base http.RoundTripper

	// IdempotencyHosts lists the hosts whose unsafe requests get an idempotency
	// key: "api.example.com" for any port, "api.example.com:8443" for one, where
	// a URL without a port has that of its scheme; no patterns, letter case is
	// ignored. If empty, none. List only services that honour the header.
	//
	// The key is the first 32 hex digits of a SHA-256 over the key of the call,
	// the method, the URL without fragment and user, and the ordinal of the
	// request among those of the attempt with this method and URL. A later
	// attempt that sends the same requests in the same order sends the same
	// keys; requests to one URL that race each other may swap theirs. A request
	// outside a call with a key gets none, and one that already carries this
	// header, Idempotency-Key or X-Idempotency-Key keeps its own.
	IdempotencyHosts []string

	// IdempotencyHeader is the header the key goes into. If empty,
	// "Idempotency-Key". It is put into the request under its lower-case name.
	IdempotencyHeader string

	// Idle, if not nil, puts an [IdleReader] around the body of each answer;
	// bodies of type text/event-stream are read as event streams even if
	// Idle.SSE is false. If nil, bodies are not watched.
	Idle *IdleOptions

	// Propagate, if not nil, adds headers to a copy of each request's, such as
	// those of a trace, from the request's context. It must not block. A key
	// header it adds counts as the request's own.
	Propagate func(ctx context.Context, header http.Header)
}

// RoundTrip sends one request. It returns the errors of Base unchanged, with one
// exception: an unsafe request that net/http was about to send a second time
// over HTTP/2 ends with [ErrNotResent]. HTTP/2 is recognised under TLS only; over
// clear text such a second sending is recorded, not prevented.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.Idle.check(); err != nil {
		closeBody(req)
		return nil, err
	}
	x := newExchange(t, req)
	// An attempt that was given up must not start anything new.
	if err := req.Context().Err(); err != nil {
		closeBody(req)
		x.entry.NotSent()
		return nil, err
	}
	resp, err := t.base().RoundTrip(x.outgoing())
	if err == nil && resp == nil {
		err = errors.New("httpguard: Transport.Base returned neither an answer nor an error")
	}
	if err != nil {
		return nil, x.failed(err)
	}
	return x.answered(resp)
}

// CloseIdleConnections closes the idle connections of Base if it can.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

// closeBody does what RoundTrip owes its caller on every path.
func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

// safe reports whether a method only asks (RFC 9110 §9.2.1).
func safe(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}
