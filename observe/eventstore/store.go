// Package eventstore keeps events of guarded calls in SQLite or PostgreSQL, beside
// the journal or alone: those of calls that failed, were refused, ended unknown or
// had more to tell than a plain success, redacted and for a limited time; and for
// every minute the counts of all.
//
//	store, err := dial.Open(ctx, "events.db")
//	…
//	recorder, err := eventstore.NewRecorder(store, nil)
//	…
//	opts.Observer = recorder
//
// It may lose events under pressure, and counts them; what must not be lost is the
// journal's. Package report reads what is kept.
package eventstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Store keeps records and counts. Implementations may be used concurrently, also
// by several processes.
type Store interface {
	// Write adds records, and adds to the counts, all or nothing.
	Write(ctx context.Context, records []Record, counts []*Rollup) error
	// Prune deletes what is older than before, and the oldest records beyond
	// maxBytes. It returns how many records it deleted.
	Prune(ctx context.Context, before time.Time, maxBytes int64) (int, error)
	// Records returns the records the query asks for, the newest first.
	Records(ctx context.Context, q Query) ([]Record, error)
	// Rollups returns the counts of the minutes from the one from is in on, that
	// begin before to, in no order.
	Rollups(ctx context.Context, from, to time.Time) ([]Rollup, error)
	// Close closes it.
	Close() error
}

// Query says which records [Store.Records] returns: those that have all of what
// is set.
type Query struct {
	// From and To bound Time: from From on, before To. If zero, no bound.
	From, To time.Time
	// Ref and Within are those of records.
	Ref, Within uint64
	// Any is a call ID, key, incident, digest, or run and step joined by a slash.
	Any string
	// Prefix is the beginning of a key or a call ID. All records are looked at.
	Prefix string
	// Limit bounds the answer. If zero, 1000.
	Limit int
}

// Version is that of the tables this package writes.
const Version = 1

// ErrVersion says that a store was written by a version this one does not know.
var ErrVersion = errors.New("eventstore: the store has an unknown version")

// ErrEmpty says that a database holds no tables of this package.
var ErrEmpty = errors.New("eventstore: there are no events in this database")

// Dialect is the SQL a database speaks.
type Dialect uint8

const (
	// SQLite is for one machine.
	SQLite Dialect = iota
	// PostgreSQL is for many.
	PostgreSQL
)

// DB is a [Store] in a database. Make one with [New] or [ReadOnly].
type DB struct {
	db      *sql.DB
	dialect Dialect
}

var _ Store = (*DB)(nil)

// New returns a store in db, and makes its tables if there are none. Their names
// begin with toolguard_event: they may stand beside those of a journal. Closing
// the store closes db. Connections of SQLite need a busy timeout.
func New(ctx context.Context, db *sql.DB, d Dialect) (*DB, error) {
	s := &DB{db, d}
	if err := s.checkVersion(ctx); !errors.Is(err, ErrEmpty) {
		return s, err // tables of another version stay as they are
	}
	if err := s.migrate(ctx); err != nil {
		return nil, err
	}
	return s, s.checkVersion(ctx)
}

// ReadOnly returns a store in db that changes nothing. The error is [ErrEmpty] if
// db has no tables of this package, [ErrVersion] if it does not know them.
func ReadOnly(ctx context.Context, db *sql.DB, d Dialect) (*DB, error) {
	s := &DB{db, d}
	return s, s.checkVersion(ctx)
}

// Close implements [Store].
func (s *DB) Close() error { return s.db.Close() }

func (s *DB) checkVersion(ctx context.Context) error {
	exists := `SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'toolguard_event_version'`
	if s.dialect == PostgreSQL {
		exists = `SELECT COUNT(to_regclass('toolguard_event_version'))`
	}
	var n int
	if err := s.db.QueryRowContext(ctx, exists).Scan(&n); err != nil {
		return fmt.Errorf("eventstore: %w", err)
	}
	if n == 0 {
		return ErrEmpty
	}
	var version int
	if err := s.db.QueryRowContext(ctx, `SELECT MAX(version) FROM toolguard_event_version`).Scan(&version); err != nil {
		return fmt.Errorf("%w: %v", ErrVersion, err)
	}
	if version != Version {
		return fmt.Errorf("%w: it is %d, this program knows %d", ErrVersion, version, Version)
	}
	return nil
}

// migrate makes the tables. Of several processes that do, one does.
func (s *DB) migrate(ctx context.Context) error {
	return s.within(ctx, func(tx *sql.Tx) error {
		if s.dialect == PostgreSQL {
			if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(7316884261)`); err != nil {
				return err
			}
		}
		for _, statement := range s.schema() {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *DB) schema() []string {
	serial, bytes := "INTEGER PRIMARY KEY", "BLOB"
	if s.dialect == PostgreSQL {
		serial, bytes = "BIGSERIAL PRIMARY KEY", "BYTEA"
	}
	statements := []string{
		`CREATE TABLE IF NOT EXISTS toolguard_event_version (version INTEGER NOT NULL)`,
		fmt.Sprintf(`INSERT INTO toolguard_event_version SELECT %d WHERE NOT EXISTS (SELECT 1 FROM toolguard_event_version)`, Version),
		`CREATE TABLE IF NOT EXISTS toolguard_event_records (
			id ` + serial + `, at BIGINT NOT NULL, ref BIGINT NOT NULL, within BIGINT NOT NULL,
			call_id TEXT, call_key TEXT, incident TEXT, digest TEXT, step TEXT,
			size BIGINT NOT NULL, body TEXT NOT NULL)`,
		`CREATE TABLE IF NOT EXISTS toolguard_event_counts (
			minute BIGINT NOT NULL, tool TEXT NOT NULL, ok BIGINT NOT NULL, category TEXT NOT NULL, code TEXT NOT NULL,
			outcome TEXT NOT NULL, decision TEXT NOT NULL,
			calls BIGINT NOT NULL, attempts BIGINT NOT NULL, retries BIGINT NOT NULL, took ` + bytes + ` NOT NULL,
			PRIMARY KEY (minute, tool, ok, code, outcome, decision, category))`,
		`CREATE INDEX IF NOT EXISTS toolguard_event_at ON toolguard_event_records (at, size)`,
		`CREATE INDEX IF NOT EXISTS toolguard_event_ref ON toolguard_event_records (ref)`,
	}
	for _, column := range []string{"call_id", "call_key", "incident", "digest", "step"} {
		statements = append(statements, fmt.Sprintf(
			`CREATE INDEX IF NOT EXISTS toolguard_event_%[1]s ON toolguard_event_records (%[1]s) WHERE %[1]s IS NOT NULL`, column))
	}
	return statements
}

func (s *DB) within(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("eventstore: %w", err)
	}
	defer tx.Rollback() // does nothing after Commit
	if err := f(tx); err != nil {
		return fmt.Errorf("eventstore: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("eventstore: %w", err)
	}
	return nil
}
