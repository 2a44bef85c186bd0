package main

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/observe/eventstore/dial"
)

// openers are all subcommands that open a journal, with what they need beside it.
func openers(t *testing.T) map[string][]string {
	t.Helper()
	store := filepath.Join(t.TempDir(), "events.db")
	s, err := dial.Open(t.Context(), store)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	return map[string][]string{
		"proxy":  {"proxy", "-journal", "J", "--", "cat"},
		"list":   {"journal", "list", "-journal", "J"},
		"show":   {"journal", "show", "-journal", "J", "abcd"},
		"decide": {"journal", "decide", "-journal", "J", "-by", "ann", "abort", "abcd"},
		"export": {"journal", "export", "-journal", "J"},
		"prune":  {"journal", "prune", "-journal", "J"},
		"report": {"report", "-store", store, "-journal", "J"},
		"trace":  {"trace", "-store", store, "-journal", "J", "abcd"},
	}
}

// Every subcommand says what is wrong with a journal, names the file, prints no
// result and serves nothing, with the exit code that the paper has for it.
func TestJournalsThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path func(t *testing.T) string
		want string
	}{
		"of a newer version": {newer, "it needs a newer toolguard"},
		"of another program": {foreign, "belongs to another program"},
		"no database":        {func(t *testing.T) string { return file(t, strings.Repeat("no database at all. ", 100)) }, "not a database"},
		"nowhere":            {func(t *testing.T) string { return filepath.Join(t.TempDir(), "no", "such", "j.db") }, "j.db"},
		"a directory":        {func(t *testing.T) string { return t.TempDir() }, "toolguard/sqlite: open"},
	} {
		for command, args := range openers(t) {
			t.Run(name+"/"+command, func(t *testing.T) {
				t.Parallel()
				opens(t, c.path(t), args, c.want)
			})
		}
	}
}

// A journal that somebody holds is waited for, 15 s and no longer.
func TestAJournalThatIsHeld(t *testing.T) {
	t.Parallel()
	path := held(t)
	var all sync.WaitGroup
	for _, args := range openers(t) {
		all.Go(func() { opens(t, path, args, "another process held the file") })
	}
	all.Wait()
}

// opens runs a subcommand on a journal that it cannot open.
func opens(t *testing.T, path string, args []string, want string) {
	t.Helper()
	args = slices.Clone(args)
	args[slices.Index(args, "J")] = path
	code, out, errs := invoke(t, "", args...)
	assert.Equal(t, exitFailure, code, errs)
	assert.Contains(t, errs, path)
	assert.Contains(t, errs, want)
	assert.Empty(t, out)
	assert.Equal(t, 1, strings.Count(errs, "\n"), errs)
}

func edit(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = db.Exec(statement)
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

func newer(t *testing.T) string {
	path := journalFile(t)
	edit(t, path, "UPDATE toolguard_schema SET version = 999")
	return path
}

func foreign(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "other.db")
	edit(t, path, "CREATE TABLE invoices (n INTEGER)")
	return path
}

// held is a journal that somebody else is writing to until the test ends.
func held(t *testing.T) string {
	path := journalFile(t)
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = conn.Close()
		assert.NoError(t, db.Close())
	})
	return path
}

// Approvals have to wait somewhere.
func TestApprovalsWantAJournal(t *testing.T) {
	t.Parallel()
	code, _, errs := invoke(t, "", "proxy", "-config", file(t, `{"version":1,"mcp":{"tools":{"pay":{"approve":true}}}}`), "--", "cat")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, "want -journal")
}
