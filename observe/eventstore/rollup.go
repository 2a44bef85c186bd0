package eventstore

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/internal/histogram"
)

// Period is the step that counts are kept in.
const Period = time.Minute

// Rollup counts all calls of one minute that came to the same, those included of
// which no record is kept.
type Rollup struct {
	RollupKey
	Calls    int64
	Attempts int64
	Retries  int64
	// Took counts the calls by how long they took.
	Took histogram.Durations
}

// RollupKey says which calls a [Rollup] counts.
type RollupKey struct {
	Minute   int64 // since 1970
	Tool     string
	OK       bool
	Category toolguard.Category
	Code     toolguard.Code
	Outcome  toolguard.Outcome
	Decision toolguard.Decision
}

// Time is when the minute began.
func (k RollupKey) Time() time.Time { return time.Unix(k.Minute*60, 0) }

// Merge adds what other has counted.
func (r *Rollup) Merge(other *Rollup) {
	r.Calls += other.Calls
	r.Attempts += other.Attempts
	r.Retries += other.Retries
	r.Took.Merge(&other.Took)
}

// rollups are the counts that are not written yet. They are bounded: tools beyond
// the limit share a name.
type rollups struct {
	byKey map[RollupKey]*Rollup
	tools map[string]string // as counted, by their names
	last  *Rollup           // the one just counted in: mostly it is the next one, too
}

// Bounds of what waits to be written, if the store cannot be reached.
const (
	maxTools   = 1000
	maxRollups = 20_000
)

const otherTools = "(other)"

// add counts an event of a call. It reports whether there was room.
func (s *rollups) add(e *toolguard.Event, redactor *toolguard.Redactor) bool {
	k := RollupKey{
		Minute: e.Time.Unix() / 60, Tool: s.tool(e, redactor), OK: e.OK, Outcome: e.Outcome, Decision: e.Decision,
	}
	if !e.OK {
		k.Category, k.Code = e.Category, e.Code
	}
	r := s.of(k)
	if r == nil {
		return false
	}
	r.Calls++
	r.Attempts += int64(e.Attempts)
	r.Retries += int64(max(e.Attempts-1, 0))
	r.Took.Add(e.Duration)
	return true
}

// of returns the counts for k, or nil if there is no room for them.
func (s *rollups) of(k RollupKey) *Rollup {
	if s.last != nil && s.last.RollupKey == k {
		return s.last
	}
	r := s.byKey[k]
	if r == nil {
		if len(s.byKey) >= maxRollups {
			return nil
		}
		r = &Rollup{RollupKey: k}
		s.byKey[k] = r
	}
	s.last = r
	return r
}

func (s *rollups) tool(e *toolguard.Event, redactor *toolguard.Redactor) string {
	if e.Code == toolguard.CodeUnknownTool {
		return toolguard.UnknownTool
	}
	if name, ok := s.tools[e.Tool]; ok {
		return name
	}
	if len(s.tools) >= maxTools {
		return otherTools
	}
	name := redactor.Text(e.Tool, maxName)
	s.tools[e.Tool] = name
	return name
}

// take returns the counts and begins anew.
func (s *rollups) take() []*Rollup {
	all := make([]*Rollup, 0, len(s.byKey))
	for _, r := range s.byKey {
		all = append(all, r)
	}
	s.byKey, s.last = make(map[RollupKey]*Rollup, len(all)), nil
	return all
}

// giveBack puts counts back that could not be written.
func (s *rollups) giveBack(all []*Rollup) (lost int64) {
	for _, r := range all {
		switch now := s.byKey[r.RollupKey]; {
		case now != nil:
			now.Merge(r)
		case len(s.byKey) < maxRollups:
			s.byKey[r.RollupKey] = r
		default:
			lost += r.Calls
		}
	}
	return lost
}

// ordered sorts counts, so that two processes that write the same rows lock them
// in one order.
func ordered(all []*Rollup) []*Rollup {
	slices.SortFunc(all, func(a, b *Rollup) int {
		return cmp.Or(cmp.Compare(a.Minute, b.Minute), strings.Compare(a.Tool, b.Tool),
			strings.Compare(string(a.Code), string(b.Code)), cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Decision, b.Decision))
	})
	return all
}
