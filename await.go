package toolguard

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// await waits for the answer, in [Guard.Do]. If the caller gives up first, the
// attempt that runs is told; a call between attempts notices by itself.
func (c *call) await() {
	if c.soon() {
		return
	}
	defer c.watch().stop()
	done := c.done.wait()
	ended := careless(c.ctx.Done)
	select {
	case <-done:
		return
	case <-ended:
	}
	c.last().interrupt(cmp.Or(careless(c.callerStop), stopCallerCanceled))
	<-done
}

// endOf is the deadline of a context; zero if it has none.
func endOf(ctx context.Context) time.Time {
	return careless(func() time.Time {
		end, _ := ctx.Deadline()
		return end
	})
}

// careless asks the caller's context something where nobody else would catch a panic
// of it, on the caller's goroutine or a timer's, or would take it for one of the guard.
// Then it has said nothing.
func careless[T any](ask func() T) (answer T) {
	defer func() { _ = recover() }()
	return ask()
}

// soon lets the tool have its turn: a quick one has answered then, and need be
// neither timed nor waited for.
func (c *call) soon() bool {
	if c.guard.pace.slow() {
		return false
	}
	if c.done.soon() {
		return true
	}
	c.guard.pace.slowed()
	return false
}

// pace remembers whether a tool is quick. After a call that took its time the next
// ones do not step aside: where processors are busy, their turn may come late.
type pace struct{ calls atomic.Int32 }

const slowCalls = 64

func (p *pace) slow() bool { return p.calls.Load() > 0 && p.calls.Add(-1) >= 0 }

func (p *pace) slowed() { p.calls.Store(slowCalls) }

// watch times the attempts of a call that takes its time, one after the other, with
// one timer. None of a call's attempts has to end before an earlier one.
type watch struct {
	call *call

	mu    sync.Mutex
	timer *time.Timer
	over  bool
}

// watch begins to time the call's attempts; nil if nothing bounds them.
func (c *call) watch() *watch {
	if c.attemptLimit(0) == noLimit {
		return nil
	}
	w := &watch{call: c}
	w.mu.Lock()
	defer w.mu.Unlock()
	if left := w.look(); left > 0 {
		w.timer = time.AfterFunc(left, w.ring)
	}
	return w
}

func (w *watch) ring() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	if left := w.look(); left > 0 {
		w.timer.Reset(left)
	}
}

// look interrupts the attempt that runs if its time is up. It returns when to look
// again: no attempt's time is up before then; 0 or less if none can begin any more.
func (w *watch) look() time.Duration {
	c := w.call
	now := time.Since(c.began) // before the attempt: see start
	a := c.last()
	if a.state.Load() == attemptRunning {
		if left := a.began + a.limit - now; left > 0 {
			return left
		}
		if left := c.prolonged(a, w.ring); left > 0 {
			return left
		}
		a.expire()
	}
	return c.attemptLimit(now)
}

func (w *watch) stop() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over = true; w.timer != nil {
		w.timer.Stop()
	}
}

// expire interrupts the attempt because its time is up.
func (a *attempt) expire() {
	why := stopAttemptTimeout
	if end := endOf(a.call.ctx); !end.IsZero() && !time.Now().Before(end) {
		why = stopCallerDeadline // at the same instant: it says nothing about the tool
	}
	a.interrupt(why)
}
