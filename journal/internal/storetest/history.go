package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolguard-go/toolguard"
)

// Callers are those who use journals on one store at once, as several processes have
// them.
type Callers struct {
	Journals []toolguard.Journal
	// Steps is how many each caller makes.
	Steps int
	// Lost says of an error that the write may have been made; an ended context that is
	// not lost was not made. If nil, none may.
	Lost func(error) bool
	// Exact says that they run in a bubble of testing/synctest, on a journal that has
	// no other clock: time passes between operations only, and all that is due, or old,
	// is seen to be.
	Exact bool
	// NoPrune says that nobody prunes.
	NoPrune bool
}

const (
	historyKeys  = 5
	perJournal   = 4 // callers
	stepsAtOnce  = 5
	forAges      = 1000 * time.Hour
	historyGroup = "group"
)

func historyKey(i int) string { return fmt.Sprint("key ", i%historyKeys) }

// others are the keys that are not among these.
func others(than []string) (keys []string) {
	for i := range historyKeys {
		if key := historyKey(i); !slices.Contains(than, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// Histories returns what callers did, by key. Leases run out in between, people decide,
// callers leave early, and answer late, with a version that is long gone.
func Histories(t testing.TB, with Callers) map[string][]Operation {
	h := &history{Callers: with, begin: time.Now(), of: map[string][]Operation{}}
	var all sync.WaitGroup
	for p, j := range with.Journals {
		for g := range perJournal {
			c := historian{history: h, t: t, id: p*perJournal + g, j: j, knows: map[string]toolguard.Version{}, held: map[string]toolguard.Version{}}
			all.Go(c.live)
		}
	}
	all.Wait()
	return h.of
}

// history is what is written down of all callers.
type history struct {
	Callers
	begin time.Time
	ticks atomic.Int64
	ready atomic.Int64 // how many callers have been, for how many races

	mu sync.Mutex
	of map[string][]Operation
}

// called is when an operation began.
type called struct {
	tick int64
	at   time.Duration
}

func (h *history) call() called { return called{h.ticks.Add(1), time.Since(h.begin)} }

func (h *history) add(client int, key string, began called, op Op) {
	ended := h.call()
	op.from, op.to, op.exact = began.at, ended.at, h.Exact
	if op.lost {
		ended.tick = math.MaxInt64 // it may happen at any time
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of[key] = append(h.of[key], Operation{client, op, began.tick, ended.tick})
}

// Varied says whether there was anything to see.
func Varied(t testing.TB, histories map[string][]Operation) {
	t.Helper()
	what := map[string]int{"take": 0, "decide": 0, "audit": 0, "fenced": 0}
	for _, ops := range histories {
		for _, o := range ops {
			what[o.Op.shows()]++
		}
	}
	t.Log(what)
	for name, n := range what {
		if n == 0 {
			t.Errorf("no %q: the histories show little", name)
		}
	}
}

// shows is what an operation is an example of.
func (op Op) shows() string {
	switch {
	case op.lost:
		return "lost"
	case op.action == writes && !op.ok && op.now.State == op.was.State && op.now.Token > op.was.Token:
		return "fenced" // by the token alone
	case op.action == decides && !op.ok, op.action == audits && op.now.Trail == 0:
		return "nothing"
	default:
		return op.name()
	}
}

// historian is one caller. It knows of each key the version it was shown last, and the
// one it has held itself.
type historian struct {
	*history
	t           testing.TB
	id          int
	j           toolguard.Journal
	made        int
	races       int64
	knows, held map[string]toolguard.Version
}

func (c *historian) live() {
	for i := range c.Steps {
		if c.Exact && i%stepsAtOnce == 0 {
			c.race(historyKey(i / stepsAtOnce))
		}
		c.step(historyKey(rand.IntN(historyKeys)))
	}
}

// race has all write, or decide, at once who have seen the same.
func (c *historian) race(key string) {
	time.Sleep(time.Second) // until nobody does anything
	c.read(key)
	c.races++
	for c.ready.Add(1); c.ready.Load() < c.races*int64(perJournal*len(c.Journals)); {
		runtime.Gosched() // no time passes
	}
	if c.races%2 == 0 {
		c.decide(key)
	} else {
		c.write(key)
	}
}

func (c *historian) step(key string) {
	switch n := rand.IntN(20); {
	case n < 3:
		c.take()
	case n < 4:
		c.readGroup()
	case n < 6:
		c.read(key)
	case n < 8:
		c.audit(key)
	case n < 9 && !c.NoPrune:
		c.prune()
	case n < 12:
		c.decide(key)
	default:
		c.write(key)
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

// name is one that nobody has had.
func (c *historian) name() string {
	c.made++
	return fmt.Sprint(c.id, "/", c.made)
}

// span is how long until something is due. It may be due at once. Where the clock is
// not ours, that or never.
func (c *historian) span() time.Duration {
	if c.Exact {
		return []time.Duration{1, time.Second, 3 * time.Second, forAges}[rand.IntN(4)]
	}
	return []time.Duration{1, forAges}[rand.IntN(2)]
}

func (c *historian) take() {
	n, hold, began := 1+rand.IntN(historyKeys), c.span(), c.call()
	taken, err := c.j.Take(c.t.Context(), n, hold)
	var keys []string
	for i := range taken {
		keys = append(keys, taken[i].Key)
		c.add(c.id, taken[i].Key, began, Op{action: takes, span: hold, now: c.see(taken[i].Key, &taken[i])})
	}
	if !c.noError(err) || !c.Exact || len(taken) == n {
		return
	}
	for _, key := range others(keys) {
		c.add(c.id, key, began, Op{action: leaves})
	}
}

func (c *historian) readGroup() {
	began := c.call()
	found, err := c.j.Scan(c.t.Context(), toolguard.Query{Group: historyGroup})
	if !c.noError(err) {
		return
	}
	var keys []string
	for i := range found {
		keys = append(keys, found[i].Key)
		c.add(c.id, found[i].Key, began, Op{now: c.see(found[i].Key, &found[i])})
	}
	for _, key := range others(keys) {
		c.add(c.id, key, began, Op{})
	}
}

func (c *historian) read(key string) {
	q := toolguard.Query{Key: key}
	if rand.IntN(2) == 0 {
		q = toolguard.Query{Digest: sha256.Sum256([]byte(key))}
	}
	began, op := c.call(), Op{}
	found, err := c.j.Scan(c.t.Context(), q)
	if len(found) > 0 {
		op.now = c.see(key, &found[0])
	}
	if c.noError(err) {
		c.add(c.id, key, began, op)
	}
}

func (c *historian) audit(key string) {
	began, op := c.call(), Op{action: audits}
	found, err := c.j.Records(c.t.Context(), toolguard.RecordQuery{Key: key, Limit: 100_000})
	for i := range found {
		op.now.Trail = follow(op.now.Trail, found[i].Actor)
	}
	if c.noError(err) {
		c.add(c.id, key, began, op)
	}
}

func (c *historian) prune() {
	began, op := c.call(), Op{action: prunes}
	if c.Exact {
		op.span = time.Duration(rand.IntN(3)) * time.Second
	}
	if _, err := c.j.Prune(c.t.Context(), op.span); !c.noError(err) {
		return
	}
	for _, key := range others(nil) {
		c.add(c.id, key, began, op)
	}
}

// decide decides as a person who has seen the entry as it is known.
func (c *historian) decide(key string) {
	was := c.knows[key]
	if was.Token == 0 {
		return
	}
	verdicts := map[toolguard.RulingVerdict]toolguard.State{
		toolguard.RulingRetry: toolguard.StateApproved, toolguard.RulingSucceeded: toolguard.StateSucceeded,
		toolguard.RulingFailed: toolguard.StateFailed, toolguard.RulingAbort: toolguard.StateAborted,
	}
	op := Op{action: decides, was: toolguard.Version{Token: was.Token}, actor: c.name()}
	r := toolguard.Ruling{Key: key, Token: was.Token, By: op.actor}
	for r.Verdict, op.put.State = range verdicts {
		break // whichever comes first
	}
	began := c.call()
	now, err := toolguard.Decide(c.t.Context(), c.j, r)
	if op.ok = err == nil; !op.ok && !errors.Is(err, toolguard.ErrDecided) && !errors.Is(err, toolguard.ErrNoEntry) {
		c.noError(err)
		return
	}
	op.now, op.span = c.see(key, &now), now.Due
	c.add(c.id, key, began, op)
}

// write replaces the version that is known, or one that was held before, now and then
// without the patience to hear what became of it.
func (c *historian) write(key string) {
	was, held := c.knows[key], c.held[key]
	if held.Token != 0 && rand.IntN(3) == 0 {
		was = held
	}
	states := []toolguard.State{toolguard.StatePending, toolguard.StateUnknown, toolguard.StateParked, toolguard.StateFailed, toolguard.StateAborted}
	e := toolguard.Entry{
		Key: key, Group: historyGroup, Owner: c.name(), Digest: sha256.Sum256([]byte(key)),
		Token: was.Token + uint64(rand.IntN(2)), State: states[rand.IntN(len(states))],
	}
	if rand.IntN(4) > 0 {
		e.Due = c.span()
	}
	op := Op{action: writes, was: was, put: seen(&e), actor: e.Owner, span: e.Due}
	ctx, done := c.patience()
	defer done()
	began := c.call()
	now, ok, err := c.j.Write(ctx, was, e, toolguard.Record{Key: key, Actor: e.Owner})
	switch {
	case err != nil && c.Lost != nil && c.Lost(err):
		op.lost = true
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return // it was not made
	case c.noError(err):
		op.ok, op.now = ok, c.see(key, &now)
	default:
		return
	}
	if op.ok && e.State == toolguard.StatePending {
		c.held[key] = e.Version()
	}
	c.add(c.id, key, began, op)
}

// patience ends, of some, at any moment.
func (c *historian) patience() (context.Context, context.CancelFunc) {
	switch {
	case rand.IntN(8) > 0:
		return c.t.Context(), func() {}
	case c.Exact:
		ctx, leave := context.WithCancel(c.t.Context())
		if rand.IntN(2) == 0 {
			leave()
		}
		go leave()
		return ctx, leave
	default:
		return context.WithTimeout(c.t.Context(), rand.N(3*time.Millisecond))
	}
}
