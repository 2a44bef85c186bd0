package toolguard

import (
	"errors"
	"fmt"
	"time"

	"github.com/toolguard-go/toolguard/prompts"
)

// LoopPolicy says when a model that repeats itself is told so, and when it is
// stopped. It works only where Options.Sessions and Scope.Session are set.
// Identical calls are no loop if another one changed something in between, or
// the user has spoken; where the host tells no turns apart, after five minutes.
// What bounds a turn needs turns: Scope.Turn or [Sessions.NewTurn].
type LoopPolicy struct {
	// Off looks for nothing.
	Off bool
	// Repeats is how often an identical call may get the identical answer: the
	// last time it is noted, after that refused. After as many calls whose
	// arguments were refused for one reason the user is to be asked. If zero, 3.
	Repeats int
	// Tries is how often an identical call may run though its answers differ.
	// If zero, 10.
	Tries int
	// Cycles is how often a cycle of 2 to 6 calls with identical answers may be
	// gone through. If zero, 3.
	Cycles int
	// Streak is how many failures of the system in a row a tool may have before
	// it is left alone for Pause or until the user speaks. If zero, 3.
	Streak int
	// Pause, if zero, is 5 min.
	Pause time.Duration
	// ToolCalls bounds the calls of the tool in a turn. If zero, 25. A polling
	// tool has Poll.Max instead.
	ToolCalls int
	// NoteAfter is after how many calls of the tool in a turn the model is told
	// how many there were. If zero, 3.
	NoteAfter int
	// TurnCalls bounds the calls of all tools in a turn. If zero, 200.
	TurnCalls int
	// Volatile names members at the top of a JSON result that differ every time,
	// such as a time stamp: they do not make an answer a different one.
	Volatile []string
}

func (p LoopPolicy) withDefaults() LoopPolicy {
	setDefault(&p.Repeats, 3)
	setDefault(&p.Tries, 10)
	setDefault(&p.Cycles, 3)
	setDefault(&p.Streak, 3)
	setDefault(&p.Pause, 5*time.Minute)
	setDefault(&p.ToolCalls, 25)
	setDefault(&p.NoteAfter, 3)
	setDefault(&p.TurnCalls, 200)
	return p
}

func (p LoopPolicy) check() error {
	errs := []error{
		notNegative("Loop.Streak", p.Streak), notNegative("Loop.Pause", p.Pause), notNegative("Loop.NoteAfter", p.NoteAfter),
		notNegative("Loop.ToolCalls", p.ToolCalls), notNegative("Loop.TurnCalls", p.TurnCalls),
	}
	if p.Repeats < 0 || p.Repeats == 1 {
		errs = append(errs, badOption("Loop.Repeats", p.Repeats, "2 or more"))
	}
	if p.Cycles < 0 || p.Cycles == 1 {
		errs = append(errs, badOption("Loop.Cycles", p.Cycles, "2 or more"))
	}
	if full := p.withDefaults(); full.Tries < full.Repeats {
		errs = append(errs, badOption("Loop.Tries", full.Tries, fmt.Sprintf("at least Loop.Repeats, %d", full.Repeats)))
	}
	for i, name := range p.Volatile {
		if name == "" {
			errs = append(errs, badOption(fmt.Sprintf("Loop.Volatile[%d]", i), `""`, "the name of a member"))
		}
	}
	return errors.Join(errs...)
}

// Poll declares that a tool is meant to be called again and again with the same
// arguments until something has happened. The zero value declares nothing; a
// guard never guesses it.
type Poll struct {
	// Interval is the least time between two identical calls. A call before that
	// is answered at once with the wait.
	Interval time.Duration
	// Max is how many calls of the tool a turn may have; where turns are not told
	// apart, how many identical ones five minutes may have. If zero, 60.
	Max int
}

func (p Poll) declared() bool { return p != Poll{} }

func (p Poll) max() int {
	setDefault(&p.Max, 60)
	return p.Max
}

func (p Poll) check() error {
	if p.Interval < 0 || p.Max < 0 {
		return fmt.Errorf("toolguard: Info.Poll is %v, want nothing below zero", p)
	}
	return nil
}

// loop is what is found against a call.
type loop struct {
	code  Code // "" if it may run
	step  prompts.Step
	done  bool // the calls succeeded
	count int
	limit int
	wait  time.Duration
}

// overLimit refuses a call beyond what a turn may have; see [session.admit].
func (p *LoopPolicy) overLimit(info *Info, all, ofTool int) loop {
	limit := p.ToolCalls
	if info.Poll.declared() {
		limit = info.Poll.max()
	}
	switch {
	case all > p.TurnCalls:
		return loop{code: CodeLimitReached, step: prompts.StepFinishNow, limit: p.TurnCalls}
	case ofTool > limit:
		return loop{code: CodeLimitReached, step: prompts.StepChangePlan, limit: limit}
	}
	return loop{}
}

// examine looks at the conversation for a reason not to run a call now.
func (s *session) examine(key callKey, batch uint16, g *Guard, now time.Time) loop {
	p, tool := &g.opts.Loop, s.tool(g.args.identity)
	if now.Before(tool.refused) {
		return loop{code: CodeLoopDetected, step: prompts.StepStopDirective, count: tool.streak, wait: tool.refused.Sub(now)}
	}
	seen := s.repeats(key, batch, now)
	if g.info.Poll.declared() {
		return s.examinePoll(&g.info.Poll, &seen, now)
	}
	switch {
	case seen.same >= p.Repeats || seen.all >= p.Tries || seen.last != nil && seen.last.refused && seen.last == s.back(0):
		return seen.against(seen.same >= p.Repeats || seen.same == seen.all)
	case s.goesOn(key, batch, p.Cycles, now):
		seen.all = p.Cycles
		return seen.against(true)
	}
	return loop{}
}

func (s *session) examinePoll(p *Poll, seen *repeats, now time.Time) loop {
	switch {
	case !s.turns && seen.all >= p.max():
		return loop{code: CodeLimitReached, step: prompts.StepChangePlan, limit: p.max()}
	case seen.last != nil && now.Sub(seen.last.at) < p.Interval:
		return loop{code: CodePolledTooSoon, step: prompts.StepPollLater, wait: p.Interval - now.Sub(seen.last.at)}
	}
	return loop{}
}

// repeats is what the history says about identical calls.
type repeats struct {
	same    int // in a row, with the identical answer
	all     int
	refused bool // one of them, already
	last    *pastCall
}

// repeats counts the identical calls since something else was changed. Those of the
// same message are none: whoever wrote it had no answer to any of them.
func (s *session) repeats(key callKey, batch uint16, now time.Time) (r repeats) {
	for i := range s.past {
		p := s.back(i)
		switch {
		case p.key != key && p.change == 0: // nearly all: this is asked of each call of the history
			continue
		case !s.recent(p, now):
			continue
		case p.change == changedAnew, p.change == changedSomething && p.key != key:
			return r
		case p.key != key, p.with(batch):
			continue
		case r.last == nil:
			r.last = p
		}
		r.refused = r.refused || p.refused
		if r.same == r.all && p.answer == r.last.answer {
			r.same++
		}
		r.all++
	}
	return r
}

// with says that a call was in the same message.
func (p *pastCall) with(batch uint16) bool { return p.batch == batch && batch != 0 }

// against is what there is against one more. It escalates: use what you have, or think
// again; after a refusal, stop.
func (r *repeats) against(same bool) loop {
	l := loop{code: CodeLoopDetected, step: prompts.StepChangePlan, count: r.all, done: r.last != nil && r.last.code == ""}
	switch {
	case r.refused:
		l.step = prompts.StepStopDirective
	case l.done && same:
		l.step = prompts.StepUseKnownResult
	}
	return l
}

// A cycle has two calls at least: with one it is a repeat.
const minPeriod, maxPeriod = 2, 6

// goesOn reports whether a call would go on with a cycle that has been gone
// through n times with the same answers.
func (s *session) goesOn(key callKey, batch uint16, n int, now time.Time) bool {
	for period := minPeriod; period <= maxPeriod; period++ {
		if p := s.back(period - 1); p != nil && p.key == key && !p.with(batch) && s.periodic(period, n, now) {
			return true
		}
	}
	return false
}

// cyclic reports whether the last calls are a cycle, gone through n times.
func (s *session) cyclic(n int, now time.Time) bool {
	for period := minPeriod; period <= maxPeriod; period++ {
		if s.periodic(period, n, now) {
			return true
		}
	}
	return false
}

// periodic reports whether the last calls are one cycle of this period, n times.
// What they changed, they change each time; unless that is declared to be meant.
func (s *session) periodic(period, n int, now time.Time) bool {
	for i := range period * n {
		p := s.back(i)
		if p == nil || !s.recent(p, now) || p.change == changedAnew {
			return false
		}
		if before := s.back(i + period); i < period*(n-1) && (before == nil || p.key != before.key || p.answer != before.answer) {
			return false
		}
	}
	return true
}

// book counts failures of the system in a row. Cancellations say nothing, and a
// call that never reached the tool only where the breaker answered for it. What
// began before the last failure was known is no further one: a model that makes
// several calls at once has not tried again.
func (t *toolTurn) book(code Code, ran bool, p *LoopPolicy, began, now time.Time) {
	switch category := code.Category(); {
	case code == "":
		t.streak = 0
	case code.row().neutral && code != CodeBreakerOpen:
	case category == CategoryTimeout || category == CategoryUnavailable || category == CategoryUnknown:
		if began.Before(t.failed) && !began.IsZero() {
			return
		}
		t.failed = now
		if t.streak++; t.streak >= p.Streak {
			t.refused = now.Add(p.Pause)
		}
	case ran:
		t.streak = 0
	}
}

// advice is what a model should be told beside an answer, or instead of the
// usual next step.
type advice struct {
	notes []Note
	step  prompts.Step
	count int           // of what the step speaks of
	wait  time.Duration // until the step need not be heeded any more
}

// advise looks at the conversation after a call was booked.
func (s *session) advise(b *booking, ofTool int) (a advice) {
	p, policy := &b.past, b.loop
	switch {
	case p.turn != s.turnNo || b.neither || b.refused != "":
		return advice{}
	case p.code != "" && p.at.Before(s.tool(p.tool).refused):
		return advice{step: prompts.StepStopDirective, count: s.tool(p.tool).streak, wait: policy.Pause}
	}
	if seen := s.repeats(p.key, 0, p.at); !b.info.Poll.declared() && (seen.same == policy.Repeats || s.cyclic(policy.Cycles, p.at)) {
		a.notes = append(a.notes, Note{Kind: prompts.NoteRepeatedCall, Count: max(seen.same, policy.Cycles)})
	}
	if ofTool == policy.NoteAfter+1 && !b.info.Poll.declared() {
		a.notes = append(a.notes, Note{Kind: prompts.NoteManyCalls, Count: ofTool, Limit: policy.ToolCalls})
	}
	if n := s.refusedAlike(p); n >= policy.Repeats {
		a.step, a.count = prompts.StepAskUserAboutArguments, n
		if p.code == CodeInvalidJSON || p.code == CodeTruncated {
			a.step = prompts.StepChangePlan // no value was refused that the user could give
		}
	}
	return a
}

// refusedAlike counts how often in a row the tool's arguments were refused for
// the same reasons, whatever they were.
func (s *session) refusedAlike(last *pastCall) (n int) {
	if last.code.Category() != CategoryParam {
		return 0
	}
	for i := range s.past {
		p := s.back(i)
		switch {
		case p.tool != last.tool || p.turn != last.turn || p.refused:
		case p.code != last.code || p.answer != last.answer:
			return n
		default:
			n++
		}
	}
	return n
}
