package main

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/toolguard-go/toolguard/bench"
)

// row is one variant of a case under one GOMAXPROCS, and the best that was seen
// of it.
type row struct {
	c     bench.Case
	v     bench.Variant
	procs int

	nanos         []float64 // of all samples, sorted
	allocs, bytes int64
}

// rowsOf puts the rows of a case side by side, once for each GOMAXPROCS.
func rowsOf(cases []bench.Case) []*row {
	var rows []*row
	for _, c := range cases {
		for _, procs := range processors() {
			for _, v := range c.Variants {
				rows = append(rows, &row{c: c, v: v, procs: procs, allocs: math.MaxInt64, bytes: math.MaxInt64})
			}
		}
	}
	return rows
}

// processors are one, which hides nothing, and two, where a hand-off between
// goroutines may cross to another processor.
func processors() []int {
	if runtime.NumCPU() < 2 {
		return []int{1}
	}
	return []int{1, 2}
}

// sample takes one sample of each row, every other round backwards, so that no
// row always follows the same one.
func sample(rows []*row, round int) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	order := slices.Clone(rows)
	if round%2 == 1 {
		slices.Reverse(order)
	}
	for _, r := range order {
		runtime.GOMAXPROCS(r.procs)
		result := testing.Benchmark(func(b *testing.B) { r.v.Run(b, r.c) })
		if result.N == 0 {
			return fmt.Errorf("%s, %s: a call was not answered as expected", r.c.Name, r.v.Name)
		}
		r.take(result)
	}
	return nil
}

func (r *row) take(result testing.BenchmarkResult) {
	nanos := float64(result.T.Nanoseconds()) / float64(result.N)
	at, _ := slices.BinarySearch(r.nanos, nanos)
	r.nanos = slices.Insert(r.nanos, at, nanos)
	r.allocs = min(r.allocs, result.AllocsPerOp())
	r.bytes = min(r.bytes, result.AllocedBytesPerOp())
}

func (r *row) min() float64 { return r.nanos[0] }

// beside finds the row a bound compares r with.
func (r *row) beside(rows []*row, name string) *row {
	at := slices.IndexFunc(rows, func(o *row) bool {
		return o.c.Name == r.c.Name && o.procs == r.procs && o.v.Name == name
	})
	return rows[at] // a test of package bench sees to it that there is one
}
