package toolguard

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/toolguard-go/toolguard/internal/lru"
)

// MemoryJournal is a [Journal] that is lost with the process: for tests, and for
// runs that end with it. It keeps up to 10,000 entries, of which those that are
// settled make way for new ones, and 40,000 records. Make one with
// [NewMemoryJournal].
type MemoryJournal struct {
	mu      sync.Mutex
	open    map[string]*memoryEntry
	settled *lru.Cache[string, *memoryEntry]
	newest  map[string]string // the key of a group's last generation
	made    uint64
	records []Record
	seq     uint64
}

type memoryEntry struct {
	Entry
	serial uint64
}

const (
	memoryEntries = 10_000
	memoryRecords = 40_000
)

var errJournalFull = errors.New("toolguard: the memory journal is full of calls that are not settled")

// NewMemoryJournal returns an empty journal.
func NewMemoryJournal() *MemoryJournal {
	return &MemoryJournal{
		open:    make(map[string]*memoryEntry),
		settled: lru.New[string, *memoryEntry](memoryEntries + 1),
		newest:  make(map[string]string),
	}
}

// Durability implements [Journal].
func (j *MemoryJournal) Durability() Durability { return DurabilityVolatile }

// Write implements [Journal].
func (j *MemoryJournal) Write(ctx context.Context, was Version, e Entry, records ...Record) (now Entry, ok bool, err error) {
	ok, err = j.replace(ctx, was, &e, records)
	return e, ok, err
}

// replace is Write that makes e what is there now.
func (j *MemoryJournal) replace(ctx context.Context, was Version, e *Entry, records []Record) (ok bool, err error) {
	if err := e.Check(); err != nil {
		return false, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return false, err
	}
	at := time.Now()
	old := j.find(e.Key)
	switch {
	case old == nil && was != Version{}:
		*e = Entry{}
		return false, nil
	case old != nil && old.Version() != was:
		*e = old.reading(at)
		return false, nil
	case old == nil && !j.makeRoom():
		return false, errJournalFull
	}
	e.Created, e.Updated, e.Read = at, at, at
	j.put(old, e)
	j.append(at, records)
	return true, nil
}

// find returns the entry with the key, or nil.
func (j *MemoryJournal) find(key string) *memoryEntry {
	if e := j.open[key]; e != nil {
		return e
	}
	e, _ := j.settled.Get(key)
	return e
}

// put stores e in place of old, or as a new entry.
func (j *MemoryJournal) put(old *memoryEntry, e *Entry) {
	if old == nil {
		j.made++
		old = &memoryEntry{serial: j.made}
		old.Created = e.Created
		if top := j.find(j.newest[e.Group]); top == nil || top.Generation <= e.Generation {
			j.newest[e.Group] = e.Key
		}
	}
	e.Created = old.Created
	old.Entry = *e
	old.Entry = old.reading(old.Read)
	if e.State.Prunable() {
		delete(j.open, e.Key)
		j.settled.Put(e.Key, old)
	} else {
		j.settled.Delete(e.Key)
		j.open[e.Key] = old
	}
}

// makeRoom forgets the settled entry that has not changed for longest.
func (j *MemoryJournal) makeRoom() bool {
	if len(j.open)+j.settled.Len() < memoryEntries {
		return true
	}
	for key, e := range j.settled.OldestFirst {
		j.forget(key, e)
		return true
	}
	return false
}

func (j *MemoryJournal) forget(key string, e *memoryEntry) {
	j.settled.Delete(key)
	if j.newest[e.Group] == key {
		delete(j.newest, e.Group)
	}
}

// reading is a copy of the entry as it stands at an instant.
func (e *memoryEntry) reading(at time.Time) Entry {
	r := e.Entry
	r.Args, r.Result, r.Read = bytes.Clone(r.Args), bytes.Clone(r.Result), at
	if r.Approval != nil {
		own := *r.Approval
		r.Approval = &own
	}
	return r
}

// Append implements [Journal].
func (j *MemoryJournal) Append(ctx context.Context, records ...Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	j.append(time.Now(), records)
	return nil
}

// append drops the oldest quarter when there are too many.
func (j *MemoryJournal) append(at time.Time, records []Record) {
	if len(j.records)+len(records) > memoryRecords {
		j.records = slices.Delete(j.records, 0, memoryRecords/4)
	}
	for i := range records {
		j.seq++
		j.records = append(j.records, records[i])
		r := &j.records[len(j.records)-1]
		r.Seq, r.At, r.Args = j.seq, at, bytes.Clone(r.Args)
	}
}

// Scan implements [Journal].
func (j *MemoryJournal) Scan(ctx context.Context, q Query) ([]Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	found := j.matching(&q)
	slices.SortFunc(found, func(a, b *memoryEntry) int {
		if q.Group != "" && a.Generation != b.Generation {
			return cmp.Compare(b.Generation, a.Generation)
		}
		return cmp.Compare(b.serial, a.serial)
	})
	found = found[min(max(q.Skip, 0), len(found)):]
	found = found[:min(len(found), cmp.Or(max(q.Limit, 0), 100))]
	at := time.Now()
	var entries []Entry
	for _, e := range found {
		entries = append(entries, e.reading(at))
	}
	return entries, nil
}

// matching finds one entry by its key, the newest of a group by that, and all
// others by looking at all.
func (j *MemoryJournal) matching(q *Query) (found []*memoryEntry) {
	key := q.Key
	if key == "" && q.Group != "" && q.Limit == 1 && q.Skip <= 0 {
		if key = j.newest[q.Group]; key == "" {
			return nil
		}
	}
	if key != "" {
		if e := j.find(key); e != nil && q.Matches(&e.Entry) {
			found = append(found, e)
		}
		return found
	}
	for _, e := range j.open {
		if q.Matches(&e.Entry) {
			found = append(found, e)
		}
	}
	for _, e := range j.settled.OldestFirst {
		if q.Matches(&e.Entry) {
			found = append(found, e)
		}
	}
	return found
}

// Take implements [Journal].
func (j *MemoryJournal) Take(ctx context.Context, n int, hold time.Duration) ([]Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	at := time.Now()
	var due []*memoryEntry
	for _, e := range j.open {
		if e.Due > 0 && at.Sub(e.Updated) >= e.Due {
			due = append(due, e)
		}
	}
	slices.SortFunc(due, func(a, b *memoryEntry) int { return a.Updated.Add(a.Due).Compare(b.Updated.Add(b.Due)) })
	var taken []Entry
	for _, e := range due[:min(max(n, 0), len(due))] {
		if e.State == StatePending {
			e.Token++
		}
		e.Due = at.Sub(e.Updated) + hold
		taken = append(taken, e.reading(at))
	}
	return taken, nil
}

// Records implements [Journal].
func (j *MemoryJournal) Records(ctx context.Context, q RecordQuery) ([]Record, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	limit := cmp.Or(max(q.Limit, 0), 1000)
	var found []Record
	first, _ := slices.BinarySearchFunc(j.records, q.After, func(r Record, after uint64) int {
		if r.Seq <= after {
			return -1
		}
		return 1
	})
	for _, r := range j.records[first:] {
		if len(found) == limit {
			break
		}
		if q.Key == "" || q.Key == r.Key {
			r.Args = bytes.Clone(r.Args)
			found = append(found, r)
		}
	}
	return found, nil
}

// Prune implements [Journal].
func (j *MemoryJournal) Prune(ctx context.Context, age time.Duration) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	at, n := time.Now(), 0
	for key, e := range j.settled.OldestFirst {
		if at.Sub(e.Updated) >= age {
			j.forget(key, e)
			n++
		}
	}
	j.records = slices.DeleteFunc(j.records, func(r Record) bool { return at.Sub(r.At) >= age && j.find(r.Key) == nil })
	return n, nil
}
