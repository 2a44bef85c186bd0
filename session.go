package toolguard

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolguard-go/toolguard/internal/lru"
)

// SessionPolicy bounds what [Sessions] remember.
type SessionPolicy struct {
	// Max is how many conversations are remembered; the one unused for longest
	// goes first. If zero, 10,000.
	Max int
	// Idle is after how long without a call a conversation is forgotten. If
	// zero, 1 h.
	Idle time.Duration
	// History is how many calls of a conversation are remembered. If zero, 64.
	History int
	// MaxKept bounds the results kept for reuse over all conversations, in
	// bytes. If zero, 32 MiB.
	MaxKept int
}

func (p SessionPolicy) withDefaults() SessionPolicy {
	setDefault(&p.Max, 10_000)
	setDefault(&p.Idle, time.Hour)
	setDefault(&p.History, 64)
	setDefault(&p.MaxKept, 32<<20)
	return p
}

func (p SessionPolicy) check() error {
	var errs []error
	bad := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("toolguard: SessionPolicy.%s is %v, want %s", field, value, want))
	}
	if p.Max < 0 {
		bad("Max", p.Max, "zero or more")
	}
	if p.Idle < 0 {
		bad("Idle", p.Idle, "zero or more")
	}
	if p.MaxKept < 0 {
		bad("MaxKept", p.MaxKept, "zero or more")
	}
	if p.History != 0 && (p.History < 20 || p.History > 4096) {
		bad("History", p.History, "20 to 4096: shorter ones miss cycles")
	}
	return errors.Join(errs...)
}

// Sessions remember conversations, so that guards notice what a model does again
// and again. Guards that are given the same Sessions share them. A call belongs
// to the conversation its [Scope] names; without one nothing is remembered.
// Calls that a tool makes through other guards count too, unless it gives them a
// scope of their own. Safe for concurrent use.
type Sessions struct {
	policy SessionPolicy
	shelf  shelf
	counts sessionCounts

	mu      sync.Mutex
	byKey   *lru.Cache[sessionKey, *session]
	tools   *lru.Cache[string, *Guard] // by identity
	expired uint64
	serial  uint64
}

type sessionKey struct{ tenant, session string }

// maxTools bounds the guards known by name, for [Sessions.Restore].
const maxTools = 4096

// NewSessions returns empty Sessions, or an error that names what makes no sense.
func NewSessions(p SessionPolicy) (*Sessions, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	p = p.withDefaults()
	return &Sessions{
		policy: p,
		shelf:  newShelf(p.MaxKept),
		byKey:  lru.New[sessionKey, *session](p.Max),
		tools:  lru.New[string, *Guard](maxTools),
	}, nil
}

// SessionStats are counts of [Sessions].
type SessionStats struct {
	// Conversations are remembered now; Evicted went for want of room, Expired
	// for being idle.
	Conversations    int
	Evicted, Expired uint64
	// Kept is the number of results kept for identical calls, KeptBytes their size.
	Kept, KeptBytes int
	// Joined, Reused and Replayed are calls that were answered without running:
	// by an identical one in flight, by a recent read, as a write done already.
	Joined, Reused, Replayed uint64
	// Loops, Limits, EarlyPolls and Doubts are calls that were refused as
	// loop_detected, limit_reached, polled_too_soon and in_doubt.
	Loops, Limits, EarlyPolls, Doubts uint64
	// Forgotten are unknown outcomes and done writes that a conversation had no
	// room for any more.
	Forgotten uint64
}

// sessionCounts are the counts that calls add to.
type sessionCounts struct {
	joined, reused, replayed, loops, limits, polls, doubts, forgotten atomic.Uint64
}

// Stats returns the counts.
func (s *Sessions) Stats() SessionStats {
	n := &s.counts
	st := SessionStats{
		Joined: n.joined.Load(), Reused: n.reused.Load(), Replayed: n.replayed.Load(),
		Loops: n.loops.Load(), Limits: n.limits.Load(), EarlyPolls: n.polls.Load(), Doubts: n.doubts.Load(),
		Forgotten: n.forgotten.Load(),
	}
	st.Kept, st.KeptBytes = s.shelf.size()
	s.mu.Lock()
	defer s.mu.Unlock()
	st.Conversations, st.Evicted, st.Expired = s.byKey.Len(), s.byKey.Evicted(), s.expired
	return st
}

// count adds a call to the counts, by what became of it.
func (n *sessionCounts) count(code Code, d Decision) {
	switch {
	case code == CodeLoopDetected:
		n.loops.Add(1)
	case code == CodeLimitReached:
		n.limits.Add(1)
	case code == CodePolledTooSoon:
		n.polls.Add(1)
	case code == CodeInDoubt:
		n.doubts.Add(1)
	case d == DecisionJoin:
		n.joined.Add(1)
	case d == DecisionReuse:
		n.reused.Add(1)
	case d == DecisionReplay:
		n.replayed.Add(1)
	}
}

// NewTurn says that the user has spoken: limits for each turn start afresh, and
// what was refused for repeating may be tried again. A host that sets Scope.Turn
// need not call it. It does nothing where the scope names no conversation.
func (s *Sessions) NewTurn(scope Scope) {
	if c := s.at(&scope, time.Now()); c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.startTurn(scope.Turn)
	}
}

// Returned says that the service behind a guard's tool was away and is back: what
// conversations hold against the tool for failures of the system in a row says
// nothing any more. What is unknown stays so. A nil guard does nothing.
func (s *Sessions) Returned(g *Guard) {
	if s == nil || g == nil || g.body.Load() == nil {
		return
	}
	for _, c := range s.conversations() {
		c.returned(g.args.identity)
	}
}

func (s *session) returned(identity string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.tools {
		if t := &s.tools[i]; t.tool == identity {
			t.streak, t.refused = 0, time.Time{}
		}
	}
}

func (s *Sessions) conversations() (all []*session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.byKey.All {
		all = append(all, c)
	}
	return all
}

// Forget ends a conversation. Calls of it that still run end as usual.
func (s *Sessions) Forget(scope Scope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byKey.Delete(sessionKey{scope.Tenant, scope.Session})
}

// at returns the scope's conversation, a new one if it was idle for too long, or
// nil if the scope names none.
func (s *Sessions) at(scope *Scope, now time.Time) *session {
	if s == nil || scope.Session == "" {
		return nil
	}
	key := sessionKey{scope.Tenant, scope.Session}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.byKey.Get(key)
	if ok && now.Sub(c.used) <= s.policy.Idle {
		c.used = now
		return c
	}
	if ok {
		s.expired++
	}
	s.sweep(now)
	s.serial++
	c = &session{owner: s, id: s.serial, used: now}
	s.byKey.Put(key, c)
	return c
}

// sweep forgets a few of those that have been idle for longest, so that each new
// conversation makes up for more than itself.
func (s *Sessions) sweep(now time.Time) {
	n := 0
	for key, c := range s.byKey.OldestFirst {
		if n++; n > 2 || now.Sub(c.used) <= s.policy.Idle {
			return
		}
		s.expired++
		s.byKey.Delete(key)
	}
}

// register makes a guard known, so that past calls of its tool can be read as it
// would read them.
func (s *Sessions) register(g *Guard) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools.Put(g.args.identity, g)
}

func (s *Sessions) tool(identity string) *Guard {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, _ := s.tools.Get(identity)
	return g
}
