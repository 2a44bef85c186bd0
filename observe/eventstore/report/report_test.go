package report_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore"
	"github.com/toolguard-go/toolguard/observe/eventstore/dial"
	"github.com/toolguard-go/toolguard/observe/eventstore/report"
)

var update = flag.Bool("update", false, "write golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "go test -update writes it anew; read what changed")
}

// run runs a command and returns what it wrote.
func run(t *testing.T, command func(context.Context, []string, *bytes.Buffer, *bytes.Buffer) int, args ...string) (status int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = command(t.Context(), args, &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

func reporting(ctx context.Context, args []string, out, errs *bytes.Buffer) int {
	return report.Run(ctx, args, out, errs, nil)
}

func tracing(ctx context.Context, args []string, out, errs *bytes.Buffer) int {
	return report.RunTrace(ctx, args, out, errs, nil)
}

var until = []string{"-to", noon.Add(24 * time.Hour).Format(time.RFC3339)}

func TestReportAsText(t *testing.T) {
	t.Parallel()
	status, out, errs := run(t, reporting, append(until, "-store", day(t))...)
	assert.Zero(t, status, errs)
	golden(t, "report", out)
}

func TestReportAsJSON(t *testing.T) {
	t.Parallel()
	status, out, errs := run(t, reporting, append(until, "-json", "-tool", "refund", "-store", day(t))...)
	require.Zero(t, status, errs)
	var got report.Report
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	require.Len(t, got.Tools, 1)
	refund := got.Tools[0]
	assert.Equal(t, "refund", refund.Tool)
	assert.EqualValues(t, 1440, refund.Calls)
	assert.Equal(t, refund.Calls, got.All.Calls)
	assert.InDelta(t, 75, refund.Failures, 15)
	assert.Equal(t, report.TrendWorse, refund.Trend)
	assert.EqualValues(t, refund.Unknown, got.Unknowns[report.FateUnknown])
	assert.Len(t, refund.Newest, 5)
	assert.True(t, refund.Newest[0].Time.After(refund.Newest[4].Time))
	assert.Equal(t, time.Minute, refund.Slowest[0].Took)
}

func TestReportOfNothing(t *testing.T) {
	t.Parallel()
	empty := stored(t, func(func(toolguard.Event)) {})
	for name, args := range map[string][]string{"empty store": {"-store", empty}, "no data then": {"-store", day(t), "-to", "2020-01-01T00:00:00Z"}} {
		html := filepath.Join(t.TempDir(), "report.html")
		status, out, errs := run(t, reporting, append(args, "-html", html)...)
		assert.Zero(t, status, "%s: %s", name, errs)
		assert.Contains(t, out, "No calls in this period.", name)
		text, err := os.ReadFile(html)
		require.NoError(t, err)
		assert.Contains(t, string(text), "No calls in this period.", name)
	}
}

func TestWrongUseIsExplained(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store := stored(t, func(func(toolguard.Event)) {})
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{nil, 2, "-store is missing"},
		{[]string{"-store", store, "extra"}, 2, "usage:"},
		{[]string{"-nonsense"}, 2, "usage:"},
		{[]string{"-store", store, "-period", "-1h"}, 2, "-period -1h"},
		{[]string{"-store", store, "-to", "noon"}, 2, `-to "noon"`},
		{[]string{"-store", store, "-journal", "x"}, 2, "knows no journals"},
		{[]string{"-store", filepath.Join(dir, "absent")}, 1, "no such file"},
		{[]string{"-store", dir}, 1, "is a directory"},
		{[]string{"-store", store, "-html", filepath.Join(dir, "no", "such", "folder.html")}, 1, "no such file"},
	} {
		status, out, errs := run(t, reporting, c.args...)
		assert.Equal(t, c.status, status, "%q", c.args)
		assert.Contains(t, errs, c.says, "%q", c.args)
		assert.Empty(t, out)
	}
	status, _, errs := run(t, tracing, "-store", store, "call_9")
	assert.Equal(t, 1, status)
	assert.Contains(t, errs, "no such call")
	status, help, errs := run(t, reporting, "-h")
	assert.Zero(t, status)
	assert.Contains(t, help, "usage: toolguard report")
	assert.Empty(t, errs)
	status, _, errs = run(t, tracing, "-store", store)
	assert.Equal(t, 2, status)
	assert.Contains(t, errs, "usage: toolguard trace")
}

// hostile are names that a page or a terminal could trip over.
var hostile = []string{
	`"><script>alert(1)</script>`, `'+alert(1)+'`, "</title></style><img src=x onerror=alert(1)>", "\x1b[2J\x1b]0;gone\x07", "a\nb\tc\x00d",
	"\u202egnp.exe", "\u009b31mred\x7f", "{{.All}}", "javascript:alert(1)", strings.Repeat("w", 10<<10), "\xff\xfe",
}

func hostileStore(t *testing.T) string {
	return stored(t, func(observe func(toolguard.Event)) {
		for i, name := range hostile {
			e := toolguard.Event{
				Kind: toolguard.EventCall, Time: noon, Ref: uint64(i + 1), Tool: name, CallID: name, Code: toolguard.Code(name),
				Category: toolguard.CategoryUnavailable, Outcome: toolguard.OutcomeFailed, Attempts: 1, Why: name, Detail: name,
				Scope:       toolguard.Scope{Session: name, Run: name, Step: name, Model: name},
				Transitions: []toolguard.Transition{{To: toolguard.BreakerOpen, At: noon}},
			}
			observe(e)
			e.Kind = toolguard.EventAttempt
			observe(e)
		}
	})
}

// Hostile names stay words: no markup, no control characters, no endless lines.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	store := hostileStore(t)
	html := filepath.Join(t.TempDir(), "report.html")
	status, out, errs := run(t, reporting, "-to", noon.Add(time.Hour).Format(time.RFC3339), "-store", store, "-html", html)
	require.Zero(t, status, errs)
	printable(t, out)
	page, err := os.ReadFile(html)
	require.NoError(t, err)
	for _, forbidden := range []string{"<script", "<img", "onerror=alert(1)>", "\x1b", "\x00"} {
		assert.NotContains(t, string(page), forbidden)
	}
	status, out, errs = run(t, reporting, "-to", noon.Add(time.Hour).Format(time.RFC3339), "-store", store, "-json")
	require.Zero(t, status, errs)
	inJSON(t, out)
	for _, name := range hostile {
		if strings.Contains(name, "\x00") {
			continue // no process gets such an argument
		}
		for _, form := range []string{"-store", "-json"} {
			args := []string{"-store", store}
			if form == "-json" {
				args = append(args, "-json")
			}
			status, out, errs := run(t, tracing, append(args, "--", name)...)
			require.Zero(t, status, "%.40q: %s", name, errs)
			if form == "-json" {
				inJSON(t, out)
			} else {
				printable(t, out)
			}
		}
	}
	_, _, errs = run(t, tracing, "-store", store, "\x1b[2J"+strings.Repeat("w", 10<<10))
	printable(t, errs)
}

// inJSON wants what any terminal and any parser takes for what it is.
func inJSON(t *testing.T, text string) {
	t.Helper()
	assert.True(t, json.Valid([]byte(text)))
	for _, c := range text {
		assert.True(t, c == '\n' || unicode.IsPrint(c), "%q", c)
	}
	assert.NotContains(t, text, "<script", "it may be put into a page")
}

func printable(t *testing.T, text string) {
	t.Helper()
	for _, c := range text {
		assert.True(t, c == '\n' || unicode.IsPrint(c), "%q", c)
	}
	for line := range strings.Lines(text) {
		assert.Less(t, len([]rune(line)), 1200)
	}
}

// What became of an unknown outcome is known from a late answer, or the journal.
func TestUnknownsAreFollowedUp(t *testing.T) {
	t.Parallel()
	j := toolguard.NewMemoryJournal()
	unknown := func(ref uint64, key string) toolguard.Event {
		return toolguard.Event{Kind: toolguard.EventCall, Time: noon, Ref: ref, Key: key, Tool: "pay", Code: toolguard.CodeAbandoned, Category: toolguard.CategoryTimeout, Attempts: 1}
	}
	name := stored(t, func(observe func(toolguard.Event)) {
		for ref, key := range []string{"", "", "", "settled", "parked", "gone"} {
			observe(unknown(uint64(ref+1), key))
		}
		late := toolguard.Event{Kind: toolguard.EventLate, Time: noon.Add(time.Minute), Ref: 1, Tool: "pay", OK: true, Outcome: toolguard.OutcomeSucceeded, Attempts: 1, Attempt: 1}
		observe(late)
		late.Ref, late.Outcome, late.OK = 2, toolguard.OutcomeFailed, false
		observe(late)
	})
	for key, state := range map[string]toolguard.State{"settled": toolguard.StateSucceeded, "parked": toolguard.StateParked} {
		_, ok, err := j.Write(t.Context(), toolguard.Version{}, toolguard.Entry{Key: key, State: state, Tool: "pay"})
		require.NoError(t, err)
		require.True(t, ok)
	}
	s, err := dial.Read(t.Context(), name)
	require.NoError(t, err)
	defer s.Close()
	r, err := report.Build(t.Context(), s, report.Options{From: noon.Add(-time.Hour), To: noon.Add(time.Hour), Journal: j})
	require.NoError(t, err)
	assert.Equal(t, map[report.Fate]int{report.FateHappened: 2, report.FateDidNot: 1, report.FateWaits: 1, report.FateUnknown: 2}, r.Unknowns)
	assert.Equal(t, 3, r.All.UnknownNow)
}

func TestPeriodsMustBePeriods(t *testing.T) {
	t.Parallel()
	_, err := report.Build(t.Context(), eventstore.Store(nil), report.Options{From: noon, To: noon})
	assert.ErrorContains(t, err, "ends")
}

// What waits is counted in the journal, once for each action; where no journal was
// asked the report says so.
func TestTheReportSaysWhatWaits(t *testing.T) {
	t.Parallel()
	s, err := dial.Read(t.Context(), stored(t, func(observe func(toolguard.Event)) {
		for range 3 { // the model asked again and again
			observe(toolguard.Event{Kind: toolguard.EventCall, Time: noon, Key: "aaaa", Category: toolguard.CategoryUnknown, Code: toolguard.CodeNoEntry})
		}
	}))
	require.NoError(t, err)
	defer s.Close()
	j := toolguard.NewMemoryJournal()
	for key, e := range map[string]toolguard.Entry{
		"aaaa": {Tool: "pay", State: toolguard.StateAwaiting}, "bbbb": {Tool: "pay", State: toolguard.StateUnknown},
		"cccc": {Tool: "pay", State: toolguard.StateUnknown}, "dddd": {Tool: "pay", State: toolguard.StatePending, Due: time.Hour},
		"eeee": {Tool: "pay", State: toolguard.StatePending, Due: 1}, "ffff": {Tool: "other", State: toolguard.StateSucceeded},
	} {
		e.Key = key
		_, ok, err := j.Write(t.Context(), toolguard.Version{}, e)
		require.NoError(t, err)
		require.True(t, ok)
	}
	for _, c := range []struct {
		journal toolguard.Journal
		tool    string
		want    string
	}{
		{j, "", "In the journal, actions that wait by now: 1 for an approval, 2 unknown, 1 of processes that are gone.\n"},
		{j, "other", "Nothing waits in the journal.\n"},
		{nil, "", "No journal was asked (-journal)"},
	} {
		r, err := report.Build(t.Context(), s, report.Options{From: noon.Add(-time.Hour), To: noon.Add(time.Hour), Journal: c.journal, Tool: c.tool})
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, r.WriteText(&b))
		assert.Contains(t, b.String(), c.want)
		if c.tool == "" {
			assert.Contains(t, b.String(), "\n(no entry) ", "a call that has no tool")
		}
	}
}
