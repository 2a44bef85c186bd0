package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/sqlite"
)

// Conflicts are each caller's own, though all share a transaction.
func TestConflictsInOneTransaction(t *testing.T) {
	t.Parallel()
	const n = 60
	path := filepath.Join(t.TempDir(), "j.db")
	j := openAt(t, path)
	before := sqlite.Commits(j)
	var won [3]atomic.Int64
	inOneTransaction(t, path, j, n, func(i int) {
		e := entry(fmt.Sprint(i%3), toolguard.StatePending)
		e.Owner = fmt.Sprint(i)
		now, ok, err := j.Write(t.Context(), toolguard.Version{}, e, toolguard.Record{Key: e.Key})
		assert.NoError(t, err)
		assert.Equal(t, e.Key, now.Key)
		if ok {
			won[i%3].Add(1)
		} else {
			assert.NotEqual(t, e.Owner, now.Owner)
		}
	})
	for i := range won {
		assert.EqualValues(t, 1, won[i].Load(), i)
	}
	records, err := j.Records(t.Context(), toolguard.RecordQuery{})
	require.NoError(t, err)
	assert.Len(t, records, 3)
	assert.LessOrEqual(t, sqlite.Commits(j)-before, int64(2), "who waits is committed together")
}

// A caller who waits no longer gets an answer soon, and takes nobody along.
func TestOneWhoLeavesTakesNobodyAlong(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	j := openAt(t, path)
	impatient, cancel := context.WithCancel(t.Context())
	defer cancel()
	var left sync.WaitGroup
	release := lock(t, path)
	var stayed sync.WaitGroup
	for i := range 20 {
		ctx, done := impatient, &left
		if i%2 == 1 {
			ctx, done = t.Context(), &stayed
		}
		done.Go(func() {
			_, ok, err := j.Write(ctx, toolguard.Version{}, entry(fmt.Sprint(i), toolguard.StatePending))
			if i%2 == 1 {
				assert.NoError(t, err)
				assert.True(t, ok)
			} else {
				assert.ErrorIs(t, err, context.Canceled)
			}
		})
	}
	require.Eventually(t, func() bool { return sqlite.Queued(j) >= 19 }, 10*time.Second, time.Millisecond)
	cancel()
	left.Wait() // while the lock is held by somebody else
	release()
	stayed.Wait()
	assert.Len(t, scan(t, j, toolguard.Query{}), 10)
}

func TestAWriterThatIsKeptOutHearsTheContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	j := openAt(t, path)
	release := lock(t, path)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, _, err := j.Write(ctx, toolguard.Version{}, entry("a", toolguard.StatePending))
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Empty(t, scan(t, j, toolguard.Query{}), "reading waits for nobody")
	_, err = sqlite.New(ctx, pool(t, path, "", "synchronous(full)"), nil)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	release()
	write(t, j, toolguard.Version{}, entry("b", toolguard.StatePending))
	assert.Equal(t, []string{"b"}, keys(scan(t, j, toolguard.Query{})), "nobody waited for the first any more")
}

func TestCloseLosesNothingThatIsQueued(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	j := openAt(t, path)
	var written atomic.Int64
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			for i := 0; ; i++ {
				_, ok, err := j.Write(context.WithoutCancel(t.Context()), toolguard.Version{}, entry(fmt.Sprint(g, "/", i), toolguard.StatePending))
				if err != nil {
					assert.ErrorIs(t, err, sqlite.ErrClosed)
					return
				}
				assert.True(t, ok)
				written.Add(1)
			}
		})
	}
	require.Eventually(t, func() bool { return written.Load() > 100 }, 10*time.Second, time.Millisecond)
	require.NoError(t, j.Close())
	all.Wait()
	require.NoError(t, j.Close())
	_, err := j.Scan(t.Context(), toolguard.Query{})
	assert.ErrorIs(t, err, sqlite.ErrClosed)
	assert.ErrorIs(t, j.Append(t.Context()), sqlite.ErrClosed)
	assert.Len(t, scan(t, openAt(t, path), toolguard.Query{Limit: 1 << 20}), int(written.Load()))
}

func TestCloseDoesNotWaitForALock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	j := openAt(t, path)
	release := lock(t, path)
	failed := make(chan error)
	for range 2 {
		go func() { failed <- j.Append(context.WithoutCancel(t.Context()), toolguard.Record{}) }()
	}
	require.Eventually(t, func() bool { return sqlite.Queued(j) == 1 }, 10*time.Second, time.Millisecond)
	go func() { failed <- j.Close() }()
	var errs []error
	for range 3 {
		errs = append(errs, <-failed)
	}
	assert.Contains(t, errs, nil, "of Close")
	assert.ErrorIs(t, errors.Join(errs...), sqlite.ErrClosed)
	release()
	assert.Empty(t, scan(t, openAt(t, path), toolguard.Query{}))
}

// Several goroutines and processes may find an empty file at the same time.
func TestOpenedByManyAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			j, err := sqlite.Open(path, nil)
			if assert.NoError(t, err) {
				assert.NoError(t, j.Append(context.WithoutCancel(t.Context()), toolguard.Record{Attempt: i}))
				assert.NoError(t, j.Close())
			}
		})
	}
	all.Wait()
	records, err := openAt(t, path).Records(t.Context(), toolguard.RecordQuery{})
	require.NoError(t, err)
	assert.Len(t, records, 12)
}
