package mcpguard

import (
	"cmp"
	"context"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/toolguard-go/toolguard"
)

// scoped makes the connection a call's conversation, and the user it is
// authenticated for its principal, where the host has not said better.
func scoped(ctx context.Context, connection, principal string) context.Context {
	s := toolguard.ScopeFrom(ctx)
	before := s
	s.Principal = cmp.Or(s.Principal, principal)
	s.Session = cmp.Or(s.Session, connection)
	if s == before {
		return ctx
	}
	return toolguard.WithScope(ctx, s)
}

// nameless numbers the connections that have no ID, by weak pointers to their
// sessions.
var nameless struct {
	last atomic.Uint64
	ids  sync.Map
}

// connection names a session of the SDK: by its ID, if it has one.
func connection[S any](id string, session *S) string {
	if id != "" || session == nil {
		return id
	}
	key := weak.Make(session)
	if known, ok := nameless.ids.Load(key); ok {
		return known.(string)
	}
	known, raced := nameless.ids.LoadOrStore(key, "connection "+strconv.FormatUint(nameless.last.Add(1), 10))
	if !raced {
		runtime.AddCleanup(session, func(k weak.Pointer[S]) { nameless.ids.Delete(k) }, key)
	}
	return known.(string)
}
