package toolguardtest

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolguard-go/toolguard"
)

// Matrix runs a guarded tool, a toolbox or an agent loop against every fault of
// [Faults] and checks the [Rules], each failure naming the rule it breaks.
//
// newSubject is called once to see whether a call reaches the tool at all, and then
// for each fault, inside a bubble of [testing/synctest]: what it makes must not use a
// network or goroutines from outside. A fault then stands in for the tool, while
// schema, policies, Authorize, Check and Approver stay. Calls come with the principal
// and the session "matrix". Timeouts pass in fake time. A tool with a Durability gets
// its journal from [JournalFor]; an Approver has to say yes, as that of [NewApprover].
func Matrix(t *testing.T, newSubject func(t testing.TB) Subject) {
	t.Helper()
	MatrixOf(t, Faults(), newSubject)
}

// MatrixOf is [Matrix] with faults of your choice.
func MatrixOf(t *testing.T, faults []Fault, newSubject func(t testing.TB) Subject) {
	t.Helper()
	if len(faults) == 0 {
		t.Fatalf("toolguardtest: a matrix without faults proves nothing: give it Faults() or some of them")
	}
	if newSubject == nil {
		t.Fatalf("toolguardtest: a matrix without a subject proves nothing: give it a function that returns Guarded(guard, args)")
	}
	tryOnce(t, newSubject)
	for _, f := range faults {
		t.Run(f.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, b := range Check(t, f, newSubject) {
					t.Errorf("%s", b)
				}
			})
		})
	}
}

// Check runs one fault and returns the rules that did not hold. It must be called
// inside a bubble of [testing/synctest].
func Check(t testing.TB, f Fault, newSubject func(t testing.TB) Subject) []Breach {
	t.Helper()
	s := newSubject(t)
	if err := s.check(); err != nil {
		t.Fatalf("toolguardtest: %v", err)
	}
	x := &examination{t: t, fault: f, subject: s}
	if f.Acts && f.Proves && s.Guard.Info().SingleRequest {
		return nil // the tool promised that this cannot happen
	}
	x.run()
	if len(x.left()) > 0 {
		x.found = append(x.found, leaks(t, f, newSubject)...)
	}
	return x.found
}

// examination is one fault under one subject.
type examination struct {
	t       testing.TB
	fault   Fault
	subject Subject
	tool    *Tool
	found   breaches
}

// begin puts the fault in the tool's place. The context is one for all calls.
func (x *examination) begin() (context.Context, context.CancelFunc) {
	x.tool = Always(x.t, x.subject.Guard.Info(), x.fault.Step)
	if err := x.subject.Replace(x.tool); err != nil {
		x.t.Fatalf("toolguardtest: the fault cannot stand in for the tool: %v", err)
	}
	ctx, cancel := context.WithTimeout(x.t.Context(), hour)
	return toolguard.WithScope(ctx, toolguard.Scope{Session: "matrix", Turn: "1", Principal: "matrix"}), cancel
}

func (x *examination) run() {
	ctx, cancel := x.begin()
	defer cancel()
	defer x.tool.Release()
	env, ok := x.call(ctx, "call_1")
	if !ok {
		return
	}
	x.retries(&env)
	if x.remembers() {
		x.again(ctx, &env)
	}
	x.effects(&env)
}

// call makes one call and holds its answer against the rules.
func (x *examination) call(ctx context.Context, id string) (toolguard.Envelope, bool) {
	call := x.subject.call(id)
	began := time.Now()
	a := x.ask(ctx, call)
	took := time.Since(began)
	limit := x.subject.limit()
	switch {
	case a.panicked != nil:
		x.found.add(RuleNoPanic, "Do panicked: %v", a.panicked)
	case a.hung:
		x.found.add(RuleInTime, "Do did not return within %v; its limit is %v", took, limit)
	case took > limit:
		x.found.add(RuleInTime, "Do took %v; its limit is %v", took, limit)
	}
	if a.panicked != nil || a.hung {
		return toolguard.Envelope{}, false
	}
	if len(a.envelopes) != 1 {
		x.found.add(RuleOneEnvelope, "there are %d answers to one call", len(a.envelopes))
		return toolguard.Envelope{}, false
	}
	env := a.envelopes[0]
	x.whole(call, &env)
	x.readable(&env)
	return env, true
}

// asked is what came of a call.
type asked struct {
	envelopes []toolguard.Envelope
	panicked  any
	hung      bool
}

// patienceFactor is how much longer than its limit a call is waited for. In a bubble
// that takes no time.
const patienceFactor = 4

// ask calls on a goroutine of its own: a broken subject may panic, exit or hang. One
// that hangs is released with the tool.
func (x *examination) ask(ctx context.Context, call toolguard.Call) (a asked) {
	done := make(chan asked, 1)
	go func() {
		r := asked{panicked: "its goroutine was ended"}
		defer func() {
			if v := recover(); v != nil {
				r.panicked = v
			}
			done <- r
		}()
		r.envelopes = x.subject.Do(ctx, call)
		r.panicked = nil
	}()
	timer := time.NewTimer(patienceFactor*x.subject.limit() + hour)
	defer timer.Stop()
	select {
	case a = <-done:
	case <-timer.C:
		a.hung = true
	}
	return a
}

// remembers reports whether the same call again is known to be the same: then an
// unknown outcome forbids it.
func (x *examination) remembers() bool {
	d := x.subject.Guard.Describe()
	return d.Remembers != "nothing after the call" && !d.Dedupe.Off && !x.subject.Guard.Info().RepeatsNormal
}

// again sends the same call once more, as a stubborn model does.
func (x *examination) again(ctx context.Context, first *toolguard.Envelope) {
	if x.repeatable() || OutcomeOf(*first) != toolguard.OutcomeUnknown {
		return
	}
	ran := x.tool.Runs()
	second, ok := x.call(ctx, "call_2")
	switch {
	case !ok:
	case x.tool.Runs() > ran:
		x.found.add(RuleUnsure, "the outcome was unknown, and the same call in the same turn ran the tool again")
	case OutcomeOf(second) == toolguard.OutcomeNotStarted || OutcomeOf(second) == toolguard.OutcomeFailed:
		x.found.add(RuleUnsure, "the outcome was unknown, and the answer to the same call says %v", OutcomeOf(second))
	}
}

func (x *examination) repeatable() bool {
	switch x.subject.Guard.Info().Effect {
	case toolguard.ReadOnly, toolguard.Idempotent, toolguard.IdempotentByKey:
		return true
	}
	return false
}

// left are the goroutines of the bubble once all hanging is over.
func (x *examination) left() map[string]string {
	x.tool.Release()
	time.Sleep(24 * time.Hour) // whoever only waits for a while is done by then
	synctest.Wait()
	return goroutines()
}

// leaks runs a fault once more where goroutines were left, to tell those of the call
// from those of the subject: a server, for instance, stays until t ends. Looking
// twice each time would be slow.
func leaks(t testing.TB, f Fault, newSubject func(t testing.TB) Subject) (found breaches) {
	x := &examination{t: t, fault: f, subject: newSubject(t)}
	synctest.Wait() // one that has only just begun may not be seen yet
	before := goroutines()
	x.run()
	for number, stack := range x.left() {
		if _, old := before[number]; !old {
			found.add(RuleNoLeak, "after everything was released and a day has passed there is still\n%s", stack)
		}
	}
	return found
}

// String says which fault it is about.
func (f Fault) String() string { return fmt.Sprintf("fault %q", f.Name) }
