package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
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
