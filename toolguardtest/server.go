package toolguardtest

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// Server is an HTTP server without a network: its connections are pipes, so that
// a client's real code runs in fake time. Every host name leads to it, but for
// those of [Server.Unreachable]. Safe for concurrent use.
type Server struct {
	t         testing.TB
	transport *http.Transport
	conns     chan net.Conn
	closed    chan struct{}
	once      sync.Once

	mu       sync.Mutex
	requests []string
	down     map[string]error
}

// NewServer serves handler until t ends. A nil handler answers 200. Handlers that
// hang end with their request's context; see [Replies] for scripted ones.
func NewServer(t testing.TB, handler http.Handler) *Server {
	t.Helper()
	s := &Server{t: t, conns: make(chan net.Conn), closed: make(chan struct{}), down: make(map[string]error)}
	if handler == nil {
		handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	}
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.record(r)
			handler.ServeHTTP(w, r)
		}),
		ErrorLog: log.New(new(discard), "", 0), // a handler that aborts is meant to
	}
	s.transport = &http.Transport{DialContext: s.dial}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve((*listener)(s))
	}()
	t.Cleanup(func() {
		s.transport.CloseIdleConnections()
		_ = server.Close()
		<-served
	})
	return s
}

type discard struct{}

func (*discard) Write(b []byte) (int, error) { return len(b), nil }

// Transport leads to the server. It is a real [http.Transport], whose connections
// are pipes: put it where http.DefaultTransport would be, under httpguard's for
// instance. TLS is not spoken.
func (s *Server) Transport() *http.Transport { return s.transport }

// Client returns a plain client on [Server.Transport].
func (s *Server) Client() *http.Client { return &http.Client{Transport: s.transport} }

// Unreachable makes a connection to host impossible: dialling fails with err, or
// is refused if err is nil. The others still lead to the server.
func (s *Server) Unreachable(host string, err error) {
	if err == nil {
		err = refusedError()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down[strings.ToLower(host)] = err
}

// Requests are the requests that arrived, in order, as "POST /path".
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.requests...)
}

// Count is how many requests with this method arrived.
func (s *Server) Count(method string) (n int) {
	for _, r := range s.Requests() {
		if strings.HasPrefix(r, method+" ") {
			n++
		}
	}
	return n
}

func (s *Server) record(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
}

func (s *Server) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	down := s.down[strings.ToLower(host)]
	s.mu.Unlock()
	if down != nil {
		return nil, down
	}
	here, there := net.Pipe()
	select {
	case s.conns <- there:
		return here, nil
	case <-s.closed:
		return nil, errors.New("toolguardtest: the server is closed")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// listener is a Server as net/http wants it.
type listener Server

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements [net.Listener].
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: "toolguardtest", Net: "memory"} }
