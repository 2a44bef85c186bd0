package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed schema.sql
var schema1 string

// migrations lead from one version of the tables to the next; the first makes
// version 1. One that has been released is never changed.
var migrations = []string{schema1}

// part is the row of toolguard_schema that counts the journal's versions. What else
// toolguard keeps in a schema has rows of its own.
const part = "journal"

// migrate brings the tables up to date. Where they are, it needs no right to make any.
func migrate(ctx context.Context, c *pgxpool.Conn, schema string) error {
	have, err := version(ctx, c, schema)
	if err != nil || have == len(migrations) {
		return err
	}
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		// Of several processes one does it, and the others find it done.
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", lockOf(schema, "schema")); err != nil {
			return err
		}
		have, err := version(ctx, tx, schema)
		if err != nil || have == len(migrations) {
			return err
		}
		return advance(ctx, tx, schema, have)
	})
}

type querier interface {
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}

// version is 0 where there is no journal.
func version(ctx context.Context, q querier, schema string) (have int, err error) {
	table := pgx.Identifier{schema, "toolguard_schema"}.Sanitize()
	// Not to_regclass: a session that has looked before does not hear of a schema that
	// was made while it waited for the lock.
	var there bool
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = 'toolguard_schema')`, schema).Scan(&there)
	if err != nil || !there {
		return 0, err
	}
	err = q.QueryRow(ctx, "SELECT version FROM "+table+" WHERE part = $1", part).Scan(&have)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, nil
	case err == nil && (have < 1 || have > len(migrations)):
		return 0, fmt.Errorf("the tables in schema %q have version %d, and this program knows up to %d: it needs a newer toolguard", schema, have, len(migrations))
	}
	return have, err
}

const duplicateTable = "42P07"

// advance runs the migrations that are missing.
func advance(ctx context.Context, tx pgx.Tx, schema string, have int) error {
	name := pgx.Identifier{schema}.Sanitize()
	var there bool
	if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", schema).Scan(&there); err != nil {
		return err
	}
	statements := []string{"SET LOCAL search_path TO " + name}
	if !there { // IF NOT EXISTS asks for the right to create one in any case
		statements = append([]string{"CREATE SCHEMA " + name}, statements...)
	}
	statements = append(statements, "CREATE TABLE IF NOT EXISTS toolguard_schema (part text PRIMARY KEY, version integer NOT NULL)")
	statements = append(statements, migrations[have:]...)
	for _, s := range statements {
		if _, err := tx.Conn().PgConn().Exec(ctx, s).ReadAll(); err != nil {
			return whose(err, schema)
		}
	}
	_, err := tx.Exec(ctx, "INSERT INTO toolguard_schema (part, version) VALUES ($1, $2) ON CONFLICT (part) DO UPDATE SET version = EXCLUDED.version", part, len(migrations))
	return err
}

// whose explains that a table is there which no journal has made.
func whose(err error, schema string) error {
	var answer *pgconn.PgError
	if errors.As(err, &answer) && answer.Code == duplicateTable {
		return fmt.Errorf("schema %q has tables of another program by the journal's names, choose another in Options.Schema: %w", schema, err)
	}
	return err
}
