package toolguardtest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolguard-go/toolguard"
)

const racers = 12

// race lets racers write the same key, each as another owner, and expects one of
// them to win and all to see it.
func (x *journalTest) race(what string, was toolguard.Version, journal func(i int) toolguard.Journal, entry func(i int) toolguard.Entry) {
	x.Helper()
	var mu sync.Mutex
	var won []string
	saw := map[string]int{}
	together(x, what, racers, func(i int) {
		e := entry(i)
		e.Owner = fmt.Sprint("owner ", i)
		now, ok, err := journal(i).Write(x.ctx(), was, e, line(e.Key, e.Owner))
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			x.Errorf("toolguardtest: %s: Write fails: %v; of two that replace one version one does, and the other is told", what, err)
		}
		if ok {
			won = append(won, e.Owner)
		}
		saw[now.Owner]++
	})
	if len(won) != 1 {
		x.Fatalf("toolguardtest: %s: %d of %d have won: %v", what, len(won), racers, won)
	}
	if saw[won[0]] != racers {
		x.Errorf("toolguardtest: %s: %s has won, but the answers to all were %v", what, won[0], saw)
	}
	key := entry(0).Key
	if got := x.read(key); got.Owner != won[0] {
		x.Errorf("toolguardtest: %s: %s has won, but the entry is %s's", what, won[0], got.Owner)
	}
	if r := x.audit(toolguard.RecordQuery{Key: key}); len(r) != 1 || r[0].Why != won[0] {
		x.Errorf("toolguardtest: %s: there are %d records, want the winner's alone", what, len(r))
	}
}

func (x *journalTest) this(int) toolguard.Journal { return x.j }

func (x *journalTest) insertRace() {
	for round := range 5 {
		x.race("a race to insert", toolguard.Version{}, x.this, func(int) toolguard.Entry {
			return bare(fmt.Sprint("k", round), toolguard.StatePending)
		})
	}
}

func (x *journalTest) replaceRace() {
	for round := range 5 {
		key := fmt.Sprint("k", round)
		now := x.insert(bare(key, toolguard.StateUnknown))
		x.race("a race to replace", now.Version(), x.this, func(i int) toolguard.Entry {
			e := bare(key, []toolguard.State{toolguard.StateSucceeded, toolguard.StateFailed, toolguard.StateParked}[i%3])
			e.Token = 2
			return e
		})
	}
}

func (x *journalTest) manyKeys() {
	const each = 5
	together(x, "writes of many keys", racers, func(i int) {
		for n := range each {
			key := fmt.Sprintf("k%d.%d", i, n)
			if _, ok, err := x.j.Write(x.ctx(), toolguard.Version{}, bare(key, toolguard.StatePending), line(key, "one")); !ok || err != nil {
				x.Errorf("toolguardtest: Write of a key of its own: %t, %v", ok, err)
			}
			if err := x.j.Append(x.ctx(), line(key, "two")); err != nil {
				x.Errorf("toolguardtest: Append: %v", err)
			}
		}
	})
	if n := len(x.scan(toolguard.Query{Limit: 1000})); n != racers*each {
		x.Errorf("toolguardtest: there are %d entries, want %d", n, racers*each)
	}
	seen := map[uint64]bool{}
	for _, r := range x.audit(toolguard.RecordQuery{}) {
		seen[r.Seq] = true
	}
	if len(seen) != 2*racers*each {
		x.Errorf("toolguardtest: records have %d different Seq, want %d", len(seen), 2*racers*each)
	}
}

func (x *journalTest) takeRace() {
	const due = 20
	for i := range due {
		e := bare(fmt.Sprint("k", i), toolguard.StateUnknown)
		e.Due = time.Millisecond
		x.insert(e)
	}
	time.Sleep(50 * time.Millisecond)
	var mu sync.Mutex
	taken := map[string]int{}
	together(x, "Take", racers, func(int) {
		got, err := x.j.Take(x.ctx(), 3, time.Hour)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			x.Errorf("toolguardtest: Take: %v", err)
		}
		if len(got) > 3 {
			x.Errorf("toolguardtest: Take of 3 hands out %d", len(got))
		}
		for _, e := range got {
			taken[e.Key]++
		}
	})
	rest, err := x.j.Take(x.ctx(), due, time.Hour)
	x.must(err, "Take")
	for _, e := range rest {
		taken[e.Key]++
	}
	for key, n := range taken {
		if n > 1 {
			x.Errorf("toolguardtest: %d takers got %s: each gets its own", n, key)
		}
	}
	if len(taken) != due {
		x.Errorf("toolguardtest: %d of %d entries that were due were handed out", len(taken), due)
	}
}

// other is another way to the same store; ok is false if there is none.
func (x *journalTest) other() (toolguard.Journal, bool) {
	if x.suite.Again == nil {
		if d := x.j.Durability(); d > toolguard.DurabilityVolatile {
			x.Errorf("toolguardtest: the journal says that a write survives (%v), but JournalSuite.Again is nil: set it, so that this is tried", d)
		}
		return nil, false
	}
	return x.suite.Again(x.TB, x.j), true
}

func (x *journalTest) survives() {
	e := full("k", toolguard.StateUnknown)
	first := x.insert(e, line("k", "one"))
	second, ok := x.other()
	if !ok {
		return
	}
	if second.Durability() != x.j.Durability() {
		x.Errorf("toolguardtest: Durability is %v, and %v in another process", x.j.Durability(), second.Durability())
	}
	there := &journalTest{TB: x.TB, suite: x.suite, j: second}
	x.same("the entry in another process", there.read("k"), e)
	if n := len(there.audit(toolguard.RecordQuery{Key: "k"})); n != 1 {
		x.Errorf("toolguardtest: another process finds %d records, want 1", n)
	}
	next := bare("k", toolguard.StateParked)
	_, ok, err := second.Write(x.ctx(), first.Version(), next)
	x.must(err, "Write")
	if _, late, err := x.j.Write(x.ctx(), first.Version(), bare("k", toolguard.StateFailed)); !ok || late || err != nil {
		x.Errorf("toolguardtest: the version was replaced by another process (%t), then by this one (%t, %v)", ok, late, err)
	}
}

func (x *journalTest) twoProcesses() {
	second, ok := x.other()
	if !ok {
		return
	}
	x.race("a race of two processes", toolguard.Version{}, func(i int) toolguard.Journal {
		return []toolguard.Journal{x.j, second}[i%2]
	}, func(int) toolguard.Entry { return bare("k", toolguard.StatePending) })
}

// guardOn is a guard whose tool acts, on a journal.
func (x *journalTest) guardOn(j toolguard.Journal, tool toolguard.Tool) *toolguard.Guard {
	x.Helper()
	guard, err := toolguard.New(tool, &toolguard.Options{Journal: j})
	x.must(err, "New")
	return guard
}

var refundInfo = toolguard.Info{Name: "refund", Effect: toolguard.NonIdempotent}

// step is the same step of the same run, whoever resumes it.
func (x *journalTest) step(guard *toolguard.Guard) toolguard.Envelope {
	ctx := toolguard.WithScope(x.Context(), toolguard.Scope{Tenant: "acme", Run: "run", Step: "7"})
	return guard.Do(ctx, toolguard.Call{ID: "c", Args: []byte(`{"id":"A-17"}`)})
}

func (x *journalTest) oneEffect() {
	tool := Always(x, refundInfo, Slow(20*time.Millisecond, OK("R-1")))
	journals := []toolguard.Journal{x.j}
	if second, ok := x.other(); ok {
		journals = append(journals, second)
	}
	var fresh atomic.Int32
	together(x, "guards on one journal", racers, func(i int) {
		env := x.step(x.guardOn(journals[i%len(journals)], tool))
		if env.OK && env.Attempts == 1 {
			fresh.Add(1)
		}
	})
	if tool.Ledger().Effects() != 1 || fresh.Load() != 1 {
		x.Errorf("toolguardtest: %d guards took one step at once: it had %d effects and %d answers of its own, want 1 and 1", racers, tool.Ledger().Effects(), fresh.Load())
	}
	env := x.step(x.guardOn(x.j, tool))
	if !env.OK || env.Result.Text != "R-1" || tool.Runs() != 1 {
		x.Errorf("toolguardtest: the step again is not replayed (%d runs): %s", tool.Runs(), shown(env))
	}
}

// lostClaim: a process claims a step and is gone.
func (x *journalTest) lostClaim() {
	tool := Always(x, refundInfo, OK("R-1"))
	elsewhere := toolguard.NewMemoryJournal()
	x.step(x.guardOn(elsewhere, Always(x, refundInfo, OK("R-0"))))
	entries, err := elsewhere.Scan(x.ctx(), toolguard.Query{})
	if err != nil || len(entries) != 1 {
		x.Fatalf("toolguardtest: a guard has left %d entries in a journal: %v", len(entries), err)
	}
	e := entries[0]
	e.State, e.Result, e.Due = toolguard.StatePending, nil, 30*time.Millisecond
	held := x.insert(e)
	time.Sleep(100 * time.Millisecond)
	guard := x.guardOn(x.j, tool)
	recoverer, err := toolguard.NewRecoverer(x.j, nil, guard)
	x.must(err, "NewRecoverer")
	_, err = recoverer.Once(x.ctx())
	x.must(err, "Recoverer.Once")
	if got := x.read(e.Key); got.State != toolguard.StateParked && got.State != toolguard.StateUnknown {
		x.Errorf("toolguardtest: a claim whose lease has passed is %v, want unknown or parked", got.State)
	}
	if env := x.step(guard); env.OK || OutcomeOf(env) != toolguard.OutcomeUnknown || tool.Runs() > 0 {
		x.Errorf("toolguardtest: the step of a lost claim ran %d times and is answered with %s", tool.Runs(), shown(env))
	}
	if _, ok, err := x.j.Write(x.ctx(), held.Version(), bare(e.Key, toolguard.StateSucceeded)); ok || err != nil {
		x.Errorf("toolguardtest: whoever lost the claim can settle it still (%t, %v)", ok, err)
	}
}
