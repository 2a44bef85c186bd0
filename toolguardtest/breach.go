package toolguardtest

import "fmt"

// Rule is a promise of a guard that [Matrix] checks.
type Rule string

// The rules. The numbers are those of the invariants in the design of toolguard.
const (
	RuleOneEnvelope Rule = "exactly one envelope (1)"
	RuleInTime      Rule = "in time (1)"
	RuleNoPanic     Rule = "no panic (1)"
	RuleNoLeak      Rule = "no goroutine is left (1)"
	RuleNoOverlap   Rule = "no attempt over a live attempt (2)"
	RuleOneEffect   Rule = "at most one effect (3)"
	RuleUnsure      Rule = "unsure means unsure (3)"
	RuleHonest      Rule = "the outcome is honest (4)"
	RuleNoCause     Rule = "no cause text (6)"
	RuleBounded     Rule = "bounded text (6)"
	RuleNextStep    Rule = "every failure has a next step (6)"
	RuleRetries     Rule = "retries as declared (13)"
)

// Rules are all of them.
func Rules() []Rule {
	return []Rule{
		RuleOneEnvelope, RuleInTime, RuleNoPanic, RuleNoLeak, RuleNoOverlap, RuleOneEffect,
		RuleUnsure, RuleHonest, RuleNoCause, RuleBounded, RuleNextStep, RuleRetries,
	}
}

// Breach is a rule that did not hold.
type Breach struct {
	Rule   Rule
	Detail string
}

// String names the rule first.
func (b Breach) String() string { return string(b.Rule) + ": " + b.Detail }

// breaches are collected while an answer is examined.
type breaches []Breach

func (b *breaches) add(rule Rule, format string, args ...any) {
	*b = append(*b, Breach{rule, fmt.Sprintf(format, args...)})
}
