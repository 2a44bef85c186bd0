package proxy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"github.com/toolguard-go/toolguard/adapters/mcpguard"
	"github.com/toolguard-go/toolguard/httpguard"
)

// Upstream is an MCP server over streamable HTTP.
type Upstream struct {
	URL string
	// Client sends the requests. One of mcpguard.HTTPClient records what becomes
	// of them.
	Client *http.Client
	// Header is sent with every request.
	Header http.Header
}

// Version of the protocol from which on there are no sessions and no stream of
// notifications of its own, and requests say what they are in headers.
const sessionless = "2026-07-28"

// Keys of _meta, as the protocol names them.
const metaVersion = "io.modelcontextprotocol/protocolVersion"

// upstream is a link to a server over streamable HTTP: each message is a POST, and
// messages come back in the answers and in a stream of their own.
type upstream struct {
	*Upstream
	guards *mcpguard.Guards // they know the schemas
	limit  int

	ctx  context.Context // of the link
	stop context.CancelCauseFunc
	in   chan *message

	mu               sync.Mutex
	session, version string
	asked            json.RawMessage // the ID of initialize
}

func (u *Upstream) dial(ctx context.Context, guards *mcpguard.Guards, limit int) link {
	l := &upstream{Upstream: u, guards: guards, limit: limit, in: make(chan *message)}
	l.ctx, l.stop = context.WithCancelCause(ctx)
	return l
}

// errSession says that the server knows the session no more.
var errSession = errors.New("the server has forgotten the session")

func (l *upstream) receive() (*message, error) {
	select {
	case m := <-l.in:
		return m, nil
	case <-l.ctx.Done():
		return nil, context.Cause(l.ctx)
	}
}

// close ends the session, if the server still knows it.
func (l *upstream) close() {
	l.mu.Lock()
	session := l.session
	l.session = ""
	l.mu.Unlock()
	if session != "" && !errors.Is(context.Cause(l.ctx), errSession) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), patience)
		defer cancel()
		if req, err := http.NewRequestWithContext(ctx, http.MethodDelete, l.URL, nil); err == nil {
			l.head(req, nil, session)
			if resp, err := l.Client.Do(req); err == nil {
				_ = resp.Body.Close()
			}
		}
	}
	l.stop(io.EOF)
}

// head sets the headers of a request.
func (l *upstream) head(req *http.Request, m *message, session string) {
	l.mu.Lock()
	version := l.version
	session = cmp.Or(session, l.session)
	l.mu.Unlock()
	for name, values := range l.Header {
		req.Header[name] = values
	}
	if m != nil {
		meta, _ := look(m.Params)
		if version = cmp.Or(meta, version); version >= sessionless && m.Method != "" {
			setHeaders(req.Header, m, l.guards)
		}
	}
	if version != "" {
		req.Header.Set("Mcp-Protocol-Version", version)
	}
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
}

// look reads from the params of a request what its headers say again.
func look(params json.RawMessage) (version, name string) {
	var p struct {
		Name string                     `json:"name"`
		URI  string                     `json:"uri"`
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(params, &p) != nil {
		return "", ""
	}
	_ = json.Unmarshal(p.Meta[metaVersion], &version) // absent in older versions
	return version, cmp.Or(p.Name, p.URI)
}

func (l *upstream) send(ctx context.Context, m *message) error {
	ctx, cancel := context.WithCancel(ctx)
	unlink := context.AfterFunc(l.ctx, cancel) // what waits for an answer ends with the link
	resp, err := l.post(ctx, m)
	if err == nil {
		if err = l.check(resp, m); err == nil {
			l.shake(m, resp)
			go func() {
				defer cancel()
				defer unlink()
				l.read(ctx, resp, m)
			}()
			return nil
		}
	}
	unlink()
	cancel()
	return err
}

func (l *upstream) post(ctx context.Context, m *message) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.URL, bytes.NewReader(m.text))
	if err != nil {
		return nil, err
	}
	l.head(req, m, "")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	return l.Client.Do(req)
}

// check turns an error status into an error, unless the body answers the request.
func (l *upstream) check(resp *http.Response, m *message) error {
	if resp.StatusCode < http.StatusMultipleChoices {
		return nil
	}
	l.mu.Lock()
	session := l.session
	l.mu.Unlock()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // what came of it will do
	_ = resp.Body.Close()
	a, err := parseOne(body)
	answers := err == nil && a.failed() != nil
	forgotten := resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusBadRequest && !(answers && a.key() == m.key())
	switch {
	case session != "" && forgotten:
		l.stop(errSession)
		return errors.Join(mcpguard.ErrNotSent, errSession)
	case answers && m.isRequest():
		resp.StatusCode, resp.Header = http.StatusOK, http.Header{"Content-Type": {"application/json"}}
		resp.Body = io.NopCloser(bytes.NewReader(a.under(m.ID).text))
		return nil
	default:
		resp.Body = http.NoBody
		return httpguard.CheckResponse(resp)
	}
}

// shake takes from the answer to initialize what later requests carry.
func (l *upstream) shake(m *message, resp *http.Response) {
	switch m.Method {
	case "initialize":
		l.mu.Lock()
		l.session, l.asked = resp.Header.Get("Mcp-Session-Id"), m.ID
		l.mu.Unlock()
	case "notifications/initialized":
		l.mu.Lock()
		version := l.version
		l.mu.Unlock()
		if version < sessionless {
			go l.listen()
		}
	}
}

// read takes the messages out of an answer.
func (l *upstream) read(ctx context.Context, resp *http.Response, m *message) {
	var err error
	switch media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); {
	case media == "text/event-stream":
		err = l.follow(ctx, resp, m)
	case !m.isRequest():
	case media == "application/json":
		err = l.readJSON(resp, m)
	default:
		err = fmt.Errorf("the server answered with %q", media)
	}
	_ = resp.Body.Close()
	if err != nil && m.isRequest() {
		l.push(&message{ID: m.ID, lost: fmt.Errorf("%w: %w", mcpguard.ErrLost, err)})
	}
}

func (l *upstream) readJSON(resp *http.Response, m *message) error {
	body, err := httpguard.ReadAll(resp.Body, int64(l.limit))
	if err != nil {
		return err
	}
	found, missing := false, errors.New("the server answered another request")
	for _, a := range parse(body) {
		if a.err != nil {
			missing = a.err
			continue
		}
		a.related = m.related
		l.push(a.message)
		found = found || a.isAnswer() && a.key() == m.key()
	}
	if !found {
		return missing
	}
	return nil
}

// resumptions is how often a stream is taken up again without anything new in it.
const resumptions = 5

// follow reads the event stream that answers a request until the answer is there,
// taking it up again where it breaks off, if the server allows that.
func (l *upstream) follow(ctx context.Context, resp *http.Response, m *message) error {
	last, pause := "", time.Second
	for tries := 0; ; tries++ {
		done, id, retry, err := l.stream(resp, m)
		if done {
			return nil
		}
		if id != "" && id != last {
			last, tries = id, 0
		}
		if last == "" || tries >= resumptions || ctx.Err() != nil || !m.isRequest() {
			return cmp.Or(err, io.ErrUnexpectedEOF)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(cmp.Or(retry, pause)):
		}
		again, err := l.get(ctx, last)
		if err != nil {
			continue
		}
		resp = again
	}
}

// stream hands on what is in an event stream, until the answer to m or the end.
func (l *upstream) stream(resp *http.Response, m *message) (done bool, id string, retry time.Duration, err error) {
	defer func() { _ = resp.Body.Close() }()
	in := newEvents(resp.Body, l.limit)
	for {
		e, err := in.next()
		if err != nil {
			return false, id, retry, err
		}
		id, retry = cmp.Or(e.id, id), cmp.Or(e.retry, retry)
		if len(e.data) == 0 || e.name != "" && e.name != "message" {
			continue
		}
		for _, a := range parse(e.data) {
			if a.err != nil {
				l.push(&message{lost: a.err})
				continue
			}
			if m != nil {
				a.related = m.related
			}
			l.push(a.message)
			done = done || m != nil && a.isAnswer() && a.key() == m.key()
		}
		if done {
			return true, id, retry, nil
		}
	}
}

// push hands a message to who receives.
func (l *upstream) push(m *message) {
	l.mu.Lock()
	if m.ID != nil && string(m.ID) == string(l.asked) && m.Result != nil {
		var r struct {
			Version string `json:"protocolVersion"`
		}
		_ = json.Unmarshal(m.Result, &r) // a result without one says nothing of it
		l.version, l.asked = r.Version, nil
	}
	l.mu.Unlock()
	select {
	case l.in <- m:
	case <-l.ctx.Done():
	}
}

// get asks for an event stream: the server's own, or one to be taken up again.
func (l *upstream) get(ctx context.Context, last string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.URL, nil)
	if err != nil {
		return nil, err
	}
	l.head(req, nil, "")
	req.Header.Set("Accept", "text/event-stream")
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := l.Client.Do(req)
	if err != nil {
		return nil, err
	}
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); resp.StatusCode != http.StatusOK || media != "text/event-stream" {
		_ = resp.Body.Close()
		return nil, &noStream{resp.StatusCode}
	}
	return resp, nil
}

// noStream is an answer that is no event stream.
type noStream struct{ status int }

func (e *noStream) Error() string { return fmt.Sprintf("status %d, want an event stream", e.status) }

// listen reads the server's own stream, for as long as there is one.
func (l *upstream) listen() {
	last, pause := "", firstPause
	for l.ctx.Err() == nil {
		resp, err := l.get(l.ctx, last)
		if no, ok := errors.AsType[*noStream](err); ok {
			l.mu.Lock()
			session := l.session
			l.mu.Unlock()
			if no.status == http.StatusNotFound && session != "" && last != "" {
				l.stop(errSession)
			}
			return // it has none, or not for us
		}
		if err == nil {
			var id string
			var retry time.Duration
			_, id, retry, _ = l.stream(resp, nil)
			last, pause = cmp.Or(id, last), cmp.Or(retry, firstPause)
		}
		select {
		case <-l.ctx.Done():
		case <-time.After(pause):
			pause = min(2*pause, longestPause)
		}
	}
}
