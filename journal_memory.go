package toolguard

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// MemoryJournal is a [Journal] that is lost with the process: for tests, and for
// runs that end with it. It keeps up to 10,000 entries that are not settled; of
// those that are, the last 5,000 at least and 10,000 at most; and 40,000 records.
// Make one with [NewMemoryJournal].
type MemoryJournal struct {
	mu sync.Mutex
	// What was written is among the recent entries until there are too many. Then
	// what is settled of the older ones is forgotten, all of it at once: one after
	// the other each would have to be looked up again, long after it was of use.
	recent, older map[string]*memoryEntry
	ages          uint64            // how often that was
	room          int               // how many recent ones there may be
	open, left    int               // what is not settled, of the recent ones and of the older
	newest        map[string]string // the key of a group's last generation, where that is not the group
	made          uint64
	written       time.Time // last
	audit         memoryAudit
}

type memoryEntry struct {
	Entry
	serial uint64
	age    uint64 // it is among the recent ones of
}

const (
	memoryOpen   = 10_000
	memoryRecent = 5_000
)

var errJournalFull = errors.New("toolguard: the memory journal is full of calls that are not settled")

// NewMemoryJournal returns an empty journal.
func NewMemoryJournal() *MemoryJournal {
	return &MemoryJournal{
		recent: make(map[string]*memoryEntry), older: make(map[string]*memoryEntry), room: memoryRecent,
		newest: make(map[string]string),
	}
}

// Durability implements [Journal].
func (j *MemoryJournal) Durability() Durability { return DurabilityVolatile }

// Write implements [Journal].
func (j *MemoryJournal) Write(ctx context.Context, was Version, e Entry, records ...Record) (now Entry, ok bool, err error) {
	now = e
	now.Result = bytes.Clone(e.Result)
	if ok, err = j.replace(ctx, time.Now(), was, &now, wholeLines(records)); ok {
		now.Result = e.Result
	}
	return now, ok, err
}

// replace is Write, at an instant, that makes e what is there now. It keeps the
// result and the lines, which nobody may change any more.
func (j *MemoryJournal) replace(ctx context.Context, at time.Time, was Version, e *Entry, lines []line) (ok bool, err error) {
	if err := e.Check(); err != nil {
		return false, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if at.Before(j.written) { // it has waited for its turn
		at = j.written
	}
	old := j.find(e.Key)
	switch {
	case old == nil && was != Version{}:
		*e = Entry{}
		return false, nil
	case old != nil && old.Version() != was:
		*e = old.reading(at)
		return false, nil
	case j.open+j.left >= memoryOpen && !e.State.Prunable() && (old == nil || old.State.Prunable()):
		return false, errJournalFull
	}
	e.Created, e.Updated, e.Read, j.written = at, at, at, at
	j.audit.append(at, j.put(old, e), lines)
	return true, nil
}

// find returns the entry with the key, or nil.
func (j *MemoryJournal) find(key string) *memoryEntry {
	if e := j.recent[key]; e != nil {
		return e
	}
	return j.older[key]
}

// put stores e in place of old, or as a new entry. Records refer to what is there
// for what they say of the call: if e is of another call, it is stored elsewhere.
func (j *MemoryJournal) put(old *memoryEntry, e *Entry) *memoryEntry {
	kept := old
	switch {
	case old == nil:
		kept = j.insert(e)
	case !sameCall(&old.Entry, e):
		kept = &memoryEntry{Entry: old.Entry, serial: old.serial, age: old.age}
		j.shelf(kept)[e.Key] = kept
	}
	if old != nil {
		j.count(kept.age, old.State, -1)
		e.Created = old.Created
	}
	j.count(kept.age, e.State, 1)
	args := kept.Args
	if len(args) == 0 || !bytes.Equal(args, e.Args) {
		args = bytes.Clone(e.Args)
	}
	kept.Entry = *e
	kept.Args, kept.Approval = args, e.Approval.clone()
	return kept
}

func (j *MemoryJournal) insert(e *Entry) *memoryEntry {
	if len(j.recent) >= j.room {
		j.age()
	}
	if e.Group != e.Key || j.newest[e.Group] != "" {
		j.newest[e.Group] = e.Key
	}
	j.made++
	kept := &memoryEntry{serial: j.made, age: j.ages}
	j.recent[e.Key] = kept
	return kept
}

// shelf is where the entry is.
func (j *MemoryJournal) shelf(e *memoryEntry) map[string]*memoryEntry {
	if e.age == j.ages {
		return j.recent
	}
	return j.older
}

// count counts what is not settled.
func (j *MemoryJournal) count(age uint64, s State, n int) {
	switch {
	case s.Prunable():
	case age == j.ages:
		j.open += n
	default:
		j.left += n
	}
}

// age forgets what is settled of the older entries, mostly without a look at them.
// The recent ones are those now.
func (j *MemoryJournal) age() {
	j.ages++
	if j.left+len(j.newest) == 0 {
		clear(j.older)
	}
	for key, e := range j.older {
		if e.State.Prunable() {
			j.forget(e)
			delete(j.older, key)
		}
		e.age = j.ages
	}
	j.recent, j.older = j.older, j.recent
	j.open, j.left, j.room = j.left, j.open, len(j.recent)+memoryRecent
}

func (j *MemoryJournal) forget(e *memoryEntry) {
	if j.newest[e.Group] == e.Key {
		delete(j.newest, e.Group)
	}
}

// reading is a copy of the entry as it stands at an instant.
func (e *memoryEntry) reading(at time.Time) Entry {
	r := e.Entry
	r.Args, r.Result, r.Read = bytes.Clone(r.Args), bytes.Clone(r.Result), at
	r.Approval = r.Approval.clone()
	return r
}

// Scan implements [Journal].
func (j *MemoryJournal) Scan(ctx context.Context, q Query) ([]Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	found := j.matching(&q)
	slices.SortFunc(found, func(a, b *memoryEntry) int { return cmp.Compare(b.serial, a.serial) })
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
		key = j.lastKey(q.Group)
	}
	if key != "" {
		if e := j.find(key); e != nil && q.Matches(&e.Entry) {
			found = append(found, e)
		}
		return found
	}
	for _, entries := range [...]map[string]*memoryEntry{j.recent, j.older} {
		for _, e := range entries {
			if q.Matches(&e.Entry) {
				found = append(found, e)
			}
		}
	}
	return found
}

// lastKey is that of the group's last generation. The first has the group's name.
func (j *MemoryJournal) lastKey(group string) string {
	if key := j.newest[group]; key != "" {
		return key
	}
	return group
}

// last reads the last generation of a group; the zero Entry if there is none.
func (j *MemoryJournal) last(ctx context.Context, group string, into *Entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if e := j.find(j.lastKey(group)); e != nil && e.Group == group {
		*into = e.reading(time.Now())
	}
	return nil
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
	for _, entries := range [...]map[string]*memoryEntry{j.recent, j.older} {
		for _, e := range entries {
			if e.Due > 0 && at.Sub(e.Updated) >= e.Due {
				due = append(due, e)
			}
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

// Prune implements [Journal].
func (j *MemoryJournal) Prune(ctx context.Context, age time.Duration) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	at, n := time.Now(), 0
	for _, entries := range [...]map[string]*memoryEntry{j.recent, j.older} {
		for key, e := range entries {
			if e.State.Prunable() && at.Sub(e.Updated) >= age {
				delete(entries, key)
				j.forget(e)
				n++
			}
		}
	}
	j.audit.prune(func(r *memoryRecord) bool { return at.Sub(r.at) >= age && j.find(r.key()) == nil })
	return n, nil
}
