package sqlite

import (
	"context"
	"time"

	"github.com/toolguard-go/toolguard"
)

// An entry that is stamped later than now, by more than what it is due after, was
// written before the clock was set back. Nobody can say how long ago that is.
var (
	selectDue = selectEntries + "WHERE " + isOpen + " AND due_at IS NOT NULL AND (due_at <= ?1 OR updated_at - ?1 > due_ns) ORDER BY due_at LIMIT ?2"
	takeEntry = "UPDATE toolguard_entries SET token = ?, updated_at = ?, due_ns = ?, due_at = ? WHERE seq = ?"
)

func (t *transaction) take(n int, hold time.Duration) ([]*row, error) {
	rows, err := t.rows(context.Background(), selectDue, t.at, max(n, 0))
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r.state == toolguard.StatePending.String() {
			r.token++
		}
		updated := min(r.updated, t.at)
		r.stamp(r.created, updated, time.Duration(t.at-updated)+max(hold, 1))
		if _, err := t.exec(takeEntry, r.token, r.updated, r.due, r.dueAt, r.seq); err != nil {
			return nil, err
		}
	}
	return rows, nil
}
