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
	if q.Digest != (toolguard.Digest{}) {
		equal("digest", q.Digest.String())
	}
	if q.Run != "" {
		where = append(where, "run <> ''") // what the index is made of
	}
	if q.Session != "" {
		where = append(where, "session <> ''")
	}
	from := ""
	if len(q.States) > 0 {
		where = append(where, inStates(q.States))
		if allOpen(q.States) && q.Key+q.Group+q.Run+q.Session == "" {
			from = "INDEXED BY toolguard_entries_open " // else it looks for the newest among all
		}
	}
	if len(where) == 0 {
		where = append(where, "TRUE")
	}
	order := "seq DESC"
	if q.Group != "" {
		order = "generation DESC, seq DESC"
	}
	query := fmt.Sprintf("%s%sWHERE %s ORDER BY %s LIMIT ? OFFSET ?", selectEntries, from, strings.Join(where, " AND "), order)
	return query, append(args, cmp.Or(max(q.Limit, 0), entriesAtOnce), max(q.Skip, 0))
}

// allOpen: somebody waits for these, and there are few at any time.
func allOpen(states []toolguard.State) bool {
	return !slices.ContainsFunc(states, toolguard.State.Prunable)
}

// inStates writes the states out, sorted. SQLite uses the index of open entries
// where its condition is there word for word.
func inStates(states []toolguard.State) string {
	states = slices.Compact(slices.Sorted(slices.Values(states)))
	var names []string
	for _, s := range states {
		names = append(names, "'"+s.String()+"'")
	}
	condition := "state IN (" + strings.Join(names, ", ") + ")"
	if allOpen(states) {
		condition += " AND " + isOpen
	}
	return condition
}

// Records implements [toolguard.Journal].
func (j *Journal) Records(ctx context.Context, q toolguard.RecordQuery) ([]toolguard.Record, error) {
	query, args := selectRecords+recordsAfter, []any{int64(min(q.After, lastSeq))}
	if q.Key != "" {
		query, args = selectRecords+recordsOf, append(args, q.Key)
	}
	args = append(args, cmp.Or(max(q.Limit, 0), recordsAtOnce))
	var records []toolguard.Record
	err := j.readers.do(ctx, func(h *held) (err error) {
		records, err = h.records(ctx, query, args)
		return err
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

const (
	recordsAfter = "WHERE seq > ? ORDER BY seq LIMIT ?"
	recordsOf    = "WHERE seq > ? AND key = ? AND key <> '' ORDER BY seq LIMIT ?"
)

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
