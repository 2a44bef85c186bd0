package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/toolguard-go/toolguard"
)

// Seen is what the entry of one key is to the model of a journal. Due says that
// somebody may take it: in these histories an entry is due at once, or in a time that
// does not come.
type Seen struct {
	Token uint64
	State toolguard.State
	Owner string
	Due   bool
}

func seen(e *toolguard.Entry) Seen { return Seen{Token: e.Token, State: e.State, Owner: e.Owner} }

func (s Seen) version() toolguard.Version { return toolguard.Version{Token: s.Token, State: s.State} }

// shown is what a reader is shown, who cannot see whether it is due.
func (s Seen) shown() Seen { s.Due = false; return s }

type action uint8

const (
	reads   action = iota
	writes         // a claim, a settlement
	takes          // a take-over
	decides        // a person's decision
)

// Op is what was asked of one key and what came of it. What became of a write that is
// lost nobody knows.
type Op struct {
	action   action
	was      toolguard.Version // of a decision: only its Token
	put, now Seen
	ok, lost bool
}

// After returns what the entry may be after the operation; nothing if it cannot have
// come of it. It is the journal as [toolguard.Journal] has it, for one key and one
// caller at a time.
func (op Op) After(is Seen) []any {
	switch op.action {
	case reads:
		if op.now == is.shown() {
			return []any{is}
		}
	case takes:
		return op.afterTaking(is)
	case decides:
		return op.afterDeciding(is)
	case writes:
		return op.afterWriting(is)
	}
	return nil
}

func (op Op) afterTaking(is Seen) []any {
	if !is.Due {
		return nil
	}
	is.Due = false
	if is.State == toolguard.StatePending {
		is.Token++
	}
	if op.now == is {
		return []any{is}
	}
	return nil
}

func (op Op) afterDeciding(is Seen) []any {
	open := is.State == toolguard.StateUnknown || is.State == toolguard.StateParked
	switch {
	case op.ok && open && is.Token == op.was.Token && op.now.Token == is.Token && op.now.State == op.put.State:
		return []any{op.now}
	case !op.ok && op.now == is.shown():
		return []any{is}
	}
	return nil
}

func (op Op) afterWriting(is Seen) []any {
	replaces := op.was == is.version()
	switch {
	case op.lost && replaces:
		return []any{is, op.put}
	case op.lost:
		return []any{is}
	case op.ok && replaces:
		return []any{op.put}
	case !op.ok && !replaces && op.now == is.shown():
		return []any{is}
	}
	return nil
}

// String is for who looks at a history that is wrong.
func (op Op) String() string {
	name := [...]string{"read", "write", "take", "decide"}[op.action]
	return fmt.Sprintf("%s was %v put %v now %v ok %t lost %t", name, op.was, op.put, op.now, op.ok, op.lost)
}

// Operation is an [Op] of one client, from Call to Return in nanoseconds.
type Operation struct {
	Client       int
	Op           Op
	Call, Return int64
}

// Init and Step are the model, as porcupine.NondeterministicModel has it.
func Init() []any { return []any{Seen{}} }

// Step returns what may follow.
func Step(state, op, _ any) []any { return op.(Op).After(state.(Seen)) }

// Histories lets callers use several journals on one store at once, as several
// processes have them, and returns what they did, by key. Leases run out in between,
// people decide, callers leave early. lost says of an error that the write may have
// been made; an ended context that is not lost was not made.
func Histories(t *testing.T, journals []toolguard.Journal, lost func(error) bool) map[string][]Operation {
	h := &history{begin: time.Now(), of: map[string][]Operation{}}
	const perJournal, steps = 4, 60
	var all sync.WaitGroup
	for p, j := range journals {
		for g := range perJournal {
			c := historian{t: t, id: p*perJournal + g, h: h, j: j, lost: lost, knows: map[string]toolguard.Version{}}
			all.Go(func() {
				for range steps {
					c.step()
				}
			})
		}
	}
	all.Wait()
	h.count(t)
	return h.of
}

type history struct {
	mu    sync.Mutex
	begin time.Time
	of    map[string][]Operation
}

func (h *history) now() int64 { return time.Since(h.begin).Nanoseconds() }

func (h *history) add(client int, key string, call int64, op Op) {
	end := h.now()
	if op.lost {
		end = math.MaxInt64 // it may happen at any time
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of[key] = append(h.of[key], Operation{client, op, call, end})
}

// count says whether there was anything to see.
func (h *history) count(t *testing.T) {
	var taken, decided, lost int
	for _, ops := range h.of {
		for _, o := range ops {
			switch {
			case o.Op.action == takes:
				taken++
			case o.Op.action == decides && o.Op.ok:
				decided++
			case o.Op.lost:
				lost++
			}
		}
	}
	t.Logf("%d taken over, %d decided, %d writes with an unknown end", taken, decided, lost)
	if taken == 0 || decided == 0 {
		t.Error("nothing was taken over, or nothing decided: the histories show little")
	}
}

const (
	historyKeys = 5
	forAges     = 1000 * time.Hour
)

// historian is one caller, who knows of each key the version it was shown last.
type historian struct {
	t     *testing.T
	id    int
	h     *history
	j     toolguard.Journal
	lost  func(error) bool
	made  int
	knows map[string]toolguard.Version
}

func (c *historian) step() {
	key := fmt.Sprint("key ", rand.IntN(historyKeys))
	call := c.h.now()
	switch rand.IntN(10) {
	case 0:
		taken, err := c.j.Take(c.t.Context(), 1+rand.IntN(3), forAges)
		for i := range taken {
			c.h.add(c.id, taken[i].Key, call, Op{action: takes, now: c.see(taken[i].Key, &taken[i])})
		}
		c.noError(err)
	case 1:
		found, err := c.j.Scan(c.t.Context(), toolguard.Query{Group: "group"})
		if c.noError(err) {
			c.readAll(call, found)
		}
	case 2, 3:
		found, err := c.j.Scan(c.t.Context(), toolguard.Query{Key: key})
		op := Op{action: reads}
		if len(found) > 0 {
			op.now = c.see(key, &found[0])
		}
		if c.noError(err) {
			c.h.add(c.id, key, call, op)
		}
	case 4, 5:
		c.decide(key, call)
	default:
		c.write(key, call)
	}
}

func (c *historian) noError(err error) bool {
	if err != nil {
		c.t.Error(err)
	}
	return err == nil
}

func (c *historian) see(key string, e *toolguard.Entry) Seen {
	c.knows[key] = e.Version()
	return seen(e)
}

func (c *historian) readAll(call int64, found []toolguard.Entry) {
	ops := map[string]Op{}
	for i := range historyKeys {
		ops[fmt.Sprint("key ", i)] = Op{}
	}
	for i := range found {
		ops[found[i].Key] = Op{now: c.see(found[i].Key, &found[i])}
	}
	for key, op := range ops {
		c.h.add(c.id, key, call, op)
	}
}

// decide decides as a person who has seen the entry as it is known.
func (c *historian) decide(key string, call int64) {
	was := c.knows[key]
	if was.Token == 0 {
		return
	}
	verdicts := map[toolguard.RulingVerdict]toolguard.State{
		toolguard.RulingRetry: toolguard.StateApproved, toolguard.RulingSucceeded: toolguard.StateSucceeded,
		toolguard.RulingFailed: toolguard.StateFailed, toolguard.RulingAbort: toolguard.StateAborted,
	}
	op := Op{action: decides, was: toolguard.Version{Token: was.Token}}
	r := toolguard.Ruling{Key: key, Token: was.Token, By: "ann"}
	for r.Verdict, op.put.State = range verdicts {
		break // whichever comes first
	}
	now, err := toolguard.Decide(c.t.Context(), c.j, r)
	if op.ok = err == nil; !op.ok && !errors.Is(err, toolguard.ErrDecided) {
		c.noError(err)
		return
	}
	op.now = c.see(key, &now)
	c.h.add(c.id, key, call, op)
}

// write replaces the version that is known, now and then without the patience to
// hear what became of it.
func (c *historian) write(key string, call int64) {
	c.made++
	was := c.knows[key]
	e := toolguard.Entry{Key: key, Group: "group", Token: was.Token + uint64(rand.IntN(2)), Owner: fmt.Sprint(c.id, "/", c.made)}
	states := []toolguard.State{toolguard.StatePending, toolguard.StateUnknown, toolguard.StateParked, toolguard.StateFailed}
	e.State = states[rand.IntN(len(states))]
	op := Op{action: writes, was: was, put: seen(&e)}
	if rand.IntN(2) == 0 && e.State != toolguard.StateFailed {
		e.Due, op.put.Due = 1, true
	}
	ctx := c.t.Context()
	if rand.IntN(8) == 0 {
		short, cancel := context.WithTimeout(ctx, rand.N(3*time.Millisecond))
		defer cancel()
		ctx = short
	}
	now, ok, err := c.j.Write(ctx, was, e, toolguard.Record{Key: key})
	switch {
	case c.lost(err):
		op.lost = true
	case errors.Is(err, context.DeadlineExceeded):
		return // it was not made
	case c.noError(err):
		op.ok, op.now = ok, c.see(key, &now)
	default:
		return
	}
	c.h.add(c.id, key, call, op)
}
