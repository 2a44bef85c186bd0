package httpguard

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/toolguard-go/toolguard/internal/evidence"
	"github.com/toolguard-go/toolguard/internal/retryafter"
)

// ErrNotResent is the error of an unsafe request whose HTTP/2 stream was reset
// or turned away after it had been written, at the moment net/http was about to
// send it again. Whether it took effect is not known.
var ErrNotResent = errors.New("httpguard: unsafe request not sent a second time")

// exchange is the passage of one request through the transport.
type exchange struct {
	t       *Transport
	req     *http.Request // the caller's, never changed
	unsafe  bool
	entry   *evidence.Entry
	ordinal int

	cancel context.CancelFunc // ends the context of an unsafe request
	h2     atomic.Bool        // the connection at hand speaks HTTP/2
	halted atomic.Bool        // a second sending was prevented
}

func newExchange(t *Transport, req *http.Request) *exchange {
	attempt := evidence.FromContext(req.Context())
	if attempt == nil {
		attempt = new(evidence.Attempt)
	}
	x := &exchange{t: t, req: req, unsafe: !safe(req.Method), cancel: func() {}}
	x.entry, x.ordinal = attempt.Begin(x.unsafe, target(req))
	return x
}

// outgoing returns the request to send in place of the caller's.
func (x *exchange) outgoing() *http.Request {
	ctx := x.req.Context()
	if x.unsafe {
		ctx, x.cancel = context.WithCancel(ctx)
	}
	out := x.req.WithContext(httptrace.WithClientTrace(ctx, x.trace()))
	x.propagate(out) // first: it may add a header that net/http takes for leave to send again
	if x.unsafe {
		header, keyed := x.t.unsafeHeader(out, x.ordinal)
		out.Header = header
		if keyed {
			x.entry.KeySent()
		}
	}
	return out
}

// propagate adds the host's headers to a copy: the header may still be the caller's.
func (x *exchange) propagate(out *http.Request) {
	if x.t.Propagate == nil {
		return
	}
	if out.Header = out.Header.Clone(); out.Header == nil {
		out.Header = make(http.Header)
	}
	x.t.Propagate(x.req.Context(), out.Header)
}

func (x *exchange) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn:              func(string) { x.entry.WantConn() },
		GotConn:              x.gotConn,
		WroteHeaders:         x.entry.WroteHeaders,
		GotFirstResponseByte: x.entry.FirstByte,
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				x.entry.WroteRequest()
			}
		},
	}
}

// gotConn records the connection. Over HTTP/2 net/http takes a request whose
// stream was reset with PROTOCOL_ERROR for one that may be sent again, whatever
// its method; a proxy sends that code too when it dislikes the answer to a
// request that was carried out. From here the request can still be stopped:
// headers are written after this returns, unless the context has ended.
func (x *exchange) gotConn(info httptrace.GotConnInfo) {
	written := x.entry.Snapshot().WroteHeaders
	if x.unsafe && written && x.h2.Load() {
		x.halted.Store(true)
		x.cancel()
		return
	}
	conn, ok := info.Conn.(interface{ ConnectionState() tls.ConnectionState })
	x.h2.Store(ok && conn.ConnectionState().NegotiatedProtocol == "h2")
	x.entry.GotConn()
}

// failed ends an exchange without an answer.
func (x *exchange) failed(err error) error {
	x.cancel()
	x.entry.Failed()
	if x.halted.Load() && x.req.Context().Err() == nil {
		return fmt.Errorf("%w: %s: %w", ErrNotResent, x.req.Method, io.ErrUnexpectedEOF)
	}
	return err
}

// answered records the answer and puts the watchers around its body.
func (x *exchange) answered(resp *http.Response) (*http.Response, error) {
	var retryAt time.Time
	now := time.Now()
	if wait, ok := retryafter.Parse(resp.Header, now); ok {
		retryAt = now.Add(wait)
	}
	x.entry.Answered(resp.StatusCode, retryAt)
	resp.Request = x.req
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		// The body is the connection, for writing too; it outlives the exchange.
	case resp.Body == nil || resp.Body == http.NoBody:
		x.releaseIfWritten()
	default:
		return x.watchBody(resp)
	}
	return resp, nil
}

// releaseIfWritten frees the context of a request whose answer has no body. A
// server may answer before it has read the whole request; that upload goes on,
// and the context stays until the caller's ends.
func (x *exchange) releaseIfWritten() {
	if x.entry.Snapshot().WroteRequest {
		x.cancel()
	}
}

func (x *exchange) watchBody(resp *http.Response) (*http.Response, error) {
	body := &recordedBody{source: resp.Body, x: x}
	resp.Body = body
	if x.t.Idle == nil {
		return resp, nil
	}
	opts := *x.t.Idle
	opts.SSE = opts.SSE || isEventStream(resp.Header)
	watched, err := NewIdleReader(x.req.Context(), body, opts)
	if err != nil {
		body.Close()
		return nil, err
	}
	resp.Body = watched
	return resp, nil
}

func isEventStream(h http.Header) bool {
	mediaType, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return mediaType == "text/event-stream"
}

// recordedBody records how the body of an answer ended.
type recordedBody struct {
	source io.ReadCloser
	x      *exchange
}

func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.source.Read(p)
	b.x.entry.Read(n)
	if err != nil && err != io.EOF {
		b.x.entry.Lost()
	}
	if err != nil {
		b.x.cancel()
	}
	return n, err
}

func (b *recordedBody) Close() error {
	err := b.source.Close()
	b.x.cancel()
	return err
}
