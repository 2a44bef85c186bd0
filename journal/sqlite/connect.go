package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // the driver Open uses
)

// source is what Open opens a file with. Durability is a matter of each
// connection. SQLite waits but briefly for a lock, because whenFree and the writer
// ask again more fairly. The last two settings are for macOS, where a sync is otherwise not
// one; elsewhere they say nothing.
func source(path string) string {
	pragmas := url.Values{"_pragma": {"busy_timeout(5)", "synchronous(full)", "fullfsync(1)", "checkpoint_fullfsync(1)"}}
	return "file:" + url.PathEscape(path) + "?" + pragmas.Encode()
}

// openFile opens a file that is this package's own, or empty, and puts it into WAL
// mode.
func openFile(ctx context.Context, path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", source(path))
	if err != nil {
		return nil, err
	}
	if err := own(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	err = whenFree(ctx, func() error {
		_, err := db.ExecContext(ctx, "PRAGMA journal_mode = WAL")
		return err
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// own refuses the file of another program, before anything in it is changed.
func own(ctx context.Context, db *sql.DB) error {
	var tables []string
	err := whenFree(ctx, func() (err error) {
		tables, err = column(ctx, db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
		return err
	})
	if err != nil {
		return err
	}
	if len(tables) > 0 && !slices.Contains(tables, "toolguard_schema") {
		return fmt.Errorf("the file belongs to another program: it has a table %q and no journal; New can put one beside it", tables[0])
	}
	return nil
}

func column(ctx context.Context, db *sql.DB, query string) (values []string, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, rows.Err()
}

// held is a connection that this package keeps to itself, with the statements it
// has prepared.
type held struct {
	*sql.Conn
	statements map[string]*sql.Stmt
}

// hold takes a connection out of the pool, if it keeps what is committed.
func hold(ctx context.Context, db *sql.DB) (*held, error) {
	var conn *sql.Conn
	err := whenFree(ctx, func() (err error) {
		conn, err = db.Conn(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := durable(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &held{Conn: conn, statements: map[string]*sql.Stmt{}}, nil
}

const full = 2 // of PRAGMA synchronous; 3 is more than that

func durable(ctx context.Context, conn *sql.Conn) error {
	var mode string
	var level int
	err := whenFree(ctx, func() error {
		return errors.Join(
			conn.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode),
			conn.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&level))
	})
	switch {
	case err != nil:
		return err
	case !strings.EqualFold(mode, "wal"):
		return fmt.Errorf("PRAGMA journal_mode is %q, want \"wal\": the database has to be a file, opened in that mode", mode)
	case level < full:
		return fmt.Errorf("PRAGMA synchronous is %d, want %d (FULL): what is committed would be lost with the power", level, full)
	}
	return nil
}

// mostStatements is more than a program has different questions.
const mostStatements = 100

// prepared returns the statement, which stays prepared: until the connection goes,
// or there are too many.
func (h *held) prepared(query string) (*sql.Stmt, error) {
	if s := h.statements[query]; s != nil {
		return s, nil
	}
	if len(h.statements) == mostStatements {
		if err := h.forget(); err != nil {
			return nil, err
		}
	}
	s, err := h.PrepareContext(context.Background(), query)
	if err == nil {
		h.statements[query] = s
	}
	return s, err
}

func (h *held) forget() error {
	var errs []error
	for _, s := range h.statements {
		errs = append(errs, s.Close())
	}
	clear(h.statements)
	return errors.Join(errs...)
}

// run runs a statement, prepared once. It hears no context: a transaction is many
// callers' work.
func (h *held) run(query string, args ...any) (sql.Result, error) {
	s, err := h.prepared(query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(context.Background(), bound(args)...)
}

// exec returns how many rows the statement has changed.
func (h *held) exec(query string, args ...any) (changed int64, err error) {
	r, err := h.run(query, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// rows reads entries with a statement, prepared once.
func (h *held) rows(ctx context.Context, query string, args ...any) ([]*row, error) {
	s, err := h.prepared(query)
	if err != nil {
		return nil, err
	}
	return read(s.QueryContext(ctx, args...))
}

// bound takes the values out of what row.values and line.values point to.
func bound(args []any) []any {
	for i, a := range args {
		switch a := a.(type) {
		case *string:
			args[i] = *a
		case *int64:
			args[i] = *a
		}
	}
	return args
}

func (h *held) close() error { return errors.Join(h.forget(), h.Conn.Close()) }
