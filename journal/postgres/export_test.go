package postgres

import (
	"context"

	"github.com/toolguard-go/toolguard"
)

// Bare is a write with one record as SQL and its parameters.
func Bare(j *Journal, was toolguard.Version, e toolguard.Entry, r toolguard.Record) (query string, args []any, err error) {
	args, err = writeArgs(e, []toolguard.Record{r})
	if was == (toolguard.Version{}) {
		return j.sql.one.insert, args, err
	}
	return j.sql.one.replace, append(args, int64(was.Token), was.State.String()), err
}

// Spell and Unspell are what keeps strange text.
var Spell, Unspell = spell, unspell

// AddMigration makes this process one of a newer version.
func AddMigration(statements string) { migrations = append(migrations, statements) }

// Setting is what the server has for one of the journal's connections.
func Setting(ctx context.Context, j *Journal, name string) (value string, err error) {
	err = j.pool.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&value)
	return value, err
}
