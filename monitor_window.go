package toolguard

import (
	"math/bits"
	"time"
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
	durations       durations
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
	s.durations.add(e.Duration)
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
	var all durations
	for i := range w.slots {
		for c, n := range w.slots[i].byCategory {
			if n > 0 {
				h.ByCategory[Category(c)] += n
			}
		}
		all.merge(&w.slots[i].durations)
	}
	h.P50, h.P95, h.P99 = all.at(.50), all.at(.95), all.at(.99)
	return h
}

func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// durations counts by size: eight classes to every doubling, from 64 µs to an hour.
// The middle of a class is within a twentieth of what is in it.
type durations [classesPerOctave * octaves]uint32

const (
	classesPerOctave = 8
	octaves          = 26
	shortest         = 1 << 16 // ns
)

func (d *durations) add(took time.Duration) { d[classOf(took)]++ }

func (d *durations) merge(other *durations) {
	for i, n := range other {
		d[i] += n
	}
}

// classOf reads the octave and the three bits below it.
func classOf(took time.Duration) int {
	ns := uint64(max(took, shortest))
	octave := bits.Len64(ns) - 1
	class := (octave-16)*classesPerOctave + int(ns>>(octave-3)&7)
	return min(class, classesPerOctave*octaves-1)
}

// middle is the middle of a class.
func middle(class int) time.Duration {
	octave, eighth := class/classesPerOctave, class%classesPerOctave
	low := uint64(8+eighth) << (octave + 13)
	return time.Duration(low + 1<<(octave+12))
}

// at returns the duration that the share q of all are no longer than.
func (d *durations) at(q float64) time.Duration {
	var total uint64
	for _, n := range d {
		total += uint64(n)
	}
	if total == 0 {
		return 0
	}
	rank := uint64(q * float64(total-1))
	for class, n := range d {
		if uint64(n) > rank {
			return middle(class)
		}
		rank -= uint64(n)
	}
	return middle(len(d) - 1)
}
