package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// piece is how many rows one statement deletes or looks at, so that none takes long.
const piece = 1000

// Prune implements [toolguard.Journal].
func (j *Journal) Prune(ctx context.Context, age time.Duration) (deleted int, err error) {
	var before time.Time
	err = j.do(ctx, repeatable, "prune", func(ctx context.Context, c *pgxpool.Conn) error {
		return c.QueryRow(ctx, "SELECT now() - "+microseconds("$1"), age.Microseconds()).Scan(&before)
	})
	if err != nil {
		return 0, err
	}
	for more := true; more && err == nil; {
		var n int
		err = j.do(ctx, repeatable, "prune", func(ctx context.Context, c *pgxpool.Conn) error {
			return c.QueryRow(ctx, j.sql.pruneOld, before).Scan(&n)
		})
		deleted, more = deleted+n, n == piece
	}
	for after, more := int64(0), true; more && err == nil; {
		err = j.do(ctx, repeatable, "prune", func(ctx context.Context, c *pgxpool.Conn) error {
			return c.QueryRow(ctx, j.sql.pruneLonely, before, after).Scan(&after, &more)
		})
	}
	return deleted, err
}

// pruningOld deletes some entries that have been settled since before, and their
// records.
func (s *statements) pruningOld() string {
	return fmt.Sprintf(`WITH old AS MATERIALIZED (
  SELECT e.seq FROM %[1]s AS e WHERE e.settled_at <= $1::timestamptz ORDER BY e.settled_at LIMIT %[3]d FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM %[1]s AS e USING old WHERE e.seq = old.seq RETURNING e.key
), audit AS (
  DELETE FROM %[2]s AS r USING gone WHERE %[4]s AND r.key <> ''
)
SELECT count(*) FROM gone`, s.entries, s.records, piece, equals("r.key", "gone.key"))
}

// pruningLonely looks at some records after $2, and deletes those that are old and
// of no entry. It returns how far it got, and whether there may be more.
func (s *statements) pruningLonely() string {
	return fmt.Sprintf(`WITH page AS MATERIALIZED (
  SELECT r.seq, r.key, r.at FROM %[2]s AS r WHERE r.seq > $2::bigint ORDER BY r.seq LIMIT %[3]d
), gone AS (
  DELETE FROM %[2]s AS r USING page WHERE r.seq = page.seq AND page.at <= $1::timestamptz
     AND NOT EXISTS (SELECT FROM %[1]s AS e WHERE e.key = page.key)
)
SELECT coalesce(max(seq), 0), coalesce(bool_or(at <= $1::timestamptz), false) FROM page`, s.entries, s.records, piece)
}
