package toolguard

import "github.com/toolguard-go/toolguard/internal/isolate"

// accounts count what of the host's code hangs, each function for itself: a
// redactor that hangs must not keep Authorize from being asked.
type accounts struct {
	// stages are the functions a stage waits for: Authorize; Check; Refresh;
	// CheckResult and Status; Alternative.Args.
	stages [StageRecover + 1]isolate.Account

	visible, classifier, passThrough, redact, describe, approver isolate.Account

	errors isolate.Account // the methods of the tool's errors
}

// stuck counts over all accounts.
func (a *accounts) stuck() int {
	n := a.visible.Stuck() + a.classifier.Stuck() + a.passThrough.Stuck() +
		a.redact.Stuck() + a.describe.Stuck() + a.approver.Stuck() + a.errors.Stuck()
	for i := range a.stages {
		n += a.stages[i].Stuck()
	}
	return n
}

// reader is the guard's own.
func (g *Guard) reader() reader {
	return reader{user: g.opts.Classifier, asked: &g.hanging.classifier, errors: &g.hanging.errors}
}
