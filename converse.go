package toolguard

import "time"

// memory is what a call has to do with its conversation.
type memory struct {
	session   *session
	flight    *flight // identical calls wait for this one
	turns     bool    // the host tells turns apart
	turnNo    uint32
	startedAt uint32 // the conversation's changes when the call began
	all       int    // calls of this turn
	ofTool    int    // those of this tool
	argNotes  int    // how many notes are about the arguments
	ownNotes  int    // how many there were before the conversation's
	answered  uint64 // the answer's fingerprint

	answeredAt time.Time // when the call was booked; zero before

	booked   bool        // with the session's lock held
	cameLate *lateAnswer // of an attempt it gave up on, likewise

	loop   loop // what was found against it
	advice advice
}

// noMemory is for calls without a conversation. Nothing writes to it.
var noMemory memory

// meet finds the conversation the call belongs to, and counts the model's call. A guard
// inside another one of the same tool leaves that to the outer one.
func (c *call) meet() {
	s := c.guard.opts.Sessions.at(c.scope, c.began)
	if s == nil || c.nested() {
		return
	}
	c.memory = &memory{session: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enter(c.scope.Turn)
	c.turns, c.turnNo, c.startedAt = s.turns, s.turnNo, s.changes
	if c.resumed() == nil { // it is the host's, not the model's
		c.all, c.ofTool = s.admit(c.guard.args.identity)
	}
}

// batch is the number of the batch the call is of; 0 if it is of none.
func (c *call) batch() uint16 {
	if c.via == nil {
		return 0
	}
	return c.via.batch
}

func (c *call) callKey() callKey     { return callKey(c.digest[:16]) }
func (c *call) flightKey() flightKey { return flightKey{c.callKey(), c.scope.Principal} }

// allotted refuses calls beyond what a turn may have, before any work is done
// for them.
func (c *call) allotted() bool {
	if c.session == nil || c.guard.opts.Loop.Off || c.resumed() != nil {
		return true
	}
	return c.unlooped(c.guard.opts.Loop.overLimit(&c.guard.info, c.all, c.ofTool))
}

// unlooped refuses the call if something was found against it.
func (c *call) unlooped(found loop) bool {
	if found.code == "" {
		return true
	}
	c.loop = found
	return c.fail(diagnosis{Verdict: Verdict{Code: found.code, RetryAfter: found.wait}}, nil)
}

// unrepeated asks the conversation about the call: whether an identical one may
// have had its effect, whether this is a loop, and whether the answer is known
// already or about to be. It reports whether the call has to run.
func (c *call) unrepeated() bool {
	if c.session == nil || c.resumed() != nil {
		return true
	}
	c.argNotes = len(c.notes)
	for {
		switch f := c.consult(c.now()); {
		case f.doubt != nil:
			if !c.cleared(f.doubt) {
				return false
			}
		case f.loop.code != "":
			return c.recalledAgain() && c.unlooped(f.loop)
		case f.inFlight:
			return c.refuseInFlight()
		case f.flight != nil:
			if c.joined(f.flight, f.landed) {
				return false
			}
		case f.kept != nil:
			c.reuse(f.kept)
			return false
		case f.done != nil:
			c.replay(f.done)
			return false
		default:
			return c.injectTaken()
		}
	}
}

// lookup is what the conversation knows of a call before it runs; the zero
// value is nothing.
type lookup struct {
	doubt    *doubt
	loop     loop
	inFlight bool    // an identical write, which must not be waited for
	flight   *flight // an identical call that can be
	landed   <-chan struct{}
	kept     *kept
	done     *doneWrite
}

// consult looks at the conversation in one step, so that between the look and
// the take-off no identical call can begin or end unseen. If nothing is found,
// identical calls may wait for this one from now on.
func (c *call) consult(now time.Time) (f lookup) {
	s, g := c.session, c.guard
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.doubted(c.callKey()); d != nil && (c.inJournal() && d.unwritten || !c.inJournal() && !c.resumes(d)) {
		copied := *d
		return lookup{doubt: &copied}
	}
	if !g.opts.Loop.Off {
		if found := s.examine(c.callKey(), c.batch(), g, now); found.code != "" {
			return lookup{loop: found}
		}
	}
	if g.dedupes() {
		return c.match(now)
	}
	return lookup{}
}

// match looks for an identical call whose answer will do. A call from inside a
// tool waits for none: two that wait for each other would never end.
func (c *call) match(now time.Time) lookup {
	s, g, key := c.session, c.guard, c.flightKey()
	other := s.flights[key]
	switch inside := c.outer != nil; {
	case other != nil && inside && g.info.Effect != ReadOnly:
		return lookup{inFlight: true}
	case other != nil && !inside && g.joins():
		return lookup{flight: other, landed: other.wait()}
	}
	if g.info.Effect == ReadOnly {
		if k := s.recall(key, c.batch(), &g.opts.Dedupe, now); k != nil {
			return lookup{kept: k}
		}
	} else if w := s.isDone(key, c.batch(), g.info.Effect); w != nil {
		copied := *w
		return lookup{done: &copied}
	}
	if other == nil && g.joins() {
		c.flight = s.takeOff(key)
	}
	return lookup{}
}

// resumes says that the call may run in spite of the doubt, because the
// downstream honours the key of the one before: this one takes it over.
func (c *call) resumes(d *doubt) bool {
	info := &c.guard.info
	switch {
	case info.Effect == ReadOnly || info.Effect == Idempotent:
		return true
	case info.Effect != IdempotentByKey || d.idempotencyKey == "" || c.began.Sub(d.since) >= info.KeyTTL:
		return false
	}
	key := d.idempotencyKey
	c.key.Store(&key)
	c.unsure = true // that this one does nothing proves nothing of the one before
	return true
}

// cleared asks the downstream what became of the call in doubt, under the key of
// that call. It reports whether this one may run: the other certainly did nothing.
func (c *call) cleared(d *doubt) bool {
	c.failure = &failure{diagnosis: diagnosis{Verdict: Verdict{Code: CodeInDoubt}, claimed: true}}
	c.outcome = OutcomeUnknown
	if d.idempotencyKey == "" {
		return false // of a key it has never seen it would say that nothing was done
	}
	own := c.key.Load()
	c.key.Store(&d.idempotencyKey)
	c.query(func(o Outcome) bool { return d.settles(o, time.Now(), c.guard.info.settleDelay()) })
	if c.failure == nil && d.principal != c.scope.Principal {
		c.withhold()
		return false
	}
	if c.failure == nil || c.outcome == OutcomeUnknown {
		return false
	}
	if c.failure, c.decided, c.why = nil, DecisionAnswer, ""; c.inJournal() {
		c.key.Store(own)
	}
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	c.session.settleDoubt(c.callKey())
	return true
}

// refuseInFlight answers a call from inside a tool, whose identical write runs.
func (c *call) refuseInFlight() bool {
	c.refuse(CodeInProgress, 0)
	if c.guard.info.Effect != ReadOnly {
		c.outcome = OutcomeUnknown
	}
	return false
}

// settle books the call with its conversation, which may have something to say
// beside the answer, and hands the answer to those who wait for it. It is the
// last thing that changes the call's notes before they become words.
func (c *call) settle() {
	if c.session == nil || !c.inside || !c.answeredAt.IsZero() {
		return
	}
	c.answeredAt = c.now()
	defer c.land()
	if c.answered == 0 {
		c.answered = c.fingerprint()
	}
	c.ownNotes = len(c.notes)
	b := c.booking()
	c.converse(&b)
	c.keep(&b)
	c.session.owner.counts.count(b.past.code, c.decided)
}

func (c *call) converse(b *booking) {
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if !b.byHost && !b.loop.Off && c.unasked() {
		// The model was told three times what is wrong: now it hears another thing.
		if found := s.examine(b.past.key, c.batch(), c.guard, b.past.at); found.code == CodeLoopDetected {
			c.unlooped(found)
			b.past.code, b.refused, b.outcome = found.code, found.code, c.outcome
		}
	}
	s.book(b)
	if c.booked = true; c.cameLate != nil {
		c.bookLate()
	}
	if !b.byHost && !b.loop.Off {
		c.advice = s.advise(b, c.ofTool)
		c.notes = append(c.notes, c.advice.notes...)
	}
}

// unasked says that the call was refused before the conversation was asked:
// its arguments cannot be used, or its caller may not make it.
func (c *call) unasked() bool {
	if c.failure == nil || c.stage != StageDecide || c.attempts > 0 {
		return false
	}
	category := c.failure.Code.Category()
	return category == CategoryParam || category == CategoryPermission
}

// booking says what there is to remember of the call.
func (c *call) booking() booking {
	b := booking{
		past: pastCall{
			key: c.callKey(), answer: c.answered, at: c.answeredAt,
			tool: c.guard.args.identity, turn: c.turnNo, batch: c.batch(),
		},
		began: c.began, principal: c.scope.Principal, info: &c.guard.info, loop: &c.guard.opts.Loop, outcome: c.outcome, refused: c.loop.code,
		acted:          c.attempts > 0 || c.decided == DecisionFallback || c.stoodIn(),
		idempotencyKey: c.keyIfMade(),
		journaled:      c.inJournal(),
		byHost:         c.resumed() != nil,
		unwritten:      c.ledger == &unwritten,
		abandoned:      c.escapesStatus(),
	}
	if c.stoodIn() && c.outcome == OutcomeUnknown {
		b.idempotencyKey = "" // that of the tool says nothing of the other one
	}
	switch c.decided {
	case DecisionConfirm:
		b.confirmed = true
	case DecisionJoin, DecisionReuse, DecisionReplay:
		b.borrowed = true
	}
	if f := c.failure; f != nil {
		b.past.code = f.Code
		b.neither = f.control || f.Code == CodeCanceled || f.Code == CodeCallerDeadline
	} else {
		b.neither = c.result.InputRequired
	}
	return b
}
