package toolguard

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toolguard-go/toolguard/internal/evidence"
)

// Waiting stops a call's clocks while its tool waits for somebody who is not part
// of it: a person whom it has asked something, or the host's own model. That time
// counts neither against the attempt's timeout nor against the call's budget. The
// caller's own deadline goes on.
//
// A client of package httpguard does not take silence for a dead stream meanwhile.
//
// Hand it to the call with [WithWaiting]; whoever sees the question begin calls
// [Waiting.Begin]. It is safe for concurrent use. Make it with [NewWaiting], one
// for each call.
type Waiting struct {
	limit time.Duration

	mu    sync.Mutex
	open  int           // waits that have not ended
	spans []stretch     // oldest first; the last has no end while open > 0
	spent time.Duration // over the spans that ended
	over  *time.Timer   // rings when the limit is reached
	again []func()      // what wants to know when the wait is over
}

// stretch is a time in which somebody was waited for.
type stretch struct{ from, to time.Time }

// NewWaiting returns one for waits of up to limit together; what is beyond counts
// like any other time. The limit has to be above zero.
func NewWaiting(limit time.Duration) (*Waiting, error) {
	if limit <= 0 || limit > longest {
		return nil, fmt.Errorf("toolguard: NewWaiting: limit %v, want above zero, up to %v", limit, longest)
	}
	return &Waiting{limit: limit}, nil
}

// WithWaiting has calls under ctx not count what w waits for. A nil w counts all.
func WithWaiting(ctx context.Context, w *Waiting) context.Context {
	return context.WithValue(ctx, evidence.WaiterKey{}, w)
}

// WaitingFrom returns what [WithWaiting] has put there, or nil. The context that a
// tool gets has it too.
func WaitingFrom(ctx context.Context) *Waiting {
	w, _ := ctx.Value(evidence.WaiterKey{}).(*Waiting)
	return w
}

// Waited returns for how long somebody was waited for since then, and whether
// somebody still is. A nil w has waited for nobody.
func (w *Waiting) Waited(then time.Time) (total time.Duration, still bool) {
	if w == nil {
		return 0, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.since(then), w.running()
}

// Begin says that somebody is waited for from now on, until end is called. Waits
// may overlap, and count once. A second call of end, and a nil w, do nothing.
func (w *Waiting) Begin() (end func()) {
	if w == nil {
		return func() {}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open++; w.open == 1 && w.spent < w.limit {
		w.spans = append(w.spans, stretch{from: time.Now()})
		w.over = time.AfterFunc(w.limit-w.spent, w.usedUp)
	}
	return sync.OnceFunc(w.end)
}

func (w *Waiting) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open--; w.open == 0 {
		w.close()
	}
}

func (w *Waiting) usedUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.close()
}

// maxSpans bounds what is remembered of a tool that asks without end.
const maxSpans = 64

// close ends the span that is going on, if one is.
func (w *Waiting) close() {
	if !w.running() {
		return
	}
	w.over.Stop()
	last := &w.spans[len(w.spans)-1]
	last.to = last.from.Add(min(time.Since(last.from), w.limit-w.spent))
	w.spent += last.to.Sub(last.from)
	if len(w.spans) > maxSpans { // the two oldest become one
		w.spans[1].from = w.spans[1].from.Add(w.spans[0].from.Sub(w.spans[0].to))
		w.spans = slices.Delete(w.spans, 0, 1)
	}
	for _, f := range w.again {
		go f()
	}
	w.again = nil
}

func (w *Waiting) running() bool {
	return len(w.spans) > 0 && w.spans[len(w.spans)-1].to.IsZero()
}

// since is how long somebody was waited for from then on.
func (w *Waiting) since(then time.Time) (total time.Duration) {
	for _, s := range w.spans {
		from, to := s.from, s.to
		if to.IsZero() {
			to = from.Add(min(time.Since(from), w.limit-w.spent))
		}
		if from.Before(then) {
			from = then
		}
		total += max(to.Sub(from), 0)
	}
	return total
}

// waited is how long somebody was waited for since then, which does not count.
func (c *call) waited(then time.Time) time.Duration {
	total, _ := c.waiting.Waited(then)
	return total
}

// prolonged returns how long the attempt has left after all, because somebody was
// waited for. While that goes on it is until there is an end to it, at which time
// again is called.
func (c *call) prolonged(a *attempt, again func()) time.Duration {
	w := c.waiting
	if w == nil {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	most := noLimit
	if end, ok := c.batchEnd(); ok {
		most = time.Until(end) // others wait for their answers
	}
	if w.running() {
		w.again = append(w.again, again)
		return min(w.limit, most)
	}
	began := c.began.Add(a.began)
	return min(a.limit+w.since(began)-time.Since(began), most)
}
