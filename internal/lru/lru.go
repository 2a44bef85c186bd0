// Package lru is a small map that forgets what was used longest ago.
package lru

// Cache keeps the last used entries, at most as many as its cap. It is not safe
// for concurrent use: its owner holds a lock anyway.
type Cache[K comparable, V any] struct {
	limit   int
	entries map[K]*entry[K, V]
	ends    entry[K, V] // of the ring: newer is the oldest, older the newest
	evicted uint64
}

// entry is linked with those used before and after it, in one ring through ends:
// a list of its own would take a second allocation.
type entry[K comparable, V any] struct {
	older, newer *entry[K, V]
	key          K
	value        V
}

// New returns an empty cache for at most limit entries; limit must be positive.
func New[K comparable, V any](limit int) *Cache[K, V] {
	c := &Cache[K, V]{limit: limit, entries: make(map[K]*entry[K, V])}
	c.ends.older, c.ends.newer = &c.ends, &c.ends
	return c
}

// Get returns the value at key and marks it as used. Asked for the newest again, it
// looks no further.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	if newest := c.ends.older; newest != &c.ends && newest.key == key {
		return newest.value, true
	}
	e, ok := c.entries[key]
	if !ok {
		return value, false
	}
	c.use(e)
	return e.value, true
}

// Put stores value at key. It returns the value that made way for it and true, if
// one did: the former one at key, or that of the entry unused for longest.
func (c *Cache[K, V]) Put(key K, value V) (former V, ok bool) {
	if e, ok := c.entries[key]; ok {
		former, e.value = e.value, value
		c.use(e)
		return former, true
	}
	e := &entry[K, V]{key: key, value: value}
	c.entries[key] = e
	c.link(e)
	if len(c.entries) <= c.limit {
		return former, false
	}
	oldest := c.ends.newer
	c.remove(oldest)
	c.evicted++
	return oldest.value, true
}

// Delete removes the entry at key, if there is one.
func (c *Cache[K, V]) Delete(key K) {
	if e, ok := c.entries[key]; ok {
		c.remove(e)
	}
}

func (c *Cache[K, V]) remove(e *entry[K, V]) {
	e.unlink()
	delete(c.entries, e.key)
}

func (c *Cache[K, V]) use(e *entry[K, V]) {
	e.unlink()
	c.link(e)
}

func (e *entry[K, V]) unlink() { e.older.newer, e.newer.older = e.newer, e.older }

// link makes e the newest.
func (c *Cache[K, V]) link(e *entry[K, V]) {
	e.older, e.newer = c.ends.older, &c.ends
	e.older.newer, c.ends.older = e, e
}

// Len returns the number of entries.
func (c *Cache[K, V]) Len() int { return len(c.entries) }

// Evicted returns how many entries were dropped for want of room.
func (c *Cache[K, V]) Evicted() uint64 { return c.evicted }

// All calls yield for every entry, most recently used first.
func (c *Cache[K, V]) All(yield func(K, V) bool) {
	for e := c.ends.older; e != &c.ends; e = e.older {
		if !yield(e.key, e.value) {
			return
		}
	}
}

// OldestFirst calls yield for every entry, the one unused for longest first.
// The entry at hand may be deleted.
func (c *Cache[K, V]) OldestFirst(yield func(K, V) bool) {
	for e := c.ends.newer; e != &c.ends; {
		newer := e.newer
		if !yield(e.key, e.value) {
			return
		}
		e = newer
	}
}
