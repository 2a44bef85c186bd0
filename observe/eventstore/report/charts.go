package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore"
)

// slot is one column of the failure rate over time.
type slot struct {
	from       time.Time
	length     time.Duration
	calls      int64
	byCategory [len(categories)]int64
}

// categories are in the order they are stacked: what is wrong with systems first.
var categories = [...]toolguard.Category{
	toolguard.CategoryUnavailable, toolguard.CategoryTimeout, toolguard.CategoryUnknown,
	toolguard.CategoryBusiness, toolguard.CategoryPermission, toolguard.CategoryParam,
}

// maxSlots is how many columns a person can tell apart.
const maxSlots = 60

// seriesOf divides the period into columns of whole minutes.
func seriesOf(all []eventstore.Rollup, from, to time.Time) []slot {
	from = from.Truncate(eventstore.Period)
	minutes := int64((to.Sub(from) + eventstore.Period - 1) / eventstore.Period)
	each := max((minutes+maxSlots-1)/maxSlots, 1)
	slots := make([]slot, (minutes+each-1)/each)
	for i := range slots {
		slots[i].length = time.Duration(each) * eventstore.Period
		slots[i].from = from.Add(time.Duration(i) * slots[i].length)
	}
	for i := range all {
		r := &all[i]
		n := (r.Minute - from.Unix()/60) / each
		if n < 0 || n >= int64(len(slots)) {
			continue
		}
		slots[n].calls += r.Calls
		if c := slices.Index(categories[:], r.Category); !r.OK && c >= 0 {
			slots[n].byCategory[c] += r.Calls
		}
	}
	return slots
}

// lane is the timeline of one tool's breaker.
type lane struct {
	tool     string
	segments []segment
	trips    int
}

// segment is a time a breaker was in one state.
type segment struct {
	state    toolguard.BreakerState
	from, to time.Time
}

// maxLanes and maxSegments bound the timelines.
const (
	maxLanes    = 12
	maxSegments = 200
)

// lanesOf puts transitions into lines, those of the tools that tripped most.
func lanesOf(records []eventstore.Record, from, to time.Time) []lane {
	changes := map[string][]toolguard.Transition{}
	for i := range records {
		r := &records[i]
		changes[r.Tool] = append(changes[r.Tool], r.Transitions...)
	}
	var lanes []lane
	for tool, all := range changes {
		if len(all) > 0 {
			lanes = append(lanes, laneOf(tool, all, from, to))
		}
	}
	slices.SortFunc(lanes, func(a, b lane) int {
		return cmp.Or(cmp.Compare(b.trips, a.trips), cmp.Compare(a.tool, b.tool))
	})
	return lanes[:min(len(lanes), maxLanes)]
}

func laneOf(tool string, all []toolguard.Transition, from, to time.Time) lane {
	slices.SortStableFunc(all, func(a, b toolguard.Transition) int { return a.At.Compare(b.At) })
	l := lane{tool: tool}
	state, since := all[0].From, from
	for _, t := range all[max(0, len(all)-maxSegments):] {
		if t.To == toolguard.BreakerOpen {
			l.trips++
		}
		if at := clamp(t.At, from, to); at.After(since) {
			l.segments = append(l.segments, segment{state, since, at})
			since = at
		}
		state = t.To
	}
	if to.After(since) {
		l.segments = append(l.segments, segment{state, since, to})
	}
	return l
}

func clamp(t, from, to time.Time) time.Time {
	switch {
	case t.Before(from):
		return from
	case t.After(to):
		return to
	}
	return t
}

// flow is where calls went: how each was answered, and what is known of its effect.
type flow struct {
	calls int64
	links [len(ways)][len(outcomes)]int64
}

// ways are how calls are answered.
var ways = [...]string{"the tool ran", "refused before", "from memory", "from elsewhere"}

const (
	wayRan = iota
	wayRefused
	wayMemory
	wayElsewhere
)

// outcomes are in the order they are drawn.
var outcomes = [...]toolguard.Outcome{
	toolguard.OutcomeSucceeded, toolguard.OutcomeNotStarted, toolguard.OutcomeFailed, toolguard.OutcomeUnknown,
}

var outcomeWords = [...]string{"succeeded", "not started", "failed, no effect", "unknown"}

func flowOf(all []eventstore.Rollup) (f flow) {
	for i := range all {
		r := &all[i]
		f.calls += r.Calls
		f.links[wayOf(r)][max(slices.Index(outcomes[:], r.Outcome), 0)] += r.Calls
	}
	return f
}

func wayOf(r *eventstore.Rollup) int {
	switch r.Decision {
	case toolguard.DecisionRefuse:
		return wayRefused
	case toolguard.DecisionJoin, toolguard.DecisionReuse, toolguard.DecisionReplay:
		return wayMemory
	case toolguard.DecisionFallback:
		return wayElsewhere
	}
	return wayRan
}
