package report_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore/dial"
	"github.com/toolguard-go/toolguard/observe/eventstore/report"
)

// built is the report of a day around noon.
func built(t *testing.T, store string) *report.Report {
	t.Helper()
	s, err := dial.Read(t.Context(), store)
	require.NoError(t, err)
	defer s.Close()
	r, err := report.Build(t.Context(), s, report.Options{From: noon.Add(-12 * time.Hour), To: noon.Add(12 * time.Hour)})
	require.NoError(t, err)
	return r
}

// failing is a call that came to code, so many minutes after noon.
func failing(minute int, code toolguard.Code, attempts int) toolguard.Event {
	return toolguard.Event{
		Kind: toolguard.EventCall, Time: noon.Add(time.Duration(minute) * time.Minute), Ref: uint64(minute + 1), CallID: fmt.Sprint(code, minute),
		Tool: "pay", Code: code, Category: code.Category(), Outcome: toolguard.OutcomeFailed, Attempts: attempts, Decision: toolguard.DecisionStop,
	}
}

// Refusals by an open breaker are many and new, and say nothing of their own.
func TestTheNewestFailuresAreOfEachKind(t *testing.T) {
	t.Parallel()
	r := built(t, stored(t, func(observe func(toolguard.Event)) {
		observe(failing(0, toolguard.CodeDNSFailure, 1))
		for minute := range 6 {
			observe(failing(10+minute, toolguard.CodeServerError, 3))
		}
		observe(failing(20, toolguard.CodeCanceled, 1)) // no failure
		for minute := range 30 {
			observe(failing(30+minute, toolguard.CodeBreakerOpen, 0))
		}
	}))
	codes := func(all []report.Example) (names []string) {
		for _, e := range all {
			names = append(names, e.Name)
		}
		return names
	}
	require.Len(t, r.Tools, 1)
	assert.Equal(t, []string{"server_error15", "server_error14", "server_error13", "server_error12", "dns_failure0"}, codes(r.Tools[0].Newest))
	assert.Contains(t, r.Summary[0], "37 of 38 calls failed")

	r = built(t, stored(t, func(observe func(toolguard.Event)) {
		observe(failing(0, toolguard.CodeServerError, 3))
		observe(failing(1, toolguard.CodeBreakerOpen, 0))
		observe(failing(2, toolguard.CodeBreakerOpen, 0))
	}))
	assert.Equal(t, []string{"server_error0", "breaker_open2"}, codes(r.Tools[0].Newest), "once, where there is room")
}

// A caller who gave up has not met a failure, and not a success either: monitor,
// alerts and reports leave such calls out of the rate.
func TestACallerWhoGaveUpIsLeftOut(t *testing.T) {
	t.Parallel()
	r := built(t, stored(t, func(observe func(toolguard.Event)) {
		observe(failing(0, toolguard.CodeServerError, 3))
		observe(failing(1, toolguard.CodeNotFound, 1))
		for minute := range 8 {
			observe(failing(2+minute, toolguard.CodeCallerDeadline, 1))
		}
	}))
	assert.EqualValues(t, 10, r.All.Calls)
	assert.EqualValues(t, 8, r.All.GaveUp)
	assert.EqualValues(t, 1, r.All.Refused)
	assert.Equal(t, .5, r.All.Rate)
}

// Percentiles are of all calls; the slowest are of those kept, and the report says so.
func TestTheReportSaysWhatItsExamplesAreOf(t *testing.T) {
	t.Parallel()
	store := stored(t, func(observe func(toolguard.Event)) {
		for i := range 1000 {
			e := toolguard.Event{
				Kind: toolguard.EventCall, Time: noon, Ref: ^uint64(0) - uint64(i), CallID: fmt.Sprint("plain", i), Tool: "pay", OK: true,
				Outcome: toolguard.OutcomeSucceeded, Attempts: 1, Duration: time.Hour,
			}
			if observe(e); i < 4 {
				e.Attempts, e.Duration = 2, time.Second
				observe(e)
			}
		}
		observe(failing(1, toolguard.CodeNotFound, 1))
	})
	r := built(t, store)
	assert.EqualValues(t, 1005, r.All.Calls)
	assert.Equal(t, 5, r.All.Kept)
	assert.Len(t, r.Tools[0].Slowest, 5)
	assert.Equal(t, time.Second, r.Tools[0].Slowest[0].Took, "the slower ones were not kept")
	assert.InEpsilon(t, time.Hour, r.All.P50, .1, "but counted")
	status, out, errs := run(t, reporting, "-store", store, "-to", noon.Add(time.Hour).Format(time.RFC3339))
	require.Zero(t, status, errs)
	assert.Contains(t, out, "slowest calls of the 5 kept out of 1,005")
	assert.Contains(t, out, "Numbers and percentiles are of all calls.")
	status, out, errs = run(t, reporting, "-store", store, "-to", noon.Add(time.Hour).Format(time.RFC3339), "-tool", "other", "-json")
	require.Zero(t, status, errs)
	assert.Contains(t, out, `"No calls in this period."`)
	assert.Contains(t, out, `"only": "other"`)
}
