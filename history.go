package toolguard

import (
	"slices"
	"sync"
	"time"
)

// session is one conversation. Its methods expect the caller to hold its lock,
// and decide by what they are given: no foreign code runs under the lock, and no
// lock but the shelf's is taken under it.
type session struct {
	owner *Sessions
	id    uint64
	used  time.Time // under the owner's lock

	mu        sync.Mutex
	turn      string
	turns     bool // the host tells turns apart
	turnNo    uint32
	turnCalls int
	changes   uint32 // how often something was changed, or may have been
	past      []pastCall
	next      int // where the ring goes on
	tools     []toolTurn
	doubts    []doubt
	done      []doneWrite
	flights   map[flightKey]*flight
}

// callKey identifies a call within a conversation: its digest, cut short.
type callKey [16]byte

// change is what a call did to the world.
type change uint8

const (
	_ change = iota // nothing
	// changedSomething: other calls may now have other answers, this one need not.
	changedSomething
	// changedAnew: the tool's author says that each call is meant.
	changedAnew
)

// pastCall is what is remembered of a call.
type pastCall struct {
	key     callKey
	answer  uint64 // the fingerprint of what was answered
	at      time.Time
	tool    string // its identity
	turn    uint32
	change  change
	refused bool   // as a loop; the rest is of the one before
	batch   uint16 // the calls of one message have it in common; 0 outside of batches
	code    Code   // "" for a success
}

// toolTurn is what a tool did in this turn.
type toolTurn struct {
	tool    string
	calls   int
	streak  int       // failures of the system in a row
	failed  time.Time // when the last of them was known
	refused time.Time
}

// doubt is a call that may have had its effect. It stays until somebody knows.
type doubt struct {
	key            callKey
	at             time.Time
	principal      string
	since          time.Time // the downstream has known the key
	idempotencyKey string    // "" if the downstream cannot be asked
	abandoned      bool      // its attempt may still run
	unwritten      bool      // the journal did not take it, and does not know of it
}

// settles is what [call.settles] is for an earlier call. After the delay nothing is
// on its way any more, but for an abandoned attempt, which may act at any time.
func (d *doubt) settles(o Outcome, now time.Time, delay time.Duration) bool {
	switch o {
	case OutcomeSucceeded:
		return true
	case OutcomeFailed:
		return !d.abandoned
	default:
		return o == OutcomeNotStarted && !d.abandoned && now.Sub(d.at) >= delay
	}
}

const defaultSettleDelay = time.Minute

// settleDelay is after what time nothing is on its way to the downstream any more.
func (i *Info) settleDelay() time.Duration {
	if i.SettleDelay > 0 {
		return i.SettleDelay
	}
	return defaultSettleDelay
}

// doneWrite is a call that had its effect in this turn.
type doneWrite struct {
	flightKey
	answer  uint64
	at      time.Time
	key     string // the idempotency key it had, if any
	changes uint32 // of the conversation, this one included
	batch   uint16 // as of the call
	untold  bool   // whoever asked was told that nobody knows
}

// A conversation with more than this is beyond help from memory alone.
const (
	maxDoubts    = 256
	maxDone      = 256
	maxTurnTools = 256
)

// startTurn forgets what holds for one turn. Where the host tells turns apart,
// what is older than that counts no more.
func (s *session) startTurn(turn string) {
	s.turn, s.turns, s.turnCalls = turn, true, 0
	s.turnNo++
	clear(s.tools)
	clear(s.done)
	s.tools, s.done = s.tools[:0], s.done[:0]
}

// enter brings the conversation to the turn of a call. One that names none
// belongs to the turn that goes on.
func (s *session) enter(turn string) {
	if turn != "" && turn != s.turn {
		s.startTurn(turn)
	}
}

// admit counts a call and returns how many there are in this turn, of all tools
// and of this one; both are zero where turns are not told apart.
func (s *session) admit(identity string) (all, ofTool int) {
	if !s.turns {
		return 0, 0
	}
	tool := s.tool(identity)
	s.turnCalls++
	tool.calls++
	return s.turnCalls, tool.calls
}

// tool returns the account of a tool in this turn.
func (s *session) tool(identity string) *toolTurn {
	for i := range s.tools {
		if s.tools[i].tool == identity {
			return &s.tools[i]
		}
	}
	if len(s.tools) == maxTurnTools {
		s.tools = slices.Delete(s.tools, 0, 1)
	}
	s.tools = append(s.tools, toolTurn{tool: identity})
	return &s.tools[len(s.tools)-1]
}

// add remembers a call in place of the oldest.
func (s *session) add(p pastCall) {
	if len(s.past) < s.owner.policy.History {
		s.past = append(s.past, p)
		return
	}
	s.past[s.next] = p
	s.next = (s.next + 1) % len(s.past)
}

// back returns the call i calls ago, 0 being the last; nil if it is not there.
func (s *session) back(i int) *pastCall {
	if i >= len(s.past) {
		return nil
	}
	at := s.next - 1 - i
	if at < 0 {
		at += len(s.past)
	}
	return &s.past[at]
}

// recent says whether a past call belongs to the stretch in which repeats are
// repeats: the turn, or where turns are not told apart, the last five minutes.
func (s *session) recent(p *pastCall, now time.Time) bool {
	return p.turn == s.turnNo && (s.turns || now.Sub(p.at) < noTurnWindow)
}

// noTurnWindow is how far back repeats count where turns are not told apart.
const noTurnWindow = 5 * time.Minute

// doubted returns the doubt about a call, or nil.
func (s *session) doubted(key callKey) *doubt {
	for i := range s.doubts {
		if s.doubts[i].key == key {
			return &s.doubts[i]
		}
	}
	return nil
}

// settleDoubt forgets the doubt about a call.
func (s *session) settleDoubt(key callKey) {
	s.doubts = slices.DeleteFunc(s.doubts, func(d doubt) bool { return d.key == key })
}

func (s *session) doubt(d doubt) {
	if old := s.doubted(d.key); old != nil && old.idempotencyKey == d.idempotencyKey {
		d.since, d.abandoned = old.since, d.abandoned || old.abandoned
	}
	s.settleDoubt(d.key)
	if len(s.doubts) == maxDoubts {
		s.owner.counts.forgotten.Add(1)
		s.doubts = slices.Delete(s.doubts, 0, 1)
	}
	s.doubts = append(s.doubts, d)
}

// finish remembers a write that had its effect in this turn.
func (s *session) finish(w doneWrite) {
	s.done = slices.DeleteFunc(s.done, func(old doneWrite) bool { return old.flightKey == w.flightKey })
	if len(s.done) == maxDone {
		s.owner.counts.forgotten.Add(1)
		s.done = slices.Delete(s.done, 0, 1)
	}
	s.done = append(s.done, w)
}

// booking is an answered call on its way into the history.
type booking struct {
	past      pastCall
	began     time.Time // zero if that is not known
	principal string
	info      *Info
	loop      *LoopPolicy
	outcome   Outcome
	refused   Code // as a loop, for a limit, or for polling too soon; else ""
	// acted: the tool ran, or what stands in for it did.
	acted bool
	// confirmed: the downstream says what became of an earlier one.
	confirmed bool
	// borrowed: the answer is that of another call, which has been booked.
	borrowed bool
	// neither success nor failure: it asks for something, or the host took over,
	// or the caller gave up.
	neither bool
	// abandoned: it may still act.
	abandoned bool
	// idempotencyKey is what the downstream can be asked by.
	idempotencyKey string
	// journaled: the journal remembers the effect, and who decides about it.
	journaled bool
	// byHost: the host has resumed it; the model does not repeat itself.
	byHost bool
	// unwritten: there is a journal that would, but it did not take the call.
	unwritten bool
}

// since is when the call began, as far as that is known.
func (b *booking) since() time.Time {
	if b.began.IsZero() {
		return b.past.at
	}
	return b.began
}

// book settles what is known of a call's effect, and remembers the call.
func (s *session) book(b *booking) {
	if b.info.Effect != ReadOnly && !b.borrowed {
		s.bookEffect(b)
	}
	switch p := &b.past; {
	case b.refused == CodeLoopDetected:
		if !p.at.Before(s.tool(p.tool).refused) { // it was the call, not the tool
			s.bookRefusal(p)
		}
	case b.refused != "" || b.neither || b.byHost:
	default:
		s.add(*p)
		if !b.borrowed && p.turn == s.turnNo {
			s.tool(p.tool).book(p.code, b.acted, b.loop, b.began, p.at)
		}
	}
}

// bookEffect keeps doubts, done writes and the count of changes.
func (s *session) bookEffect(b *booking) {
	p, happened := &b.past, b.outcome == OutcomeSucceeded
	unknown := b.outcome == OutcomeUnknown
	if b.acted && (happened || unknown) {
		s.changes++
		p.change = changedSomething
		if b.info.RepeatsNormal {
			p.change = changedAnew
		}
	}
	switch {
	case !b.acted && !b.confirmed || p.code == CodeControlFlow:
	case b.journaled && !happened:
	case unknown && b.info.Effect != Idempotent:
		s.doubt(doubt{p.key, p.at, b.principal, b.since(), b.idempotencyKey, b.abandoned, b.unwritten})
	case !unknown:
		s.settleDoubt(p.key)
		if happened && !b.neither && p.turn == s.turnNo {
			s.finish(doneWrite{flightKey{p.key, b.principal}, p.answer, p.at, b.idempotencyKey, s.changes, p.batch, false})
		}
	}
}

// bookRefusal remembers a call that was refused as a loop as if it had got its
// answer once more: who goes on with a cycle that is refused still goes through it.
func (s *session) bookRefusal(p *pastCall) {
	p.refused = true
	for i := range s.past {
		if other := s.back(i); other.key == p.key {
			p.answer, p.code, p.at = other.answer, other.code, other.at
			break
		}
	}
	s.add(*p)
}
