package postgres

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// column of a table, as it is bound to a statement.
type column struct{ name, kind string }

// list joins what f says of each column and its number, from 1.
func list(columns []column, f func(i int, c column) string) string {
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = f(i+1, c)
	}
	return strings.Join(parts, ", ")
}

func names(columns []column) string {
	return list(columns, func(_ int, c column) string { return c.name })
}

// statements are the journal's SQL, with the schema's name in it.
type statements struct {
	entries, records      string // the tables
	one, many             form
	take                  string
	lastRecord            string
	pruneOld, pruneLonely string
}

// durable is the first part of every statement that writes. Of the settings of the
// transaction, which is the statement alone, it takes the one that says whether a
// commit is on the disk when it is acknowledged. And it says that a record is on
// its way, which may get a number that is not the next to become visible: who
// reads them all in order waits for that, see Journal.lastRecord. It comes before
// any row is locked.
const durable = `WITH durable AS MATERIALIZED (
  SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true),
         pg_advisory_xact_lock_shared(%d)::text
)`

// prefixed is how much of a long text is in an index.
const prefixed = 120

func equals(column, parameter string) string {
	return fmt.Sprintf("left(%[1]s, %[3]d) = left(%[2]s::text, %[3]d) AND %[1]s = %[2]s::text", column, parameter, prefixed)
}

// microseconds is a duration in them as an interval.
func microseconds(parameter string) string {
	return parameter + "::bigint * interval '1 microsecond'"
}

func lockOf(schema, purpose string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte("toolguard " + purpose + " " + schema))
	return int64(h.Sum64())
}

func newStatements(schema string) *statements {
	table := func(name string) string { return pgx.Identifier{schema, name}.Sanitize() }
	first := fmt.Sprintf(durable, lockOf(schema, "records"))
	s := &statements{entries: table("toolguard_entries"), records: table("toolguard_records")}
	s.one, s.many = s.formOf(first, oneRecord), s.formOf(first, manyRecords)
	s.take = first + s.taking()
	s.lastRecord = fmt.Sprintf(lastRecord, lockOf(schema, "records"))
	s.pruneOld, s.pruneLonely = s.pruningOld(), s.pruningLonely()
	return s
}
