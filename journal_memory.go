package toolguard

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// MemoryJournal is a [Journal] that is lost with the process: for tests, and for
// runs that end with it. It keeps up to 10,000 entries that are not settled, or that
// a person has aborted; of the others, the last 5,000 at least and 10,000 at most; and
// the last 40,000 records, or 1,000 less.
// Make one with [NewMemoryJournal].
type MemoryJournal struct {
	mu sync.Mutex
	// What is settled is among the recent entries, until there are too many. Then the
	// older ones are forgotten, all at once: one after the other each would have to be
	// looked up again, long after it was of use.
	shelves [3]map[string]*packed
	digests [3]digests        // of what is settled
	newest  map[string]string // the key of a group's highest generation, where that is not the group
	made    uint64
	epoch   time.Time // of the first write
	written time.Time // last, an entry or a record
	audit   memoryAudit
	scratch []byte
}

// The shelves. Few entries are open at any time, so that all of them can be looked at.
const (
	open = iota
	recent
	older
)

// shelfOf is where an entry in the state belongs. That nobody knows what became of an
// aborted one is of use for as long as that of any in doubt.
func shelfOf(s State) int {
	if !s.Prunable() || s == StateAborted {
		return open
	}
	return recent
}

const (
	memoryOpen    = 10_000
	memorySettled = 5_000 // recent ones, and as many older
)

var errJournalFull = errors.New("toolguard: the memory journal is full of calls that are not settled")

// NewMemoryJournal returns an empty journal.
func NewMemoryJournal() *MemoryJournal {
	return &MemoryJournal{
		shelves: [...]map[string]*packed{make(map[string]*packed), make(map[string]*packed), make(map[string]*packed)},
		newest:  make(map[string]string),
	}
}

// Durability implements [Journal].
func (j *MemoryJournal) Durability() Durability { return DurabilityVolatile }

// Write implements [Journal].
func (j *MemoryJournal) Write(ctx context.Context, was Version, e Entry, records ...Record) (now Entry, ok bool, err error) {
	ok, err = j.replace(ctx, time.Now(), was, &e, wholeLines(records))
	return e, ok, err
}

// replace is Write, at an instant, that makes e what is there now. It keeps the
// lines, which nobody may change any more.
func (j *MemoryJournal) replace(ctx context.Context, at time.Time, was Version, e *Entry, lines []line) (ok bool, err error) {
	if err := e.Check(); err != nil {
		return false, err
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	at = j.stamp(at)
	p, shelf := j.find(e.Key)
	switch {
	case p.version() != was:
		*e = j.reading(p, at)
		return false, nil
	case len(j.shelves[open]) >= memoryOpen && shelf != open && !e.State.Prunable():
		return false, errJournalFull
	case p == nil:
		p = &packed{created: at.Sub(j.epoch), serial: j.insert(e)}
	}
	p.updated = at.Sub(j.epoch)
	j.keepScratch(p.become(e, j.scratch))
	j.put(e, p, shelf)
	j.audit.append(p.updated, p.about, lines)
	e.Created, e.Updated, e.Read = j.epoch.Add(p.created), at, at
	return true, nil
}

// stamp is the instant of a write that was asked for at one: it may have waited for its
// turn.
func (j *MemoryJournal) stamp(at time.Time) time.Time {
	if at.Before(j.written) {
		at = j.written
	}
	if j.epoch.IsZero() {
		j.epoch = at
	}
	j.written = at
	return at
}

// put puts what is made of e where it belongs, from where it was.
func (j *MemoryJournal) put(e *Entry, p *packed, shelf int) {
	to := shelfOf(e.State)
	if shelf != to {
		if shelf != nowhere {
			delete(j.shelves[shelf], e.Key)
		}
		j.shelves[to][e.Key] = p
	}
	if to == recent {
		j.digests[recent].add(&e.Digest)
	}
	if len(j.shelves[recent]) >= memorySettled {
		j.age()
	}
}

// nowhere is the shelf of what is on none.
const nowhere = -1

// find returns the entry with the key, or nil, and where it is.
func (j *MemoryJournal) find(key string) (p *packed, shelf int) {
	for shelf, entries := range j.shelves {
		if p = entries[key]; p != nil {
			return p, shelf
		}
	}
	return nil, nowhere
}

// keepScratch keeps the buffer for the next: one huge entry must not pin its size.
func (j *MemoryJournal) keepScratch(text []byte) {
	if cap(text) <= 64<<10 {
		j.scratch = text
	}
}

// insert notes a new entry in its group and returns its number.
func (j *MemoryJournal) insert(e *Entry) uint64 {
	j.made++
	j.group(e, j.made)
	return j.made
}

// group notes what is the last of its group: of one generation, what was made last.
func (j *MemoryJournal) group(e *Entry, serial uint64) {
	if e.Group == e.Key && j.newest[e.Group] == "" {
		return
	}
	top, _ := j.find(j.lastKey(e.Group))
	if top == nil || cmp.Or(cmp.Compare(top.generation, e.Generation), cmp.Compare(top.serial, serial)) < 0 {
		j.newest[e.Group] = e.Key
	}
}

// regroup does so for all, after some are gone.
func (j *MemoryJournal) regroup() {
	if len(j.newest) == 0 {
		return
	}
	clear(j.newest)
	for _, p := range j.all {
		e := p.call()
		j.group(&e, p.serial)
	}
}

// age forgets the older entries. The recent ones are those now.
func (j *MemoryJournal) age() {
	clear(j.shelves[older])
	j.digests[older] = digests{}
	slices.Reverse(j.shelves[recent:])
	slices.Reverse(j.digests[recent:])
	j.regroup()
}

// reading is a copy of the entry as it stands at an instant; the zero Entry of none.
func (j *MemoryJournal) reading(p *packed, at time.Time) Entry {
	if p == nil {
		return Entry{}
	}
	e := p.entry()
	e.Created, e.Updated, e.Read = j.epoch.Add(p.created), j.epoch.Add(p.updated), at
	return e
}

// Scan implements [Journal].
func (j *MemoryJournal) Scan(ctx context.Context, q Query) ([]Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	found := j.matching(&q)
	slices.SortFunc(found, func(a, b *packed) int {
		if q.Group != "" && a.generation != b.generation {
			return cmp.Compare(b.generation, a.generation)
		}
		return cmp.Compare(b.serial, a.serial)
	})
	found = found[min(max(q.Skip, 0), len(found)):]
	found = found[:min(len(found), cmp.Or(max(q.Limit, 0), 100))]
	at := time.Now()
	var entries []Entry
	for _, p := range found {
		entries = append(entries, j.reading(p, at))
	}
	return entries, nil
}

// matching finds one entry by its key, the newest of a group by that, unless it is
// not what is asked for, and all others by looking at all.
func (j *MemoryJournal) matching(q *Query) (found []*packed) {
	matches := func(p *packed) bool {
		e := p.call()
		return q.Matches(&e)
	}
	key, last := q.Key, q.Key == "" && q.Group != "" && q.Limit == 1 && q.Skip <= 0
	if last {
		key = j.lastKey(q.Group)
	}
	switch p, _ := j.find(key); {
	case p != nil && matches(p):
		return []*packed{p}
	case q.Key != "", last && p == nil:
		return nil
	}
	for shelf, entries := range j.shelves {
		if !j.mayHold(shelf, q) {
			continue
		}
		for _, p := range entries {
			if (len(q.States) == 0 || slices.Contains(q.States, p.state)) && matches(p) {
				found = append(found, p)
			}
		}
	}
	return found
}

// mayHold spares most queries a look at what is settled.
func (j *MemoryJournal) mayHold(shelf int, q *Query) bool {
	settled := func(s State) bool { return shelfOf(s) != open }
	switch {
	case shelf == open:
		return true
	case len(q.States) > 0 && !slices.ContainsFunc(q.States, settled):
		return false
	default:
		return q.Digest == Digest{} || j.digests[shelf].mayHave(&q.Digest)
	}
}

// all calls yield for every entry.
func (j *MemoryJournal) all(yield func(string, *packed) bool) {
	for _, entries := range j.shelves {
		for key, p := range entries {
			if !yield(key, p) {
				return
			}
		}
	}
}

// lastKey is that of the group's last generation. The first has the group's name.
func (j *MemoryJournal) lastKey(group string) string {
	if key := j.newest[group]; key != "" {
		return key
	}
	return group
}

// last reads the last generation of a group into an entry, if there is one.
func (j *MemoryJournal) last(ctx context.Context, group string, into *Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if p, _ := j.find(j.lastKey(group)); p != nil {
		if e := j.reading(p, time.Now()); e.Group == group {
			*into = e
		}
	}
	return nil
}

// Take implements [Journal].
func (j *MemoryJournal) Take(ctx context.Context, n int, hold time.Duration) ([]Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	at := time.Now()
	since := at.Sub(j.epoch)
	var due []*packed
	for _, p := range j.shelves[open] {
		if !p.state.Prunable() && p.overdue(since) {
			due = append(due, p)
		}
	}
	slices.SortFunc(due, func(a, b *packed) int { return cmp.Compare(a.updated+a.due, b.updated+b.due) })
	var taken []Entry
	for _, p := range due[:min(max(n, 0), len(due))] {
		if p.state == StatePending {
			p.token++
		}
		p.due = since - p.updated + hold
		taken = append(taken, j.reading(p, at))
	}
	return taken, nil
}

// Prune implements [Journal].
func (j *MemoryJournal) Prune(ctx context.Context, age time.Duration) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	since, gone := time.Since(j.epoch), map[string]bool{}
	for _, entries := range j.shelves {
		for key, p := range entries {
			if p.state.Prunable() && since-p.updated >= age {
				delete(entries, key)
				gone[key] = true
			}
		}
	}
	j.regroup()
	j.audit.prune(func(r *memoryRecord) bool {
		key := r.key()
		entry, _ := j.find(key)
		return entry == nil && (gone[key] || since-r.at >= age)
	})
	return len(gone), nil
}
