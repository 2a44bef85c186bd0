package toolguard

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"
)

// memoryAudit are the records of a [MemoryJournal], in pages, of which the first
// goes when there are too many.
type memoryAudit struct {
	pages [][]memoryRecord
	seq   uint64
}

// memoryRecord is a line of the audit, and of the entry what that does not say.
type memoryRecord struct {
	line
	seq   uint64
	at    time.Duration // since the journal's first write
	about string        // as in packed
}

const (
	memoryPages   = 40
	memoryPageLen = 1000
)

func (r *memoryRecord) key() string {
	if r.whole != nil {
		return r.whole.Key
	}
	return keyIn(r.about)
}

// record is the caller's own.
func (r *memoryRecord) record(epoch time.Time) (out Record) {
	if r.whole != nil {
		out = *r.whole
		out.Args = bytes.Clone(out.Args)
	} else {
		var e Entry
		readAbout(r.about, &e)
		out = r.line.record(&e)
	}
	out.Seq, out.At = r.seq, epoch.Add(r.at)
	return out
}

func (a *memoryAudit) append(at time.Duration, about string, lines []line) {
	for i := range lines {
		page := a.page()
		a.seq++
		*page = append(*page, memoryRecord{lines[i], a.seq, at, about})
	}
}

// page is one with room for a record.
func (a *memoryAudit) page() *[]memoryRecord {
	n := len(a.pages)
	if n > 0 && len(a.pages[n-1]) < cap(a.pages[n-1]) {
		return &a.pages[n-1]
	}
	var page []memoryRecord
	if n < memoryPages {
		page = make([]memoryRecord, 0, memoryPageLen)
	} else {
		page = a.pages[0]
		clear(page)
		a.pages, page = slices.Delete(a.pages, 0, 1), page[:0]
	}
	a.pages = append(a.pages, page)
	return &a.pages[len(a.pages)-1]
}

// prune leaves full pages: by their number what is kept is bounded.
func (a *memoryAudit) prune(gone func(*memoryRecord) bool) {
	pages := a.pages
	a.pages = nil
	for _, page := range pages {
		for i := range page {
			if !gone(&page[i]) {
				to := a.page()
				*to = append(*to, page[i])
			}
		}
	}
}

// find returns up to limit records after one, of a key or of all.
func (a *memoryAudit) find(q *RecordQuery, epoch time.Time, limit int) (found []Record) {
	for _, page := range a.pages {
		if page[len(page)-1].seq <= q.After {
			continue
		}
		for i := range page {
			r := &page[i]
			if len(found) == limit {
				return found
			}
			if r.seq > q.After && (q.Key == "" || q.Key == r.key()) {
				found = append(found, r.record(epoch))
			}
		}
	}
	return found
}

// Append implements [Journal].
func (j *MemoryJournal) Append(ctx context.Context, records ...Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	at := j.stamp(time.Now())
	j.audit.append(at.Sub(j.epoch), "", wholeLines(records))
	return nil
}

// Records implements [Journal].
func (j *MemoryJournal) Records(ctx context.Context, q RecordQuery) ([]Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.audit.find(&q, j.epoch, cmp.Or(max(q.Limit, 0), 1000)), nil
}
