package eventstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolguard-go/toolguard"
)

// bind gives placeholders the form of the dialect.
func (s *DB) bind(query string) string {
	if s.dialect == SQLite {
		return query
	}
	var b strings.Builder
	n := 0
	for _, c := range query {
		if c != '?' {
			b.WriteRune(c)
			continue
		}
		n++
		b.WriteString("$" + strconv.Itoa(n))
	}
	return b.String()
}

// Write implements [Store].
func (s *DB) Write(ctx context.Context, records []Record, counts []*Rollup) error {
	return s.within(ctx, func(tx *sql.Tx) error {
		if err := s.insert(ctx, tx, records); err != nil {
			return err
		}
		return s.count(ctx, tx, counts)
	})
}

func (s *DB) insert(ctx context.Context, tx *sql.Tx, records []Record) error {
	if len(records) == 0 {
		return nil
	}
	statement, err := tx.PrepareContext(ctx, s.bind(`INSERT INTO toolguard_event_records
		(at, ref, within, call_id, call_key, incident, digest, step, size, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`))
	if err != nil {
		return err
	}
	defer statement.Close()
	for i := range records {
		r := &records[i]
		body, err := r.body()
		if err != nil {
			return err
		}
		_, err = statement.ExecContext(ctx, r.Time.UnixNano(), int64(r.Ref), int64(r.Within),
			orNull(r.CallID), orNull(r.Key), orNull(r.Incident), orNull(r.Digest), orNull(step(r)), len(body)+rowOverhead, clean(string(body)))
		if err != nil {
			return err
		}
	}
	return nil
}

// rowOverhead is what a record takes beside its body: columns and indexes.
const rowOverhead = 200

// clean: PostgreSQL takes no zero bytes in texts, not even escaped in JSON it
// would read.
func clean(s string) string { return strings.ReplaceAll(s, "\x00", "") }

func orNull(s string) any {
	if s = clean(s); s == "" {
		return nil
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

func step(r *Record) string {
	if r.Scope.Run == "" {
		return ""
	}
	return r.Scope.Run + "/" + r.Scope.Step
}

// count adds to the counts: what is there is read, so that durations add up.
func (s *DB) count(ctx context.Context, tx *sql.Tx, counts []*Rollup) error {
	if len(counts) == 0 {
		return nil
	}
	const where = ` WHERE minute = ? AND tool = ? AND ok = ? AND category = ? AND code = ? AND outcome = ? AND decision = ?`
	lock := ""
	if s.dialect == PostgreSQL {
		lock = " FOR UPDATE"
	}
	var statements [3]*sql.Stmt
	for i, text := range []string{
		`INSERT INTO toolguard_event_counts VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, 0, ?) ON CONFLICT DO NOTHING`,
		`SELECT took FROM toolguard_event_counts` + where + lock,
		`UPDATE toolguard_event_counts SET calls = calls + ?, attempts = attempts + ?, retries = retries + ?, took = ?` + where,
	} {
		prepared, err := tx.PrepareContext(ctx, s.bind(text))
		if err != nil {
			return err
		}
		defer prepared.Close()
		statements[i] = prepared
	}
	for _, r := range ordered(counts) {
		if err := r.addTo(ctx, statements[0], statements[1], statements[2]); err != nil {
			return err
		}
	}
	return nil
}

func (r *Rollup) addTo(ctx context.Context, insert, read, update *sql.Stmt) error {
	key := []any{r.Minute, orEmpty(r.Tool), asInt(r.OK), r.Category.String(), orEmpty(string(r.Code)), r.Outcome.String(), r.Decision.String()}
	if _, err := insert.ExecContext(ctx, append(key, []byte{})...); err != nil {
		return err
	}
	var took []byte
	if err := read.QueryRowContext(ctx, key...).Scan(&took); err != nil {
		return err
	}
	sum := r.Took
	if err := sum.AddBinary(took); err != nil {
		return err
	}
	took, _ = sum.AppendBinary(nil)
	_, err := update.ExecContext(ctx, append([]any{r.Calls, r.Attempts, r.Retries, took}, key...)...)
	return err
}

func orEmpty(s string) string { return strings.ToValidUTF8(clean(s), "\uFFFD") }

func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Prune implements [Store].
func (s *DB) Prune(ctx context.Context, before time.Time, maxBytes int64) (deleted int, err error) {
	err = s.within(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, s.bind(`DELETE FROM toolguard_event_counts WHERE minute < ?`), before.Unix()/60); err != nil {
			return err
		}
		for _, where := range []struct {
			clause string
			arg    int64
		}{
			{`at < ?`, before.UnixNano()},
			// The ids of the newest records that fit, by a running sum.
			{`id IN (SELECT id FROM (SELECT id, SUM(size) OVER (ORDER BY at DESC, id DESC) AS sum FROM toolguard_event_records) AS sized WHERE sum > ?)`, maxBytes},
		} {
			result, err := tx.ExecContext(ctx, s.bind(`DELETE FROM toolguard_event_records WHERE `+where.clause), where.arg)
			if err != nil {
				return err
			}
			n, err := result.RowsAffected()
			if err != nil {
				return err
			}
			deleted += int(n)
		}
		return nil
	})
	if err == nil && s.dialect == SQLite {
		_, err = s.db.ExecContext(ctx, `PRAGMA incremental_vacuum`)
	}
	return deleted, err
}

// Records implements [Store].
func (s *DB) Records(ctx context.Context, q Query) ([]Record, error) {
	where, args := conditions(&q)
	limit := q.Limit
	if limit <= 0 {
		limit = 1000
	}
	rows, err := s.db.QueryContext(ctx, s.bind(`SELECT body FROM toolguard_event_records`+where+` ORDER BY at DESC, id DESC LIMIT ?`), append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("eventstore: %w", err)
	}
	defer rows.Close()
	var found []Record
	for rows.Next() {
		var body []byte
		var r Record
		if err := rows.Scan(&body); err != nil {
			return nil, fmt.Errorf("eventstore: %w", err)
		}
		if err := json.Unmarshal(body, &r); err != nil {
			return nil, fmt.Errorf("eventstore: a record that cannot be read: %w", err)
		}
		found = append(found, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("eventstore: %w", err)
	}
	return found, nil
}

func conditions(q *Query) (string, []any) {
	var parts []string
	var args []any
	add := func(set bool, condition string, values ...any) {
		if set {
			parts, args = append(parts, condition), append(args, values...)
		}
	}
	n := utf8.RuneCountInString(q.Prefix)
	add(q.Prefix != "", "(substr(call_key, 1, ?) = ? OR substr(call_id, 1, ?) = ?)", n, q.Prefix, n, q.Prefix)
	add(!q.From.IsZero(), "at >= ?", q.From.UnixNano())
	add(!q.To.IsZero(), "at < ?", q.To.UnixNano())
	add(q.Ref != 0, "ref = ?", int64(q.Ref))
	add(q.Within != 0, "within = ?", int64(q.Within))
	name := orEmpty(bounded(q.Any)) // as it was written
	add(q.Any != "", "(call_id = ? OR call_key = ? OR incident = ? OR digest = ? OR step = ?)", name, name, name, name, orEmpty(q.Any))
	if len(parts) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(parts, " AND "), args
}

// Rollups implements [Store].
func (s *DB) Rollups(ctx context.Context, from, to time.Time) ([]Rollup, error) {
	rows, err := s.db.QueryContext(ctx, s.bind(`SELECT minute, tool, ok, category, code, outcome, decision, calls, attempts, retries, took
		FROM toolguard_event_counts WHERE minute >= ? AND minute < ?`), from.Unix()/60, to.Add(Period-1).Unix()/60)
	if err != nil {
		return nil, fmt.Errorf("eventstore: %w", err)
	}
	defer rows.Close()
	var found []Rollup
	for rows.Next() {
		r, err := scanRollup(rows)
		if err != nil {
			return nil, fmt.Errorf("eventstore: counts that cannot be read: %w", err)
		}
		found = append(found, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("eventstore: %w", err)
	}
	return found, nil
}

func scanRollup(rows *sql.Rows) (r Rollup, err error) {
	var ok int
	var category, code, outcome, decision string
	var took []byte
	if err := rows.Scan(&r.Minute, &r.Tool, &ok, &category, &code, &outcome, &decision, &r.Calls, &r.Attempts, &r.Retries, &took); err != nil {
		return r, err
	}
	r.OK, r.Code = ok != 0, toolguard.Code(code)
	for _, field := range []struct {
		into interface{ UnmarshalText([]byte) error }
		text string
	}{{&r.Category, category}, {&r.Outcome, outcome}, {&r.Decision, decision}} {
		if err := field.into.UnmarshalText([]byte(field.text)); err != nil {
			return r, err
		}
	}
	return r, r.Took.AddBinary(took)
}
