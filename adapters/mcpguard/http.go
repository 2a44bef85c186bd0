package mcpguard

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/toolguard-go/toolguard/httpguard"
)

// Defaults of [HTTPClient].
const (
	DefaultConnectTimeout = 5 * time.Second
	DefaultReadTimeout    = 30 * time.Second
)

// standing is the silence a stream of notifications may keep: it has no limit.
const standing = 365 * 24 * time.Hour

// HTTPClient returns a client for a StreamableClientTransport. It keeps for the
// guard what the SDK hides: how far a request got, its status and Retry-After. Of
// the options, those that are zero are 5 s to connect and 30 s for an answer and
// for silence while it is read; the stream of notifications may be silent for
// ever. A policies.Set gives the options of its group "mcp".
func HTTPClient(opts httpguard.Options) (*http.Client, error) {
	if opts.Base == nil {
		opts.ConnectTimeout = cmp.Or(opts.ConnectTimeout, DefaultConnectTimeout)
		opts.HeaderTimeout = cmp.Or(opts.HeaderTimeout, DefaultReadTimeout)
	}
	opts.IdleTimeout = cmp.Or(opts.IdleTimeout, DefaultReadTimeout)
	calls, err := httpguard.NewClient(opts)
	if err != nil {
		return nil, err
	}
	opts.IdleTimeout = standing
	streams, err := httpguard.NewClient(opts)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: &transport{calls: calls.Transport, streams: streams.Transport}}, nil
}

// transport tells calls from the stream of notifications, and a call that was
// turned away what it was turned away with.
type transport struct{ calls, streams http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet {
		return t.streams.RoundTrip(req)
	}
	resp, err := t.calls.RoundTrip(req)
	if status, ok := req.Context().Value(statusKey{}).(*atomic.Int32); ok && err == nil {
		status.Store(int32(resp.StatusCode))
	}
	return resp, err
}

// CloseIdleConnections implements what http.Client asks of its transport.
func (t *transport) CloseIdleConnections() {
	for _, rt := range []http.RoundTripper{t.calls, t.streams} {
		if c, ok := rt.(interface{ CloseIdleConnections() }); ok {
			c.CloseIdleConnections()
		}
	}
}

type statusKey struct{}

// watched lets a transport of [HTTPClient] leave the status of a call's request.
func watched(ctx context.Context) (context.Context, *atomic.Int32) {
	status := new(atomic.Int32)
	return context.WithValue(ctx, statusKey{}, status), status
}

// refused adds to the failure of a call the status its request was answered with.
// One to a session that is not there was turned away at the door.
func refused(status int, err error) error {
	switch {
	case err == nil || status < http.StatusBadRequest || protocolError(err):
		return err
	case status == http.StatusNotFound || status == http.StatusBadRequest:
		return errors.Join(ErrNotSent, err)
	default:
		return &statusError{status, err}
	}
}

// statusError is an answer with an error status, which the SDK made a text of.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }

// Unwrap returns the SDK's error.
func (e *statusError) Unwrap() error { return e.err }

// HTTPStatusCode is what a guard asks for.
func (e *statusError) HTTPStatusCode() int { return e.status }
