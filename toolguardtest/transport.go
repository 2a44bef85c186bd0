package toolguardtest

import (
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"sync"
	"syscall"
	"testing"
)

// Transport is an [http.RoundTripper] that follows a script, without a server: the
// lightest way to put faults under a tool's HTTP client. It reports to
// [net/http/httptrace] as net/http's own transport does, so that httpguard's record
// says what it would say in production. It sends nothing twice. Safe for concurrent
// use.
type Transport struct {
	script *replies

	mu     sync.Mutex
	bodies []string
}

// NewTransport returns a transport that gives the first request the first reply. A
// request beyond the script fails the test.
func NewTransport(t testing.TB, replies ...Reply) *Transport {
	t.Helper()
	return &Transport{script: newReplies(t, replies)}
}

// RoundTrip implements [http.RoundTripper].
func (tr *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	reply := tr.script.next(req)
	trace := httptrace.ContextClientTrace(req.Context())
	if trace == nil {
		trace = new(httptrace.ClientTrace)
	}
	if f := trace.GetConn; f != nil {
		f(req.URL.Host)
	}
	if reply.Refuse {
		closeBody(req)
		return nil, refusedError()
	}
	if err := tr.send(req, trace); err != nil {
		return nil, err
	}
	if err := reply.begin(req.Context()); err != nil {
		return nil, err
	}
	if reply.Reset {
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	}
	if f := trace.GotFirstResponseByte; f != nil {
		f()
	}
	return reply.response(req), nil
}

// send takes the request over, as a connection would.
func (tr *Transport) send(req *http.Request, trace *httptrace.ClientTrace) error {
	if f := trace.GotConn; f != nil {
		here, there := net.Pipe()
		defer here.Close()
		defer there.Close()
		f(httptrace.GotConnInfo{Conn: here})
	}
	if err := req.Context().Err(); err != nil { // whoever traces may have had enough
		closeBody(req)
		return err
	}
	if f := trace.WroteHeaders; f != nil {
		f()
	}
	var body []byte
	var err error
	if req.Body != nil {
		body, err = io.ReadAll(req.Body)
		closeBody(req)
	}
	if f := trace.WroteRequest; f != nil {
		f(httptrace.WroteRequestInfo{Err: err})
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.bodies = append(tr.bodies, string(body))
	return err
}

// Sent are the bodies of the requests that were sent, in order. One that was
// refused is not among them.
func (tr *Transport) Sent() []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return append([]string(nil), tr.bodies...)
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// refusedError is what dialling a closed port returns.
func refusedError() error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}
