package toolguardtest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolguard-go/toolguard"
)

// StoreFault is something that happens to the store under a journal: a disk that is
// full, a server that stops, a connection that is cut.
type StoreFault struct {
	// Name says what happens.
	Name string
	// Open returns an empty journal, and two functions: breaks lets it happen, mends
	// ends it. Both return when that is so.
	Open func(t testing.TB) (j toolguard.Journal, breaks, mends func())
	// Says are parts of what the errors say meanwhile: each has one of them.
	Says []string
	// Again opens the store anew after it was mended, where the journal asks for that.
	// If nil, it goes on by itself.
	Again func(t testing.TB, j toolguard.Journal) toolguard.Journal
}

// faultTest is a fault of the store under test.
type faultTest struct {
	journalTest
	fault        StoreFault
	acknowledged []string
	refused      []string
}

func (f StoreFault) check(s JournalSuite, t testing.TB) {
	t.Helper()
	if f.Name == "" || f.Open == nil {
		t.Fatalf("toolguardtest: a StoreFault needs a Name and an Open")
	}
	j, breaks, mends := f.Open(t)
	x := &faultTest{journalTest: journalTest{TB: t, suite: s, j: j}, fault: f}
	tool := Always(x, refundInfo, Commit(OK("R-1")))
	x.acknowledge("before", 10)

	breaks()
	x.writeUntilRefused()
	x.callWhileBroken(tool)
	mends()
	if f.Again != nil {
		x.j = f.Again(t, j)
	}
	x.worksAgain()
	x.nothingIsLost()
	x.onceInAll(tool)
}

// put writes an entry with two records.
func (x *faultTest) put(key string) error {
	ctx, cancel := context.WithTimeout(x.Context(), time.Second)
	defer cancel()
	e := bare(key, toolguard.StateUnknown)
	e.Result = []byte(`"` + strings.Repeat("x", 4000) + `"`)
	_, ok, err := x.j.Write(ctx, toolguard.Version{}, e, line(key, "one"), line(key, "two"))
	if err == nil && !ok {
		err = fmt.Errorf("key %q is taken", key)
	}
	return err
}

func (x *faultTest) acknowledge(name string, n int) {
	x.Helper()
	for i := range n {
		key := fmt.Sprint(name, i)
		x.must(x.put(key), "Write before anything has happened")
		x.acknowledged = append(x.acknowledged, key)
	}
}

const (
	mostWrites  = 500 // until there is no room, for instance
	mostRefused = 3
)

// writeUntilRefused expects errors that say what is wrong, soon.
func (x *faultTest) writeUntilRefused() {
	x.Helper()
	for i := 0; i < mostWrites && len(x.refused) < mostRefused; i++ {
		key := fmt.Sprint("during", i)
		var err error
		within(x, "Write during "+x.fault.Name, func() { err = x.put(key) })
		if err == nil {
			x.acknowledged = append(x.acknowledged, key)
			continue
		}
		x.refused = append(x.refused, key)
		if !x.fault.explains(err) {
			x.Errorf("toolguardtest: during %s an error says %q, want one of %q in it", x.fault.Name, err, x.fault.Says)
		}
	}
	if len(x.refused) == 0 {
		x.Errorf("toolguardtest: during %s %d writes were made and none failed: breaks breaks nothing", x.fault.Name, mostWrites)
	}
}

func (f *StoreFault) explains(err error) bool {
	for _, part := range f.Says {
		if strings.Contains(err.Error(), part) {
			return true
		}
	}
	return len(f.Says) == 0
}

// impatient are options of a guard that nobody waits long for.
func impatient(j toolguard.Journal, budget time.Duration) *toolguard.Options {
	return &toolguard.Options{
		Journal: j,
		Timeout: toolguard.TimeoutPolicy{Attempt: budget / 2, Budget: budget, Grace: budget / 10},
	}
}

// callWhileBroken expects an answer that is so.
func (x *faultTest) callWhileBroken(tool *Tool) {
	x.Helper()
	guard, err := toolguard.New(tool, impatient(x.j, time.Second))
	x.must(err, "New")
	var env toolguard.Envelope
	within(x, "a guard during "+x.fault.Name, func() { env = x.step(guard) })
	if env.OK != (tool.Runs() > 0) && OutcomeOf(env) != toolguard.OutcomeUnknown {
		x.Errorf("toolguardtest: during %s the tool ran %d times, and the answer is %s", x.fault.Name, tool.Runs(), shown(env))
	}
}

// worksAgain waits for the journal to be as it was.
func (x *faultTest) worksAgain() {
	x.Helper()
	var err error
	for end := time.Now().Add(4 * soon); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		key := fmt.Sprint("after", len(x.refused))
		if err = x.put(key); err == nil {
			x.acknowledged = append(x.acknowledged, key)
			return
		}
		x.refused = append(x.refused, key)
	}
	x.Fatalf("toolguardtest: after %s the journal does not work again: %v", x.fault.Name, err)
}

// nothingIsLost: what was acknowledged is there, and what was refused is there whole
// or not at all.
func (x *faultTest) nothingIsLost() {
	x.Helper()
	for _, key := range x.acknowledged {
		if there, n := x.settledWrite(key); !there || n != 2 {
			x.Errorf("toolguardtest: after %s the entry %q, which was acknowledged, is there: %t, with %d of 2 records", x.fault.Name, key, there, n)
		}
	}
	for _, key := range x.refused {
		if there, n := x.settledWrite(key); there != (n == 2) || !there && n > 0 {
			x.Errorf("toolguardtest: after %s the entry %q, whose write failed, is there: %t, with %d of 2 records", x.fault.Name, key, there, n)
		}
	}
}

// onceInAll: whatever was, the step is not run a second time; and it is run if it was
// not begun.
func (x *faultTest) onceInAll(tool *Tool) {
	x.Helper()
	ran, begun := tool.Runs(), x.scan(toolguard.Query{Run: "run"})
	if ran > 0 && len(begun) == 0 {
		x.Errorf("toolguardtest: during %s the tool ran, and its intent is not in the journal", x.fault.Name)
	}
	env := x.step(x.guardOn(x.j, tool))
	if tool.Runs() > 1 || len(begun) == 0 && (!env.OK || tool.Runs() != 1) {
		x.Errorf("toolguardtest: after %s the step was run %d times in all, and is answered with %s", x.fault.Name, tool.Runs(), shown(env))
	}
}

// anyFault: each use that a guard makes of the journal fails in turn, in each way.
func (x *journalTest) anyFault() {
	for _, fault := range []JournalFault{JournalRefuses, JournalLosesAnswer, JournalHangs, JournalLosesAnswerAndHangs} {
		for nth := 1; x.oneFault(fault, nth); nth++ {
			if nth > 50 {
				x.Fatalf("toolguardtest: a guard uses a journal more than 50 times in a call")
			}
		}
	}
}

// oneFault fails one use of the journal. It is false if the call makes fewer.
func (x *journalTest) oneFault(fault JournalFault, nth int) bool {
	x.Helper()
	what := fmt.Sprintf("a guard whose use %d of the journal fails (%d)", nth, fault)
	broken := &FaultyJournal{Journal: x.j, Fault: func(u JournalUse) JournalFault {
		if u.N == nth {
			return fault
		}
		return JournalWorks
	}}
	tool := Always(x, refundInfo, func(r *Run) (toolguard.Result, error) {
		if e := x.read(r.Key); e.State != toolguard.StatePending {
			x.Errorf("toolguardtest: %s: the tool runs, and in the journal its entry is %v, want pending", what, e.State)
		}
		r.Commit()
		return toolguard.Result{Text: "R-1"}, nil
	})
	opts := &toolguard.Options{Journal: broken}
	if hangs := fault == JournalHangs || fault == JournalLosesAnswerAndHangs; hangs {
		opts = impatient(broken, 300*time.Millisecond)
	}
	ctx := toolguard.WithScope(x.Context(), toolguard.Scope{Tenant: "acme", Run: what, Step: "1"})
	var first toolguard.Envelope
	within(x, what, func() {
		guard, err := toolguard.New(tool, opts)
		x.must(err, "New")
		first = guard.Do(ctx, toolguard.Call{ID: "c", Args: []byte(`{}`)})
	})
	if tool.Runs() == 0 && first.OK || tool.Runs() == 1 && !first.OK && OutcomeOf(first) != toolguard.OutcomeUnknown {
		x.Errorf("toolguardtest: %s: the tool ran %d times, and the answer is %s", what, tool.Runs(), shown(first))
	}
	ran := tool.Runs()
	second := x.guardOn(x.j, tool).Do(ctx, toolguard.Call{ID: "d", Args: []byte(`{}`)})
	if tool.Runs() > 1 || ran == 1 && !second.OK && OutcomeOf(second) != toolguard.OutcomeUnknown {
		x.Errorf("toolguardtest: %s: the step again makes %d runs and is answered with %s", what, tool.Runs(), shown(second))
	}
	return broken.Uses() >= nth
}

// largeResult: a result above the cap had its effect, and is not stored.
func (x *journalTest) largeResult() {
	large := strings.Repeat("0123456789", 40<<10)
	tool := Always(x, refundInfo, OK(large))
	first := x.step(x.guardOn(x.j, tool))
	if !first.OK {
		x.Fatalf("toolguardtest: a call with a result of %d bytes is answered with %s", len(large), shown(first))
	}
	found := x.scan(toolguard.Query{Run: "run"})
	if len(found) != 1 || found[0].State != toolguard.StateSucceeded || len(found[0].Result) > 0 {
		x.Fatalf("toolguardtest: of a result above the cap the journal has %d entries, %v with %d bytes", len(found), found[0].State, len(found[0].Result))
	}
	again := x.step(x.guardOn(x.j, tool))
	if tool.Runs() != 1 || again.OK || again.Error.Code != toolguard.CodeResultUnavailable {
		x.Errorf("toolguardtest: the step again ran the tool %d times in all and is answered with %s", tool.Runs(), shown(again))
	}
}
