package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolguard-go/toolguard"
)

const (
	entriesAtOnce = 100
	recordsAtOnce = 1000
)

// Scan implements [toolguard.Journal].
func (j *Journal) Scan(ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error) {
	query, args := selection(&q)
	var rows []*row
	at := time.Now().UnixNano()
	err := j.readers.do(ctx, func(h *held) (err error) {
		rows, err = h.rows(ctx, query, args...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return entries(rows, at)
}

// selection is q as SQL. There are a few hundred different ones, each prepared
// when it is first used.
func selection(q *toolguard.Query) (string, []any) {
	var where []string
	var args []any
	equal := func(column, value string) {
		if value != "" {
			where = append(where, column+" = ?")
			args = append(args, value)
		}
	}
	equal("key", q.Key)
	equal("group_key", q.Group)
	equal("tenant", q.Tenant)
	equal("session", q.Session)
	equal("run", q.Run)
	equal("tool", q.Tool)
	if q.Run != "" {
		where = append(where, "run <> ''") // what the index is made of
	}
	if q.Session != "" {
		where = append(where, "session <> ''")
	}
	if len(q.States) > 0 {
		where = append(where, inStates(q.States))
	}
	if len(where) == 0 {
		where = append(where, "TRUE")
	}
	order := "seq DESC"
	if q.Group != "" {
		order = "generation DESC, seq DESC"
	}
	query := fmt.Sprintf("%sWHERE %s ORDER BY %s LIMIT ? OFFSET ?", selectEntries, strings.Join(where, " AND "), order)
	return query, append(args, cmp.Or(max(q.Limit, 0), entriesAtOnce), max(q.Skip, 0))
}

// inStates writes the states out, sorted: there are few, and an index that knows
// them is used for those who wait for something.
func inStates(states []toolguard.State) string {
	states = slices.Compact(slices.Sorted(slices.Values(states)))
	var names []string
	for _, s := range states {
		names = append(names, "'"+s.String()+"'")
	}
	condition := "state IN (" + strings.Join(names, ", ") + ")"
	if !slices.ContainsFunc(states, toolguard.State.Prunable) {
		condition += " AND " + isOpen
	}
	return condition
}

// Records implements [toolguard.Journal].
func (j *Journal) Records(ctx context.Context, q toolguard.RecordQuery) ([]toolguard.Record, error) {
	where, args := "WHERE seq > ?", []any{int64(min(q.After, lastSeq))}
	if q.Key != "" {
		where, args = where+" AND key = ? AND key <> ''", append(args, q.Key)
	}
	args = append(args, cmp.Or(max(q.Limit, 0), recordsAtOnce))
	var records []toolguard.Record
	err := j.readers.do(ctx, func(h *held) (err error) {
		records, err = h.records(ctx, selectRecords+where+" ORDER BY seq LIMIT ?", args)
		return err
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

// lastSeq is the highest that SQLite can give.
const lastSeq = 1<<63 - 1

func (h *held) records(ctx context.Context, query string, args []any) (records []toolguard.Record, err error) {
	s, err := h.prepared(query)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(ctx, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var l line
		if err := rows.Scan(append([]any{&l.seq}, l.values()...)...); err != nil {
			return nil, fmt.Errorf("a record is damaged: %w", err)
		}
		r, err := l.record()
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, rows.Err()
}
