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
	form := j.sql.with(records)
	err = j.do(ctx, once, fmt.Sprintf("write %q", e.Key), func(ctx context.Context, c *pgxpool.Conn) (err error) {
		if was == (toolguard.Version{}) {
			now, ok, err = j.insert(ctx, c, e.Key, form.insert, args)
		} else {
			now, ok, err = j.replace(ctx, c, was, e.Key, form.replace, args)
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
	settled := e.State.Prunable()
	var due *int64
	if e.Due > 0 && !settled {
		due = new(e.Due.Microseconds())
	}
	return withRecords(append(bound(row.values()), settled, due), records)
}

// insert returns the entry that is there instead; of one it has made, its instants only.
func (j *Journal) insert(ctx context.Context, c *pgxpool.Conn, key, statement string, args []any) (now toolguard.Entry, fresh bool, err error) {
	for {
		err = c.QueryRow(ctx, statement, args...).Scan(&now.Created, &fresh)
		if err != nil || fresh {
			now.Created = now.Created.UTC()
			now.Updated, now.Read = now.Created, now.Created
			return now, fresh, err
		}
		now, err = j.read(ctx, c, key)
		if err != nil || now.Key != "" {
			return now, false, err
		} // it has been pruned meanwhile
	}
}

// replace returns the entry that is there; of one it has changed, its instants only.
func (j *Journal) replace(ctx context.Context, c *pgxpool.Conn, was toolguard.Version, key, statement string, args []any) (now toolguard.Entry, ok bool, err error) {
	args = append(args[:len(args):len(args)], int64(was.Token), was.State.String())
	for {
		err = c.QueryRow(ctx, statement, args...).Scan(&now.Created, &now.Updated)
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
	args, err := withRecords(nil, records)
	if err != nil {
		return named(err)
	}
	return j.do(ctx, once, "append", func(ctx context.Context, c *pgxpool.Conn) error {
		if len(records) == 0 {
			return ctx.Err()
		}
		_, err := c.Exec(ctx, j.sql.with(records).append, args...)
		return err
	})
}
