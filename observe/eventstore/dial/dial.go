// Package dial opens stores by name, with drivers for both databases. A program
// that has its own *sql.DB needs only package eventstore.
package dial

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // driver pgx
	_ "modernc.org/sqlite"             // driver sqlite

	"github.com/toolguard-go/toolguard/observe/eventstore"
)

// Open returns the store in a SQLite file, or in PostgreSQL if the name begins
// with postgres:// or postgresql://. It makes what does not exist.
func Open(ctx context.Context, name string) (*eventstore.DB, error) {
	return open(ctx, name, "rwc", eventstore.New)
}

// Read returns the store for reading. It makes nothing: what does not exist is an
// error, [eventstore.ErrEmpty] where there is a database without events.
func Read(ctx context.Context, name string) (*eventstore.DB, error) {
	if !postgres(name) {
		if err := readable(name); err != nil {
			return nil, err
		}
	}
	return open(ctx, name, "ro", eventstore.ReadOnly)
}

// readable looks without opening: where a process has a SQLite file open, closing
// it by other means gives up SQLite's locks.
func readable(name string) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return fmt.Errorf("eventstore: %w", err)
	case info.IsDir():
		return fmt.Errorf("eventstore: %s is a directory", name)
	}
	return nil
}

func postgres(name string) bool {
	return strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://")
}

type opener = func(context.Context, *sql.DB, eventstore.Dialect) (*eventstore.DB, error)

func open(ctx context.Context, name, mode string, use opener) (*eventstore.DB, error) {
	driver, dsn, dialect := "pgx", name, eventstore.PostgreSQL
	if !postgres(name) {
		if name == "" {
			return nil, errors.New("eventstore: the name of the store is empty")
		}
		driver, dsn, dialect = "sqlite", file(name, mode), eventstore.SQLite
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, fmt.Errorf("eventstore: %w", hide(err, name))
	}
	store, err := use(ctx, db, dialect)
	if err != nil {
		db.Close()
		return nil, hide(err, name)
	}
	return store, nil
}

// file names a SQLite file. Write-ahead logging lets a report read while a program
// writes; of what the machine's power loss takes, the events are the least.
func file(name, mode string) string {
	q := url.Values{"mode": {mode}, "_pragma": {"busy_timeout(5000)"}}
	if mode == "rwc" {
		q["_pragma"] = append(q["_pragma"], "auto_vacuum(2)", "journal_mode(WAL)", "synchronous(NORMAL)")
		q.Set("_txlock", "immediate")
	}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: name}).EscapedPath(), RawQuery: q.Encode()}).String()
}

// hide keeps a password in the name of a store out of errors. Where none is in it the
// error says what is wrong.
func hide(err error, name string) error {
	if !postgres(name) {
		return err
	}
	u, unread := url.Parse(name)
	if unread == nil {
		secret, given := u.User.Password()
		if !given || secret == "" || !strings.Contains(err.Error(), secret) && !strings.Contains(err.Error(), u.User.String()) {
			return err
		}
	}
	return errors.New("eventstore: the PostgreSQL store cannot be opened by this name")
}
