// Package bench measures guards beside the same work put together from peers,
// in one run. Command table prints the ratios; docs/performance.md says what
// they mean.
package bench

import (
	"context"
	"testing"
)

// Case is one kind of call, made in several ways.
type Case struct {
	Name     string
	Parallel bool // from four goroutines per processor
	Variants []Variant
}

// Variant is one way to make the call.
type Variant struct {
	Name string
	// New makes everything a run needs, so that no run starts with what another
	// one left. What it returns may be used by any goroutine, and reports
	// an answer that is not the one expected.
	New func() Call
	// Bounds are what it is compared with, and what is promised of it.
	Bounds []Bound
}

// Call makes one call.
type Call func(context.Context) error

// Bound is a promise, or, where all but Beside is zero, a comparison only.
type Bound struct {
	Beside  string  // the variant of the same case to compare with
	Over    string  // taken off both first, time and allocations: what they add to it
	Time    float64 // times the other's
	Share   float64 // of the other's allocations
	Nanos   int64   // per call
	Allocs  int64   // per call
	Bytes   int64   // per call
	More    int64   // nanoseconds beyond the other's
	Extra   int64   // allocations beyond the other's
	Stretch bool    // hoped for, not promised
}

// Run measures the variant of c.
func (v Variant) Run(b *testing.B, c Case) {
	call := v.New()
	// A context that can end, as that of any server's request.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := call(ctx); err != nil { // what is made once, is made now
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	if c.Parallel {
		runParallel(b, ctx, call)
		return
	}
	for b.Loop() {
		if err := call(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

func runParallel(b *testing.B, ctx context.Context, call Call) {
	b.SetParallelism(4)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := call(ctx); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
