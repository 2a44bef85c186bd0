package toolguard_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/toolguardtest"
)

// A program is what a seed makes: tools, and what a model, its host, people and chance
// do with them. All of it is drawn before anything runs, so that a seed is a program.
type program struct {
	seed     uint64
	tools    []programTool
	sessions bool // the guards remember conversations
	wrapped  bool // the journal is on the far side of something that fails
	calm     bool // and does not
	lease    time.Duration
	acts     []*act
}

// programTool is what is drawn of a tool.
type programTool struct {
	name          string
	effect        toolguard.Effect
	status, check bool
	approval      bool
	keyField      bool
	repeats       bool
	deaf          bool // its Status never answers
	crowded       bool // it has room for one call only
	standIn       standInKind
	keyTTL        time.Duration
	settle        time.Duration
}

type standInKind uint8

const (
	noStandIn standInKind = iota
	plainStandIn
	guardStandIn // with the journal
)

type actKind uint8

const (
	actCall actKind = iota
	actResume
	actRecover
	actDecide
	actCrash
)

var actNames = names{"call", "resume", "recover", "decide", "crash"}

type names []string

// act is one thing that is done.
type act struct {
	n       int
	kind    actKind
	wait    time.Duration // before it begins
	aside   bool          // nobody waits for its end
	process int

	tool          int
	order, reason string
	scope         toolguard.Scope
	patience      time.Duration // after which the caller leaves; 0 is never
	forbidden     bool          // by Authorize

	fates, elsewhere []fate        // of the tool's attempts and of the stand-in's, the last for ever
	uses             []journalFate // of the journal; then it works
	asked            []askedFate   // what Status does; then it works
	answer           approverFate
	edit             string // the order in place of the other one

	pick    int // of the entries there are to decide about, or to resume
	verdict toolguard.RulingVerdict
}

// fate is what becomes of an attempt.
type fate struct {
	before, after time.Duration // it takes
	obeys         bool          // it ends with its context
	acts          bool
	stray         time.Duration // a request of it acts so much later; 0 is none
	dies          moment        // the process, around the effect
	ends          ending
}

type moment uint8

const (
	never moment = iota
	beforeIt
	afterIt
)

type ending uint8

const (
	endsWell ending = iota
	endsUnsure
	endsDown
	endsInPanic
	endsNotStarted
	endsWithoutEffect
	endsAsking
	endsRejected
)

var endingNames = names{"well", "unsure", "down", "in panic", "not started", "without effect", "asking", "rejected"}

// journalFate is what becomes of one use of the journal.
type journalFate struct {
	fault toolguardtest.JournalFault
	takes time.Duration
	dies  moment // the process, around it
}

type askedFate uint8

const (
	askedWell askedFate = iota
	askedInVain
	askedTooLong
	askedUnknown
	askedForGood // it says failed where that is certain
)

type approverFate uint8

const (
	grants approverFate = iota
	edits
	waits
	denies
	breaks
	widens
)

var approverNames = names{"grants", "edits", "waits", "denies", "breaks", "widens"}

// drawing draws a program.
type drawing struct {
	*rand.Rand
	p *program
	stepped, talks,
	turns bool
	turn int
}

// programOf is the program of a seed.
func programOf(seed uint64) *program {
	d := drawing{Rand: rand.New(rand.NewPCG(seed, 4)), p: &program{seed: seed}}
	d.p.sessions, d.p.wrapped, d.p.lease = d.one(3), !d.one(4), pick(&d, 0, 6*time.Second)
	d.p.calm = d.one(3)
	for i := range 1 + d.IntN(2) {
		d.p.tools = append(d.p.tools, d.tool(i))
	}
	d.stepped = d.one(2)
	d.talks = !d.stepped || d.one(2)
	d.turns = !d.one(4)
	for n := range 3 + d.IntN(10) {
		d.p.acts = append(d.p.acts, d.act(n))
		if n > 0 {
			d.follow(d.p.acts[n], d.p.acts[n-1])
		}
	}
	return d.p
}

// follow makes of some acts what belongs to the one before.
func (d *drawing) follow(a, before *act) {
	switch {
	case before.kind == actCall && d.one(5):
		d.rivals(a, before)
	case before.kind == actDecide && d.one(2): // somebody goes on with what was decided
		*a = act{n: a.n, kind: actResume, wait: time.Duration(d.Int64N(int64(minute))), process: a.process, pick: before.pick, uses: d.uses(), asked: d.asked()}
		d.attempts(a)
	}
}

// rivals makes an act the same call as the one before it, while that is under way.
func (d *drawing) rivals(a, before *act) {
	before.aside = true
	*a = act{
		n: a.n, wait: time.Duration(d.Int64N(int64(3 * time.Second))), process: 1 - before.process, uses: d.uses(), asked: d.asked(),
		tool: before.tool, order: before.order, scope: before.scope,
	}
	d.attempts(a)
}

// one is true once in n times.
func (d *drawing) one(n int) bool { return d.IntN(n) == 0 }

func pick[T any](d *drawing, from ...T) T { return from[d.IntN(len(from))] }

func (d *drawing) tool(i int) programTool {
	t := programTool{
		name: fmt.Sprintf("tool%d", i), settle: pick(d, 30*time.Second, 2*minute),
		effect: pick(d, toolguard.NonIdempotent, toolguard.NonIdempotent, toolguard.NonIdempotent, toolguard.IdempotentByKey, toolguard.IdempotentByKey, toolguard.Idempotent, toolguard.ReadOnly),
		check:  d.one(3), approval: d.one(3), keyField: d.one(4), repeats: d.one(8), crowded: d.one(3),
	}
	t.status = t.effect != toolguard.ReadOnly && d.one(2)
	t.deaf = t.status && d.one(5)
	if d.one(4) {
		t.standIn = pick(d, plainStandIn, guardStandIn)
	}
	if t.effect == toolguard.IdempotentByKey {
		t.keyTTL = pick(d, 10*minute, 2*time.Hour)
	}
	return t
}

func (d *drawing) act(n int) *act {
	a := &act{n: n, wait: d.pause(), process: d.IntN(2), kind: pick(d, actCall, actCall, actCall, actCall, actCall, actCall, actResume, actResume, actRecover, actRecover, actDecide, actDecide, actCrash)}
	if n < 2 {
		a.kind = actCall
	}
	a.aside = a.kind == actCall && d.one(3)
	a.uses, a.asked = d.uses(), d.asked()
	switch a.kind {
	case actCall:
		d.call(a)
	case actResume:
		d.attempts(a)
		a.pick = d.IntN(4)
	case actDecide:
		a.pick, a.edit = d.IntN(4), pick(d, "", "", "", "B", "C")
		a.verdict = pick(d, toolguard.RulingSucceeded, toolguard.RulingFailed, toolguard.RulingRetry, toolguard.RulingRetry, toolguard.RulingAbort)
	}
	return a
}

// pause is between two acts. That of most is short, and no two are the same.
func (d *drawing) pause() time.Duration {
	most := pick(d, 0, time.Second, time.Second, 4*time.Second, 15*time.Second, 50*time.Second, 3*minute)
	if d.one(8) {
		most = pick(d, 12*minute, 50*minute, 3*time.Hour, 26*time.Hour)
	}
	if most == 0 {
		return 0
	}
	return most/2 + time.Duration(d.Int64N(int64(most)))
}

func (d *drawing) call(a *act) {
	a.tool, a.order, a.reason = d.IntN(len(d.p.tools)), pick(d, "A", "A", "A", "B"), pick(d, "", "so")
	if d.one(5) && d.turns {
		d.turn++
		a.wait += 5 * time.Second // the user takes some time to speak
	}
	s := &a.scope
	s.Tenant, s.Principal = "t", pick(d, "ann", "ann", "ann", "bob")
	if d.talks != d.one(12) {
		s.Session = pick(d, "s", "s", "s", "s", "u")
		if d.turns {
			s.Turn = fmt.Sprint(d.turn)
		}
	}
	if d.stepped != d.one(12) {
		s.Run, s.Step = pick(d, "r", "r", "r", "q"), pick(d, "1", "1", "2", "3")
	}
	if d.one(8) {
		a.patience = pick(d, time.Millisecond, 2*time.Second, 8*time.Second, 14*time.Second)
	}
	a.forbidden = d.one(20)
	d.attempts(a)
}

func (d *drawing) attempts(a *act) {
	for range 1 + d.IntN(3) {
		a.fates, a.elsewhere = append(a.fates, d.fate()), append(a.elsewhere, d.fate())
	}
	if d.p.tools[a.tool].standIn != noStandIn && d.one(2) {
		a.fates = nothing
	}
	a.answer, a.edit = pick(d, grants, grants, grants, waits, waits, edits, denies, breaks, widens), pick(d, "B", "C")
}

func (d *drawing) fate() fate {
	f := fate{ends: endsWell, acts: true, obeys: d.one(2)}
	if d.one(3) {
		f.before = pick(d, time.Second, 9*time.Second, 12*time.Second, 40*time.Second, 4*minute)
	}
	if d.one(3) {
		f.after = pick(d, time.Second, 9*time.Second, 12*time.Second, 40*time.Second, 4*minute)
	}
	if d.one(12) {
		f.dies = pick(d, beforeIt, afterIt)
	}
	if d.one(2) {
		return f
	}
	f.ends = pick(d, endsUnsure, endsUnsure, endsDown, endsInPanic, endsNotStarted, endsNotStarted, endsWithoutEffect, endsAsking, endsRejected)
	switch f.ends {
	case endsUnsure, endsDown, endsInPanic:
		if f.acts = d.one(2); !f.acts && !d.one(3) {
			f.stray = pick(d, time.Second, 8*time.Second, 25*time.Second)
		}
	default:
		f.acts = false
	}
	return f
}

func (d *drawing) uses() (all []journalFate) {
	if !d.p.wrapped || d.p.calm || !d.one(3) {
		return nil
	}
	for range 1 + d.IntN(7) {
		u := journalFate{}
		if d.one(3) {
			u.fault = pick(d, toolguardtest.JournalRefuses, toolguardtest.JournalLosesAnswer, toolguardtest.JournalHangs, toolguardtest.JournalLosesAnswerAndHangs)
		}
		if d.one(5) {
			u.takes = pick(d, 100*time.Millisecond, 3*time.Second)
		}
		if d.one(12) {
			u.dies = pick(d, beforeIt, afterIt)
		}
		all = append(all, u)
	}
	return all
}

func (d *drawing) asked() (all []askedFate) {
	for d.one(3) {
		all = append(all, pick(d, askedWell, askedInVain, askedTooLong, askedUnknown, askedForGood))
	}
	return all
}

// String is the program as a person reads it.
func (p *program) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "program %d (sessions %t, journal wrapped %t, lease %v)\n", p.seed, p.sessions, p.wrapped, p.lease)
	for _, t := range p.tools {
		fmt.Fprintf(&b, "  %s\n", t)
	}
	for _, a := range p.acts {
		fmt.Fprintf(&b, "  %s\n", a)
	}
	return b.String()
}

func (t programTool) String() string {
	return fmt.Sprintf("%s: %v%s, KeyTTL %v, SettleDelay %v", t.name, t.effect,
		iff(", Status", t.status)+iff(" that never answers", t.deaf)+iff(", CheckResult", t.check)+iff(", Approver", t.approval)+iff(", KeyField", t.keyField)+
			iff(", RepeatsNormal", t.repeats)+iff(", one at a time", t.crowded)+iff(", a stand-in", t.standIn == plainStandIn)+iff(", a guard as stand-in", t.standIn == guardStandIn),
		t.keyTTL, t.settle)
}

func iff(what string, is bool) string {
	if !is {
		return ""
	}
	return what
}

func (a *act) String() string {
	s := fmt.Sprintf("#%d after %v%s in process %d: %s", a.n, a.wait, iff(" (aside)", a.aside), a.process, actNames[a.kind])
	switch a.kind {
	case actCall:
		s += fmt.Sprintf(" tool%d %s/%s by %s in %s%s%s", a.tool, a.order, a.reason, a.scope.Principal, where(a.scope), iff(", forbidden", a.forbidden), iff(fmt.Sprintf(", leaves after %v", a.patience), a.patience > 0))
		fallthrough
	case actResume:
		s += fmt.Sprintf(" pick %d, the approver %s (%s)\n      attempts %v\n      elsewhere %v", a.pick, approverNames[a.answer], a.edit, a.fates, a.elsewhere)
	case actDecide:
		s += fmt.Sprintf(" about %d: %v %s", a.pick, a.verdict, a.edit)
	}
	if len(a.uses)+len(a.asked) > 0 {
		s += fmt.Sprintf("\n      journal %v, status %v", a.uses, a.asked)
	}
	return s
}

func where(s toolguard.Scope) string {
	return fmt.Sprintf("session %q turn %q run %q step %q", s.Session, s.Turn, s.Run, s.Step)
}

func (f fate) String() string {
	parts := []string{iff(fmt.Sprintf("takes %v", f.before), f.before > 0), iff("dies", f.dies == beforeIt), iff("acts", f.acts), iff(fmt.Sprintf("acts in %v", f.stray), f.stray > 0), iff("then dies", f.dies == afterIt),
		iff(fmt.Sprintf("takes %v", f.after), f.after > 0), iff("unless cancelled", f.obeys && f.before+f.after > 0), "ends " + endingNames[f.ends]}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

func (j journalFate) String() string {
	s := [...]string{"works", "refuses", "loses answer", "hangs", "loses answer and hangs"}[j.fault]
	return s + iff(fmt.Sprintf(" in %v", j.takes), j.takes > 0) + iff(" dies before", j.dies == beforeIt) + iff(" dies after", j.dies == afterIt)
}

func (a askedFate) String() string {
	return [...]string{"works", "fails", "hangs", "unknown", "works for good"}[a]
}
