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
// runs that end with it. It keeps up to 10,000 entries, of which those that were
// settled long ago make way for new ones, and 40,000 records. Make one with
// [NewMemoryJournal].
type MemoryJournal struct {
	mu   sync.Mutex
	open map[string]*memoryEntry
	// Of what is settled the older half is forgotten at once: one after the other
	// each would have to be looked up again, long after it was of any use.
	settled, older map[string]*memoryEntry
	newest         map[string]string // the key of a group's last generation, where that is not the group
	made           uint64
	audit          memoryAudit
}

type memoryEntry struct {
	Entry
	serial uint64
}

const memoryEntries = 10_000

var errJournalFull = errors.New("toolguard: the memory journal is full of calls that are not settled")

// NewMemoryJournal returns an empty journal.
func NewMemoryJournal() *MemoryJournal {
	return &MemoryJournal{
		open: make(map[string]*memoryEntry), settled: make(map[string]*memoryEntry), older: make(map[string]*memoryEntry),
		newest: make(map[string]string),
	}
}

// Durability implements [Journal].
func (j *MemoryJournal) Durability() Durability { return DurabilityVolatile }

// Write implements [Journal].
func (j *MemoryJournal) Write(ctx context.Context, was Version, e Entry, records ...Record) (now Entry, ok bool, err error) {
	now = e
	now.Result = bytes.Clone(e.Result)
	if ok, err = j.replace(ctx, was, &now, wholeLines(records)); ok {
		now.Result = e.Result
	}
	return now, ok, err
}

// replace is Write that makes e what is there now. It keeps the result and the
// lines, which nobody may change any more.
func (j *MemoryJournal) replace(ctx context.Context, was Version, e *Entry, lines []line) (ok bool, err error) {
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
	j.audit.append(at, j.put(old, e), lines)
	return true, nil
}

// find returns the entry with the key, or nil.
func (j *MemoryJournal) find(key string) *memoryEntry {
	if e := j.open[key]; e != nil {
		return e
	}
	if e := j.settled[key]; e != nil {
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
		kept = &memoryEntry{Entry: old.Entry, serial: old.serial}
	}
	if old != nil {
		j.remove(old)
		e.Created = old.Created
	}
	args := kept.Args
	if len(args) == 0 || !bytes.Equal(args, e.Args) {
		args = bytes.Clone(e.Args)
	}
	kept.Entry = *e
	kept.Args, kept.Approval = args, e.Approval.clone()
	j.place(kept)
	return kept
}

func (j *MemoryJournal) insert(e *Entry) *memoryEntry {
	j.made++
	if e.Group != e.Key || j.newest[e.Group] != "" {
		j.newest[e.Group] = e.Key
	}
	return &memoryEntry{serial: j.made}
}

// place puts the entry among the open ones or the settled.
func (j *MemoryJournal) place(e *memoryEntry) {
	if !e.State.Prunable() {
		j.open[e.Key] = e
		return
	}
	if len(j.settled) >= memoryEntries/2 {
		j.age()
	}
	j.settled[e.Key] = e
}

func (j *MemoryJournal) remove(e *memoryEntry) {
	if !e.State.Prunable() {
		delete(j.open, e.Key)
		return
	}
	delete(j.settled, e.Key)
	delete(j.older, e.Key)
}

func (j *MemoryJournal) len() int { return len(j.open) + len(j.settled) + len(j.older) }

// makeRoom forgets what was settled longest ago.
func (j *MemoryJournal) makeRoom() bool {
	for range 2 {
		if j.len() < memoryEntries {
			return true
		}
		j.age()
	}
	return j.len() < memoryEntries
}

// age forgets the older half of what is settled. The other one is that now.
func (j *MemoryJournal) age() {
	for _, e := range j.older {
		j.forget(e)
	}
	clear(j.older)
	j.settled, j.older = j.older, j.settled
}

// forget drops what records do not need of an entry that is not there any more.
func (j *MemoryJournal) forget(e *memoryEntry) {
	e.Args, e.Result = nil, nil
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
	for _, entries := range []map[string]*memoryEntry{j.open, j.settled, j.older} {
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

// Prune implements [Journal].
func (j *MemoryJournal) Prune(ctx context.Context, age time.Duration) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	at, n := time.Now(), 0
	for _, entries := range []map[string]*memoryEntry{j.settled, j.older} {
		for key, e := range entries {
			if at.Sub(e.Updated) >= age {
				delete(entries, key)
				j.forget(e)
				n++
			}
		}
	}
	j.audit.prune(func(r *memoryRecord) bool { return at.Sub(r.at) >= age && j.find(r.key()) == nil })
	return n, nil
}
