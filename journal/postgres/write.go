package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/toolguard-go/toolguard"
)

// Write implements [toolguard.Journal].
func (j *Journal) Write(ctx context.Context, was toolguard.Version, e toolguard.Entry, records ...toolguard.Record) (now toolguard.Entry, ok bool, err error) {
	if err := e.Check(); err != nil {
		return toolguard.Entry{}, false, err
	}
	args, err := writeArgs(e, records)
	if err != nil {
		return toolguard.Entry{}, false, named(err)
	}
	err = j.do(ctx, once, fmt.Sprintf("write %q", e.Key), func(ctx context.Context, c *pgxpool.Conn) (err error) {
		if was == (toolguard.Version{}) {
			now, ok, err = j.insert(ctx, c, args)
		} else {
			now, ok, err = j.replace(ctx, c, was, e.Key, args)
		}
		return err
	})
	if err != nil {
		return toolguard.Entry{}, false, err
	}
	if ok {
		e.Created, e.Updated, e.Read = now.Created, now.Updated, now.Read
		return e, true, nil
	}
	return now, false, nil
}

// writeArgs are the parameters that insert and replace have in common.
func writeArgs(e toolguard.Entry, records []toolguard.Record) ([]any, error) {
	row, err := rowOf(e)
	if err != nil {
		return nil, err
	}
	columns, err := arrays(records)
	if err != nil {
		return nil, err
	}
	settled := e.State.Prunable()
	var due *int64
	if e.Due > 0 && !settled {
		due = new(e.Due.Microseconds())
	}
	return append(append(bound(row.values()), settled, due), columns...), nil
}

func (j *Journal) insert(ctx context.Context, c *pgxpool.Conn, args []any) (now toolguard.Entry, fresh bool, err error) {
	rows, err := c.Query(ctx, j.sql.insert, args...)
	if err != nil {
		return toolguard.Entry{}, false, err
	}
	now, err = pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (toolguard.Entry, error) { return scanEntry(row, &fresh) })
	return now, fresh, err
}

// replace returns the entry as it is now; after a replacement, its instants only.
func (j *Journal) replace(ctx context.Context, c *pgxpool.Conn, was toolguard.Version, key string, args []any) (now toolguard.Entry, ok bool, err error) {
	args = append(args[:len(args):len(args)], int64(was.Token), was.State.String())
	for {
		err = c.QueryRow(ctx, j.sql.replace, args...).Scan(&now.Created, &now.Updated)
		if !errors.Is(err, pgx.ErrNoRows) {
			now.Created, now.Updated = now.Created.UTC(), now.Updated.UTC()
			now.Read = now.Updated
			return now, err == nil, err
		}
		now, err = j.read(ctx, c, key)
		if err != nil || now.Version() != was {
			return now, false, err
		} // it has become that version meanwhile
	}
}

// read returns the entry, or the zero one if there is none.
func (j *Journal) read(ctx context.Context, c *pgxpool.Conn, key string) (toolguard.Entry, error) {
	found, err := j.scan(ctx, c, toolguard.Query{Key: key})
	if err != nil || len(found) == 0 {
		return toolguard.Entry{}, err
	}
	return found[0], nil
}

// Append implements [toolguard.Journal].
func (j *Journal) Append(ctx context.Context, records ...toolguard.Record) error {
	columns, err := arrays(records)
	if err != nil {
		return named(err)
	}
	return j.do(ctx, once, "append", func(ctx context.Context, c *pgxpool.Conn) error {
		if len(records) == 0 {
			return ctx.Err()
		}
		_, err := c.Exec(ctx, j.sql.append, columns...)
		return err
	})
}

// appending adds records without an entry.
func (s *statements) appending() string {
	return fmt.Sprintf(" %s FROM durable, (SELECT clock_timestamp() AS at) AS now, %s WHERE durable IS NOT NULL ORDER BY v.ordinality",
		s.recordsAt("now.at"), unnested(1))
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
// locks it and returns it: without that, one that is just being inserted by
// somebody else would be neither there nor not there. xmax is 0 in a row that is new.
func (s *statements) insertion() string {
	values := list(entryColumns, func(i int, c column) string { return fmt.Sprintf("$%d::%s", i, c.kind) })
	return fmt.Sprintf(`, e AS (
  INSERT INTO %[1]s AS e (%[2]s, created_at, updated_at, due_at, settled_at)
  SELECT %[3]s, now.at, now.at, now.at + %[4]s, CASE WHEN $%[5]d::boolean THEN now.at END
  FROM durable, (SELECT clock_timestamp() AS at) AS now WHERE durable IS NOT NULL
  ON CONFLICT (key) DO UPDATE SET key = EXCLUDED.key
  RETURNING e.*, xmax = 0 AS fresh
), audit AS (
  %[6]s FROM e, %[7]s WHERE e.fresh ORDER BY v.ordinality
)
SELECT %[8]s, CASE WHEN e.fresh THEN e.updated_at ELSE clock_timestamp() END, e.fresh FROM e`,
		s.entries, names(entryColumns), values, microseconds(fmt.Sprintf("$%d", dueAfter)), settledAt,
		s.recordsAt("e.updated_at"), unnested(firstRecord), stored)
}

// replacement changes an entry that has the version that is replaced. Arguments
// and results that stay are not written anew, however large. The clock is read
// when the row is locked, so that no entry is older than what it replaces.
func (s *statements) replacement() string {
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
		s.recordsAt("e.updated_at"), unnested(firstRecord))
}
