package toolguard

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/toolguard-go/toolguard/internal/lru"
	"github.com/toolguard-go/toolguard/prompts"
)

// DedupePolicy says when a call need not run because an identical one has run,
// or is running, in the same conversation for the same principal. Identical
// means the same tool and the same arguments, but for Info.Irrelevant ones.
// It works only where Options.Sessions and Scope.Session are set.
//
// A write that succeeded answers identical ones for the rest of the turn; where the
// host tells no turns apart, those of the same message, and if that became known only
// after its call was answered. That
// of an [Idempotent] tool runs again once something else was changed: it sets a
// state, which may be another one by then. Polling tools, and those whose
// Info.RepeatsNormal is set, always run.
type DedupePolicy struct {
	// Off runs every call.
	Off bool
	// Reuse is how long the result of a read-only call answers identical ones of
	// the same turn, if nothing was changed in between. If zero, 10 s.
	Reuse time.Duration
	// NoReuse runs read-only calls again.
	NoReuse bool
	// NoJoin lets identical read-only calls run side by side.
	NoJoin bool
}

func (p DedupePolicy) withDefaults() DedupePolicy {
	setDefault(&p.Reuse, 10*time.Second)
	return p
}

func (p DedupePolicy) check() error {
	errs := []error{notNegative("Dedupe.Reuse", p.Reuse)}
	if p.NoReuse && p.Reuse > 0 {
		errs = append(errs, badOption("Dedupe.Reuse", p.Reuse, "zero together with NoReuse"))
	}
	return errors.Join(errs...)
}

// shared is what a call came to, for others that ask the same.
type shared struct {
	id      string // of the call
	key     string // its idempotency key, if it had one
	result  Result // unless failure is set
	failure *failure
	outcome Outcome
	source  *Degraded
	ran     json.RawMessage // what a person wrote in place of what was asked
	notes   []Note          // about the result, not the arguments, the call or the conversation
}

// share copies what the call came to: each caller may do with its own answer
// what it likes.
func (c *call) share() shared {
	s := shared{id: c.id, key: c.keyIfMade(), outcome: c.outcome, source: c.source(), notes: ofResult(c.notes[c.argNotes:c.ownNotes])}
	if slices.ContainsFunc(s.notes, isEdited) {
		s.ran = slices.Clone(c.doc.Text)
	}
	if c.failure != nil {
		f := *c.failure
		s.failure = &f
	} else {
		s.result = c.result.clone()
	}
	return s
}

// ofResult leaves out the note that the call ran in addition: nobody else's did.
func ofResult(notes []Note) []Note {
	return slices.DeleteFunc(slices.Clone(notes), func(n Note) bool { return n.Kind == prompts.NoteEarlierSuccess })
}

// take makes another call's answer this one's.
func (c *call) take(s *shared, d Decision, note Note) {
	c.decided, c.outcome = d, s.outcome
	c.answersUnder(s.key)
	if s.source != nil {
		c.rarely().source = s.source
	}
	if s.failure != nil {
		f := *s.failure
		c.failure = &f
	} else {
		result := s.result.clone()
		c.result = &result
	}
	notes := s.notes
	switch {
	case s.ran != nil && bytes.Equal(s.ran, c.doc.Text): // it sent that itself
		notes = slices.DeleteFunc(slices.Clone(notes), isEdited)
	case s.ran != nil:
		c.rarely().ran = s.ran
	}
	c.notes = append(append(c.notes, notes...), note)
}

// answersUnder makes the key of the call whose answer this one has this one's, or
// takes it away: of its own key nobody will ever hear.
func (c *call) answersUnder(key string) {
	if key == "" {
		c.key.Store(nil)
		return
	}
	c.key.Store(&key)
}

// clone copies what a caller could change in place.
func (r *Result) clone() Result {
	out := *r
	out.extra = nil
	out.JSON = slices.Clone(r.JSON)
	out.Parts = slices.Clone(r.Parts)
	for i := range out.Parts {
		out.Parts[i].Data = slices.Clone(out.Parts[i].Data)
	}
	return out
}

func (r *Result) size() int {
	n := len(r.Text) + len(r.JSON)
	for _, p := range r.Parts {
		n += len(p.Data)
	}
	return n
}

// flightKey keeps the calls of different principals apart.
type flightKey struct {
	callKey
	principal string
}

// flight is a call in progress. Identical ones wait for it.
type flight struct {
	done   chan struct{} // made by the first that waits, under the session's lock
	shared *shared       // for those who wait; nil if there is nothing to share
}

// takeOff registers a call that identical ones may wait for.
func (s *session) takeOff(key flightKey) *flight {
	if s.flights == nil {
		s.flights = make(map[flightKey]*flight)
	}
	f := new(flight)
	s.flights[key] = f
	return f
}

// wait returns what is closed when the flight has landed.
func (f *flight) wait() <-chan struct{} {
	if f.done == nil {
		f.done = make(chan struct{})
	}
	return f.done
}

// land hands the answer to those who wait, and to nobody else. A caller who gave
// up has no failure to share: the others are not to blame for that.
func (c *call) land() {
	f, s := c.flight, c.session
	if f == nil {
		return
	}
	c.flight = nil
	s.mu.Lock()
	delete(s.flights, c.flightKey())
	awaited := f.done != nil // nobody new can find it any more
	s.mu.Unlock()
	if !awaited {
		return
	}
	if c.failure == nil || c.ctx.Err() == nil {
		answer := c.share()
		f.shared = &answer
	}
	close(f.done)
}

// joined waits for the flight and takes its answer, if it has one to share. It
// reports whether the call is settled.
func (c *call) joined(f *flight, landed <-chan struct{}) bool {
	ctx, cancel := c.budgeted()
	defer cancel()
	select {
	case <-landed:
	case <-ctx.Done():
		c.gaveUpWaiting()
		return true
	}
	if f.shared == nil {
		return false
	}
	c.take(f.shared, DecisionJoin, Note{Kind: prompts.NoteJoined})
	c.why = f.shared.id
	return true
}

// gaveUpWaiting answers a call whose identical one still runs. What that one
// does is open.
func (c *call) gaveUpWaiting() {
	code := CodeInProgress
	if c.ctx.Err() != nil {
		code = c.callerCode()
	}
	c.refuse(code, 0)
	if c.guard.info.Effect != ReadOnly {
		c.outcome = OutcomeUnknown
	}
}

// dedupes says whether identical calls of the tool are looked for at all.
// Repeats of a polling tool, and of one that declares them normal, are meant.
func (g *Guard) dedupes() bool {
	return !g.opts.Dedupe.Off && !g.info.meansRepeats()
}

func (i *Info) meansRepeats() bool { return i.Poll.declared() || i.RepeatsNormal }

// joins says whether an identical call in flight is waited for.
func (g *Guard) joins() bool {
	return g.dedupes() && (g.info.Effect != ReadOnly || !g.opts.Dedupe.NoJoin)
}

// recall returns the result of a recent identical read of the same turn, or of the
// same message where turns are not told apart.
func (s *session) recall(key flightKey, batch uint16, p *DedupePolicy, now time.Time) *kept {
	if !s.turns && batch == 0 || p.NoReuse {
		return nil
	}
	k := s.owner.shelf.get(shelfKey{s.id, key})
	if k == nil || !s.turns && k.batch != batch || k.turn != s.turnNo || k.changes != s.changes || now.Sub(k.at) >= p.Reuse {
		return nil
	}
	return k
}

// isDone returns the identical write that had its effect in this turn, or nil. Where
// turns are not told apart, a repeat may be meant, unless the model knows no better: it
// is of the same message, or was told that nobody knows.
func (s *session) isDone(key flightKey, batch uint16, effect Effect) *doneWrite {
	for i := range s.done {
		if w := &s.done[i]; w.flightKey == key && (s.turns || w.untold || w.batch == batch && batch != 0) {
			if effect == Idempotent && w.changes != s.changes {
				return nil
			}
			return w
		}
	}
	return nil
}

// reuse answers from the result of a recent read.
func (c *call) reuse(k *kept) {
	c.take(&k.shared, DecisionReuse, Note{Kind: prompts.NoteReused, Age: time.Since(k.at)})
}

// replay answers that an identical write has had its effect, with its result if
// that is still there.
func (c *call) replay(w *doneWrite) {
	if k := c.session.owner.shelf.get(shelfKey{c.session.id, w.flightKey}); k != nil && k.at.Equal(w.at) {
		c.take(&k.shared, DecisionReplay, Note{Kind: prompts.NoteReplayed, Age: time.Since(w.at)})
		return
	}
	c.withhold()
	c.outcome, c.decided = OutcomeSucceeded, DecisionReplay
	c.answersUnder(w.key)
	c.answered = w.answer // without its result it is the same answer
}

// keep puts a good result on the shelf, where identical calls of the turn find it.
func (c *call) keep(b *booking) {
	read := c.guard.info.Effect == ReadOnly
	fresh := b.acted || b.confirmed
	switch {
	case c.failure != nil || !fresh || b.neither || !c.guard.dedupes() || !c.turns && c.batch() == 0:
		return
	case read && (c.guard.opts.Dedupe.NoReuse || c.source() != nil):
		return
	}
	k := &kept{at: b.past.at, turn: b.past.turn, batch: b.past.batch, changes: c.startedAt, shared: c.share()}
	k.size, k.until = c.result.size()+keptOverhead, k.at.Add(c.guard.opts.Dedupe.Reuse)
	if !read {
		k.until = k.at.Add(c.session.owner.policy.Idle)
	}
	c.session.owner.shelf.put(shelfKey{c.session.id, c.flightKey()}, k)
}

// kept is a result that may answer an identical call of the same turn.
type kept struct {
	shared
	at      time.Time
	until   time.Time // nobody wants it any more
	turn    uint32
	changes uint32 // of the conversation, when the call began
	batch   uint16
	size    int
}

// keptOverhead is about what a kept result takes beside its text.
const keptOverhead = 512

type shelfKey struct {
	session uint64
	flightKey
}

// shelf keeps results within a number of bytes, the least used going first.
// What is kept does not change any more. Its lock is taken last.
type shelf struct {
	limit int

	mu    sync.Mutex
	byKey *lru.Cache[shelfKey, *kept]
	bytes int
}

func newShelf(limit int) shelf {
	return shelf{limit: limit, byKey: lru.New[shelfKey, *kept](limit/keptOverhead + 1)}
}

func (s *shelf) get(key shelfKey) *kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, _ := s.byKey.Get(key)
	return k
}

// put keeps a result in place of the one before, unless it would take more than a
// sixteenth of the room. What is out of date makes way first.
func (s *shelf) put(key shelfKey, k *kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.size > s.limit/16 {
		return // a former one is out of date by its time
	}
	s.bytes += k.size
	if former, ok := s.byKey.Put(key, k); ok {
		s.bytes -= former.size
	}
	n := 0
	for key, old := range s.byKey.OldestFirst {
		if n++; s.bytes <= s.limit && (n > 2 || k.at.Before(old.until)) {
			return
		}
		s.bytes -= old.size
		s.byKey.Delete(key)
	}
}

func (s *shelf) size() (n, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byKey.Len(), s.bytes
}
