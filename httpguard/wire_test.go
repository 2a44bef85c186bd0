package httpguard

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/internal/evidence"
)

// wireServer speaks HTTP/1.1 by hand, so that a test decides when a connection
// dies. Handle gets each request, read to its end, and the number it arrived as;
// what it returns is written, "" closes the connection instead.
type wireServer struct {
	url    string
	handle func(n int, req *http.Request) string

	mu       sync.Mutex
	requests []*http.Request
}

func newWireServer(t *testing.T, handle func(n int, req *http.Request) string) *wireServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	s := &wireServer{url: "http://" + l.Addr().String(), handle: handle}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return s
}

func (s *wireServer) serve(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		io.Copy(io.Discard, req.Body)
		s.mu.Lock()
		s.requests = append(s.requests, req)
		n := len(s.requests)
		s.mu.Unlock()
		answer := s.handle(n, req)
		if answer == "" {
			return
		}
		io.WriteString(conn, answer)
	}
}

func (s *wireServer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

func (s *wireServer) last() *http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[len(s.requests)-1]
}

const emptyOK = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

// killSecond answers the first request, so that its connection is kept, takes the
// second and closes the connection, and answers all later ones.
func killSecond(n int, _ *http.Request) string {
	if n == 2 {
		return ""
	}
	return emptyOK
}

// newPool returns a transport with connections of its own.
func newPool(t *testing.T) *http.Transport {
	t.Helper()
	base := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(base.CloseIdleConnections)
	return base
}

// attempt returns a context in which requests are recorded.
func attempt(t *testing.T) (context.Context, *evidence.Attempt) {
	t.Helper()
	a := new(evidence.Attempt)
	return evidence.WithCallKey(evidence.NewContext(t.Context(), a), "call-1"), a
}

// send makes one request, reads the answer to its end and returns its status, 0
// if there was none.
func send(ctx context.Context, rt http.RoundTripper, method, url, body string) (int, error) {
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, r)
	if err != nil {
		return 0, err
	}
	resp, err := (&http.Client{Transport: rt}).Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

// insecure lets a client talk to the tests' own servers.
func insecure() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }

func discardLog() *log.Logger { return log.New(io.Discard, "", 0) }

// roundTripFunc is a transport that reports nothing to httptrace.
type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// resettingServer takes requests over HTTP/2 and resets each stream with the given
// code. It returns its URL and the number of requests it took, which onTake, if
// not nil, is told too.
func resettingServer(t *testing.T, code uint32, onTake func(n int32)) (string, *atomic.Int32) {
	t.Helper()
	return streamServer(t, func(n int32, stream uint32) []byte {
		if onTake != nil {
			onTake(n)
		}
		return frame(frameReset, 0, stream, binary.BigEndian.AppendUint32(nil, code))
	})
}

// streamServer speaks just enough HTTP/2 over TLS to take requests and answer the
// nth with a frame. It returns its URL and the number of requests it took.
func streamServer(t *testing.T, answer func(n int32, stream uint32) []byte) (string, *atomic.Int32) {
	t.Helper()
	certs := httptest.NewTLSServer(http.NotFoundHandler())
	config := &tls.Config{Certificates: certs.TLS.Certificates, NextProtos: []string{"h2"}}
	certs.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	taken := new(atomic.Int32)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go answerStreams(conn, func(stream uint32) []byte { return answer(taken.Add(1), stream) })
		}
	}()
	return "https://" + l.Addr().String(), taken
}

const (
	frameHeaders  = 1
	frameReset    = 3
	frameSettings = 4
	frameGoAway   = 7
	flagAck       = 1
	flagsWhole    = 0x5 // of headers: nothing follows
)

// frame lays out one HTTP/2 frame (RFC 9113 §4.1).
func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	b := []byte{0, 0, byte(len(payload)), kind, flags}
	b = binary.BigEndian.AppendUint32(b, stream)
	return append(b, payload...)
}

// noContent is the answer 204, which HPACK has an index for.
func noContent(stream uint32) []byte { return frame(frameHeaders, flagsWhole, stream, []byte{0x89}) }

func answerStreams(conn net.Conn, answer func(stream uint32) []byte) {
	defer conn.Close()
	preface := make([]byte, 24)
	if _, err := io.ReadFull(conn, preface); err != nil {
		return
	}
	conn.Write(frame(frameSettings, 0, 0, nil))
	for head := make([]byte, 9); ; {
		if _, err := io.ReadFull(conn, head); err != nil {
			return
		}
		io.CopyN(io.Discard, conn, int64(head[0])<<16|int64(head[1])<<8|int64(head[2]))
		switch {
		case head[3] == frameSettings && head[4]&flagAck == 0:
			conn.Write(frame(frameSettings, flagAck, 0, nil))
		case head[3] == frameHeaders:
			conn.Write(answer(binary.BigEndian.Uint32(head[5:]) &^ (1 << 31)))
		}
	}
}

// h2Conn passes for a connection on which HTTP/2 was agreed.
type h2Conn struct{ net.Conn }

func (h2Conn) ConnectionState() tls.ConnectionState {
	return tls.ConnectionState{NegotiatedProtocol: "h2"}
}

// brokenConn fails every write once it is broken, before a byte has left.
type brokenConn struct {
	net.Conn
	broken atomic.Bool
}

func (c *brokenConn) Write(p []byte) (int, error) {
	if c.broken.Load() {
		return 0, errors.New("broken pipe")
	}
	return c.Conn.Write(p)
}
