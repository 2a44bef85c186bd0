package report_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore/dial"
	"github.com/toolguard-go/toolguard/observe/eventstore/report"
)

// A call is found by as much of its name as tables show, and by no less than tells
// it from others.
func TestTraceByTheBeginningOfAName(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	path := stored(t, func(observe func(toolguard.Event)) {
		for i, names := range [][2]string{{"58ced015aa", "call-one"}, {"58ced015bb", "call-two"}, {"77777777", "call-three"}, {"", "loose-1"}} {
			observe(toolguard.Event{
				Kind: toolguard.EventCall, Time: at, Ref: uint64(i + 1), Tool: "pay", Key: names[0], CallID: names[1],
				Category: toolguard.CategoryTimeout, Code: toolguard.CodeAttemptTimeout, Decision: toolguard.DecisionStop,
			})
		}
	})
	j := toolguard.NewMemoryJournal()
	_, ok, err := j.Write(t.Context(), toolguard.Version{}, toolguard.Entry{Key: "99990000", State: toolguard.StateAwaiting, Tool: "pay"})
	require.NoError(t, err)
	require.True(t, ok)
	s, err := dial.Read(t.Context(), path)
	require.NoError(t, err)
	defer s.Close()
	find := func(name string) (string, error) {
		found, err := report.Find(t.Context(), s, j, name)
		if err != nil {
			return "", err
		}
		require.Len(t, found, 1)
		return found[0].Key + found[0].CallID, nil
	}
	for name, want := range map[string]string{
		"58ced015a": "58ced015aacall-one", "58ced015bb…": "58ced015bbcall-two", "call-thr": "77777777call-three", "7777": "77777777call-three",
		"loose": "loose-1", "9999": "99990000",
	} {
		got, err := find(name)
		require.NoError(t, err, name)
		assert.Equal(t, want, got, name)
	}
	for name, want := range map[string]string{
		"58ced": `2 calls begin with "58ced"`, "call-t": `2 calls begin with "call-t"`, "777": "there is no such call", "nowhere": "there is no such call", "": "empty",
	} {
		_, err := find(name)
		assert.ErrorContains(t, err, want, name)
	}

	var out, errs bytes.Buffer
	assert.Equal(t, 1, report.RunTrace(context.Background(), []string{"-store", path, "nowhere"}, &out, &errs, nil))
	assert.Equal(t, "toolguard trace: there is no such call: \"nowhere\". Plain successes are kept by a sample only\n", errs.String())
}

// What succeeded is not asked where it failed, and a call without an ID has none.
func TestTraceOfASuccess(t *testing.T) {
	t.Parallel()
	path := stored(t, func(observe func(toolguard.Event)) {
		observe(toolguard.Event{
			Kind: toolguard.EventCall, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Ref: 1, Tool: "pay", Key: "k1", OK: true,
			Outcome: toolguard.OutcomeSucceeded, Notes: []toolguard.Note{{Kind: "empty_result"}}, Attempts: 1,
		})
	})
	var out, errs bytes.Buffer
	require.Equal(t, 0, report.RunTrace(t.Context(), []string{"-store", path, "k1"}, &out, &errs, nil), errs.String())
	text := out.String()
	assert.Contains(t, text, "Did it fail?                 No, the call succeeded.")
	assert.NotContains(t, text, "Where did it fail?")
	for line := range strings.Lines(text) {
		assert.NotRegexp(t, `[ \t]\n$`, line)
	}
}
