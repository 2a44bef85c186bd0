package main

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/sqlite"
)

// payments is a tool whose first call leaves its outcome open, and whose others
// wait for approval.
type payments struct{}

func (payments) Info() toolguard.Info {
	return toolguard.Info{Name: "pay\x1b[31m", Effect: toolguard.NonIdempotent, Risk: toolguard.RiskHigh}
}

func (payments) Call(context.Context, json.RawMessage) (toolguard.Result, error) {
	return toolguard.Result{}, toolguard.MaybeDone(errors.New("lost"))
}

type later struct{}

func (later) Approve(_ context.Context, r toolguard.ApprovalRequest) (toolguard.Answer, error) {
	if strings.Contains(string(r.Args), "lost") {
		return toolguard.Answer{Verdict: toolguard.ApprovalGranted, By: "test"}, nil
	}
	return toolguard.Answer{Verdict: toolguard.ApprovalPending}, nil
}

// journalFile has one call that is unknown and two that await approval.
func journalFile(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "j.db")
	j, err := sqlite.Open(path, nil)
	require.NoError(t, err)
	fill(t, j)
	require.NoError(t, j.Close())
	return path
}

// fill leaves one call unknown and two awaiting approval.
func fill(t *testing.T, j toolguard.Journal) {
	t.Helper()
	g, err := toolguard.New(named{payments{}}, &toolguard.Options{Journal: j, Approver: later{}})
	require.NoError(t, err)
	ctx := toolguard.WithScope(t.Context(), toolguard.Scope{Session: "s\u202e1"})
	for _, args := range []string{`{"a":"lost"}`, `{"a":"wait\u0007"}`, `{"a":"wait2"}`} {
		g.Do(ctx, toolguard.Call{Args: json.RawMessage(args)})
	}
	require.NoError(t, g.Shutdown(t.Context()))
}

// named gives payments a name that a guard takes.
type named struct{ payments }

func (n named) Info() toolguard.Info {
	i := n.payments.Info()
	i.Name = "pay"
	return i
}

// listed reads a journal's list.
func listed(t *testing.T, path string, flags ...string) (keys map[string]string) {
	t.Helper()
	code, out, errs := invoke(t, "", append([]string{"journal", "list", "-journal", path, "-json"}, flags...)...)
	require.Equal(t, exitOK, code, errs)
	var entries []toolguard.Entry
	require.NoError(t, json.Unmarshal([]byte(out), &entries))
	keys = make(map[string]string)
	for _, e := range entries {
		keys[e.State.String()] = e.Key
	}
	return keys
}

func TestJournalIsListedAndShown(t *testing.T) {
	t.Parallel()
	path := journalFile(t)
	code, out, _ := invoke(t, "", "journal", "list", "-journal", path)
	assert.Equal(t, exitOK, code)
	assert.Equal(t, 4, strings.Count(out, "\n"), out)
	assert.Contains(t, out, "awaiting_approval")
	assert.Contains(t, out, "unknown")
	assert.NotContains(t, out, "\u202e", "what could be obeyed is not printed")

	_, out, _ = invoke(t, "", "journal", "list", "-journal", path, "-state", "unknown")
	assert.Equal(t, 2, strings.Count(out, "\n"), out)
	_, out, _ = invoke(t, "", "journal", "list", "-journal", path, "-tool", "other")
	assert.Equal(t, "none\n", out)

	key := listed(t, path)["unknown"]
	code, out, _ = invoke(t, "", "journal", "show", "-journal", path, key[:8])
	assert.Equal(t, exitOK, code)
	assert.Contains(t, out, `{"a":"lost"}`)
	assert.Contains(t, out, "pending → unknown")
	code, out, _ = invoke(t, "", "journal", "show", "-journal", path, "-json", key)
	assert.Equal(t, exitOK, code)
	assert.True(t, json.Valid([]byte(out)))
}

func TestFirstDecisionCounts(t *testing.T) {
	t.Parallel()
	path := journalFile(t)
	keys := listed(t, path)
	decide := func(args ...string) (int, string, string) {
		return invoke(t, `{"a":"other"}`, append([]string{"journal", "decide", "-journal", path, "-by", "ann"}, args...)...)
	}
	code, out, errs := decide("-why", "seen on the statement", "succeeded", keys["unknown"])
	require.Equal(t, exitOK, code, errs)
	assert.Contains(t, out, "succeeded")
	code, _, errs = decide("failed", keys["unknown"])
	assert.Equal(t, exitFailure, code)
	assert.Contains(t, errs, "not about")
	_, out, _ = invoke(t, "", "journal", "show", "-journal", path, keys["unknown"])
	assert.Contains(t, out, "seen on the statement")

	code, out, errs = decide("-args", "-", "approve", keys["awaiting_approval"])
	require.Equal(t, exitOK, code, errs)
	assert.Contains(t, out, "approved")
	_, out, _ = invoke(t, "", "journal", "show", "-journal", path, "-json", keys["awaiting_approval"])
	assert.Contains(t, out, `"args":{"a":"other"}`)
}

func TestExportAndPrune(t *testing.T) {
	t.Parallel()
	path := journalFile(t)
	_, out, _ := invoke(t, "", "journal", "export", "-journal", path)
	assert.Equal(t, 3, strings.Count(out, "\n"))
	for line := range strings.Lines(out) {
		var e toolguard.Entry
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		assert.NotEmpty(t, e.Key)
	}
	_, out, _ = invoke(t, "", "journal", "export", "-journal", path, "-audit")
	assert.Greater(t, strings.Count(out, "\n"), 4)

	_, out, _ = invoke(t, "", "journal", "prune", "-journal", path, "-older", "0s")
	assert.Equal(t, "deleted 0\n", out, "nothing is over")
	invoke(t, "", "journal", "decide", "-journal", path, "-by", "ann", "abort", listed(t, path)["unknown"])
	_, out, _ = invoke(t, "", "journal", "prune", "-journal", path, "-older", "0s", "-json")
	assert.Equal(t, `{"deleted":1}`+"\n", out)
}

func TestJournalMistakesAreNamed(t *testing.T) {
	t.Parallel()
	path := journalFile(t)
	key := listed(t, path)["unknown"]
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{}, exitUsage, "want list"},
		{[]string{"lst"}, exitUsage, `no command "lst"`},
		{[]string{"list"}, exitUsage, "-journal"},
		{[]string{"list", "-journal", "/nonexistent.db"}, exitFailure, "/nonexistent.db"},
		{[]string{"list", "-journal", file(t, "no database at all, but long enough to be read as one")}, exitFailure, "sqlite"},
		{[]string{"list", "-journal", path, "-state", "lost"}, exitUsage, "lost"},
		{[]string{"list", "-journal", path, "-limit", "0"}, exitUsage, "-limit 0"},
		{[]string{"list", "-journal", path, "more"}, exitUsage, "1 arguments"},
		{[]string{"show", "-journal", path, "feedfeed"}, exitFailure, "no such entry"},
		{[]string{"show", "-journal", path, ""}, exitFailure, "no such entry"},
		{[]string{"decide", "-journal", path, "-by", "ann", "perhaps", key}, exitUsage, "perhaps"},
		{[]string{"decide", "-journal", path, "retry", key}, exitUsage, "-by"},
		{[]string{"decide", "-journal", path, "-by", "ann", "approve", key}, exitFailure, "want one of retry, succeeded, failed, abort"},
		{[]string{"decide", "-journal", path, "-by", "ann", "none", key}, exitUsage, `"none" is no decision: want one of approve, deny, retry, succeeded, failed, abort`},
		{[]string{"decide", "-journal", path, "-by", "ann", key, "succeeded"}, exitUsage, "the decision comes first, and then the key: want succeeded " + key[:8]},
		{[]string{"list", "-journal", path, "-state", "none"}, exitUsage, `"none" is no state`},
		{[]string{"prune", "-journal", path, "-older", "-1s"}, exitUsage, "-older"},
		{[]string{"export", "-journal", path, "-json"}, exitUsage, "-json"},
	} {
		code, out, errs := invoke(t, "", append([]string{"journal"}, c.args...)...)
		assert.Equal(t, c.code, code, "%v: %s", c.args, errs)
		assert.Contains(t, errs, c.want, c.args)
		assert.Empty(t, out, c.args)
		assert.NotRegexp(t, "RulingVerdict|State[^s]", errs, "names of Go types mean nothing here")
	}
	for _, cmd := range journalCommands() {
		code, out, _ := invoke(t, "", append(strings.Fields(cmd.name), "-h")...)
		assert.Equal(t, exitOK, code)
		assert.Contains(t, out, "usage: toolguard "+cmd.name)
	}
}
