package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/toolguard-go/toolguard"
)

// Take implements [toolguard.Journal].
func (j *Journal) Take(ctx context.Context, n int, hold time.Duration) (taken []toolguard.Entry, err error) {
	hold = max(hold, 0)
	err = j.do(ctx, once, "take", func(ctx context.Context, c *pgxpool.Conn) error {
		if n <= 0 {
			return ctx.Err()
		}
		rows, err := c.Query(ctx, j.sql.take, n, hold.Microseconds(), toolguard.StatePending.String(), int64(hold))
		if err != nil {
			return err
		}
		taken, err = pgx.CollectRows(rows, justEntry)
		return err
	})
	if err != nil {
		return nil, err
	}
	return taken, nil
}

// taking makes entries that are due, unless somebody else holds them, due again
// later. What is chosen is held before anything is changed, and each is chosen once.
func (s *statements) taking() string {
	return fmt.Sprintf(`, due AS MATERIALIZED (
  SELECT d.seq, d.due_at FROM %[1]s AS d
  WHERE d.settled_at IS NULL AND d.due_at <= now() ORDER BY d.due_at LIMIT $1::bigint FOR UPDATE SKIP LOCKED
), e AS (
  UPDATE %[1]s AS e SET token = e.token + CASE e.state WHEN $3::text THEN 1 ELSE 0 END,
         due_at = now() + %[2]s, due_ns = (extract(epoch FROM now() - e.updated_at) * 1000000)::bigint * 1000 + $4::bigint
  FROM due, durable WHERE durable IS NOT NULL AND e.seq = due.seq
  RETURNING e.*, due.due_at AS was_due
)
SELECT %[3]s, now() FROM e ORDER BY e.was_due`, s.entries, microseconds("$2"), stored)
}
