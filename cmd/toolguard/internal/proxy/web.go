package proxy

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolguard-go/toolguard/httpguard"
)

// Web serves clients over streamable HTTP: a relay, and with it a server, for each
// session, and one for all requests that belong to none.
type Web struct {
	Options
	// Conversation is the one that calls of all clients belong to; if empty, each
	// session is one of its own.
	Conversation string
	// Token, if not empty, is what clients have to show.
	Token string
	// Origins are those web pages may come from beside the loopback ones.
	Origins []string
	// MaxSessions is how many there may be at a time.
	MaxSessions int
	// Idle is after how long without a request a session ends.
	Idle time.Duration

	mu       sync.Mutex
	sessions map[string]*webSession // "" is the one of requests that belong to none
}

// webSession is a client's session.
type webSession struct {
	*downstream
	end   context.CancelFunc
	ended chan struct{}
	idle  *time.Timer
}

// Serve serves until ctx ends.
func (w *Web) Serve(ctx context.Context, ln net.Listener) error {
	w.sessions = make(map[string]*webSession)
	server := &http.Server{
		Handler:           w.handler(ctx),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(w.Log.Handler(), slog.LevelDebug),
	}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	err := server.Serve(ln)
	w.endAll()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (w *Web) handler(ctx context.Context) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /mcp", func(rw http.ResponseWriter, r *http.Request) { w.post(ctx, rw, r) })
	mux.HandleFunc("GET /mcp", w.get)
	mux.HandleFunc("DELETE /mcp", w.delete)
	return w.admit(mux)
}

// admit turns away who has no business here: web pages from elsewhere, hosts that
// were made to mean this machine, clients without the token.
func (w *Web) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		switch {
		case local != nil && loopback(local.String()) && !loopback(r.Host):
			http.Error(rw, "this host is not served here", http.StatusForbidden)
		case !w.originAllowed(r.Header.Get("Origin")):
			http.Error(rw, "this origin is not allowed", http.StatusForbidden)
		case w.Token != "" && subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+w.Token)) == 0:
			rw.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(rw, "the bearer token is missing or wrong", http.StatusUnauthorized)
		default:
			next.ServeHTTP(rw, r)
		}
	})
}

func (w *Web) originAllowed(origin string) bool {
	if origin == "" || slices.Contains(w.Origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && loopback(u.Host)
}

// loopback reports whether a host, with or without a port, is this machine.
func loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

const sessionHeader = "Mcp-Session-Id"

func (w *Web) post(ctx context.Context, rw http.ResponseWriter, r *http.Request) {
	body, err := httpguard.ReadAll(r.Body, int64(w.MaxMessage))
	if err != nil {
		status := http.StatusBadRequest
		if errors.Is(err, httpguard.ErrTooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(rw, "the message cannot be read", status)
		return
	}
	m, err := parseOne(body)
	if err != nil {
		writeJSON(rw, http.StatusBadRequest, refused(nil, malformed(err)))
		return
	}
	if m.Method != "" && stateless(r, m) {
		if err := compareHeaders(r.Header, m, w.Guards); err != nil {
			writeJSON(rw, http.StatusBadRequest, refused(m.ID, &rpcError{Code: mcp.CodeHeaderMismatch, Message: err.Error()}))
			return
		}
	}
	s, status := w.sessionOf(ctx, r, m)
	if s == nil {
		writeJSON(rw, status, refused(m.ID, &rpcError{Code: codeServer, Message: http.StatusText(status) + ": session"}))
		return
	}
	s.idle.Stop()
	defer s.idle.Reset(w.Idle)
	if m.Method == "initialize" && s.id != "" {
		rw.Header().Set(sessionHeader, s.id)
	}
	s.post(rw, r, m)
}

// sessionOf finds the session of a message, or opens one.
func (w *Web) sessionOf(ctx context.Context, r *http.Request, m *message) (*webSession, int) {
	id := r.Header.Get(sessionHeader)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch s := w.sessions[id]; {
	case s != nil:
		return s, 0
	case id != "":
		return nil, http.StatusNotFound
	case len(w.sessions) >= w.MaxSessions:
		return nil, http.StatusServiceUnavailable
	case m.Method == "initialize":
		return w.open(ctx, rand.Text()), 0
	case stateless(r, m):
		return w.open(ctx, ""), 0
	default:
		return nil, http.StatusBadRequest
	}
}

// stateless reports whether a message is of a protocol without sessions.
func stateless(r *http.Request, m *message) bool {
	version, _ := look(m.Params)
	return version >= sessionless || r.Header.Get("Mcp-Protocol-Version") >= sessionless
}

// open starts a session; w.mu is held.
func (w *Web) open(ctx context.Context, id string) *webSession {
	ctx, end := context.WithCancel(ctx)
	s := &webSession{downstream: newDownstream(id, w.Log), end: end, ended: make(chan struct{})}
	s.idle = time.AfterFunc(w.Idle, end)
	w.sessions[id] = s
	name := w.Conversation
	if name == "" && id != "" { // without a session they are strangers to each other
		name = "http " + id
	}
	go func() {
		defer close(s.ended)
		err := w.relay(s.downstream, name).run(ctx)
		if err != nil {
			w.Log.Error("a session has no server", "error", err)
		}
		end()
		w.mu.Lock()
		delete(w.sessions, id)
		w.mu.Unlock()
		s.finish(err)
	}()
	return s
}

func (w *Web) find(rw http.ResponseWriter, r *http.Request) *webSession {
	id := r.Header.Get(sessionHeader)
	w.mu.Lock()
	s := w.sessions[id]
	w.mu.Unlock()
	switch {
	case id == "":
		http.Error(rw, "which session? want "+sessionHeader, http.StatusBadRequest)
		return nil
	case s == nil:
		http.Error(rw, "there is no such session", http.StatusNotFound)
	}
	return s
}

func (w *Web) get(rw http.ResponseWriter, r *http.Request) {
	if s := w.find(rw, r); s != nil {
		s.idle.Stop()
		defer s.idle.Reset(w.Idle)
		s.listen(rw, r)
	}
}

func (w *Web) delete(rw http.ResponseWriter, r *http.Request) {
	if s := w.find(rw, r); s != nil {
		s.end()
		<-s.ended
		rw.WriteHeader(http.StatusNoContent)
	}
}

// endAll ends the sessions and waits for their servers to be gone.
func (w *Web) endAll() {
	w.mu.Lock()
	var open []*webSession
	for _, s := range w.sessions {
		open = append(open, s)
	}
	w.mu.Unlock()
	for _, s := range open {
		s.end()
	}
	for _, s := range open {
		<-s.ended
	}
}

func writeJSON(rw http.ResponseWriter, status int, m *message) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_, _ = rw.Write(m.text)
}
