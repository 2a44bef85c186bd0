package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// What SQLite says of a failure, by the words of its own that every driver begins
// its message with: they have no error type in common.
const (
	saysBusy   = "database is locked"
	saysLocked = "database table is locked"
	saysFull   = "database or disk is full"
	saysIO     = "disk I/O error"
	saysBroken = "database disk image is malformed"
	saysNotDB  = "file is not a database"
)

func says(err error, words ...string) bool {
	if err == nil {
		return false
	}
	text := strings.TrimPrefix(err.Error(), "sqlite3: ")
	for _, w := range words {
		if strings.HasPrefix(text, w) {
			return true
		}
	}
	return false
}

// busy: another connection holds what this one needs, and will give it back.
func busy(err error) bool { return says(err, saysBusy, saysLocked) }

// damaged: nothing that is written from here on can be relied on.
func damaged(err error) bool { return says(err, saysIO, saysBroken, saysNotDB) }

// unsure reports whether a commit that failed may have left anything behind. One
// for which there was no room has not.
func unsure(err error) bool { return err != nil && !says(err, saysBusy, saysLocked, saysFull) }

// pause is how long to wait before asking for a lock again. SQLite's own handler
// waits ever longer, and starves beside a process that keeps asking.
const pause = time.Millisecond

// whenFree calls f until it no longer finds the file busy.
func whenFree(ctx context.Context, f func() error) error {
	for waited := false; ; waited = true {
		err := f()
		switch {
		case err != nil && waited && ctx.Err() != nil:
			return fmt.Errorf("another process held the file: %w", ctx.Err())
		case !busy(err):
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// named says which package an error comes from. A context's own passes as it is.
func named(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("toolguard/sqlite: %w", err)
}
