package postgres

import (
	"fmt"

	"github.com/toolguard-go/toolguard"
)

// form is the SQL of writes with records. One record, which most writes have, is
// bound value by value, any other number column by column.
type form struct{ insert, replace, append string }

func (s *statements) with(records []toolguard.Record) *form {
	if len(records) == 1 {
		return &s.one
	}
	return &s.many
}

func withRecords(args []any, records []toolguard.Record) ([]any, error) {
	if len(records) == 1 {
		row, err := recordRowOf(records[0])
		if err != nil {
			return nil, err
		}
		return append(args, bound(row.values())...), nil
	}
	columns, err := arrays(records)
	return append(args, columns...), err
}

// source is the records v, from parameters of which the first has a number.
type source func(first int) string

func oneRecord(first int) string {
	values := list(recordColumns, func(i int, c column) string { return fmt.Sprintf("$%d::%s AS %s", first+i-1, c.kind, c.name) })
	return "(SELECT " + values + ", 1 AS ordinality) AS v"
}

func manyRecords(first int) string {
	values := list(recordColumns, func(i int, c column) string {
		if c.kind == "jsonb" {
			c.kind = "text"
		}
		return fmt.Sprintf("$%d::%s[]", first+i-1, c.kind)
	})
	return fmt.Sprintf("unnest(%s) WITH ORDINALITY AS v (%s, ordinality)", values, names(recordColumns))
}

func (s *statements) formOf(first string, records source) form {
	return form{insert: first + s.insertion(records), replace: first + s.replacement(records), append: first + s.appending(records)}
}

// appending adds records without an entry.
func (s *statements) appending(records source) string {
	return fmt.Sprintf(" %s FROM durable, (SELECT clock_timestamp() AS at) AS now, %s WHERE durable IS NOT NULL ORDER BY v.ordinality",
		s.recordsAt("now.at"), records(1))
}

// recordsAt begins a statement that inserts the records v, stamped with an instant.
func (s *statements) recordsAt(instant string) string {
	values := list(recordColumns, func(_ int, c column) string { return "v." + c.name + "::" + c.kind })
	return fmt.Sprintf("INSERT INTO %s (at, %s) SELECT %s, %s", s.records, names(recordColumns), instant, values)
}

// Parameters of insert and replace: those of an entry, whether it is settled, the
// microseconds after which it is due, NULL for never, those of records; and for
// replace, the token and the state that are replaced.
var (
	settledAt   = len(entryColumns) + 1
	dueAfter    = len(entryColumns) + 2
	firstRecord = len(entryColumns) + 3
	wasToken    = firstRecord + len(recordColumns)
	wasState    = wasToken + 1
)

// insertion puts an entry where none is. Where one is it changes nothing, but
// locks it: without that, one that is just being inserted by somebody else would
// be neither there nor not there. xmax is 0 in a row that is new.
func (s *statements) insertion(records source) string {
	values := list(entryColumns, func(i int, c column) string { return fmt.Sprintf("$%d::%s", i, c.kind) })
	return fmt.Sprintf(`, e AS (
  INSERT INTO %[1]s (%[2]s, created_at, updated_at, due_at, settled_at)
  SELECT %[3]s, now.at, now.at, now.at + %[4]s, CASE WHEN $%[5]d::boolean THEN now.at END
  FROM durable, (SELECT clock_timestamp() AS at) AS now WHERE durable IS NOT NULL
  ON CONFLICT (key) DO UPDATE SET key = EXCLUDED.key
  RETURNING created_at, xmax = 0 AS fresh
), audit AS (
  %[6]s FROM e, %[7]s WHERE e.fresh ORDER BY v.ordinality
)
SELECT created_at, fresh FROM e`,
		s.entries, names(entryColumns), values, microseconds(fmt.Sprintf("$%d", dueAfter)), settledAt,
		s.recordsAt("e.created_at"), records(firstRecord))
}

// replacement changes an entry that has the version that is replaced. Arguments
// and results that stay are not written anew, however large. The clock is read
// when the row is locked, so that no entry is older than what it replaces.
func (s *statements) replacement(records source) string {
	changes := list(entryColumns, func(i int, c column) string {
		if c.name == "args" || c.name == "result" {
			return fmt.Sprintf("%[1]s = CASE WHEN e.%[1]s = $%[2]d THEN e.%[1]s ELSE $%[2]d::text END", c.name, i)
		}
		return fmt.Sprintf("%s = $%d::%s", c.name, i, c.kind)
	})
	return fmt.Sprintf(`, e AS (
  UPDATE %[1]s AS e SET %[2]s, updated_at = clock_timestamp(), due_at = clock_timestamp() + %[3]s,
         settled_at = CASE WHEN $%[4]d::boolean THEN clock_timestamp() END
  FROM durable WHERE durable IS NOT NULL AND e.key = $1::text AND e.token = $%[5]d::bigint AND e.state = $%[6]d::text
  RETURNING e.created_at, e.updated_at
), audit AS (
  %[7]s FROM e, %[8]s ORDER BY v.ordinality
)
SELECT created_at, updated_at FROM e`,
		s.entries, changes, microseconds(fmt.Sprintf("$%d", dueAfter)), settledAt, wasToken, wasState,
		s.recordsAt("e.updated_at"), records(firstRecord))
}
