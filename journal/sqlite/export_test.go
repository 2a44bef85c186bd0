package sqlite

import (
	"context"
	"database/sql"

	"github.com/toolguard-go/toolguard"
)

// ReadFrom has the journal open further reading connections from another pool.
func ReadFrom(j *Journal, db *sql.DB) {
	n := cap(j.readers.idle)
	_ = j.readers.close()
	j.readers = newReaders(db, n)
}

// Set changes a setting of the writing connection, while nobody writes.
func Set(ctx context.Context, j *Journal, pragma string) error {
	_, err := j.writer.conn.ExecContext(ctx, pragma)
	return err
}

// Hold has the file's write lock while f runs.
func Hold(ctx context.Context, j *Journal, f func() error) error {
	return j.writer.do(ctx, func(*transaction) error { return f() })
}

// Queued is how many changes wait for the writer, the one it works on aside.
func Queued(j *Journal) int { return len(j.writer.queue) }

// Commits is how many transactions the writer has committed.
func Commits(j *Journal) int64 { return j.writer.commits.Load() }

// The queries, to look at how they are answered.
var (
	SelectDue       = selectDue
	SelectRecordsOf = selectRecords + recordsOf
	OldRecords      = oldRecords
)

// Selection is the query as SQL.
func Selection(q toolguard.Query) string {
	query, _ := selection(&q)
	return query
}

// AddMigration makes this process one of a newer version.
func AddMigration(statements string) { migrations = append(migrations, statements) }
