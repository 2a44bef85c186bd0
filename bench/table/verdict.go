package main

import (
	"fmt"
	"strings"

	"github.com/toolguard-go/toolguard/bench"
)

// verdict is one promise and whether the row keeps it.
type verdict struct {
	beside string
	ratio  float64
	terms  []string
	hope   bool
}

func (r *row) judge(rows []*row, b bench.Bound) verdict {
	other := r.beside(rows, b.Beside)
	v := verdict{beside: b.Beside, ratio: r.min() / other.min(), hope: b.Stretch}
	allocs, otherAllocs := r.allocs, other.allocs
	if b.Over != "" {
		base := r.beside(rows, b.Over)
		v.beside = "what " + b.Beside + " adds"
		v.ratio = (r.min() - base.min()) / max(other.min()-base.min(), 1)
		allocs, otherAllocs = allocs-base.allocs, otherAllocs-base.allocs
	}
	v.term(b.Time > 0, v.ratio <= b.Time, "≤ %.2f×", b.Time)
	v.term(b.Nanos > 0, r.min() <= float64(b.Nanos), "≤ %d ns", b.Nanos)
	v.term(b.Allocs > 0, r.allocs <= b.Allocs, "≤ %d allocs", b.Allocs)
	v.term(b.Bytes > 0, r.bytes <= b.Bytes, "≤ %d B", b.Bytes)
	v.term(b.Share > 0, float64(allocs) <= b.Share*float64(otherAllocs), "≤ %.2f× allocs", b.Share)
	v.term(b.More > 0, r.min()-other.min() <= float64(b.More), "+ ≤ %d ns", b.More)
	v.term(b.Extra > 0, r.allocs-other.allocs <= b.Extra, "+ ≤ %d allocs", b.Extra)
	return v
}

// term adds one part of the promise, if it is part of it.
func (v *verdict) term(promised, kept bool, format string, limit any) {
	mark := " ok"
	if !kept {
		mark = " over"
	}
	if promised {
		v.terms = append(v.terms, fmt.Sprintf(format, limit)+mark)
	}
}

// String is the promise with its marks; "" where nothing is promised.
func (v verdict) String() string {
	text := strings.Join(v.terms, ", ")
	if v.hope {
		text = "stretch: " + text
	}
	return text
}
