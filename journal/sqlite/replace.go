package sqlite

import (
	"context"
	"time"

	"github.com/toolguard-go/toolguard"
)

// replacement is what became of a compare-and-swap.
type replacement struct {
	ok          bool
	there       *row // if it is not ok: the entry that is, nil for none
	at, created int64
}

// replace stores r in place of the version was. The file's write lock is held, so
// nothing comes between the look and the write.
func (t *transaction) replace(was toolguard.Version, r *row) (replacement, error) {
	out := replacement{at: t.at, created: t.at}
	if was == (toolguard.Version{}) {
		r.stamp(t.at, t.at, time.Duration(r.due))
		n, err := t.exec(insertEntry, r.values()...)
		if out.ok = n == 1; out.ok || err != nil {
			return out, err
		}
	}
	there, err := t.byKey(r.key)
	if err != nil || there == nil {
		return out, err
	}
	if was == (toolguard.Version{}) || there.token != int64(was.Token) || there.state != was.State.String() {
		out.there = there
		return out, nil
	}
	out.ok, out.created, r.seq = true, there.created, there.seq
	r.stamp(there.created, t.at, time.Duration(r.due))
	if r.sameAction(there) {
		_, err = t.exec(settleEntry, r.settled()...)
	} else {
		_, err = t.exec(updateEntry, append(r.values(), r.seq)...)
	}
	return out, err
}

func (t *transaction) byKey(key string) (*row, error) {
	rows, err := t.rows(context.Background(), selectByKey, key)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}

// append adds the records.
func (t *transaction) append(lines []*line) error {
	for _, l := range lines {
		l.at = t.at
		if _, err := t.exec(insertRecord, l.values()...); err != nil {
			return err
		}
	}
	return nil
}
