package toolguard_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// stored puts a new entry into a journal, and says whether it was taken.
func stored(t testing.TB, j toolguard.Journal, key, group string, s toolguard.State) error {
	t.Helper()
	_, ok, err := j.Write(context.Background(), toolguard.Version{}, toolguard.Entry{Key: key, Group: group, Tool: "pay", State: s})
	require.Equal(t, err == nil, ok)
	return err
}

// keysOf are the keys of the entries that a query finds.
func keysOf(t testing.TB, j toolguard.Journal, q toolguard.Query) (keys []string) {
	t.Helper()
	found, err := j.Scan(context.Background(), q)
	require.NoError(t, err)
	for _, e := range found {
		keys = append(keys, e.Key)
	}
	return keys
}

func scanOne(t testing.TB, j toolguard.Journal, key string) toolguard.Entry {
	t.Helper()
	found, err := j.Scan(context.Background(), toolguard.Query{Key: key})
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}

// One that failed and is claimed anew is there once.
func TestAnEntryIsOpenOrSettled(t *testing.T) {
	t.Parallel()
	j := toolguard.NewMemoryJournal()
	require.NoError(t, stored(t, j, "k", "g", toolguard.StateFailed))
	e := scanOne(t, j, "k")
	was := e.Version()
	e.State, e.Token = toolguard.StatePending, e.Token+1
	_, ok, err := j.Write(context.Background(), was, e)
	require.True(t, ok && err == nil)
	assert.Equal(t, []string{"k"}, keysOf(t, j, toolguard.Query{}))
	n, err := j.Prune(context.Background(), 0)
	require.NoError(t, err)
	assert.Zero(t, n, "it is not settled any more")
}

// The short way to one entry finds what the long way finds.
func TestShortWaysOfScan(t *testing.T) {
	t.Parallel()
	j := toolguard.NewMemoryJournal()
	for _, key := range []string{"a1", "a2", "b1"} {
		require.NoError(t, stored(t, j, key, key[:1], toolguard.StateSucceeded))
	}
	for want, q := range map[string]toolguard.Query{
		"b1": {Limit: 1},
		"a2": {Group: "a", Limit: 1},
		"a1": {Group: "a", Limit: 1, Skip: 1},
		"":   {Key: "a1", Group: "b", Limit: 1},
		// With a key the group says nothing new.
		"a1 ": {Key: "a1", Group: "a", Limit: 1},
		"a2 ": {Group: "a", Limit: 1, Skip: -1},
	} {
		assert.Equal(t, strings.TrimSpace(want), strings.Join(keysOf(t, j, q), " "), "%+v", q)
	}
}

// What is exactly as old as was said goes.
func TestPruneCountsTheInstant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := toolguard.NewMemoryJournal()
		require.NoError(t, stored(t, j, "k", "g", toolguard.StateSucceeded))
		require.NoError(t, j.Append(context.Background(), toolguard.Record{Key: "of no entry"}))
		time.Sleep(minute)
		n, err := j.Prune(context.Background(), minute+1)
		require.NoError(t, err)
		assert.Zero(t, n)
		assert.Len(t, recordsOf(t, j, "of no entry"), 1)
		n, err = j.Prune(context.Background(), minute)
		require.NoError(t, err)
		assert.Equal(t, 1, n)
		assert.Empty(t, recordsOf(t, j, "of no entry"))
	})
}

// A write that is refused says so, and what is there.
func TestWritesThatAreRefused(t *testing.T) {
	t.Parallel()
	j := toolguard.NewMemoryJournal()
	require.NoError(t, stored(t, j, "k", "g", toolguard.StatePending))
	e := scanOne(t, j, "k")
	e.Key = "missing"
	now, ok, err := j.Write(context.Background(), e.Version(), e)
	assert.Equal(t, []any{toolguard.Entry{}, false, nil}, []any{now, ok, err}, "there is no such entry")
	e.Key = "k"
	now, ok, err = j.Write(context.Background(), toolguard.Version{}, e)
	assert.NoError(t, err)
	assert.False(t, ok)
	assert.Equal(t, "k", now.Key)
	_, ok, err = j.Write(context.Background(), toolguard.Version{}, toolguard.Entry{})
	assert.Error(t, err)
	assert.False(t, ok)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_, ok, err = j.Write(ended, e.Version(), e)
	assert.ErrorIs(t, err, context.Canceled)
	assert.False(t, ok)
}
