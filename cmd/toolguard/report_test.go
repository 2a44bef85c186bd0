package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What went through a proxy is in the report, and a call of it can be traced.
func TestReportAndTraceOfAProxy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, journal := filepath.Join(dir, "events.db"), filepath.Join(dir, "j.db")
	server := built(t, "github.com/modelcontextprotocol/go-sdk/examples/server/memory")
	w := dialServer(t, proxied(t, []string{server}, "-events", store, "-event-successes", "1", "-journal", journal))
	w.ask("tools/list", `{}`)
	code, _ := failureOf(t, w.ask("tools/call", toolCall("create_entities", `{"entities":7}`)))
	require.Equal(t, "schema_violation", code)
	w.ask("tools/call", toolCall("create_entities", `{"entities":[{"name":"a","entityType":"t","observations":[]}]}`))
	w.close()

	status, out, errs := invoke(t, "", "report", "-store", store, "-journal", journal)
	require.Equal(t, exitOK, status, errs)
	assert.Contains(t, out, "create_entities")
	assert.Contains(t, out, "schema_violation")
	status, out, errs = invoke(t, "", "report", "-store", store, "-json")
	require.Equal(t, exitOK, status, errs)
	assert.True(t, json.Valid([]byte(out)), out)

	var entries []struct{ Key string }
	_, out, _ = invoke(t, "", "journal", "list", "-journal", journal, "-all", "-json")
	require.NoError(t, json.Unmarshal([]byte(out), &entries))
	require.Len(t, entries, 1)
	status, out, errs = invoke(t, "", "trace", "-store", store, "-journal", journal, entries[0].Key[:8])
	require.Equal(t, exitOK, status, errs)
	assert.Contains(t, out, "create_entities")
	assert.Contains(t, out, "Did it fail?                 No")
	assert.Contains(t, out, "attempt 1", "the plain success is kept too")
}

func TestReportMistakesAreNamed(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing.db")
	for _, args := range [][]string{{"report"}, {"report", "-store", missing, "-nope"}, {"trace", "-store", missing}} {
		code, _, errs := invoke(t, "", args...)
		assert.Equal(t, exitUsage, code, args)
		assert.NotEmpty(t, errs)
	}
	for _, args := range [][]string{{"report", "-store", missing}, {"trace", "-store", missing, "x"}} {
		code, _, errs := invoke(t, "", args...)
		assert.Equal(t, exitFailure, code, args)
		assert.Contains(t, errs, "missing.db")
	}
	code, _, errs := invoke(t, "", "proxy", "-events", filepath.Join(t.TempDir(), "no", "such", "x.db"), "--", "true")
	assert.Equal(t, exitFailure, code)
	assert.Contains(t, errs, "-events")
}
