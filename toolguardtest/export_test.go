package toolguardtest

import (
	"testing"

	"github.com/toolguard-go/toolguard"
)

// Unreached is what Matrix and Cases begin with.
var Unreached = unreached

// Obligation is one obligation of a suite: a test wants to see each of them fail.
type Obligation struct {
	Owes  string
	Check func(t testing.TB)
}

func of[S any](s S, list []obligation[S]) (all []Obligation) {
	for _, o := range list {
		all = append(all, Obligation{o.owes, func(t testing.TB) { o.check(s, t) }})
	}
	return all
}

// JournalObligations and the others are what the suites check.
func JournalObligations(s JournalSuite) []Obligation { return of(s, journalObligations) }

// FullJournalValues are what the suite writes.
func FullJournalValues() []any {
	return []any{full("k", toolguard.StatePending), line("k", "why")}
}

// CheckStoreFault is what the suite makes of a fault.
func CheckStoreFault(f StoreFault, t testing.TB) { f.check(JournalSuite{}, t) }

func AdapterObligations(s AdapterSuite) []Obligation { return of(s, adapterObligations) }

func ToolObligations(f func(testing.TB) toolguard.Tool, args ...string) []Obligation {
	return of(toolSuite{f, args}, toolObligations)
}

func ObserverObligations(f func(testing.TB) toolguard.Observer) []Obligation {
	return of(observerSuite{f}, observerObligations)
}

func ApproverObligations(f func(testing.TB) toolguard.Approver, requests ...toolguard.ApprovalRequest) []Obligation {
	for i := range requests {
		requests[i] = filled(requests[i])
	}
	return of(approverSuite{f, requests}, approverObligations)
}
