package main

import (
	"errors"
	"fmt"

	"github.com/toolguard-go/toolguard"
)

// result is what a scene came to.
type result struct {
	refunds   []receipt // in the bank's ledger
	undecided int       // how many there were before a person decided anything
	decided   bool      // a person did
	answers   []answer  // all that the model read, and what a person did, in order
	entries   []toolguard.Entry
	lies      []error // what the model read that was not so
}

// check holds a scene with toolguard against what it promises.
func (r *result) check() error {
	errs := append([]error{}, r.lies...)
	expect := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	expect(len(r.refunds) == 1, "there are %d refunds, want 1", len(r.refunds))
	expect(r.undecided <= 1, "there are %d refunds before a person has decided", r.undecided)
	expect(len(r.answers) > 0 && r.answers[len(r.answers)-1].OK, "the model does not learn of the refund")
	expect(len(r.entries) == 1, "there are %d entries in the journal, want 1", len(r.entries))
	for _, e := range r.entries {
		expect(e.State == toolguard.StateSucceeded, "the journal has an entry that is %v", e.State)
	}
	return errors.Join(errs...)
}

// judge notes what the model was told in one process that was not so. recorded
// says that the success was in the journal before.
func (r *result) judge(told []answer, recorded bool) {
	for i, a := range told {
		if recorded && !a.OK {
			r.lies = append(r.lies, fmt.Errorf("the answer is %s, although a success was recorded", a.Code))
		}
		sure := a.Outcome == toolguard.OutcomeNotStarted || a.Outcome == toolguard.OutcomeFailed
		if last := i == len(told)-1; last && sure && len(r.refunds) > 0 {
			r.lies = append(r.lies, fmt.Errorf("the answer says %s, and there is a refund", a.Outcome))
		}
		if a.OK && len(r.refunds) == 0 {
			r.lies = append(r.lies, errors.New("the answer says that it is done, and there is no refund"))
		}
	}
}

// recorded says that the journal has the success.
func (r *result) recorded() bool { return r.any(toolguard.StateSucceeded) }

// waits says that something waits for a person.
func (r *result) waits() bool {
	return r.any(toolguard.StateAwaiting, toolguard.StateParked)
}

// open says that somebody has to go on.
func (r *result) open() bool {
	return len(r.entries) == 0 || r.any(toolguard.StateAwaiting, toolguard.StateApproved,
		toolguard.StatePending, toolguard.StateUnknown, toolguard.StateParked, toolguard.StateFailed)
}

func (r *result) any(states ...toolguard.State) bool {
	for _, e := range r.entries {
		for _, s := range states {
			if e.State == s {
				return true
			}
		}
	}
	return false
}
