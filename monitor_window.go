package toolguard

import (
	"time"

	"github.com/toolguard-go/toolguard/internal/histogram"
)

// monitorSteps is how many slots the window of a [Monitor] slides in.
const monitorSteps = 12

// watched is one tool's window: a ring of slots, each a step long.
type watched struct {
	tool  string
	since time.Time // of the alert; zero if there is none
	slots [monitorSteps]slotOfCalls
	at    int64 // the number of the newest slot's step
}

// slotOfCalls counts the calls that ended in one step.
type slotOfCalls struct {
	calls, failures int
	byCategory      [CategoryPermission + 1]int
	durations       histogram.Durations
}

func (w *watched) add(at time.Time, step time.Duration, e *Event, failed bool) {
	w.slide(at, step)
	s := &w.slots[w.at%monitorSteps]
	s.calls++
	if failed {
		s.failures++
	}
	if c := int(e.Category); !e.OK && c < len(s.byCategory) {
		s.byCategory[c]++
	}
	s.durations.Add(e.Duration)
}

// slide empties the slots of the steps that have begun since.
func (w *watched) slide(now time.Time, step time.Duration) {
	at := now.UnixNano() / int64(step)
	if at-w.at >= monitorSteps {
		w.slots, w.at = [monitorSteps]slotOfCalls{}, at
	}
	for w.at < at {
		w.at++
		w.slots[w.at%monitorSteps] = slotOfCalls{}
	}
}

func (w *watched) sums() (calls, failures int) {
	for i := range w.slots {
		calls += w.slots[i].calls
		failures += w.slots[i].failures
	}
	return calls, failures
}

func (w *watched) health() ToolHealth {
	h := ToolHealth{Tool: w.tool, ByCategory: make(map[Category]int), Firing: !w.since.IsZero()}
	h.Calls, h.Failures = w.sums()
	h.Rate = share(h.Failures, h.Calls)
	var all histogram.Durations
	for i := range w.slots {
		for c, n := range w.slots[i].byCategory {
			if n > 0 {
				h.ByCategory[Category(c)] += n
			}
		}
		all.Merge(&w.slots[i].durations)
	}
	h.P50, h.P95, h.P99 = all.At(.50), all.At(.95), all.At(.99)
	return h
}

func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
