package toolguardtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Reply is what a service does with one request. The fields work together: a wait
// comes before the status, a cut after part of the body.
type Reply struct {
	// Status of the answer. If zero, 200.
	Status int
	// Header of the answer, as name and value in turn.
	Header []string
	Body   string
	// Wait is how long the service takes; it ends with the request's context.
	Wait time.Duration
	// Hang sends nothing for ever: it ends with the request's context.
	Hang bool
	// Reset drops the connection instead of an answer.
	Reset bool
	// Cut drops the connection in the middle of the body.
	Cut bool
	// Stall sends half of the body, and then nothing for ever.
	Stall bool
	// Refuse is of a [Transport] only: no connection can be made. The service
	// never hears of the request.
	Refuse bool
	// Acts calls this, if set, once the request has arrived and before anything
	// else: what the service did.
	Acts func()
}

// Replies returns a handler that follows a script: the first request gets the first
// reply. A request beyond the script fails the test.
func Replies(t testing.TB, replies ...Reply) http.Handler {
	t.Helper()
	s := newReplies(t, replies)
	for i := range replies {
		if replies[i].Refuse {
			t.Fatalf("toolguardtest: reply %d of Replies has Refuse, but a server cannot refuse what reached it: use Server.Unreachable or NewTransport", i)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the client could still be writing
		s.next(r).serve(w, r)
	})
}

// replies hands out one reply after the other.
type replies struct {
	t    testing.TB
	mu   sync.Mutex
	list []Reply
	used int
}

func newReplies(t testing.TB, list []Reply) *replies {
	t.Helper()
	if len(list) == 0 {
		t.Fatalf("toolguardtest: no replies: give at least one, such as Reply{Status: 503}")
	}
	return &replies{t: t, list: list}
}

func (s *replies) next(r *http.Request) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used++
	if s.used > len(s.list) {
		s.t.Errorf("toolguardtest: %s %s is the %s request, but the script has %d repl(ies): add the reply it should get", r.Method, r.URL.Path, ordinal(s.used), len(s.list))
		return Reply{Status: http.StatusTeapot}
	}
	return s.list[s.used-1]
}

func (p Reply) status() int {
	if p.Status == 0 {
		return http.StatusOK
	}
	return p.Status
}

// begin acts and waits. It reports whether anything is to be sent.
func (p Reply) begin(ctx context.Context) error {
	if p.Acts != nil {
		p.Acts()
	}
	if p.Hang {
		<-ctx.Done()
		return ctx.Err()
	}
	if p.Wait > 0 {
		timer := time.NewTimer(p.Wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// serve answers a request that reached a server.
func (p Reply) serve(w http.ResponseWriter, r *http.Request) {
	if p.begin(r.Context()) != nil || p.Reset {
		panic(http.ErrAbortHandler)
	}
	for i := 0; i+1 < len(p.Header); i += 2 {
		w.Header().Add(p.Header[i], p.Header[i+1])
	}
	if p.Cut || p.Stall {
		w.Header().Set("Content-Length", strconv.Itoa(len(p.Body)+1))
	}
	w.WriteHeader(p.status())
	if !p.Cut && !p.Stall {
		_, _ = io.WriteString(w, p.Body)
		return
	}
	_, _ = io.WriteString(w, p.Body[:len(p.Body)/2])
	_ = http.NewResponseController(w).Flush()
	if p.Stall {
		<-r.Context().Done()
	}
	panic(http.ErrAbortHandler)
}

// response is the answer as a [Transport] returns it.
func (p Reply) response(req *http.Request) *http.Response {
	header := http.Header{}
	for i := 0; i+1 < len(p.Header); i += 2 {
		header.Add(p.Header[i], p.Header[i+1])
	}
	body := io.Reader(strings.NewReader(p.Body))
	half := strings.NewReader(p.Body[:len(p.Body)/2])
	switch {
	case p.Stall:
		body = io.MultiReader(half, stalled{req.Context()})
	case p.Cut:
		body = io.MultiReader(half, broken{})
	}
	return &http.Response{
		Status:     fmt.Sprintf("%d %s", p.status(), http.StatusText(p.status())),
		StatusCode: p.status(), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(body), ContentLength: -1, Request: req,
	}
}

// stalled is a body nothing comes from any more.
type stalled struct{ ctx context.Context }

func (s stalled) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

// broken is a body whose connection was lost.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
