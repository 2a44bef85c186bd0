package report

import (
	"fmt"
	"strings"
)

// summary says in sentences what a reader in a hurry should know.
func (r *Report) summary() (said []string) {
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	if r.All.Calls == 0 {
		return []string{"No calls in this period.", r.waits()}
	}
	say("%s of %s failed: %s, %s.", number(r.All.Failures), calls(r.All.Calls), percent(r.All.Rate, r.All.Calls), r.All.compared())
	if worst := &r.Tools[0]; worst.Failures > 0 && len(r.Tools) > 1 {
		say("%s failed most: in %s of %s, mostly with %s.", nameOf(worst.Tool, 40), number(worst.Failures), calls(worst.Calls), shown(worst.cause(), 40))
	}
	if opened := r.opened(); opened != "" {
		say("Breakers opened, and calls were refused meanwhile: %s.", opened)
	}
	switch {
	case r.All.Unknown == 0:
		say("No call left it open whether it had an effect.")
	case r.All.UnknownNow == 0:
		say("%s may have had an effect or not; of all of them it is known by now.", calls(r.All.Unknown))
	case int64(r.All.UnknownNow) == r.All.Unknown:
		say("%s may have had an effect or not; nobody knows yet.", calls(r.All.Unknown))
	default:
		say("%s may have had an effect or not; of %d nobody knows yet.", calls(r.All.Unknown), r.All.UnknownNow)
	}
	return append(said, r.waits())
}

// waits says what the journal has for somebody to look at.
func (r *Report) waits() string {
	if r.Waiting == nil {
		return "No journal was asked (-journal): what waits for people is not in here, nor what they found out."
	}
	var parts []string
	total := 0
	for _, s := range waitingStates {
		if n := r.Waiting[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", number(int64(n)), waitingWords[s]))
			total += n
		}
	}
	if total == 0 {
		return "Nothing waits in the journal."
	}
	return fmt.Sprintf("In the journal, actions that wait by now: %s.", strings.Join(parts, ", "))
}

// opened lists the tools whose breakers opened, those that did so most.
func (r *Report) opened() string {
	var all []string
	for _, l := range r.breakers {
		if l.trips > 0 && len(all) < 3 {
			all = append(all, nameOf(l.tool, 40)+" "+times(l.trips))
		}
	}
	return strings.Join(all, ", ")
}

// compared says what the rate is like beside that of the period before.
func (t *Tool) compared() string {
	before := percent(t.RateBefore, t.CallsBefore)
	switch {
	case t.CallsBefore == 0:
		return "with no calls in the period before to compare"
	case t.Trend == TrendWorse:
		return "worse than the " + before + " of the period before"
	case t.Trend == TrendBetter:
		return "better than the " + before + " of the period before"
	case t.Trend == TrendSame:
		return "no more unlike the " + before + " of the period before than chance makes it"
	default:
		return "with too few calls to compare"
	}
}

// cause is the code most failures had, those aside that only followed from others.
func (t *Tool) cause() string {
	followed := ""
	for _, c := range t.ByCode {
		switch {
		case c.failure && !follows(c.Code):
			return string(c.Code)
		case c.failure && followed == "":
			followed = string(c.Code)
		}
	}
	return followed
}

func calls(n int64) string {
	if n == 1 {
		return "1 call"
	}
	return number(n) + " calls"
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}
