package httpguard

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lastWords answers the first request, so that its connection is kept, and says
// what it is given to the next one before it closes the connection.
func lastWords(t *testing.T, words string) *wireServer {
	t.Helper()
	return newWireServer(t, func(n int, _ *http.Request) string {
		if n == 1 {
			return emptyOK
		}
		return words
	})
}

func TestWhatAHostileAnswerProves(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err := z.Write(bytes.Repeat([]byte("receipt "), 100))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	half := zipped.String()[:zipped.Len()/2]

	// Close is said by a header: the connection ends with the answer.
	const closes = "Connection: close\r\n"
	tests := map[string]struct {
		words    string
		status   int
		fails    bool
		definite bool
		lost     bool
	}{
		"a hint before a refusal":     {"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\nHTTP/1.1 422 No\r\nContent-Length: 0\r\n\r\n", 422, false, true, false},
		"go on, then a refusal":       {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n", 413, false, true, false},
		"no protocol at all":          {"-ERR what do you want\r\n\r\n", 0, true, false, false},
		"a moved service, no address": {"HTTP/1.1 308 Elsewhere\r\nContent-Length: 0\r\n\r\n", 308, false, true, false},
		"a refusal, its body cut":     {"HTTP/1.1 422 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\nx\r\n", 422, true, true, true},
		"a chunk that is none":        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nx\r\n", 200, true, false, true},
		"half of a zipped body":       {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: " + strconv.Itoa(len(half)) + "\r\n\r\n" + half, 200, true, false, true},
		"a body without a length":     {"HTTP/1.1 200 OK\r\n" + closes + "Content-Length: 2\r\n\r\nok", 200, false, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := lastWords(t, tt.words)
			pool := newPool(t)
			rt := &Transport{Base: pool, IdempotencyHosts: []string{"127.0.0.1"}, Idle: &IdleOptions{}}
			_, err := send(t.Context(), rt, "POST", server.url, "x")
			require.NoError(t, err)

			ctx, a := attempt(t)
			_, err = send(ctx, rt, "POST", server.url, "x")
			assert.Equal(t, tt.fails, err != nil, "%v", err)
			status, _ := a.LastStatus()
			assert.Equal(t, tt.status, status)
			assert.Equal(t, tt.definite, a.DefiniteOnly())
			assert.Equal(t, tt.lost, a.LastLost())
			assert.False(t, a.NothingSent())
			assert.Equal(t, 2, server.count(), "the request arrived once")
			r := a.Requests()[0]
			assert.True(t, r.FirstByte && r.WroteRequest && !r.Resent, "%+v", r)
			var cut *TruncatedError
			assert.Equal(t, tt.lost, errors.As(err, &cut), "%v", err)
		})
	}
}

// The client asks before it sends a body, and is told not to.
func TestExpectedBodyThatIsRefused(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			head := make([]byte, 4<<10)
			_, _ = conn.Read(head)
			_, _ = io.WriteString(conn, "HTTP/1.1 417 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			_ = conn.Close()
		}
	}()
	ctx, a := attempt(t)
	req, err := http.NewRequestWithContext(ctx, "POST", "http://"+l.Addr().String(), strings.NewReader("x"))
	require.NoError(t, err)
	req.Header.Set("Expect", "100-continue")
	base := newPool(t)
	base.ExpectContinueTimeout = time.Minute
	resp, err := (&Transport{Base: base}).RoundTrip(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, 417, resp.StatusCode)
	assert.True(t, a.DefiniteOnly())
	assert.True(t, a.Requests()[0].WroteHeaders)
}

func TestRequestThatBreaksOffIsNotWritten(t *testing.T) {
	t.Parallel()
	server := newWireServer(t, func(int, *http.Request) string { return emptyOK })
	ctx, a := attempt(t)
	req, err := http.NewRequestWithContext(ctx, "POST", server.url, iotest.ErrReader(errors.New("disk")))
	require.NoError(t, err)
	_, err = (&Transport{Base: newPool(t)}).RoundTrip(req)
	require.ErrorContains(t, err, "disk")
	r := a.Requests()[0]
	assert.True(t, r.Connected && !r.WroteRequest, "%+v", r)
	assert.False(t, a.NothingSent())
}

// The end of the call ends the read, whatever becomes of the connection.
func TestCancelledCallEndsItsBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := newScripted(step{wait: forever})
		base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: source, Request: req}, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		_, err := send(ctx, &Transport{Base: base, Idle: &IdleOptions{}}, "GET", "http://service.invalid", "")
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, time.Second, time.Since(began))
	})
}

// The connection that is used again dies while a long request is being written.
// Whether an answer is still seen is chance; that the request goes once is not.
func TestConnectionThatDiesDuringAnUpload(t *testing.T) {
	t.Parallel()
	for name, words := range map[string]string{
		"without a word": "", "with a refusal": "HTTP/1.1 413 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer l.Close()
			var arrived atomic.Int32
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					go dieInTheSecond(conn, &arrived, words)
				}
			}()
			rt := &Transport{Base: newPool(t), IdempotencyHosts: []string{"127.0.0.1"}}
			url := "http://" + l.Addr().String()
			_, err = send(t.Context(), rt, "POST", url, "x")
			require.NoError(t, err)
			ctx, a := attempt(t)
			status, err := send(ctx, rt, "POST", url, strings.Repeat("x", 8<<20))
			assert.EqualValues(t, 2, arrived.Load(), "the request arrived once")
			assert.Equal(t, status == 413, a.DefiniteOnly(), "%v", err)
			assert.False(t, a.NothingSent())
			if words == "" {
				assert.Error(t, err)
			}
		})
	}
}

// dieInTheSecond answers one request and closes the connection in the middle of
// the next, after saying words.
func dieInTheSecond(conn net.Conn, arrived *atomic.Int32, words string) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for range 2 {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if arrived.Add(1) == 1 {
			_, _ = io.Copy(io.Discard, req.Body)
			_, _ = io.WriteString(conn, emptyOK)
			continue
		}
		_, _ = io.WriteString(conn, words)
		return
	}
}

// Over HTTP/2 a server says in two more ways that it did not take a request.
func TestRequestTurnedAwayIsNotSentTwice(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(n int32, stream uint32) []byte{
		"refused stream": func(_ int32, stream uint32) []byte { return frame(frameReset, 0, stream, []byte{0, 0, 0, 7}) },
		"going away":     func(int32, uint32) []byte { return frame(frameGoAway, 0, 0, make([]byte, 8)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, taken := streamServer(t, func(n int32, stream uint32) []byte {
				if n == 1 {
					return answer(n, stream)
				}
				return noContent(stream)
			})
			base := newPool(t)
			base.TLSClientConfig = insecure()
			ctx, a := attempt(t)
			_, err := send(ctx, &Transport{Base: base}, "POST", url, "x")
			require.ErrorIs(t, err, ErrNotResent)
			assert.EqualValues(t, 1, taken.Load())
			assert.False(t, a.DefiniteOnly())
			assert.False(t, a.NothingSent())
		})
	}
}

func TestLookWhoseStreamWasResetIsSentAgain(t *testing.T) {
	t.Parallel()
	const protocolError = 1
	url, taken := streamServer(t, func(n int32, stream uint32) []byte {
		if n == 1 {
			return frame(frameReset, 0, stream, []byte{0, 0, 0, protocolError})
		}
		return noContent(stream)
	})
	base := newPool(t)
	base.TLSClientConfig = insecure()
	ctx, a := attempt(t)
	status, err := send(ctx, &Transport{Base: base}, "GET", url, "")
	require.NoError(t, err)
	assert.Equal(t, http.StatusNoContent, status)
	assert.EqualValues(t, 2, taken.Load())
	assert.True(t, a.Requests()[0].Resent)
}

// Who ended the call hears of that, and not of a second sending.
func TestEndedCallIsNoSecondSending(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
		trace := httptrace.ContextClientTrace(req.Context())
		conn := httptrace.GotConnInfo{Conn: h2Conn{}}
		trace.GotConn(conn)
		trace.WroteHeaders()
		cancel()
		trace.GotConn(conn)
		return nil, req.Context().Err()
	})
	_, err := send(ctx, &Transport{Base: base}, "POST", "https://service.invalid", "x")
	require.ErrorIs(t, err, context.Canceled)
	assert.NotErrorIs(t, err, ErrNotResent)
}

// A connection that turned out to be unusable before anything was written on it
// costs nothing: another may be tried.
func TestUnusedConnectionMayBeReplaced(t *testing.T) {
	t.Parallel()
	base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
		trace := httptrace.ContextClientTrace(req.Context())
		trace.GotConn(httptrace.GotConnInfo{Conn: h2Conn{}})
		trace.GotConn(httptrace.GotConnInfo{Conn: h2Conn{}})
		if err := req.Context().Err(); err != nil {
			return nil, err
		}
		trace.WroteHeaders()
		return &http.Response{StatusCode: 422, Body: http.NoBody, Request: req}, nil
	})
	ctx, a := attempt(t)
	_, err := send(ctx, &Transport{Base: base}, "POST", "https://service.invalid", "x")
	require.NoError(t, err)
	assert.True(t, a.DefiniteOnly())
}
