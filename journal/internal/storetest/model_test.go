package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/toolguard-go/toolguard"
)

const (
	pending   = toolguard.StatePending
	unknown   = toolguard.StateUnknown
	failed    = toolguard.StateFailed
	succeeded = toolguard.StateSucceeded
	second    = time.Second
)

// The model lets a journal do what it may, and nothing else.
func TestTheModelOfAJournal(t *testing.T) {
	t.Parallel()
	none := Seen{}
	held := Seen{Token: 1, State: pending, Owner: "ann", Trail: 7, Since: 2 * second, Due: 5 * second}
	doubt, done := held, held
	doubt.State, done.State = unknown, failed
	with := func(s Seen, change func(*Seen)) Seen { change(&s); return s }
	other := with(held.shown(), func(s *Seen) { s.Owner = "bob" })
	fenced := with(held.shown(), func(s *Seen) { s.Token = 2 })

	settle := Op{action: writes, was: held.version(), put: Seen{Token: 1, State: unknown, Owner: "cy"}, actor: "cy", from: 9 * second, to: 9 * second, span: second}
	settled := with(settle.put, func(s *Seen) { s.Trail, s.Since, s.Due = follow(7, "cy"), 9*second, 10*second })
	made := func(now Seen, ok, lost bool) Op { o := settle; o.now, o.ok, o.lost = now, ok, lost; return o }
	take := func(at time.Duration, now Seen) Op {
		return Op{action: takes, from: at, to: at, span: second, now: now}
	}
	taken := with(held, func(s *Seen) { s.Token, s.Due = 2, 6*second })
	leave := func(at time.Duration) Op { return Op{action: leaves, from: at, to: at} }
	decide := func(token uint64, now Seen, ok bool) Op {
		return Op{action: decides, was: toolguard.Version{Token: token}, put: Seen{State: succeeded}, now: now, ok: ok, actor: "dee", from: 9 * second}
	}
	verdict := Seen{Token: 1, State: succeeded, Owner: "guard.1"}
	decided := with(verdict, func(s *Seen) { s.Trail, s.Since, s.Due = follow(7, "dee"), 9*second, never })
	prune := func(at time.Duration, exact bool) Op {
		return Op{action: prunes, from: at, to: at, span: second, exact: exact}
	}

	for name, row := range map[string]struct {
		is   Seen
		op   Op
		want []Seen
	}{
		"reads what is there":                {held, Op{now: held.shown()}, []Seen{held}},
		"reads that nothing is there":        {none, Op{}, []Seen{none}},
		"reads nothing where something is":   {held, Op{}, nil},
		"reads another owner":                {held, Op{now: other}, nil},
		"reads another token":                {held, Op{now: fenced}, nil},
		"reads another state":                {held, Op{now: with(held.shown(), func(s *Seen) { s.State = unknown })}, nil},
		"reads all records":                  {held, Op{action: audits, now: Seen{Trail: 7}}, []Seen{held}},
		"reads other records":                {held, Op{action: audits, now: Seen{Trail: 8}}, nil},
		"reads no records":                   {held, Op{action: audits}, nil},
		"writes over the version":            {held, made(settle.put, true, false), []Seen{settled}},
		"is refused over the version":        {held, made(held.shown(), false, false), nil},
		"writes over another token":          {with(held, func(s *Seen) { s.Token = 2 }), made(settle.put, true, false), nil},
		"writes over another state":          {doubt, made(settle.put, true, false), nil},
		"writes over nothing":                {none, made(settle.put, true, false), nil},
		"writes something else":              {held, made(other, true, false), nil},
		"is refused, and shown what is":      {doubt, made(doubt.shown(), false, false), []Seen{doubt}},
		"is refused, and shown another":      {doubt, made(other, false, false), nil},
		"is refused where nothing is":        {none, made(none, false, false), []Seen{none}},
		"is lost over the version":           {held, made(none, false, true), []Seen{held, settled}},
		"is lost over another":               {doubt, made(none, false, true), []Seen{doubt}},
		"takes what is due":                  {held, take(5*second, taken.shown()), []Seen{taken}},
		"takes what is not due":              {held, take(5*second-1, taken.shown()), nil},
		"takes without a token":              {held, take(5*second, held.shown()), nil},
		"takes what nobody holds":            {doubt, take(5*second, doubt.shown()), []Seen{with(doubt, func(s *Seen) { s.Due = 6 * second })}},
		"takes what nobody holds, and fence": {doubt, take(5*second, with(doubt.shown(), func(s *Seen) { s.Token++ })), nil},
		"takes what is settled":              {done, take(5*second, done.shown()), nil},
		"takes nothing":                      {none, take(5*second, none), nil},
		"leaves what is due":                 {held, leave(5 * second), nil},
		"leaves what is not due":             {held, leave(5*second - 1), []Seen{held}},
		"leaves what is settled":             {done, leave(5 * second), []Seen{done}},
		"leaves nothing":                     {none, leave(5 * second), []Seen{none}},
		"decides what is in doubt":           {doubt, decide(1, verdict, true), []Seen{decided}},
		"decides what runs":                  {held, decide(1, verdict, true), nil},
		"decides what is decided":            {decided, decide(1, verdict, true), nil},
		"decides under another token":        {doubt, decide(2, verdict, true), nil},
		"decides and changes the token":      {doubt, decide(1, with(verdict, func(s *Seen) { s.Token = 2 }), true), nil},
		"decides otherwise":                  {doubt, decide(1, with(verdict, func(s *Seen) { s.State = failed }), true), nil},
		"comes too late":                     {decided, decide(1, verdict, false), []Seen{decided}},
		"comes too late, and is shown else":  {decided, decide(1, doubt.shown(), false), nil},
		"prunes what is old":                 {done, prune(3*second, true), []Seen{none}},
		"prunes what is young":               {done, prune(3*second-1, true), []Seen{done}},
		"prunes what is open":                {doubt, prune(9*second, true), []Seen{doubt}},
		"prunes by another clock":            {done, prune(3*second, false), []Seen{done, none}},
		"prunes nothing":                     {none, prune(3*second, true), []Seen{none}},
		"does what nobody can":               {held, Op{action: 99, now: held.shown()}, nil},
	} {
		if got := row.op.After(row.is); !slices.Equal(got, row.want) {
			t.Errorf("who %s: from\n%v\nfollows\n%v, want\n%v", name, row.is, got, row.want)
		}
	}
}
