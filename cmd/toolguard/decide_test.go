package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/sqlite"
)

// A call whose process is gone is on the list as soon as its lease is over, and
// whoever decides too early reads what to wait for.
func TestPendingCallsAreListedOnceTheirLeaseIsOver(t *testing.T) {
	t.Parallel()
	path := journalOf(t,
		toolguard.Entry{Key: "gone", State: toolguard.StatePending, Due: time.Nanosecond},
		toolguard.Entry{Key: "live", State: toolguard.StatePending, Due: time.Hour},
		toolguard.Entry{Key: "lost", State: toolguard.StateUnknown},
	)
	_, out, _ := invoke(t, "", "journal", "list", "-journal", path)
	assert.Contains(t, out, "lost")
	assert.Regexp(t, "gone +pending, lease over", out)
	assert.NotContains(t, out, "live")
	_, out, _ = invoke(t, "", "journal", "list", "-journal", path, "-limit", "1")
	assert.Contains(t, out, "lost", "the newest")
	assert.NotContains(t, out, "gone")
	_, out, _ = invoke(t, "", "journal", "list", "-journal", path, "-state", "unknown")
	assert.NotContains(t, out, "gone")

	for key, want := range map[string]string{"gone": "its lease is over: run the recoverer, or wait", "live": "still leased until 2"} {
		code, _, errs := invoke(t, "", "journal", "decide", "-journal", path, "-by", "ann", "failed", key)
		assert.Equal(t, exitFailure, code)
		assert.Contains(t, errs, want)
		assert.NotContains(t, errs, "already")
	}
}

// What awaits an approval is listed and shown in the words a person was to be asked in.
func TestApprovalsAreListedInTheirOwnWords(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	j, err := sqlite.Open(path, nil)
	require.NoError(t, err)
	for key, why := range map[string]string{"aaaa": "refund order A-17", "bbbb": ""} {
		e := toolguard.Entry{Key: key, State: toolguard.StateAwaiting, Tool: "pay", Args: []byte(`{"order":"` + key + `"}`)}
		_, _, err = j.Write(t.Context(), toolguard.Version{}, e, toolguard.Record{Key: key, To: toolguard.StateAwaiting, Actor: toolguard.ActorGuard, Why: why})
		require.NoError(t, err)
	}
	require.NoError(t, j.Close())
	_, out, _ := invoke(t, "", "journal", "list", "-journal", path)
	assert.Regexp(t, "aaaa .* refund order A-17\n", out)
	assert.Regexp(t, `bbbb .* \{"order":"bbbb"\}`, out)
	_, out, _ = invoke(t, "", "journal", "show", "-journal", path, "aaaa")
	assert.Contains(t, out, "refund order A-17")
	assert.Contains(t, out, `{"order":"aaaa"}`)
}
