package postgres

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/toolguard-go/toolguard"
)

const (
	entriesAtOnce = 100
	recordsAtOnce = 1000
)

// Scan implements [toolguard.Journal].
func (j *Journal) Scan(ctx context.Context, q toolguard.Query) (found []toolguard.Entry, err error) {
	err = j.do(ctx, repeatable, "scan", func(ctx context.Context, c *pgxpool.Conn) (err error) {
		found, err = j.scan(ctx, c, q)
		return err
	})
	return found, err
}

func (j *Journal) scan(ctx context.Context, c *pgxpool.Conn, q toolguard.Query) ([]toolguard.Entry, error) {
	where, args := conditions(&q)
	order := "e.seq DESC"
	if q.Group != "" {
		order = "e.generation DESC, e.seq DESC"
	}
	args = append(args, cmp.Or(max(q.Limit, 0), entriesAtOnce), max(q.Skip, 0))
	query := fmt.Sprintf("SELECT %s, clock_timestamp() FROM %s AS e WHERE %s ORDER BY %s LIMIT $%d::bigint OFFSET $%d::bigint",
		stored, j.sql.entries, where, order, len(args)-1, len(args))
	rows, err := c.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, justEntry)
}

// conditions are q as SQL. There are a few hundred different ones at most, each
// prepared when it is first used.
func conditions(q *toolguard.Query) (string, []any) {
	where := []string{"true"}
	var args []any
	add := func(condition string, arg any) {
		args = append(args, arg)
		where = append(where, strings.ReplaceAll(condition, "$", fmt.Sprintf("$%d", len(args))))
	}
	for _, c := range []struct{ condition, value string }{
		{"e.key = $::text", q.Key},
		{equals("e.group_key", "$"), q.Group},
		{equals("e.run", "$") + " AND e.run <> ''", q.Run}, // the last is what the index is made of
		{equals("e.session", "$") + " AND e.session <> ''", q.Session},
		{"e.tenant = $::text", q.Tenant},
		{"e.tool = $::text", q.Tool},
	} {
		if c.value != "" {
			add(c.condition, spell(c.value))
		}
	}
	if q.Digest != (toolguard.Digest{}) {
		add("e.digest = $::text", q.Digest.String())
	}
	if len(q.States) > 0 {
		var states []string
		for _, s := range q.States {
			states = append(states, s.String())
		}
		add("e.state = ANY ($::text[])", states)
		if !slices.ContainsFunc(q.States, toolguard.State.Prunable) {
			where = append(where, "e.settled_at IS NULL")
		}
	}
	return strings.Join(where, " AND "), args
}

// Records implements [toolguard.Journal].
func (j *Journal) Records(ctx context.Context, q toolguard.RecordQuery) (found []toolguard.Record, err error) {
	err = j.do(ctx, repeatable, "records", func(ctx context.Context, c *pgxpool.Conn) error {
		last, err := j.lastRecord(ctx, c, q.Key)
		if err != nil || q.After >= uint64(last) {
			return err
		}
		found, err = j.recordsUpTo(ctx, c, last, q)
		return err
	})
	return found, err
}

func (j *Journal) recordsUpTo(ctx context.Context, c *pgxpool.Conn, last int64, q toolguard.RecordQuery) ([]toolguard.Record, error) {
	args := []any{int64(q.After), last, cmp.Or(max(q.Limit, 0), recordsAtOnce)}
	where := ""
	if q.Key != "" {
		where = "AND " + equals("key", "$4") + " AND key <> ''"
		args = append(args, spell(q.Key))
	}
	query := fmt.Sprintf("SELECT seq, at, %s FROM %s WHERE seq > $1::bigint AND seq <= $2::bigint %s ORDER BY seq LIMIT $3::bigint",
		names(recordColumns), j.sql.records, where)
	rows, err := c.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanRecord)
}

// lastRecord asks when nobody holds the lock that every statement with records has
// shared.
const lastRecord = `WITH held AS MATERIALIZED (SELECT pg_advisory_xact_lock(%d)::text AS nothing)
SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence($1, 'seq')::regclass), 0) FROM held WHERE held IS NOT NULL`

// lastRecord is the highest Seq below which nothing is on its way any more. Numbers
// are given out before a statement commits, so that a higher one may be visible
// while a lower is not: whoever reads on after the highest would never see that
// one. It waits for the statements that have a number, and holds up the next ones
// meanwhile. Nobody follows the records of a single key.
func (j *Journal) lastRecord(ctx context.Context, c *pgxpool.Conn, key string) (last int64, err error) {
	if key != "" {
		return math.MaxInt64, nil
	}
	err = c.QueryRow(ctx, j.sql.lastRecord, j.sql.records).Scan(&last)
	return last, err
}
