package toolguard

import (
	"runtime"
	"sync/atomic"
	"time"
)

// await waits for the answer, in [Guard.Do]. If the caller gives up first, the
// attempt that runs is told; a call between attempts notices by itself.
func (c *call) await() {
	if c.soon() {
		return
	}
	if timer := c.first.watch(); timer != nil {
		defer timer.Stop()
	}
	select {
	case <-c.ends:
		return
	case <-c.ctx.Done():
	}
	if a := c.current.Load(); a != nil {
		a.interrupt(c.callerStop())
	}
	<-c.ends
}

// soon lets the tool have its turn: a quick one has answered then, and need be
// neither timed nor waited for.
func (c *call) soon() bool {
	if c.guard.pace.slow() {
		return false
	}
	for range turns {
		runtime.Gosched()
		select {
		case <-c.ends:
			return true
		default:
		}
	}
	c.guard.pace.slowed()
	return false
}

// turns is how often a goroutine steps aside for another before it waits for it.
const turns = 4

// pace remembers whether a tool is quick. After a call that took its time the next
// ones do not step aside: where processors are busy, their turn may come late.
type pace struct{ calls atomic.Int32 }

const slowCalls = 64

func (p *pace) slow() bool { return p.calls.Load() > 0 && p.calls.Add(-1) >= 0 }

func (p *pace) slowed() { p.calls.Store(slowCalls) }

// watch begins to time the first attempt; nil if nothing bounds it. Later attempts
// have a timer of their own.
func (a *attempt) watch() *time.Timer {
	if a.limit == noLimit {
		return nil
	}
	left := a.began + a.limit - time.Since(a.call.began)
	return time.AfterFunc(left, a.expire)
}
