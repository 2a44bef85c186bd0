package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
)

//go:embed schema.sql
var schema1 string

// migrations lead from one version of the schema to the next; the first makes
// version 1. One that has been released is never changed.
var migrations = []string{schema1}

// part is the row of toolguard_schema that counts the journal's versions. What else
// toolguard keeps in a file has rows of its own.
const part = "journal"

// migrate brings the tables up to date. Of several processes that open a file, one
// does. It writes in any case: a file that cannot be written is refused here.
func migrate(ctx context.Context, h *held) error {
	return h.immediately(ctx, func() error {
		have, err := version(ctx, h)
		switch {
		case err != nil:
			return err
		case have < 0 || have > len(migrations):
			return fmt.Errorf("the journal's schema has version %d, and this program knows up to %d: it needs a newer toolguard", have, len(migrations))
		}
		for _, statements := range migrations[have:] {
			if _, err := h.ExecContext(ctx, statements); err != nil {
				return err
			}
		}
		_, err = h.ExecContext(ctx, "INSERT INTO toolguard_schema (part, version) VALUES (?, ?) ON CONFLICT (part) DO UPDATE SET version = excluded.version", part, len(migrations))
		return err
	})
}

// version is 0 for a file without a journal.
func version(ctx context.Context, h *held) (v int, err error) {
	if _, err := h.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS toolguard_schema (part TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT"); err != nil {
		return 0, err
	}
	err = h.QueryRowContext(ctx, "SELECT version FROM toolguard_schema WHERE part = ?", part).Scan(&v)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return v, err
}

// immediately runs f in a transaction that has the file's write lock from the
// start: one that asks for it halfway may find that it has read what is no longer so.
func (h *held) immediately(ctx context.Context, f func() error) error {
	err := whenFree(ctx, func() error {
		_, err := h.ExecContext(ctx, "BEGIN IMMEDIATE")
		return err
	})
	if err != nil {
		return err
	}
	if err := f(); err != nil {
		_, _ = h.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") // err says more
		return err
	}
	_, err = h.ExecContext(ctx, "COMMIT")
	return err
}
