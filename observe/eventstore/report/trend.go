package report

import "math"

// Trend compares a failure rate with that of the period before.
type Trend string

const (
	// TrendNone: one of the periods has too few calls to tell.
	TrendNone Trend = "too few calls"
	// TrendSame: the difference is what chance makes.
	TrendSame Trend = "same"
	// TrendWorse: the rate rose by more than chance makes.
	TrendWorse Trend = "worse"
	// TrendBetter: it fell.
	TrendBetter Trend = "better"
)

// fewest is how many calls a period needs to be compared.
const fewest = 20

// trendOf holds two shares against each other: two standard errors apart are more
// than chance, mostly.
func trendOf(failedBefore, before, failedNow, now int64) Trend {
	if before < fewest || now < fewest {
		return TrendNone
	}
	p, q := share(failedBefore, before), share(failedNow, now)
	pooled := share(failedBefore+failedNow, before+now)
	spread := math.Sqrt(pooled * (1 - pooled) * (1/float64(before) + 1/float64(now)))
	switch {
	case math.Abs(q-p) <= 2*spread:
		return TrendSame
	case q > p:
		return TrendWorse
	default:
		return TrendBetter
	}
}
