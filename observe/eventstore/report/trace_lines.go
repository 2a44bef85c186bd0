package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore"
)

// The order of what happened at one instant, as far as clocks can tell.
const (
	rankCall = iota
	rankJournal
	rankApproval
	rankBegin
	rankEnd
	rankNext
	rankAnswer
)

// linesOf tells an event as what began and what ended.
func linesOf(r *eventstore.Record) []Line {
	switch r.Kind {
	case toolguard.EventCall:
		return callLines(r)
	case toolguard.EventAttempt:
		return attemptLines(r)
	default:
		return []Line{{r.Time, "tool", fmt.Sprintf("attempt %d of %s ended after all, %s after it began: %s", r.Attempt, r.Tool, took(r.Duration), result(r)), rankEnd}}
	}
}

func callLines(r *eventstore.Record) []Line {
	by, begin := "model", fmt.Sprintf("call %sof %s begins%s", spaced(r.CallID), r.Tool, whose(&r.Scope))
	if r.Within != 0 {
		by, begin = "inside", fmt.Sprintf("a call of %s begins, made in this one or in its place", r.Tool)
	}
	lines := []Line{{r.Began(), by, begin, rankCall}}
	if r.ApprovedBy != "" {
		edited := ""
		if r.ArgsEdited {
			edited = ", with other arguments"
		}
		lines = append(lines, Line{r.Began(), r.ApprovedBy, fmt.Sprintf("had approved it%s, after %s", edited, took(r.ApprovalWait)), rankApproval})
	}
	end := fmt.Sprintf("call %sof %s is answered: %s%s", spaced(r.CallID), r.Tool, result(r), how(r))
	return append(lines, Line{r.Time, "guard", end, rankAnswer})
}

func spaced(id string) string {
	if id == "" {
		return ""
	}
	return id + " "
}

// whose names the work the call belongs to.
func whose(s *toolguard.Scope) string {
	var b strings.Builder
	for _, f := range []struct{ name, value string }{
		{"tenant", s.Tenant}, {"session", s.Session}, {"turn", s.Turn}, {"run", s.Run}, {"step", s.Step}, {"model", s.Model}, {"prompt", s.PromptVersion},
	} {
		if f.value != "" {
			fmt.Fprintf(&b, ", %s %s", f.name, f.value)
		}
	}
	return b.String()
}

func result(r *eventstore.Record) string {
	if r.OK {
		return "success"
	}
	text := fmt.Sprintf("%s (%s), outcome %s", r.Code, r.Category, r.Outcome)
	if detail := cmp.Or(r.Error, r.Detail); detail != "" {
		text += ": " + detail
	}
	return text
}

// how says where an answer came from, if not from an attempt.
func how(r *eventstore.Record) string {
	switch r.Decision {
	case toolguard.DecisionRefuse:
		return "; the tool did not run"
	case toolguard.DecisionFallback:
		return "; the answer comes from " + r.Why
	case toolguard.DecisionConfirm:
		return "; a status query said " + r.Why
	case toolguard.DecisionReuse:
		return "; a recent result was reused"
	case toolguard.DecisionReplay:
		return "; an identical call had had its effect"
	case toolguard.DecisionJoin:
		return "; it joined call " + r.Why
	}
	return ""
}

func attemptLines(r *eventstore.Record) []Line {
	lines := []Line{{r.Began(), "guard", fmt.Sprintf("attempt %d of %s begins", r.Attempt, r.Tool), rankBegin}}
	end := fmt.Sprintf("attempt %d ends after %s: %s", r.Attempt, took(r.Duration), result(r))
	if r.Code == toolguard.CodeAbandoned || r.Why == toolguard.WhyRunning {
		end = fmt.Sprintf("attempt %d is given up after %s and still runs: %s", r.Attempt, took(r.Duration), result(r))
	}
	if r.Requests > 0 {
		end += fmt.Sprintf("; HTTP requests recorded: %d", r.Requests)
	}
	lines = append(lines, Line{r.Time, "tool", end, rankEnd})
	for _, t := range r.Transitions {
		lines = append(lines, Line{t.At, "breaker", fmt.Sprintf("%s → %s", t.From, t.To), rankNext})
	}
	switch r.Decision {
	case toolguard.DecisionRetry:
		lines = append(lines, Line{r.Time, "guard", "another attempt follows, after a wait of " + took(r.Wait), rankNext})
	case toolguard.DecisionStop:
		lines = append(lines, Line{r.Time, "guard", "no other attempt: " + reasonWords(r.Why), rankNext})
	}
	return lines
}

// auditLine tells a line of the journal's audit.
func auditLine(r *toolguard.Record) Line {
	l := Line{Time: r.At, Who: "journal", rank: rankJournal}
	by := ""
	if r.Actor != toolguard.ActorGuard {
		by = " by " + r.Actor
	}
	switch {
	case r.Kind == toolguard.RecordState && r.From == toolguard.StateNone:
		l.What = r.To.String() + by
	case r.Kind == toolguard.RecordState && r.From == r.To:
		l.What = "still " + r.To.String() + by
	case r.Kind == toolguard.RecordState:
		l.What = fmt.Sprintf("%s → %s%s", r.From, r.To, by)
	case r.Kind == toolguard.RecordAttempt:
		l.What = fmt.Sprintf("attempt %d noted: outcome %s", r.Attempt, r.Outcome)
	case r.Kind == toolguard.RecordLate:
		l.What = fmt.Sprintf("late answer noted: outcome %s", r.Outcome)
	case r.Kind == toolguard.RecordCheck:
		l.What = fmt.Sprintf("the downstream was asked%s: outcome %s", by, r.Outcome)
	default:
		l.What = r.Kind.String() + by
	}
	if r.Why != "" {
		l.What += ": " + r.Why
	}
	return l
}
