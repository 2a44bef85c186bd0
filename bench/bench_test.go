package bench

import (
	"flag"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Benchmark runs everything that command table does. Compare its times only
// within one run.
func Benchmark(b *testing.B) {
	for _, c := range Cases() {
		b.Run(c.Name, func(b *testing.B) {
			for _, v := range c.Variants {
				b.Run(v.Name, func(b *testing.B) { v.Run(b, c) })
			}
		})
	}
}

// What is promised of memory holds everywhere, so it is tested; what is
// promised of time is for the table.
func TestMemoryPromises(t *testing.T) {
	skipUnderRace(t)
	for _, c := range Cases() {
		for _, v := range c.Variants {
			for _, bound := range v.Bounds {
				if !bound.Stretch && bound.Over == "" && bound.ofMemory() {
					t.Run(c.Name+"/"+v.Name, func(t *testing.T) { holds(t, c, v, bound) })
				}
			}
		}
	}
}

func (b Bound) ofMemory() bool { return b.Allocs > 0 || b.Bytes > 0 || b.Share > 0 || b.Extra > 0 }

func holds(t *testing.T, c Case, v Variant, bound Bound) {
	got := measured(t, c, v)
	t.Logf("%d allocations, %d bytes", got.AllocsPerOp(), got.AllocedBytesPerOp())
	if bound.Allocs > 0 {
		assert.LessOrEqual(t, got.AllocsPerOp(), bound.Allocs, "allocations")
	}
	if bound.Bytes > 0 {
		assert.LessOrEqual(t, got.AllocedBytesPerOp(), bound.Bytes, "bytes")
	}
	if bound.Extra > 0 {
		other := measured(t, c, named(t, c, bound.Beside))
		assert.LessOrEqual(t, got.AllocsPerOp()-other.AllocsPerOp(), bound.Extra, "allocations more")
	}
	if bound.Share > 0 {
		other := measured(t, c, named(t, c, bound.Beside))
		assert.LessOrEqual(t, float64(got.AllocsPerOp()), bound.Share*float64(other.AllocsPerOp()), "allocations")
	}
}

// measured counts over so many calls that what the runtime itself allocates
// meanwhile disappears. With one processor the tools' goroutines have their turn
// however busy the machine is: a call that has to wait allocates what it waits with.
func measured(t *testing.T, c Case, v Variant) testing.BenchmarkResult {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	require.NoError(t, flag.Set("test.benchtime", "20000x"))
	r := testing.Benchmark(func(b *testing.B) { v.Run(b, c) })
	require.NotZero(t, r.N, "the benchmark failed")
	return r
}

func named(t *testing.T, c Case, name string) Variant {
	for _, v := range c.Variants {
		if v.Name == name {
			return v
		}
	}
	require.Failf(t, "no such variant", "%s has no %q", c.Name, name)
	return Variant{}
}

// A bound beside a variant that does not exist would never be checked.
func TestBoundsHaveAPeer(t *testing.T) {
	t.Parallel()
	for _, c := range Cases() {
		for _, v := range c.Variants {
			for _, bound := range v.Bounds {
				named(t, c, bound.Beside)
				if bound.Over != "" {
					named(t, c, bound.Over)
				}
			}
		}
	}
}
