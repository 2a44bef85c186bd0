package lru

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The reference is a slice, the oldest first.
func TestCacheIsTheReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 4).Draw(t, "limit")
		c, model := New[int, int](limit), [][2]int(nil)
		at := func(key int) int { return slices.IndexFunc(model, func(e [2]int) bool { return e[0] == key }) }
		var evicted uint64
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			key, value := rapid.IntRange(0, 5).Draw(t, "key"), rapid.Int().Draw(t, "value")
			i := at(key)
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				got, ok := c.Get(key)
				require.Equal(t, i >= 0, ok)
				if ok {
					require.Equal(t, model[i][1], got)
					model = append(slices.Delete(model, i, i+1), [2]int{key, got})
				}
			case 1:
				former, ok := c.Put(key, value)
				want := -1
				switch {
				case i >= 0:
					want = i
				case len(model) == limit:
					want, evicted = 0, evicted+1
				}
				require.Equal(t, want >= 0, ok)
				if ok {
					require.Equal(t, model[want][1], former)
					model = slices.Delete(model, want, want+1)
				}
				model = append(model, [2]int{key, value})
			case 2:
				c.Delete(key)
				if i >= 0 {
					model = slices.Delete(model, i, i+1)
				}
			}
			var oldest, newest [][2]int
			for k, v := range c.OldestFirst {
				oldest = append(oldest, [2]int{k, v})
			}
			for k, v := range c.All {
				newest = append(newest, [2]int{k, v})
			}
			slices.Reverse(newest)
			require.Equal(t, len(model), c.Len())
			require.True(t, slices.Equal(model, oldest) && slices.Equal(model, newest), "%v %v %v", model, oldest, newest)
			require.Equal(t, evicted, c.Evicted())
		}
	})
}

func TestDeleteWhileWalking(t *testing.T) {
	t.Parallel()
	c := New[int, int](10)
	for i := range 5 {
		c.Put(i, i)
	}
	for k := range c.OldestFirst {
		c.Delete(k)
		if k == 2 {
			break
		}
	}
	require.Equal(t, 2, c.Len())
}
