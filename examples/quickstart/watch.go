package main

import (
	"context"
	"errors"
	"time"

	"github.com/toolguard-go/toolguard"
)

// watcher is the guards' Observer: it writes what they do into the shop's log,
// in between the requests they make.
type watcher struct {
	shop *shop
	late chan struct{} // one for each abandoned attempt that ended after all
}

func newWatcher(s *shop) *watcher {
	return &watcher{shop: s, late: make(chan struct{}, 2*len(conversation))}
}

// Observe implements [toolguard.Observer].
func (w *watcher) Observe(_ context.Context, e toolguard.Event) {
	switch {
	case e.Kind == toolguard.EventLate:
		w.late <- struct{}{}
	case e.Kind != toolguard.EventAttempt || e.OK:
	case e.Decision == toolguard.DecisionRetry:
		w.shop.note("guard: attempt %d ended in %s, the next in %v", e.Attempt, e.Code, e.Wait.Round(time.Millisecond))
		w.shop.passTime()
	case e.Decision == toolguard.DecisionStop:
		w.shop.note("guard: attempt %d ended in %s, the last one (%s)", e.Attempt, e.Code, e.Why)
	default:
		w.shop.note("guard: attempt %d ended in %s", e.Attempt, e.Code)
	}
	for _, t := range e.Transitions {
		w.shop.note("guard: the breaker goes from %v to %v", t.From, t.To)
	}
}

// awaitLate waits for the end of the attempt that was abandoned.
func (w *watcher) awaitLate(ctx context.Context) error {
	select {
	case <-w.late:
		return nil
	case <-ctx.Done():
		return errors.New("the end of the abandoned attempt was not observed")
	}
}
