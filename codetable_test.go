package toolguard

import (
	"fmt"
	"strings"
)

// CodeTable returns the table of codes as ARCHITECTURE.md prints it: a row for all
// codes of a category that imply the same.
func CodeTable() string {
	var order []string
	codes := map[string]string{}
	for _, r := range codeTable {
		implied := fmt.Sprintf("%s | %s | %s | %s | %s", r.category, r.outcomeText(), r.breakerText(), r.retry, yesNo(r.resend))
		if codes[implied] == "" {
			order = append(order, implied)
		}
		codes[implied] += fmt.Sprintf(" `%s`", r.code)
	}
	var b strings.Builder
	b.WriteString("| category | outcome | breaker | retried | may resend | codes |\n|---|---|---|---|---|---|\n")
	for _, implied := range order {
		fmt.Fprintf(&b, "| %s |%s |\n", implied, codes[implied])
	}
	return b.String()
}

func (r codeRow) outcomeText() string {
	switch {
	case r.outcome == OutcomeNotStarted:
		return "not_started"
	case r.definite && (r.code == CodeRateLimited || r.code == CodeAuthExpired):
		return "not_started*"
	case r.definite:
		return "failed*"
	default:
		return "unknown"
	}
}

func (r codeRow) breakerText() string {
	switch {
	case r.counted:
		return "failure"
	case r.neutral || r.silent:
		return "neutral"
	default:
		return "success"
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
