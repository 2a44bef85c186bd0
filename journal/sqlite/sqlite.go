// Package sqlite keeps a [toolguard.Journal] in an SQLite file: for one machine,
// with any number of processes on the file, and readable with any SQLite tool.
// [Open] uses a driver without cgo; [New] takes whatever *sql.DB the host has.
//
// A write is acknowledged when it is on the disk: the file is in WAL mode with
// synchronous=FULL, and one that is not is refused. One goroutine writes. It
// commits everything that waits in one transaction, at once, so that many writers
// share one sync and a single one waits for nobody. Processes take turns by asking
// for the file's lock again and again: a few get along, a cluster needs
// journal/postgres.
//
// Instants are of the machine's clock. When that is set back by more than what an
// entry is due after, the entry is due at once.
//
// The views toolguard_journal and toolguard_audit show all that is stored. SQLite
// keeps a file safe on a local disk, not on a network share.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/toolguard-go/toolguard"
)

// Options are choices that most hosts leave alone. Nil and zero are safe.
type Options struct {
	// Readers is how many connections read, beside the one that writes. If zero, 4.
	Readers int
}

// ErrPoisoned says that a commit has failed in a way that leaves open what is on
// the disk. The journal writes no more, because a sync that is tried again may
// report what is not true. It still reads. Find out what is wrong with the disk,
// then open the file anew.
var ErrPoisoned = errors.New("toolguard/sqlite: the journal writes no more since a commit failed")

// ErrClosed is returned by a journal after Close.
var ErrClosed = errors.New("toolguard/sqlite: the journal is closed")

// Journal is a [toolguard.Journal] in an SQLite file. It may be used concurrently.
type Journal struct {
	writer  *writer
	readers *readers
	release func() error
}

var _ toolguard.Journal = (*Journal)(nil)

// patience is how long Open waits for other processes that hold the file.
const patience = 15 * time.Second

// Open opens the journal in the file at path, and makes it if there is none. The
// directory has to exist. It refuses a file that is damaged, that belongs to
// another program, or that a newer version of this package has written. It waits
// up to 15 s for another process that holds the file. The caller closes the
// journal.
func Open(path string, opts *Options) (*Journal, error) {
	if path == "" {
		return nil, errors.New("toolguard/sqlite: the path is empty")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	db, err := openFile(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("toolguard/sqlite: open %q: %w", path, err)
	}
	j, err := start(ctx, db, opts, db.Close)
	if err != nil {
		return nil, fmt.Errorf("toolguard/sqlite: open %q: %w", path, errors.Join(err, db.Close()))
	}
	return j, nil
}

// New keeps the journal in db, beside whatever else is there, in tables whose
// names begin with toolguard_. It refuses a db whose connections are not in WAL
// mode with synchronous=FULL. That is up to the data source name:
//
//	modernc.org/sqlite           file:j.db?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)
//	github.com/mattn/go-sqlite3  file:j.db?_busy_timeout=5000&_journal_mode=WAL&_synchronous=FULL
//	github.com/ncruces/go-sqlite3  as modernc.org/sqlite
//
// It keeps up to 1 + Options.Readers connections of db until Close, at least two,
// and leaves db open.
func New(ctx context.Context, db *sql.DB, opts *Options) (*Journal, error) {
	j, err := start(ctx, db, opts, func() error { return nil })
	if err != nil {
		return nil, fmt.Errorf("toolguard/sqlite: %w", err)
	}
	return j, nil
}

const defaultReaders = 4

func start(ctx context.Context, db *sql.DB, opts *Options, release func() error) (*Journal, error) {
	n := defaultReaders
	if opts != nil && opts.Readers != 0 {
		n = opts.Readers
	}
	if n < 0 {
		return nil, fmt.Errorf("Options.Readers %d is below zero", n)
	}
	switch most := db.Stats().MaxOpenConnections; {
	case most == 1:
		return nil, errors.New("the database allows one connection, want two or more: see SetMaxOpenConns")
	case most > 1:
		n = min(n, most-1)
	}
	w, err := startWriter(ctx, db)
	if err != nil {
		return nil, err
	}
	return &Journal{writer: w, readers: newReaders(db, n), release: release}, nil
}

// Close waits for what is being written, refuses everything else from then on, and
// gives the connections back. It may be called more than once.
func (j *Journal) Close() error {
	err := j.writer.close()
	return errors.Join(err, j.readers.close(), j.release())
}

// Durability implements [toolguard.Journal].
func (j *Journal) Durability() toolguard.Durability { return toolguard.DurabilityDisk }

// Write implements [toolguard.Journal].
func (j *Journal) Write(ctx context.Context, was toolguard.Version, e toolguard.Entry, records ...toolguard.Record) (now toolguard.Entry, ok bool, err error) {
	if err := e.Check(); err != nil {
		return toolguard.Entry{}, false, err
	}
	row, err := rowOf(&e)
	if err != nil {
		return toolguard.Entry{}, false, err
	}
	lines, err := linesOf(records)
	if err != nil {
		return toolguard.Entry{}, false, err
	}
	r := new(replacement)
	err = j.writer.do(ctx, func(t *transaction) error {
		var err error
		if *r, err = t.replace(was, row); err != nil || !r.ok {
			return err
		}
		return t.append(lines)
	})
	switch {
	case err != nil: // the transaction may still be going on, and write to r
		return toolguard.Entry{}, false, err
	case r.ok:
		e.Created, e.Updated, e.Read = instant(r.created), instant(r.at), instant(r.at)
		return e, true, nil
	case r.there == nil:
		return toolguard.Entry{}, false, nil
	}
	now, err = r.there.entry(r.at)
	return now, false, err
}

// Append implements [toolguard.Journal].
func (j *Journal) Append(ctx context.Context, records ...toolguard.Record) error {
	lines, err := linesOf(records)
	if err != nil {
		return err
	}
	return j.writer.do(ctx, func(t *transaction) error { return t.append(lines) })
}

// Take implements [toolguard.Journal].
func (j *Journal) Take(ctx context.Context, n int, hold time.Duration) ([]toolguard.Entry, error) {
	var taken struct {
		rows []*row
		at   int64
	}
	err := j.writer.do(ctx, func(t *transaction) (err error) {
		taken.at = t.at
		taken.rows, err = t.take(n, hold)
		return err
	})
	if err != nil {
		return nil, err
	}
	return entries(taken.rows, taken.at)
}

// instant is the reverse of time.Time.UnixNano.
func instant(ns int64) time.Time { return time.Unix(0, ns).UTC() }
