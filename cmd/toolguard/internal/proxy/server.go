package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/adapters/mcpguard"
)

// server is the MCP server behind the proxy. When it crashes it is started again,
// and the client's handshake repeated. Requests are answered by the server they
// were sent to or not at all.
type server struct {
	dial    func(context.Context) (link, error)
	deliver func(m *message) // what the server sends that is not for the proxy
	log     *slog.Logger
	// lost is told of a server that is gone, returned of one that has taken its
	// place, before anything is sent to it. Nil tells nobody.
	lost, returned func()
	prefix         string // of the IDs of the proxy's own requests
	last           atomic.Uint64
	shakes         handshake

	mu      sync.Mutex
	link    link          // nil while there is none
	up      chan struct{} // closed while there is one
	waiting map[string]*pending
	ended   bool

	spoken   bool          // some server has sent something; read's alone
	hopeless chan error    // the first one ended without
	over     chan struct{} // closed when nothing is kept up any more
}

// waiter is what becomes of the answer to a request, by the key of its ID. It is
// called once: with the answer, or with one that is lost.
type waiter func(m *message)

// pending is a request that is not answered. While it is being sent, the sender
// has the last word on what became of it: it may know that nothing has arrived.
type pending struct {
	answered waiter
	sending  bool
	lost     *message // the server was lost meanwhile
}

// Limits of a restart.
const (
	firstPause   = 200 * time.Millisecond
	longestPause = 30 * time.Second
	stableAfter  = 30 * time.Second // a server that has run for this long has not crashed at the start
	comeBack     = 5 * time.Second  // how long a message waits for a server that is down
	handshaking  = 60 * time.Second
)

var errDown = errors.New("the server is down and is being started again")

// start starts the server for the first time and keeps it up until ctx ends.
func (s *server) start(ctx context.Context) error {
	s.up, s.waiting = make(chan struct{}), make(map[string]*pending)
	s.hopeless, s.over = make(chan error, 1), make(chan struct{})
	l, err := s.dial(ctx)
	if err != nil {
		return err
	}
	s.open(l)
	go s.keep(ctx, l)
	return nil
}

// keep reads from the server, and starts it again when it has ended.
func (s *server) keep(ctx context.Context, l link) {
	defer close(s.over)
	pause := firstPause
	for {
		began := time.Now()
		err := s.read(l)
		s.shut(l, err)
		if s.lost != nil {
			s.lost()
		}
		if ctx.Err() != nil {
			return
		}
		if !s.spoken {
			s.hopeless <- fmt.Errorf("the server ended before it said anything: %w", err)
			return
		}
		if time.Since(began) > stableAfter {
			pause = firstPause
		}
		for l = nil; l == nil; {
			s.log.Warn("the server was lost and is started again", "reason", err, "pause", pause)
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			pause = min(2*pause, longestPause)
			l, err = s.again(ctx)
		}
	}
}

// again starts the server anew. The handshake needs somebody who reads.
func (s *server) again(ctx context.Context) (link, error) {
	l, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	go func() {
		if err := s.shakes.repeat(ctx, s, l); err != nil {
			s.log.Warn("the server that was started again cannot be used", "error", err)
			l.close()
			return
		}
		if s.returned != nil {
			s.returned()
		}
		s.open(l)
	}()
	return l, nil
}

func (s *server) open(l link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		go l.close()
		return
	}
	s.link = l
	close(s.up)
}

// shut answers what the lost server will not.
func (s *server) shut(l link, reason error) {
	l.close()
	s.mu.Lock()
	if s.link == l {
		s.link, s.up = nil, make(chan struct{})
	}
	var lost []waiter
	end := &message{lost: fmt.Errorf("%w: %w", mcpguard.ErrLost, reason)}
	for key, p := range s.waiting {
		if p.lost = end; !p.sending {
			lost = append(lost, p.answered)
			delete(s.waiting, key)
		}
	}
	s.mu.Unlock()
	for _, w := range lost {
		w(end)
	}
}

// read hands on what comes from the server until it ends.
func (s *server) read(l link) error {
	for {
		m, err := l.receive()
		s.spoken = s.spoken || err == nil
		if bad, ok := errors.AsType[*errMalformed](err); ok {
			s.log.Warn("the server sent what is no message", "reason", bad.reason)
			m = &message{ID: bad.id, lost: &toolguard.Error{Code: toolguard.CodeBadResponse, Cause: bad}}
		} else if err != nil {
			return err
		}
		if m.isAnswer() {
			if w := s.take(m.key()); w != nil {
				w(m)
			} else if m.lost == nil {
				s.log.Debug("an answer nobody waits for", "id", m.key())
			}
			continue
		}
		s.deliver(m)
	}
}

func (s *server) take(key string) waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.waiting[key]
	if p == nil {
		return nil
	}
	delete(s.waiting, key)
	return p.answered
}

// current returns the link, waiting a while for a server that is coming back.
func (s *server) current(ctx context.Context) (link, error) {
	s.mu.Lock()
	l, up := s.link, s.up
	s.mu.Unlock()
	if l != nil {
		return l, nil
	}
	ctx, cancel := context.WithTimeout(ctx, comeBack)
	defer cancel()
	select {
	case <-up:
		return s.current(ctx)
	case <-ctx.Done():
		return nil, errors.Join(mcpguard.ErrNotSent, errDown)
	}
}

// send hands a message to the server. If it is a request, w gets its answer,
// unless send returns an error.
func (s *server) send(ctx context.Context, m *message, w waiter) error {
	l, err := s.current(ctx)
	if err != nil {
		return err
	}
	return s.sendBy(ctx, l, m, w)
}

func (s *server) sendBy(ctx context.Context, l link, m *message, w waiter) error {
	if w == nil {
		return l.send(ctx, m)
	}
	p := &pending{answered: w, sending: true}
	s.mu.Lock()
	s.waiting[m.key()] = p
	s.mu.Unlock()
	err := l.send(ctx, m)
	s.mu.Lock()
	p.sending = false
	open, lost := s.waiting[m.key()] == p, p.lost
	if open && (err != nil || lost != nil) {
		delete(s.waiting, m.key())
	}
	s.mu.Unlock()
	switch {
	case !open:
		return nil // it was answered, whatever the sender says
	case err == nil && lost != nil:
		w(lost)
	}
	return err
}

// ask makes a request of the proxy's own and returns the answer.
func (s *server) ask(ctx context.Context, method string, params json.RawMessage, related string) (*message, error) {
	l, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	return s.askBy(ctx, l, method, params, related)
}

func (s *server) askBy(ctx context.Context, l link, method string, params json.RawMessage, related string) (*message, error) {
	m := request(s.ownID(), method, params)
	m.related = related
	answer := make(chan *message, 1)
	if err := s.sendBy(ctx, l, m, func(m *message) { answer <- m }); err != nil {
		return nil, err
	}
	select {
	case a := <-answer:
		if a.lost != nil {
			return nil, a.lost
		}
		return a, nil
	case <-ctx.Done():
		s.take(m.key())
		s.cancel(l, m.ID)
		return nil, ctx.Err()
	}
}

// cancel tells the server that nobody waits for the answer any more.
func (s *server) cancel(l link, id json.RawMessage) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	go func() {
		defer cancel()
		params := append(append([]byte(`{"requestId":`), id...), `,"reason":"canceled"}`...)
		_ = l.send(ctx, request(nil, "notifications/cancelled", params))
	}()
}

func (s *server) ownID() json.RawMessage {
	return strconv.AppendQuote(nil, s.prefix+strconv.FormatUint(s.last.Add(1), 10))
}

// end ends the server, once the context it is kept up for has ended.
func (s *server) end() {
	s.mu.Lock()
	l := s.link
	s.ended = true
	s.mu.Unlock()
	if l != nil {
		l.close()
	}
	<-s.over
}
