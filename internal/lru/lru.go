// Package lru is a small map that forgets what was used longest ago.
package lru

import "container/list"

// Cache keeps the last used entries, at most as many as its cap. It is not safe
// for concurrent use: its owner holds a lock anyway.
type Cache[K comparable, V any] struct {
	limit   int
	order   list.List // front: most recently used
	entries map[K]*list.Element
	evicted uint64
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// New returns an empty cache for at most limit entries; limit must be positive.
func New[K comparable, V any](limit int) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, entries: make(map[K]*list.Element)}
}

// Get returns the value at key and marks it as used.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	el, ok := c.entries[key]
	if !ok {
		return value, false
	}
	c.order.MoveToFront(el)
	return el.Value.(*entry[K, V]).value, true
}

// Put stores value at key, evicting the entry unused for longest if need be.
func (c *Cache[K, V]) Put(key K, value V) {
	if el, ok := c.entries[key]; ok {
		el.Value.(*entry[K, V]).value = value
		c.order.MoveToFront(el)
		return
	}
	c.entries[key] = c.order.PushFront(&entry[K, V]{key, value})
	if c.order.Len() > c.limit {
		c.evict(c.order.Back())
	}
}

// Delete removes the entry at key, if there is one.
func (c *Cache[K, V]) Delete(key K) {
	if el, ok := c.entries[key]; ok {
		c.order.Remove(el)
		delete(c.entries, key)
	}
}

func (c *Cache[K, V]) evict(el *list.Element) {
	c.order.Remove(el)
	delete(c.entries, el.Value.(*entry[K, V]).key)
	c.evicted++
}

// Len returns the number of entries.
func (c *Cache[K, V]) Len() int { return len(c.entries) }

// Evicted returns how many entries were dropped for want of room.
func (c *Cache[K, V]) Evicted() uint64 { return c.evicted }

// All calls yield for every entry, most recently used first.
func (c *Cache[K, V]) All(yield func(K, V) bool) {
	for el := c.order.Front(); el != nil; el = el.Next() {
		e := el.Value.(*entry[K, V])
		if !yield(e.key, e.value) {
			return
		}
	}
}
