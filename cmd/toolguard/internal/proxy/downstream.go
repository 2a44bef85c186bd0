package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// downstream is a link to a client over streamable HTTP. Each request of the
// client is a stream, which ends with its answer; other messages for the client go
// into the stream of the request they belong to, as far as that is known, else into
// the client's own, else they wait for it.
type downstream struct {
	id  string // of the session; "" for requests that belong to none
	log *slog.Logger

	in   chan *message
	done chan struct{}

	mu      sync.Mutex
	streams map[string]*stream // of requests, by key
	tokens  map[string]string  // keys by progress token
	newest  []string           // keys, in order
	own     *stream            // the client's own
	waiting []*message         // for the client's own stream
	last    int                // of the keys given to requests that belong to no session
	end     sync.Once
	reason  error // why it has ended
}

var errEnded = errors.New("the session has ended")

func newDownstream(id string, log *slog.Logger) *downstream {
	return &downstream{
		id: id, log: log, in: make(chan *message), done: make(chan struct{}),
		streams: make(map[string]*stream), tokens: make(map[string]string),
	}
}

func (d *downstream) receive() (*message, error) {
	select {
	case m := <-d.in:
		return m, nil
	case <-d.done:
		return nil, io.EOF
	}
}

func (d *downstream) close() { d.finish(nil) }

// finish ends the link; what still waits for an answer is told why it gets none.
func (d *downstream) finish(reason error) {
	d.end.Do(func() {
		if reason == nil {
			reason = errEnded
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.reason = reason
		close(d.done)
		for _, s := range d.streams {
			s.write(refused(s.asked, &rpcError{Code: codeServer, Message: reason.Error()}), true)
		}
		if d.own != nil {
			d.own.finish()
		}
	})
}

// post takes a message from the client and, if it is a request, holds on until it
// is answered.
func (d *downstream) post(rw http.ResponseWriter, r *http.Request, m *message) {
	if !m.isRequest() {
		if !d.push(m) {
			http.Error(rw, "the session has ended", http.StatusNotFound)
			return
		}
		rw.WriteHeader(http.StatusAccepted)
		return
	}
	s := newStream(rw, m)
	s.alone = d.id == ""
	asked, ok := d.enter(m, s)
	if !ok {
		writeJSON(rw, http.StatusBadRequest, refused(m.ID, &rpcError{Code: codeInvalid, Message: "a request with this ID is in progress"}))
		return
	}
	defer d.leave(asked.key())
	if !d.push(asked) {
		d.mu.Lock()
		reason := d.reason
		d.mu.Unlock()
		s.write(refused(asked.ID, &rpcError{Code: codeServer, Message: reason.Error()}), true)
		return
	}
	if !s.hold(r.Context()) && d.id == "" {
		// Without a session, who hangs up wants no answer.
		d.push(request(nil, "notifications/cancelled", []byte(`{"requestId":`+asked.key()+`}`)))
	}
}

func (d *downstream) push(m *message) bool {
	select {
	case d.in <- m:
		return true
	case <-d.done:
		return false
	}
}

// enter opens a stream for a request. One that belongs to no session gets an ID
// that is not some other client's too.
func (d *downstream) enter(m *message, s *stream) (*message, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.id == "" {
		d.last++
		m = request(json.RawMessage(strconv.Itoa(d.last)), m.Method, m.Params)
	}
	if d.streams[m.key()] != nil {
		return nil, false
	}
	d.streams[m.key()] = s
	d.newest = append(d.newest, m.key())
	if token := progressToken(m.Params); token != "" {
		d.tokens[token] = m.key()
	}
	return m, true
}

func (d *downstream) leave(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.streams, key)
	for i, k := range d.newest {
		if k == key {
			d.newest = append(d.newest[:i], d.newest[i+1:]...)
			break
		}
	}
	for token, k := range d.tokens {
		if k == key {
			delete(d.tokens, token)
		}
	}
}

// progressToken returns the token that a request, or a notification of its
// progress, carries.
func progressToken(params json.RawMessage) string {
	var p struct {
		Token json.RawMessage `json:"progressToken"`
		Meta  struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	if json.Unmarshal(params, &p) != nil {
		return ""
	}
	if p.Token != nil {
		return string(p.Token)
	}
	return string(p.Meta.Token)
}

// maxWaiting bounds the messages that wait for a client to listen.
const maxWaiting = 1024

func (d *downstream) send(_ context.Context, m *message) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m.isAnswer() {
		s := d.streams[m.key()]
		if s == nil {
			return fmt.Errorf("nobody waits for the answer to %s", m.key())
		}
		s.write(m, true)
		return nil
	}
	if s := d.streamFor(m); s != nil && s.write(m, false) {
		return nil
	}
	if d.id == "" || len(d.waiting) >= maxWaiting {
		return fmt.Errorf("nobody listens to %s", m.Method)
	}
	d.waiting = append(d.waiting, m)
	return nil
}

// streamFor picks the stream of a message that is no answer.
func (d *downstream) streamFor(m *message) *stream {
	if s := d.streams[m.related]; s != nil {
		return s
	}
	if m.Method == "notifications/progress" {
		if s := d.streams[d.tokens[progressToken(m.Params)]]; s != nil {
			return s
		}
	}
	if d.id != "" && len(d.newest) > 0 {
		return d.streams[d.newest[len(d.newest)-1]]
	}
	return d.own
}

// listen is the client's own stream.
func (d *downstream) listen(rw http.ResponseWriter, r *http.Request) {
	s := newStream(rw, nil)
	d.mu.Lock()
	if d.own != nil {
		d.mu.Unlock()
		http.Error(rw, "the session has a stream", http.StatusConflict)
		return
	}
	d.own = s
	s.open()
	for _, m := range d.waiting {
		s.write(m, false)
	}
	d.waiting = nil
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.own = nil
	}()
	select {
	case <-d.done:
	case <-s.over:
	case <-r.Context().Done():
	}
	s.finish()
}

// stream is an HTTP response in progress: a stream of events. In the protocol
// without sessions an answer that comes soon and alone is the whole response, so
// that an error can have a status.
type stream struct {
	asked json.RawMessage // the client's ID of the request
	alone bool            // the answer may come alone
	over  chan struct{}

	mu     sync.Mutex
	w      http.ResponseWriter
	opened bool
	closed bool
}

func newStream(w http.ResponseWriter, m *message) *stream {
	s := &stream{w: w, over: make(chan struct{})}
	if m != nil {
		s.asked = m.ID
	}
	return s
}

// soon is how long an answer may take to be the whole response.
const soon = time.Second

// hold waits until the request is answered. It reports false if the client hangs
// up first.
func (s *stream) hold(ctx context.Context) bool {
	defer s.finish()
	if s.alone {
		defer time.AfterFunc(soon, s.open).Stop()
	} else {
		s.open()
	}
	select {
	case <-s.over:
		return true
	case <-ctx.Done():
		return false
	}
}

// open begins a stream of events.
func (s *stream) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.begin()
		_, _ = io.WriteString(s.w, ": \n\n") // some proxies hold the header back until data comes
		_ = http.NewResponseController(s.w).Flush()
	}
}

func (s *stream) begin() {
	if s.opened {
		return
	}
	s.opened = true
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	s.w.WriteHeader(http.StatusOK)
}

// write sends a message, which may be the last. It reports false if nobody is
// there any more.
func (s *stream) write(m *message, last bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if last {
		defer s.finishLocked()
		if string(m.ID) != string(s.asked) {
			m = m.under(s.asked)
		}
		if s.alone && !s.opened {
			writeJSON(s.w, m.status(), m)
			return true
		}
	}
	s.begin()
	_, err := fmt.Fprintf(s.w, "event: message\ndata: %s\n\n", m.oneLine())
	_ = http.NewResponseController(s.w).Flush()
	return err == nil
}

// finish lets the response go. Nothing is written to it afterwards.
func (s *stream) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finishLocked()
}

func (s *stream) finishLocked() {
	if !s.closed {
		s.closed = true
		close(s.over)
	}
}

// status is the HTTP status of an answer in the protocol without sessions.
func (m *message) status() int {
	e := m.failed()
	switch {
	case e == nil:
		return http.StatusOK
	case e.Code == jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case e.Code == jsonrpc.CodeInvalidParams, e.Code == mcp.CodeUnsupportedProtocolVersion, e.Code == mcp.CodeMissingRequiredClientCapabilities, e.Code == mcp.CodeHeaderMismatch:
		return http.StatusBadRequest
	default:
		return http.StatusOK
	}
}

// under returns an answer under another ID.
func (m *message) under(id json.RawMessage) *message {
	if e := m.failed(); e != nil {
		return refused(id, e)
	}
	return answered(id, m.Result)
}
