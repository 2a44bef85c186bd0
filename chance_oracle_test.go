package toolguard_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/toolguard-go/toolguard"
)

// What DESIGN and docs/guarantees.md promise, held against the truth. A limit that
// docs/rough_edges.md or a decision declares is named where it is let through.

// wrongs are what was found.
type wrongs []string

func (l *wrongs) add(format string, args ...any) { *l = append(*l, fmt.Sprintf(format, args...)) }

// once says that the tool must not act twice because somebody was unsure.
func (t *programTool) once() bool {
	return t.effect == toolguard.NonIdempotent || t.effect == toolguard.IdempotentByKey
}

// judge holds the end of the program against the truth.
func (w *world) judge() []string {
	l := wrongs(w.truth.wrong)
	w.judgeEntries(&l)
	w.judgeAudit(&l)
	w.askOnceMore(&l)
	w.judgeKeys(&l)
	w.judgePairs(&l)
	w.judgeApprovals(&l)
	for _, a := range w.answers {
		w.judgeAnswer(&l, a)
	}
	w.judgeReplays(&l)
	return l
}

// judgeEntries: nothing is left open, and no entry says what is not so.
func (w *world) judgeEntries(l *wrongs) {
	for _, e := range w.entries() {
		i := w.toolOf(&e)
		if i < 0 {
			continue // a stand-in's
		}
		t, done := &w.tools[i], w.truth.last(func(d *deed) bool { return d.under == e.Key })
		other := w.truth.last(func(d *deed) bool { return w.stoodIn(d, e.Key) })
		switch e.State {
		case toolguard.StatePending, toolguard.StateAwaiting, toolguard.StateApproved:
			l.add("%.6s is left %v", e.Key, e.State)
		case toolguard.StateUnknown:
			if t.status || t.effect != toolguard.Idempotent {
				l.add("%.6s is left unknown: nobody is asked about it", e.Key)
			}
		case toolguard.StateSucceeded:
			if done == nil && other == nil && t.effect != toolguard.ReadOnly {
				l.add("%.6s succeeded, and there is no effect", e.Key)
			}
		case toolguard.StateFailed, toolguard.StateDenied, toolguard.StateExpired:
			if done != nil && !w.unseen(done.attempted) {
				l.add("%.6s is %v, and receipt %d is of it", e.Key, e.State, done.n)
			}
		}
	}
}

// unseen says that the journal may know nothing of an attempt: a tool that may run
// twice runs without it (docs/rough_edges.md, "A journal that was away").
func (w *world) unseen(a *attempted) bool {
	return a.tool.effect != toolguard.NonIdempotent && a.by.failed.Load()
}

// judgeAudit: the records of an entry lead to where it is.
func (w *world) judgeAudit(l *wrongs) {
	for _, e := range w.entries() {
		state := toolguard.StateNone
		for _, r := range w.records(e.Key) {
			if r.Kind != toolguard.RecordState {
				continue
			}
			if r.From != state {
				l.add("the audit of %.6s goes on from %v where it was %v", e.Key, r.From, state)
			}
			if state = r.To; r.Actor == "bea" && r.From == toolguard.StatePending {
				l.add("a person has decided about %.6s, which ran", e.Key)
			}
		}
		if state != e.State {
			l.add("the audit of %.6s ends in %v, and the entry is %v", e.Key, state, e.State)
		}
	}
}

// judgeKeys: under one key there is one effect, and one more for each time that a
// person has let it run again.
func (w *world) judgeKeys(l *wrongs) {
	effects, again := map[string]int{}, map[string]int{}
	for _, s := range w.truth.says {
		if s.verdict == toolguard.RulingRetry && s.instead == "" {
			again[s.key]++
		}
	}
	for _, d := range w.truth.deeds {
		if w.unseen(d.attempted) || d.under == "" { // a stand-in's of a process that died before the tool had run
			continue
		}
		if effects[d.under]++; d.tool.once() && effects[d.under] > 1+again[d.under] {
			l.add("receipt %d is effect %d under %.6s, where %d were allowed", d.n, effects[d.under], d.under, 1+again[d.under])
		}
	}
	for _, a := range w.truth.tries {
		done := w.truth.first(func(d *deed) bool { return d.under == a.under && d.at.Before(a.at) && d.by != a.by })
		if done != nil && a.tool.effect == toolguard.NonIdempotent && again[a.under] == 0 {
			l.add("#%d runs %s after receipt %d under the same key", a.by.n, a.service, done.n)
		}
	}
}

// judgePairs: what was done, or may have been, is not tried under another key.
func (w *world) judgePairs(l *wrongs) {
	for _, d := range w.truth.deeds {
		for _, a := range w.truth.tries {
			if a.tool != d.tool || !d.tool.once() || a.under == d.under || a.order != d.order || a.by == d.by || !d.at.Before(a.at) || w.unseen(d.attempted) || w.unseen(a) {
				continue
			}
			if why := w.twice(d, a); why != "" {
				l.add("#%d runs %s under %.6s after receipt %d under %.6s: %s", a.by.n, a.service, a.under, d.n, d.under, why)
			}
		}
	}
}

// twice says why the attempt should not have been made after the effect.
func (w *world) twice(d *deed, a *attempted) string {
	s1, s2 := d.scope, a.scope
	talk := s1.Session != "" && s1.Session == s2.Session || s2.Session == "" && s2.Run != "" && s1.Run == s2.Run
	doubt := w.doubted(d.under, a.by.began) && w.doubted(d.under, a.at)
	switch {
	case w.letRun(a) || w.edited(a):
		return ""
	case w.doubted(a.under, a.by.began.Add(-1)): // it goes on with what it has begun itself
		return ""
	case w.edited(d.attempted) && !d.tool.approval: // docs/rough_edges.md, "Retries with other arguments"
		return ""
	case w.movedBy(a.by.began, d.attempted): // docs/rough_edges.md, "A step in two conversations"
		return ""
	case stepped(s1) && stepped(s2) && s1.Run == s2.Run && s1.Step == s2.Step:
		return "it is the same step"
	case stepped(s1) && !stepped(s2): // docs/rough_edges.md, "Calls with steps and calls without"
		return ""
	case stepped(s2) && !stepped(s1) && !w.claimedAt(a).After(d.by.began): // the same: the call without a step came later
		return ""
	case w.claimedAt(d.attempted).After(a.by.began) && w.claimedAt(a).After(d.by.began): // decision 14: both look before either has claimed
		return ""
	case !talk:
		return ""
	case doubt:
		return "nobody knew of it"
	case d.tool.repeats || s1.Session == "" || s1.Session != s2.Session || s1.Turn != s2.Turn || w.edited(d.attempted):
		return ""
	case s1.Turn != "":
		return "it is the same turn"
	case w.stateAt(d.under, a.by.began) == toolguard.StateAborted:
		return "a person has closed it, and the user has not spoken"
	case w.settledLater(d.under, a.by.began):
		return "it was settled later, and the user has not spoken"
	}
	return ""
}

// movedBy says that the step was made again in another conversation since.
func (w *world) movedBy(at time.Time, a *attempted) bool {
	for _, r := range slices.Backward(w.states(a.under, at)) {
		if r.To == toolguard.StatePending {
			return r.Scope.Session != a.scope.Session
		}
	}
	return false
}

func stepped(s toolguard.Scope) bool { return s.Run != "" && s.Step != "" }

// letRun says that a person has let the attempt's entry run again, or take another's place.
func (w *world) letRun(a *attempted) bool {
	return slices.ContainsFunc(w.truth.says, func(s saying) bool {
		return s.verdict == toolguard.RulingRetry && !s.at.After(a.at) && w.isAbout(s, a.under)
	})
}

// isAbout says that what somebody said is about the key.
func (w *world) isAbout(s saying, key string) bool {
	return s.key == key && s.key != s.instead || s.instead != "" && w.entryOf(key).Linked == s.instead
}

// edited says that the attempt's arguments are not those that were asked for.
func (w *world) edited(a *attempted) bool {
	e := w.entryOf(a.under)
	return e.Approval != nil && e.Approval.Edited || a.by.kind == actCall && a.by.order != a.order
}

func (w *world) entryOf(key string) toolguard.Entry {
	found := w.query(toolguard.Query{Key: key, Limit: 1})
	if len(found) == 0 {
		return toolguard.Entry{}
	}
	return found[0]
}

// states are the records of an entry's states up to an instant.
func (w *world) states(key string, at time.Time) (all []toolguard.Record) {
	for _, r := range w.records(key) {
		if r.Kind == toolguard.RecordState && !r.At.After(at) {
			all = append(all, r)
		}
	}
	return all
}

func (w *world) stateAt(key string, at time.Time) toolguard.State {
	all := w.states(key, at)
	if len(all) == 0 {
		return toolguard.StateNone
	}
	return all[len(all)-1].To
}

// doubted says that nobody knew then what became of an action that had its effect.
func (w *world) doubted(key string, at time.Time) bool {
	switch w.stateAt(key, at) {
	case toolguard.StatePending, toolguard.StateUnknown, toolguard.StateParked, toolguard.StateApproved:
		return true
	}
	return false
}

// settledLater says that it was known by then, and not at once.
func (w *world) settledLater(key string, at time.Time) bool {
	all := w.states(key, at)
	return len(all) > 0 && all[len(all)-1].To == toolguard.StateSucceeded && all[len(all)-1].From != toolguard.StatePending
}

// claimedAt is when the attempt's call had written its intent down.
func (w *world) claimedAt(a *attempted) time.Time {
	for _, r := range slices.Backward(w.states(a.under, a.at)) {
		if r.To == toolguard.StatePending {
			return r.At
		}
	}
	return a.at
}
