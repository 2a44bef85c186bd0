package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/sqlite"
)

// printed is an entry as people read it.
func printed(t *testing.T, e toolguard.Entry, records ...toolguard.Record) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, printEntry(&b, &e, records))
	return b.String()
}

// Results are shown as they were read, parts by what they are, and nothing in
// base64.
func TestResultsAreShownForPeople(t *testing.T) {
	t.Parallel()
	for result, want := range map[string][]string{
		``:                           nil,
		`{"text":"paid 5\u001b[2J"}`: {"paid 5?[2J"},
		`{"json":{"id":7}}`:          {`{"id":7}`},
		`{"text":""}`:                {"nothing was returned"},
		`{"text":"done","parts":[{},{"media_type":"application/json; role=structured","data":"eyJuIjo3fQ=="},{"media_type":"image/png","data":"iVBORw0KGgr/"}]}`: {
			"done", `application/json; role=structured {"n":7}`, `9 bytes of "image/png"`,
		},
		`"sealed"`: {`"sealed"`},
	} {
		text := printed(t, toolguard.Entry{Key: "k", Result: json.RawMessage(result)})
		assert.Equal(t, len(want), strings.Count(text, "result  "), text)
		for _, w := range want {
			assert.Contains(t, text, w+"\n")
		}
	}
}

// Nobody has counted the attempts of a process that died: that is not "never ran".
func TestAttemptsThatNobodyCountedMayHaveRun(t *testing.T) {
	t.Parallel()
	const may = "none ended; one may have run"
	lost := []toolguard.Record{{To: toolguard.StatePending}, {From: toolguard.StatePending, To: toolguard.StateUnknown}, {From: toolguard.StateUnknown, To: toolguard.StateAborted}}
	for _, c := range []struct {
		entry   toolguard.Entry
		records []toolguard.Record
		want    string
	}{
		{toolguard.Entry{State: toolguard.StatePending}, nil, may},
		{toolguard.Entry{State: toolguard.StateUnknown}, nil, may},
		{toolguard.Entry{State: toolguard.StateParked}, nil, may},
		{toolguard.Entry{State: toolguard.StateAborted}, lost, may},
		{toolguard.Entry{State: toolguard.StateUnknown, Attempts: 2}, lost[:2], "2"},
		{toolguard.Entry{State: toolguard.StateAwaiting}, nil, "0"},
		{toolguard.Entry{State: toolguard.StateFailed}, lost[:1], "0"},
	} {
		assert.Regexp(t, "(?m)^attempts +"+regexp.QuoteMeta(c.want)+"$", printed(t, c.entry, c.records...), c.entry.State)
	}
}

// Each kind of record says what happened, and what is not known is left out.
func TestRecordsAreShownForPeople(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	text := printed(t, toolguard.Entry{Key: "k", State: toolguard.StateSucceeded},
		toolguard.Record{At: at, To: toolguard.StatePending, Actor: "guard"},
		toolguard.Record{At: at, Kind: toolguard.RecordAttempt, Attempt: 2, Code: toolguard.CodeAttemptTimeout, Duration: 1500 * time.Millisecond, Actor: "guard"},
		toolguard.Record{At: at, From: toolguard.StatePending, To: toolguard.StateUnknown, Actor: "guard"},
		toolguard.Record{At: at, Kind: toolguard.RecordCheck, Actor: "recoverer", Outcome: toolguard.OutcomeNotStarted},
		toolguard.Record{At: at, Kind: toolguard.RecordLate, Outcome: toolguard.OutcomeSucceeded, Actor: "guard"},
		toolguard.Record{At: at, From: toolguard.StateUnknown, To: toolguard.StateSucceeded, Actor: "ann", Why: "seen on the statement"},
		toolguard.Record{At: at, From: toolguard.StateSucceeded, To: toolguard.StateSucceeded, Actor: "proxy", Why: "the model was told"},
		toolguard.Record{At: at, Kind: toolguard.RecordApproval, Actor: "bob"},
		toolguard.Record{At: at, Kind: toolguard.RecordRefused, Actor: "guard", Code: toolguard.CodePermissionDenied, Outcome: toolguard.OutcomeNotStarted},
	)
	for _, want := range []string{
		"pending  ", "attempt 2: unknown, attempt_timeout, after 1.5s", "pending → unknown", "the service was asked: not_started", "a late answer: succeeded",
		"unknown → succeeded", "seen on the statement", "still succeeded", "approved at once", "refused: not_started, permission_denied",
	} {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, text, "none")
	for line := range strings.Lines(text) {
		assert.NotRegexp(t, `[ \t]\n$`, line)
	}
}

// What an approver answers by itself is no decision of a person who was asked.
func TestWhoDecidesAtOnceIsShown(t *testing.T) {
	t.Parallel()
	by := func(name string) toolguard.Entry {
		return toolguard.Entry{Key: "k", Approval: &toolguard.Approval{By: name}}
	}
	yes := []toolguard.Record{{Kind: toolguard.RecordApproval, Actor: "the limit"}, {To: toolguard.StatePending}}
	no := []toolguard.Record{{Kind: toolguard.RecordApproval, Actor: "the limit", Code: toolguard.CodeApprovalDenied}, {To: toolguard.StateDenied}}
	assert.Regexp(t, "decided by +the limit, approved at once", printed(t, by("the limit"), yes...))
	assert.Regexp(t, "decided by +the limit, denied at once", printed(t, by("the limit"), no...))
	assert.Regexp(t, "denied at once +the limit\n", printed(t, by(""), no[0]), "of what is in doubt, and stays so")
	assert.Regexp(t, "decided by +ann\n", printed(t, by("ann"), toolguard.Record{From: toolguard.StateAwaiting, To: toolguard.StateApproved, Actor: "ann"}))
	assert.NotContains(t, printed(t, by("")), "decided by")
}

// A call is found by the beginning of its key or its call ID, cut as tables cut it.
func TestCallsAreFoundByTheBeginningOfAName(t *testing.T) {
	t.Parallel()
	path := journalOf(t,
		toolguard.Entry{Key: "58ced015aa", CallID: "call-one", State: toolguard.StateUnknown},
		toolguard.Entry{Key: "58ced015bb", CallID: "call-two", State: toolguard.StateUnknown},
		toolguard.Entry{Key: "7777777777", State: toolguard.StateUnknown},
	)
	for name, key := range map[string]string{
		"58ced015a": "58ced015aa", "58ced015bb…": "58ced015bb", "call-two": "58ced015bb", "call-o": "58ced015aa", "7777": "7777777777",
	} {
		code, out, errs := invoke(t, "", "journal", "show", "-journal", path, name)
		assert.Equal(t, exitOK, code, errs)
		assert.Contains(t, out, key)
		code, _, errs = invoke(t, "", "journal", "decide", "-journal", path, "-by", "ann", "approve", name)
		assert.Equal(t, exitFailure, code)
		assert.Contains(t, errs, "is unknown, about which approve says nothing: want one of retry, succeeded, failed, abort", "it was found")
	}
	for name, want := range map[string]string{"58ce": `2 calls begin with "58ce"`, "call": "2 calls", "777": "no such entry", "…": "no such entry", "other": "no such entry"} {
		code, _, errs := invoke(t, "", "journal", "show", "-journal", path, name)
		assert.Equal(t, exitFailure, code)
		assert.Contains(t, errs, want)
	}
}

// A call ID that another one begins with is found all the same.
func TestACallIDIsFoundBeforeThoseThatBeginSo(t *testing.T) {
	t.Parallel()
	path := journalOf(t,
		toolguard.Entry{Key: "aaaa", CallID: "call_1", State: toolguard.StateUnknown}, toolguard.Entry{Key: "bbbb", CallID: "call_10", State: toolguard.StateUnknown},
		toolguard.Entry{Key: "cccc", CallID: "c2", State: toolguard.StateUnknown}, toolguard.Entry{Key: "dddd", CallID: "twice", State: toolguard.StateUnknown},
		toolguard.Entry{Key: "eeee", CallID: "twice", State: toolguard.StateUnknown},
	)
	for name, want := range map[string]string{"call_1": "aaaa", "call_10": "bbbb", "c2": "cccc", "twic": "begin with", "twice": "2 calls have the call ID"} {
		_, out, errs := invoke(t, "", "journal", "show", "-journal", path, name)
		assert.Contains(t, out+errs, want, name)
	}
}

// journalOf is a file with entries, as nobody but a test writes them.
func journalOf(t *testing.T, entries ...toolguard.Entry) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "j.db")
	j, err := sqlite.Open(path, nil)
	require.NoError(t, err)
	for _, e := range entries {
		e.Tool = "pay"
		_, ok, err := j.Write(t.Context(), toolguard.Version{}, e)
		require.NoError(t, err)
		require.True(t, ok)
	}
	require.NoError(t, j.Close())
	return path
}
