package sqlite

import (
	"context"
	"time"
)

// Prune looks for what is old in the order in which it came, a piece at a time and
// beside the writer, until it meets a piece where everything is young. It deletes a
// piece in one transaction, so that other writes wait for little.
//
// A piece is found again by Seq: what has become young since is left alone.
const (
	piece = 500

	oldEntries = "SELECT seq, created_at <= ?1, updated_at <= ?1 AND NOT (" + isOpen + ") FROM toolguard_entries WHERE seq > ?2 ORDER BY seq LIMIT ?3"
	oldRecords = "SELECT seq, at <= ?1, at <= ?1 AND NOT EXISTS (SELECT 1 FROM toolguard_entries e WHERE e.key = r.key)" +
		" FROM toolguard_records r WHERE seq > ?2 ORDER BY seq LIMIT ?3"

	deleteRecordsOf = "DELETE FROM toolguard_records WHERE key <> '' AND key = (SELECT key FROM toolguard_entries" +
		" WHERE seq = ?1 AND updated_at <= ?2 AND NOT (" + isOpen + "))"
	deleteEntry  = "DELETE FROM toolguard_entries WHERE seq = ?1 AND updated_at <= ?2 AND NOT (" + isOpen + ")"
	deleteRecord = "DELETE FROM toolguard_records WHERE seq = ?1 AND at <= ?2 AND NOT EXISTS (SELECT 1 FROM toolguard_entries e WHERE e.key = toolguard_records.key)"
)

// Prune implements [toolguard.Journal].
func (j *Journal) Prune(ctx context.Context, age time.Duration) (int, error) {
	cutoff := time.Now().Add(-age).UnixNano()
	n, err := j.sweep(ctx, oldEntries, cutoff, deleteRecordsOf, deleteEntry)
	if err != nil {
		return n, err
	}
	_, err = j.sweep(ctx, oldRecords, cutoff, deleteRecord)
	return n, err
}

// sweep deletes what find says, and returns how much of it the last statement has
// deleted.
func (j *Journal) sweep(ctx context.Context, find string, cutoff int64, statements ...string) (deleted int, err error) {
	for after := int64(0); ; {
		p := new(found)
		err := j.readers.do(ctx, func(h *held) (err error) {
			*p, err = h.find(ctx, find, cutoff, after)
			return err
		})
		if err != nil || !p.old {
			return deleted, err
		}
		after = p.last
		if len(p.seqs) == 0 {
			continue
		}
		n := new(int)
		err = j.writer.do(ctx, func(t *transaction) (err error) {
			*n, err = t.deleteAll(p.seqs, cutoff, statements)
			return err
		})
		if err != nil {
			return deleted, err
		}
		deleted += *n
	}
}

// found is a piece: what to delete of it, where it ends, and whether any of it is
// old.
type found struct {
	seqs []int64
	last int64
	old  bool
}

func (h *held) find(ctx context.Context, query string, cutoff, after int64) (p found, err error) {
	s, err := h.prepared(query)
	if err != nil {
		return p, err
	}
	rows, err := s.QueryContext(ctx, cutoff, after, piece)
	if err != nil {
		return p, err
	}
	defer rows.Close()
	for rows.Next() {
		var old, doomed bool
		if err := rows.Scan(&p.last, &old, &doomed); err != nil {
			return p, err
		}
		p.old = p.old || old
		if doomed {
			p.seqs = append(p.seqs, p.last)
		}
	}
	return p, rows.Err()
}

func (t *transaction) deleteAll(seqs []int64, cutoff int64, statements []string) (deleted int, err error) {
	for _, seq := range seqs {
		var n int64
		for _, s := range statements {
			if n, err = t.exec(s, seq, cutoff); err != nil {
				return 0, err
			}
		}
		deleted += int(n)
	}
	return deleted, nil
}
