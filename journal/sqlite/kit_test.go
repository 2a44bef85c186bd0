package sqlite_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/journal/sqlite"
)

func newPath(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "journal.db")
}

func openAt(t testing.TB, path string) *sqlite.Journal {
	t.Helper()
	j, err := sqlite.Open(path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, j.Close()) })
	return j
}

func openNew(t testing.TB) *sqlite.Journal {
	t.Helper()
	return openAt(t, newPath(t))
}

func middle(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
