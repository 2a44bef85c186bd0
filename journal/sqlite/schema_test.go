package sqlite_test

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
	"github.com/toolguard-go/toolguard/journal/internal/storetest"
	"github.com/toolguard-go/toolguard/journal/sqlite"
)

// What is stored can be read with plain SQL, by a person who knows no Go.
func TestViewsReadAsText(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	j := openAt(t, path)
	e := entry("k1", toolguard.StateParked)
	e.Scope = toolguard.Scope{Tenant: "acme", Principal: "ann", Session: "s1", Run: "r1", Step: "2"}
	e.Effect, e.Risk, e.Due, e.Attempts = toolguard.NonIdempotent, toolguard.RiskHigh, 90*time.Second, 2
	e.Approval = &toolguard.Approval{By: "bob"}
	write(t, j, toolguard.Version{}, e, toolguard.Record{
		Key: "k1", Kind: toolguard.RecordAttempt, From: toolguard.StatePending, To: toolguard.StateParked, Actor: "recoverer", Why: "no status query",
		Tool: "refund", Scope: e.Scope, Args: e.Args, Duration: 1500 * time.Microsecond, Code: toolguard.CodeAttemptTimeout, Outcome: toolguard.OutcomeUnknown, Attempt: 2,
	})
	assert.Equal(t,
		`k1|parked|refund|acme|ann|s1|r1|2|{"amount":1}|non_idempotent|high|2|bob`,
		text(t, path, "SELECT concat_ws('|', key, state, tool, tenant, principal, session, run, step, args, effect, risk, attempts, approval ->> 'by') FROM toolguard_journal"))
	assert.Equal(t,
		`1|attempt|pending|parked|recoverer|no status query|k1|refund|ann|{"amount":1}|unknown|attempt_timeout|2|1.5`,
		text(t, path, "SELECT concat_ws('|', seq, kind, from_state, to_state, actor, why, key, tool, principal, args, outcome, code, attempt, duration_ms) FROM toolguard_audit"))
	today := time.Now().UTC().Format("2006-01-02")
	for _, query := range []string{"SELECT created FROM toolguard_journal", "SELECT updated FROM toolguard_journal", "SELECT time FROM toolguard_audit"} {
		assert.Regexp(t, `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$`, text(t, path, query))
		assert.True(t, strings.HasPrefix(text(t, path, query), today) || time.Now().UTC().Format("2006-01-02") != today)
	}
	assert.Equal(t, "90", text(t, path, "SELECT round((julianday(due) - julianday(updated)) * 86400) || '' FROM toolguard_journal")[:2])
	assert.Equal(t, "0", text(t, path, "SELECT count(*) FROM sqlite_schema WHERE name NOT LIKE 'toolguard!_%' ESCAPE '!' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'"))
}

func text(t *testing.T, path, query string) (s string) {
	t.Helper()
	require.NoError(t, pool(t, path, "", "busy_timeout(5000)").QueryRow(query).Scan(&s), query)
	return s
}

// JSON holds what has no column, and nothing twice.
func TestNothingIsStoredTwice(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	e, r := storetest.Filled[toolguard.Entry](0), storetest.Filled[toolguard.Record](0)
	write(t, openAt(t, path), toolguard.Version{}, e, r)
	for table, want := range map[string][]string{
		"toolguard_entries": {"tool_version", "schema_digest", "effect", "risk", "call_id", "approval_digest", "code", "attempts", "approval", "checks", "quiet_ns"},
		"toolguard_records": {"tool_version", "schema_digest", "call_id", "digest", "attempt", "duration_ns", "incident"},
	} {
		var rest map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(text(t, path, "SELECT rest FROM "+table)), &rest))
		var names []string
		for name := range rest {
			names = append(names, name)
		}
		assert.ElementsMatch(t, want, names, table)
	}
}

var parameter = regexp.MustCompile(`\?\d?`)

// No question that is asked on the path of a call, or again and again, is answered
// by reading a whole table.
func TestQueriesUseIndexes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	openAt(t, path)
	db := pool(t, path, "", "busy_timeout(5000)")
	parked := []toolguard.State{toolguard.StateParked, toolguard.StateAwaiting}
	for want, query := range map[string]string{
		"INDEX sqlite_autoindex_toolguard_entries_1 (key=?)": sqlite.Selection(toolguard.Query{Key: "k"}),
		"INDEX toolguard_entries_group (group_key=?)":        sqlite.Selection(toolguard.Query{Group: "g", Limit: 1}),
		"INDEX toolguard_entries_run (run=?)":                sqlite.Selection(toolguard.Query{Run: "r"}),
		"INDEX toolguard_entries_session (session=?)":        sqlite.Selection(toolguard.Query{Session: "s"}),
		"INDEX toolguard_entries_open":                       sqlite.Selection(toolguard.Query{States: parked}),
		"INDEX toolguard_entries_run (run=? AND digest=?)":   sqlite.Selection(toolguard.Query{Run: "r", Digest: toolguard.Digest{1}, States: parked}),
		"entries_session (session=? AND digest=?)":           sqlite.Selection(toolguard.Query{Session: "s", Digest: toolguard.Digest{1}, States: parked}),
		"INDEX toolguard_entries_open ":                      sqlite.SelectDue,
		"INDEX toolguard_records_key (key=?":                 sqlite.SelectRecordsOf,
		"INTEGER PRIMARY KEY (rowid>?)":                      sqlite.OldRecords,
	} {
		rows, err := db.Query("EXPLAIN QUERY PLAN " + parameter.ReplaceAllString(query, "1"))
		require.NoError(t, err, query)
		var plan []string
		for rows.Next() {
			var id, parent, unused int
			var detail string
			require.NoError(t, rows.Scan(&id, &parent, &unused, &detail))
			plan = append(plan, detail+" ")
		}
		require.NoError(t, rows.Err())
		assert.Contains(t, strings.Join(plan, "\n"), want, query)
	}
}

// When the clock was set back, an entry that is stamped in what is now the future
// is due at once: nobody knows how old it is. It is not lost until that future.
func TestAClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	j := openAt(t, path)
	for key, due := range map[string]time.Duration{"a": 30 * time.Second, "b": 0, "c": 5 * time.Hour} {
		e := entry(key, toolguard.StatePending)
		e.Due = due
		write(t, j, toolguard.Version{}, e)
	}
	execute(t, path, "UPDATE toolguard_entries SET updated_at = updated_at + 3600 * 1000000000, due_at = due_at + 3600 * 1000000000")
	taken, err := j.Take(t.Context(), 10, time.Minute)
	require.NoError(t, err)
	assert.Equal(t, []string{"a"}, keys(taken))
	assert.EqualValues(t, 2, taken[0].Token)
	assert.WithinDuration(t, time.Now(), taken[0].Updated, 30*time.Second, "it is stamped anew")
	assert.Equal(t, time.Minute, taken[0].Due)
	taken, err = j.Take(t.Context(), 10, time.Minute)
	require.NoError(t, err)
	assert.Empty(t, taken)
}

// When the clock was set forward, leases are over early: who held an entry settles it
// no more, and nobody takes it for failed. What is due in a longer time stays.
func TestAClockThatWasSetForward(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	j := openAt(t, path)
	e := entry("a", toolguard.StatePending)
	e.Due = 30 * time.Second
	write(t, j, toolguard.Version{}, e)
	later := entry("later", toolguard.StatePending)
	later.Due = 5 * time.Hour
	write(t, j, toolguard.Version{}, later)
	execute(t, path, "UPDATE toolguard_entries SET updated_at = updated_at - 3600 * 1000000000, due_at = due_at - 3600 * 1000000000")
	taken, err := j.Take(t.Context(), 10, time.Minute)
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, keys(taken))
	assert.Equal(t, toolguard.StatePending, taken[0].State)
	e.State = toolguard.StateSucceeded
	now, ok, err := j.Write(t.Context(), storetest.Pending, e)
	require.NoError(t, err)
	assert.False(t, ok, "it is somebody else's")
	assert.EqualValues(t, 2, now.Token)
}

// becomeNewer is a process of the next version, on a file of this one.
func becomeNewer(j storetest.Journal) error {
	sqlite.AddMigration("ALTER TABLE toolguard_entries ADD COLUMN more TEXT NOT NULL DEFAULT 'none'")
	return storetest.Upgrade(j, func(file string) (storetest.Journal, error) { return sqlite.Open(file, nil) })
}

// A file of an older version is brought up to date by the first of several newer
// processes, with all that is in it; older ones refuse it then.
func TestOlderFilesAreMigrated(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	storetest.Upgraded(t, path, func() (storetest.Journal, error) { return sqlite.Open(path, nil) })
	assert.Equal(t, "none", text(t, path, "SELECT DISTINCT more FROM toolguard_entries"))
}
