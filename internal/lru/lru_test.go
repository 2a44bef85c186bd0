package lru

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestTheOldestGoes(t *testing.T) {
	t.Parallel()
	c := New[string, int](2)
	c.Put("a", 1)
	c.Put("b", 2)
	_, _ = c.Get("a")
	c.Put("c", 3)
	_, ok := c.Get("b")
	assert.False(t, ok, "unused for longest")
	assert.Equal(t, uint64(1), c.Evicted())
	c.Delete("a")
	c.Delete("a")
	assert.Equal(t, 1, c.Len())
	assert.Equal(t, uint64(1), c.Evicted(), "a deletion is no eviction")
}

// Against a slice in order of use.
func TestBehavesLikeASlice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const limit = 4
		c := New[int, int](limit)
		var order []int // most recently used first
		values := map[int]int{}
		use := func(k int) {
			order = slices.DeleteFunc(order, func(x int) bool { return x == k })
			order = append([]int{k}, order...)
		}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			k := rapid.IntRange(0, 6).Draw(t, "key")
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				v := rapid.Int().Draw(t, "value")
				c.Put(k, v)
				use(k)
				values[k] = v
				if len(order) > limit {
					delete(values, order[limit])
					order = order[:limit]
				}
			case 1:
				got, ok := c.Get(k)
				want, has := values[k]
				assert.Equal(t, has, ok)
				assert.Equal(t, want, got)
				if has {
					use(k)
				}
			case 2:
				c.Delete(k)
				delete(values, k)
				order = slices.DeleteFunc(order, func(x int) bool { return x == k })
			}
			var got []int
			for key := range c.All {
				got = append(got, key)
			}
			assert.Equal(t, len(order), c.Len())
			assert.True(t, slices.Equal(order, got), "%v, want %v", got, order)
		}
	})
}
