package toolguard

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolguard-go/toolguard/internal/digest"
	"github.com/toolguard-go/toolguard/internal/isolate"
	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// PastCall is a call of a conversation and what it came to, in a form that a host
// can store beside its messages. [Envelope.Past] makes one.
type PastCall struct {
	// Tool is the tool's name, Source its Info.Source.
	Tool   string `json:"tool"`
	Source string `json:"source,omitempty"`
	// Args are the arguments, as the model wrote them or as they ran. They need
	// not be JSON: what cannot be read counts for loops too.
	Args string `json:"args"`
	// Turn and Principal are those of the call's Scope.
	Turn      string `json:"turn,omitempty"`
	Principal string `json:"principal,omitempty"`
	// At is when it was answered. If zero, just now.
	At time.Time `json:"at,omitzero"`
	// Code is empty for a success.
	Code Code `json:"code,omitempty"`
	// Outcome of a success is always OutcomeSucceeded.
	Outcome Outcome `json:"outcome"`
	// Answer is the fingerprint of what was answered, 16 hexadecimal digits. If
	// empty, that of Result, or for a failure of its code.
	Answer string `json:"answer,omitempty"`
	// Result is the text that was answered. It may be left out; a repeat of a
	// write that was done is then told so without it.
	Result string `json:"result,omitempty"`
	// Key is the idempotency key the downstream can be asked by.
	Key string `json:"key,omitempty"`
	// Stored says that the tool did not run for this answer, InputRequired that
	// it asks for something first.
	Stored        bool `json:"stored,omitempty"`
	InputRequired bool `json:"input_required,omitempty"`
}

// pastAnswer is what an envelope knows for [Envelope.Past].
type pastAnswer struct {
	source string
	scope  *Scope
	at     time.Time // zero if no conversation knows of the call
	answer uint64
	notRun bool
}

func (c *call) pastAnswer() pastAnswer {
	return pastAnswer{
		source: c.guard.info.Source, scope: c.scope,
		at: c.answeredAt, answer: c.answered, notRun: c.attempts == 0 && c.decided != DecisionFallback,
	}
}

// Past returns what [Sessions.Restore] needs to know of the call. args are its
// arguments as the model wrote them; they are used where Args is nil.
func (e Envelope) Past(args json.RawMessage) PastCall {
	if e.Args != nil {
		args = e.Args
	}
	p := PastCall{
		Tool: e.Tool, Source: e.past.source, Args: string(args), At: e.past.at, Outcome: OutcomeSucceeded, Key: e.Key,
		Stored: e.past.notRun, InputRequired: e.OK && e.Result.InputRequired,
	}
	if e.past.scope != nil {
		p.Turn, p.Principal = e.past.scope.Turn, e.past.scope.Principal
	}
	if !e.past.at.IsZero() {
		p.Answer = formatFingerprint(e.past.answer)
	}
	if !e.OK {
		p.Code, p.Outcome = e.Error.Code, e.Error.Outcome
	}
	return p
}

// The bounds of a history that is restored.
const (
	maxRestored      = 4096
	maxRestoredBytes = 16 << 20
)

// Restore makes a conversation what its history says it was, oldest call first,
// so that a server that keeps nothing, or one of many, notices repeats all the
// same: call it before the calls of a request. The guards of the tools should
// have been made with these Sessions; other tools are known by name alone.
//
// It returns an error, and changes nothing, if the scope names no conversation,
// or the history is malformed, longer than 4096 calls or larger than 16 MiB.
// What this machine knows beyond the history, such as calls in flight and unknown
// outcomes, stays. Results for reuse are not restored.
func (s *Sessions) Restore(scope Scope, history []PastCall) error {
	if s == nil || scope.Session == "" {
		return fmt.Errorf("toolguard: Restore: Scope.Session is empty, or Sessions nil")
	}
	if err := checkHistory(history); err != nil {
		return fmt.Errorf("toolguard: Restore: %w", err)
	}
	r := restored{session: &session{owner: s}, seen: make(map[callKey]bool, len(history))}
	now := time.Now()
	for i := range history {
		if err := r.replay(&history[i], now); err != nil {
			return fmt.Errorf("toolguard: Restore: call %d of tool %q: %w", i, preview(history[i].Tool), err)
		}
	}
	r.enter(scope.Turn)
	s.at(&scope, time.Now()).adopt(&r)
	return nil
}

// Resolve tells a conversation what became of a call whose outcome was unknown,
// when somebody has found out: p.Outcome is what it was. Identical calls are then
// no longer refused as in doubt. It returns an error if p is malformed.
func (s *Sessions) Resolve(scope Scope, p PastCall) error {
	c := s.at(&scope, time.Now())
	if c == nil {
		return fmt.Errorf("toolguard: Resolve: Scope.Session is empty, or Sessions nil")
	}
	if err := p.check(); err != nil {
		return fmt.Errorf("toolguard: Resolve: %w", err)
	}
	if p.Outcome == OutcomeUnknown {
		return fmt.Errorf("toolguard: Resolve: PastCall.Outcome is %v, want what is known", p.Outcome)
	}
	_, key, err := s.identify(&p)
	if err != nil {
		return fmt.Errorf("toolguard: Resolve: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settleDoubt(key)
	if p.Outcome == OutcomeSucceeded {
		c.finish(doneWrite{flightKey{key, p.Principal}, p.fingerprint(), time.Now(), p.Key, c.changes, 0, true})
	}
	return nil
}

func checkHistory(history []PastCall) error {
	if len(history) > maxRestored {
		return fmt.Errorf("%d calls, want at most %d", len(history), maxRestored)
	}
	size := 0
	for i := range history {
		p := &history[i]
		if size += len(p.Args) + len(p.Result); size > maxRestoredBytes {
			return fmt.Errorf("arguments and results of more than %d bytes", maxRestoredBytes)
		}
		if err := p.check(); err != nil {
			return fmt.Errorf("call %d: %w", i, err)
		}
	}
	return nil
}

func (p *PastCall) check() error {
	for _, f := range []struct {
		name, value string
		least, most int
	}{
		{"Tool", p.Tool, 1, 256}, {"Source", p.Source, 0, 1024}, {"Turn", p.Turn, 0, 1024}, {"Principal", p.Principal, 0, 1024},
		{"Code", string(p.Code), 0, 64}, {"Key", p.Key, 0, 256},
	} {
		if n := len(f.value); n < f.least || n > f.most {
			return fmt.Errorf("PastCall.%s has %d bytes, want %d to %d", f.name, n, f.least, f.most)
		}
	}
	if int(p.Outcome) >= len(outcomeNames) {
		return fmt.Errorf("PastCall.Outcome is %v", p.Outcome)
	}
	if p.Answer == "" {
		return nil
	}
	if _, err := parseFingerprint(p.Answer); err != nil {
		return fmt.Errorf("PastCall.Answer is %q: %w", preview(p.Answer), err)
	}
	return nil
}

// restored is a conversation in the making.
type restored struct {
	*session
	seen    map[callKey]bool
	results []restoredResult
}

type restoredResult struct {
	key flightKey
	kept
}

// replay books a past call as it was booked when it happened.
func (r *restored) replay(p *PastCall, now time.Time) error {
	g, key, err := r.owner.identify(p)
	if err != nil {
		return err
	}
	r.enter(p.Turn)
	r.admit(p.identity())
	b := p.booking(g, key, now)
	b.past.turn = r.turnNo
	r.seen[key] = true
	r.book(&b)
	if p.Code == "" && p.Result != "" && b.info.Effect != ReadOnly && !b.borrowed && !b.neither {
		k := kept{shared: shared{key: p.Key, result: Result{Text: p.Result}, outcome: OutcomeSucceeded}, at: b.past.at, turn: b.past.turn}
		r.results = append(r.results, restoredResult{flightKey{key, p.Principal}, k})
	}
	return nil
}

func (p *PastCall) identity() string {
	info := Info{Name: p.Tool, Source: p.Source}
	return info.identity()
}

// booking is what there is to remember of the call.
func (p *PastCall) booking(g *Guard, key callKey, now time.Time) booking {
	b := booking{
		past:      pastCall{key: key, answer: p.fingerprint(), at: now, tool: p.identity(), code: p.Code},
		principal: p.Principal, info: &strangerInfo, loop: &strangerLoop, outcome: p.outcome(),
		acted:          !p.Stored && p.outcome() != OutcomeNotStarted,
		neither:        p.InputRequired || p.Code == CodeControlFlow || p.Code == CodeCanceled || p.Code == CodeCallerDeadline,
		idempotencyKey: p.Key,
	}
	if !p.At.IsZero() && p.At.Before(now) {
		b.past.at = p.At
	}
	if g != nil {
		b.past.tool, b.info, b.loop = g.args.identity, &g.info, &g.opts.Loop
	}
	if p.Code == CodeLoopDetected || p.Code == CodeLimitReached || p.Code == CodePolledTooSoon {
		b.refused = p.Code
	}
	b.borrowed = p.Stored && !p.Code.row().neutral // else the refusal was the call's own
	return b
}

// What is assumed of a tool no guard is known for: its calls may change things.
var (
	strangerInfo = Info{Effect: NonIdempotent}
	strangerLoop = LoopPolicy{}.withDefaults()
)

// outcome fills in what the code implies where the host says nothing.
func (p *PastCall) outcome() Outcome {
	switch {
	case p.Code == "":
		return OutcomeSucceeded
	case p.Outcome == OutcomeUnknown:
		return p.Code.row().outcome
	default:
		return p.Outcome
	}
}

func (p *PastCall) fingerprint() uint64 {
	switch n, err := parseFingerprint(p.Answer); {
	case err == nil:
		return n
	case p.Code == "":
		return textFingerprint(p.Result)
	default:
		return textFingerprint(string(p.Code) + "\x00" + p.Result)
	}
}

// identify returns the guard of the tool, if one is known, and the key the call
// had. The arguments go the way they went then.
func (s *Sessions) identify(p *PastCall) (g *Guard, key callKey, err error) {
	g = s.tool(p.identity())
	defer func() {
		if v := recover(); v != nil {
			err = &isolate.PanicError{Value: v}
		}
	}()
	var sum digest.Sum
	if g != nil {
		sum = g.digest(json.RawMessage(p.Args), p.Code == CodeTruncated)
	} else if doc, bad := strictjson.Parse([]byte(p.Args), strictjson.Limits{}); bad == nil && doc.IsObject() {
		sum = digest.Of(p.identity(), &doc, nil)
	} else {
		sum = digest.OfRaw(p.identity(), []byte(p.Args))
	}
	return g, callKey(sum[:16]), nil
}

// digest reads arguments as a call would and returns its digest.
func (g *Guard) digest(args json.RawMessage, truncated bool) digest.Sum {
	c := &call{guard: g, ctx: context.Background(), began: time.Now(), written: args, truncated: truncated, scope: &noScope}
	c.parsed()
	return c.digest
}

// adopt takes over a restored conversation. Calls of this one may be running:
// turns are numbered on from theirs.
func (s *session) adopt(r *restored) {
	s.mu.Lock()
	defer s.mu.Unlock()
	number := s.turnNo
	if r.turn != s.turn || r.turns != s.turns {
		number++
	}
	shift := number - r.turnNo
	for i := range r.past {
		r.past[i].turn += shift
	}
	since := s.changes + 1 // other machines may have changed things meanwhile
	for i := range r.session.done {
		r.session.done[i].changes += since
	}
	s.keepUnseen(r, number)
	s.turn, s.turns, s.turnNo, s.turnCalls = r.turn, s.turns || r.turns, number, r.turnCalls
	s.changes = since + r.changes
	s.past, s.next, s.tools, s.doubts, s.done = r.past, r.next, r.session.tools, r.session.doubts, r.session.done
	for _, k := range r.results {
		k.turn += shift
		k.size, k.until = len(k.result.Text)+keptOverhead, k.at.Add(s.owner.policy.Idle)
		s.owner.shelf.put(shelfKey{s.id, k.key}, &k.kept)
	}
}

// keepUnseen adds what is known here of calls that the history does not tell of.
func (s *session) keepUnseen(r *restored, number uint32) {
	for _, d := range s.doubts {
		if !r.seen[d.key] {
			r.doubt(d)
		}
	}
	if number != s.turnNo {
		return
	}
	for _, w := range s.done {
		if !r.seen[w.callKey] {
			r.finish(w)
		}
	}
}
