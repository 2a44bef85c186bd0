package mcpguard

import (
	"context"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Redial gets a session back that was lost: the server ended, a pipe broke, or
// an HTTP server knows the session no more. A nil *Redial gets none back. Safe for
// concurrent use; one is for one server.
type Redial struct {
	// Connect makes a new session, by the same client if the guards shall go on
	// guarding it. It runs before a call, for up to 5 s, or as part of an attempt,
	// and for one call at a time.
	Connect func(ctx context.Context) (*mcp.ClientSession, error)

	dialing sync.Mutex // held while Connect runs

	mu     sync.Mutex
	latest *mcp.ClientSession // in place of those that were lost
	first  *mcp.ClientSession // the one that callers hold
	down   bool               // the session calls go by is lost
}

// live returns the session to send by: the caller's, or the one in its place. A
// lost one is replaced first, and fresh is true.
func (r *Redial) live(ctx context.Context, session *mcp.ClientSession) (live *mcp.ClientSession, fresh bool, err error) {
	if r == nil || r.Connect == nil {
		return session, false, nil
	}
	if s := r.usable(session); s != nil {
		return s, false, nil
	}
	r.dialing.Lock()
	defer r.dialing.Unlock()
	if s := r.usable(session); s != nil {
		return s, false, nil // another call has got it back
	}
	if live, err = r.Connect(ctx); err != nil {
		return nil, false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latest, r.down = live, false
	return live, true, nil
}

// isDown reports whether the session calls go by is lost.
func (r *Redial) isDown() bool {
	if r == nil || r.Connect == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.down
}

// usable returns the session that calls go by now, nil if that is lost.
func (r *Redial) usable(session *mcp.ClientSession) *mcp.ClientSession {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.first == nil:
		r.first, r.latest = session, session
	case session != r.first && session != r.latest:
		r.first, r.latest, r.down = session, session, false // the host has made a new one itself
	}
	if r.down {
		return nil
	}
	return r.latest
}

// lost is told of a session that is gone.
func (r *Redial) lost(session *mcp.ClientSession) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if session == r.latest && !r.down {
		r.down = true
		go func() { _ = session.Close() }() // it may wait for a server that hangs
	}
}

// gone reports whether a session cannot be used any more after err.
func gone(err error) bool {
	return lost(err) || errors.Is(err, mcp.ErrSessionMissing) || errors.Is(err, mcp.ErrConnectionClosed)
}
