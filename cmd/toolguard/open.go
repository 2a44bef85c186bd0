package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/postgres"
	"github.com/toolguard-go/toolguard/journal/sqlite"
)

// openedJournal is a journal that has to be closed.
type openedJournal interface {
	toolguard.Journal
	io.Closer
}

// storeUsage says what -journal takes, of commands on a journal that is there.
const storeUsage = "the `store`: a SQLite file, or postgres://…, with ?search_path=NAME if its schema is not public"

// openJournal opens a journal that is there already, by the name of its store. It
// makes none.
func openJournal(ctx context.Context, name string) (openedJournal, error) {
	if strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://") {
		return openPostgres(ctx, name)
	}
	if _, err := os.Stat(name); err != nil {
		return nil, err
	}
	return sqlite.Open(name, nil)
}

func openPostgres(ctx context.Context, dsn string) (openedJournal, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, errors.New("-journal: this is no URL of a PostgreSQL server") // it may have a password in it
	}
	schema := u.Query().Get("search_path")
	if schema == "" {
		schema = "public"
	}
	switch there, err := hasJournal(ctx, dsn, schema); {
	case err != nil:
		return nil, err
	case !there:
		return nil, fmt.Errorf("there is no journal in the schema %q of %s: another one is named by ?search_path=NAME", schema, u.Redacted())
	}
	return postgres.Open(ctx, dsn, &postgres.Options{Schema: schema})
}

// hasJournal looks before the journal is opened, which would make its tables.
func hasJournal(ctx context.Context, dsn, schema string) (there bool, err error) {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return false, err
	}
	defer db.Close()
	const look = "SELECT EXISTS (SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = 'toolguard_entries')"
	err = db.QueryRowContext(ctx, look, schema).Scan(&there)
	return there, err
}
