package toolguard

import (
	"fmt"
	"strings"
)

// CodeTable returns the table of codes as ARCHITECTURE.md prints it.
func CodeTable() string {
	var b strings.Builder
	b.WriteString("| code | category | outcome | breaker | retried | may resend |\n|---|---|---|---|---|---|\n")
	for _, r := range codeTable {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n",
			r.code, r.category, r.outcomeText(), r.breakerText(), r.retry, yesNo(r.resend))
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
