package toolguard_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/toolguard-go/toolguard"
)

// outcomeOf is what an answer says of the effect.
func outcomeOf(env toolguard.Envelope) toolguard.Outcome {
	if env.OK {
		return toolguard.OutcomeSucceeded
	}
	return env.Error.Outcome
}

// judgeAnswer: no success that is none, no failure of what happened.
func (w *world) judgeAnswer(l *wrongs, a *answer) {
	t, env := &w.tools[a.tool], a.env
	switch o := outcomeOf(env); {
	case t.effect == toolguard.ReadOnly:
		if o == toolguard.OutcomeUnknown {
			l.add("#%d: the outcome of a read is unknown", a.n)
		}
	case env.OK && env.Result.InputRequired:
	case o == toolguard.OutcomeSucceeded:
		w.judgeSuccess(l, a)
	case o != toolguard.OutcomeUnknown:
		w.judgeFailure(l, a)
	}
	if w.journalAnswers(a) && (hasNote(env, "not_recorded") || codeOf(env) == toolguard.CodeJournalUnavailable) {
		l.add("#%d is told %s %v, and the journal has done what it should", a.n, verdict(env), noteNames(env))
	}
	if last := w.lastTry(a.performing); last != nil && last.fine && a.patience == 0 && !env.OK {
		l.add("#%d: the tool has told of its success, the answer is %s", a.n, verdict(env))
	}
}

// journalAnswers says that nothing has kept the journal from knowing of the call: there
// are no faults at all, or one answer to a write was lost, which can be looked up.
func (w *world) journalAnswers(a *answer) bool {
	never := func(a *act) bool { return len(a.uses) == 0 }
	calm := !slices.ContainsFunc(w.acts, func(a *act) bool { return !never(a) })
	return calm || w.lease == 0 && a.faults.Load() == 1 && a.lost.Load() && !a.slow.Load() && a.patience == 0
}

func (w *world) judgeSuccess(l *wrongs, a *answer) {
	done := w.truth.last(func(d *deed) bool {
		return (d.under == a.env.Key || d.by == a.performing || w.stoodIn(d, a.env.Key)) && !d.at.After(a.ended) && (!a.env.OK || a.env.Result.Text == d.receipt())
	})
	switch {
	case done == nil:
		l.add("#%d is told of the success %q, and nothing was done under %.6s", a.n, a.env.Result.Text, a.env.Key)
	case a.env.OK && a.kind == actCall && !w.hasRead(a, done):
		l.add("#%d by %s reads receipt %d, which is for %s", a.n, a.scope.Principal, done.n, done.scope.Principal)
	}
}

// stoodIn says that the effect is that of a stand-in, with an entry of its own: that
// answers other calls to it, as any does.
func (w *world) stoodIn(d *deed, key string) bool {
	return d.tool.standIn == guardStandIn && d.service != d.tool.name && orderOf(w.entryOf(key).Args) == d.order
}

// hasRead says that the receipt is the caller's to read: the tool has run for this
// principal, or it is of the same step.
func (w *world) hasRead(a *answer, d *deed) bool {
	if w.unseen(d.attempted) || d.scope.Principal == a.scope.Principal || stepped(a.scope) && a.scope.Run == d.scope.Run && a.scope.Step == d.scope.Step {
		return true
	}
	return slices.ContainsFunc(w.truth.tries, func(r *attempted) bool {
		return r.under == d.under && r.scope.Principal == a.scope.Principal
	})
}

func (w *world) judgeFailure(l *wrongs, a *answer) {
	for _, r := range w.truth.tries {
		if r.by == a.performing && r.touched {
			l.add("#%d is told %s, and has acted", a.n, verdict(a.env))
			return
		}
	}
	switch a.env.Error.Code {
	case toolguard.CodeKeyConflict, toolguard.CodeJournalUnavailable: // of this call, or before the journal was asked
		return
	case toolguard.CodeCanceled:
		if a.slow.Load() { // the caller has left before the journal had answered
			return
		}
	case toolguard.CodePermissionDenied: // DESIGN §1.7: before anything that is stored is told
		return
	}
	done := w.truth.last(func(d *deed) bool { return d.under == a.env.Key && d.at.Before(a.began) && !w.unseen(d.attempted) })
	if done != nil && !(a.failed.Load() && w.tools[a.tool].effect != toolguard.NonIdempotent) {
		l.add("#%d is told %s of receipt %d", a.n, verdict(a.env), done.n)
	}
}

// lastTry is the act's last attempt of the tool itself, if no stand-in followed it.
func (w *world) lastTry(a *performing) (last *attempted) {
	for _, r := range w.truth.tries {
		if r.by == a {
			last = r
		}
	}
	return last
}

// judgeReplays: who asks again reads what the first has read.
func (w *world) judgeReplays(l *wrongs) {
	first := map[string]*answer{}
	for _, a := range w.answers {
		t := &w.tools[a.tool]
		if !a.env.OK || a.env.Result.InputRequired || !t.once() || a.failed.Load() && t.effect != toolguard.NonIdempotent || w.ruledOn(a.env.Key, toolguard.RulingRetry) {
			continue
		}
		if f := first[a.env.Key]; f == nil {
			first[a.env.Key] = a
		} else if f.env.Result.Text != a.env.Result.Text {
			l.add("#%d reads %q, where #%d has read %q", a.n, a.env.Result.Text, f.n, f.env.Result.Text)
		}
	}
}

func (w *world) ruledOn(key string, v toolguard.RulingVerdict) bool {
	for _, s := range w.truth.says {
		if s.verdict == v && s.key == key {
			return true
		}
	}
	return false
}

// askOnceMore makes the program's calls again in two other processes, where the tool
// does nothing. Both have the same to say of what is known.
func (w *world) askOnceMore(l *wrongs) {
	turns := map[string]string{}
	for _, a := range w.acts {
		turns[a.scope.Session] = a.scope.Turn
	}
	asked := map[string]bool{}
	ps := []*process{w.newProcess(), w.newProcess()}
	for _, a := range w.acts {
		name := fmt.Sprint(a.tool, a.order, a.scope)
		if a.kind != actCall || asked[name] || a.scope.Session != "" && a.scope.Turn != turns[a.scope.Session] {
			continue
		}
		asked[name] = true
		again := &act{n: 100 + a.n, tool: a.tool, order: a.order, scope: a.scope, fates: nothing, elsewhere: nothing}
		one, two := w.again(again, ps[0]), w.again(again, ps[1])
		if one.tried == 0 && (verdict(one.env) != verdict(two.env) || one.env.Result.Text != two.env.Result.Text) {
			l.add("#%d is answered %s %q, and elsewhere %s %q", again.n, verdict(one.env), one.env.Result.Text, verdict(two.env), two.env.Result.Text)
		}
	}
}

var nothing = []fate{{ends: endsNotStarted}}

func (w *world) again(a *act, p *process) *answer {
	pass(time.Second)
	f, ctx := w.perform(a, p)
	return w.call(ctx, f)
}

// judgeApprovals: what needs somebody's yes runs after a yes to exactly that, and before
// the yes is too old.
func (w *world) judgeApprovals(l *wrongs) {
	for _, a := range w.truth.tries {
		if !a.tool.approval || a.tool.effect == toolguard.ReadOnly || a.service != a.tool.name {
			continue
		}
		if _, hold := w.saidYes(a); hold == 0 {
			l.add("#%d runs %s for %s under %.6s, and nobody has said yes to that", a.by.n, a.service, a.order, a.under)
		}
	}
	w.judgeDenials(l)
	w.judgeUses(l)
}

// saidYes counts what allows the attempt, and how much of it holds still.
func (w *world) saidYes(a *attempted) (said, hold int) {
	for _, s := range w.truth.says {
		holds := approvalHolds
		if s.verdict == toolguard.RulingRetry {
			holds = 24 * time.Hour
		}
		if a.tool.effect != toolguard.NonIdempotent {
			holds *= 2 // the same again, to find out whether it took
		}
		wide := s.wide != nil && s.tool == a.tool && slices.ContainsFunc(w.truth.tries, func(r *attempted) bool {
			return r.under == a.under && s.wide.Session == r.scope.Session && s.wide.Principal == a.scope.Principal
		})
		yes := s.verdict == toolguard.RulingApprove || s.verdict == toolguard.RulingRetry
		if yes && (wide || w.isAbout(s, a.under) && s.order == a.order && s.whose == a.scope.Principal) && !s.at.After(a.at) {
			said++
			if a.at.Sub(s.at) <= holds+minute {
				hold++
			}
		}
	}
	return said, hold
}

// judgeDenials: after a no that is written down nothing runs.
func (w *world) judgeDenials(l *wrongs) {
	for _, s := range w.truth.says {
		if s.verdict != toolguard.RulingDeny || !s.sure || w.entryOf(s.key).State != toolguard.StateDenied {
			continue
		}
		for _, a := range w.truth.tries {
			if a.under == s.key && a.at.After(s.at) && !w.yesBetween(s.at, a) {
				l.add("#%d runs %s under %.6s after a no", a.by.n, a.service, a.under)
			}
		}
	}
}

func (w *world) yesBetween(from time.Time, a *attempted) bool {
	for _, s := range w.truth.says {
		if (s.verdict == toolguard.RulingApprove || s.verdict == toolguard.RulingRetry) && s.at.After(from) && !s.at.After(a.at) && w.isAbout(s, a.under) {
			return true
		}
	}
	return false
}

// judgeUses: each yes is good for one call that has acted.
func (w *world) judgeUses(l *wrongs) {
	calls := map[string]map[*performing]bool{}
	for _, a := range w.truth.tries {
		if !a.tool.approval || a.tool.effect != toolguard.NonIdempotent || !a.touched || a.under == "" {
			continue
		}
		if calls[a.under] == nil {
			calls[a.under] = map[*performing]bool{}
		}
		calls[a.under][a.by] = true
		if said, _ := w.saidYes(a); len(calls[a.under]) > said && !w.wide(a) {
			l.add("#%d acts under %.6s, where %d have said yes and %d calls have acted", a.by.n, a.under, said, len(calls[a.under]))
		}
	}
}

func (w *world) wide(a *attempted) bool {
	for _, s := range w.truth.says {
		if s.wide != nil && s.wide.Session == a.scope.Session {
			return true
		}
	}
	return false
}

func (w *world) query(q toolguard.Query) []toolguard.Entry {
	return must(w.journal.Scan(context.Background(), q))
}
