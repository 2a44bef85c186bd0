package toolguard

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sony/gobreaker/v2"
	"github.com/stretchr/testify/assert"
)

// The retry budget looks back over this half minute and the one before.
func TestRetryBudgetWindow(t *testing.T) {
	t.Parallel()
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	spend := func(b *retryBudget, n int, s float64) (spent int) {
		for range n {
			if b.spend(at(s)) {
				spent++
			}
		}
		return spent
	}
	b := &retryBudget{share: 0.2, floor: 3}
	b.call(at(0))
	assert.Equal(t, 3, spend(b, 10, 1), "the floor")
	assert.Zero(t, spend(b, 10, 29.9))
	assert.Zero(t, spend(b, 10, 30), "the bucket before still counts")
	assert.Zero(t, spend(b, 10, 59.9))
	assert.Equal(t, 3, spend(b, 10, 60), "it does no more")
	assert.Equal(t, 3, spend(b, 10, 1000), "after a pause nothing is left of before")

	b = &retryBudget{share: 0.2, floor: 3}
	for range 50 {
		b.call(at(0))
	}
	for range 50 {
		b.call(at(31))
	}
	assert.Equal(t, 20, spend(b, 100, 32), "a fifth of the calls in both buckets")
	assert.Zero(t, spend(b, 10, 59))
	assert.Zero(t, spend(b, 10, 61), "the retries of the bucket before count against 50 calls")
	assert.Equal(t, 3, spend(b, 100, 95))

	b = &retryBudget{share: 0.2, floor: 3}
	for i := range 100 {
		b.call(at(float64(i))) // more than three in each bucket
	}
	assert.Equal(t, 3, spend(b, 100, 180), "after a pause of two buckets neither counts")

	b = &retryBudget{share: 1, floor: 1}
	b.call(at(0))
	b.call(at(45))
	assert.Equal(t, 2, spend(b, 10, 46), "buckets begin every 30 s, whenever a call comes")
	assert.Zero(t, spend(b, 10, 59.9))
	assert.Equal(t, 1, spend(b, 10, 121))
}

func TestDelays(t *testing.T) {
	t.Parallel()
	s := schedule{base: time.Second, factor: 2}
	most := func(n int, limit, after time.Duration) (low, high time.Duration) {
		low = math.MaxInt64
		for range 2000 {
			d := s.delay(n, limit, after)
			low, high = min(low, d), max(high, d)
		}
		return low, high
	}
	for n, want := range map[int]time.Duration{1: 1, 2: 2, 3: 4, 4: 5, 60: 5} {
		low, high := most(n, 5*time.Second, 0)
		assert.Less(t, low, want*time.Second/10)
		assert.InDelta(t, want*time.Second, high, float64(want*time.Second)/50)
		assert.Less(t, high, want*time.Second)
	}
	low, high := most(1, time.Minute, 10*time.Second)
	assert.GreaterOrEqual(t, low, 10*time.Second)
	assert.Less(t, high, 11*time.Second)
	assert.Greater(t, high, 10900*time.Millisecond)
	assert.Zero(t, jitter(0))
	assert.Zero(t, jitter(-1))
	assert.Equal(t, noLimit, longer(noLimit, 5))
	assert.Equal(t, noLimit, longer(5, noLimit))
	assert.Equal(t, time.Duration(7), longer(3, 4))
}

// Where a setting just makes sense, and where it just does not.
func TestRetryAndBreakerBounds(t *testing.T) {
	t.Parallel()
	for _, f := range []float64{0, 1, 2, 100} {
		assert.NoError(t, factorOption("f", f))
	}
	for _, f := range []float64{-1, 0.5, 100.1, math.NaN()} {
		assert.Error(t, factorOption("f", f))
	}
	for _, share := range []float64{0, 0.5, 1} {
		assert.NoError(t, RetryPolicy{Budget: share}.check())
		assert.NoError(t, BreakerPolicy{Rate: share}.check(time.Second))
	}
	for _, share := range []float64{-0.1, 1.1, math.NaN()} {
		assert.Error(t, RetryPolicy{Budget: share}.check())
		assert.Error(t, BreakerPolicy{Rate: share}.check(time.Second))
	}
	assert.NoError(t, RetryRule{Attempts: 1}.check(string(CodeBreakerOpen)))
	assert.Error(t, RetryRule{Attempts: 2}.check(string(CodeBreakerOpen)))
	assert.Error(t, RetryRule{Attempts: 2}.check(string(CodeAbandoned)))
	assert.NoError(t, RetryRule{Attempts: 1}.check(string(CodeAbandoned)))
	assert.Error(t, RetryRule{}.check(string(CodeServerError)))
	assert.NoError(t, RetryRule{Attempts: 1}.check("timeout"))
	assert.Error(t, RetryRule{Attempts: 1}.check("no_such_code"))

	assert.NoError(t, countOption("n", 1<<30))
	assert.Error(t, countOption("n", 1<<30+1))
	assert.NoError(t, countOption("n", 0))
	assert.Error(t, countOption("n", -1))
	rated := BreakerPolicy{Rate: 0.5, Window: 2 * time.Minute}
	assert.NoError(t, rated.check(time.Minute))
	assert.Error(t, rated.check(time.Minute+1))
	assert.NoError(t, BreakerPolicy{Window: time.Second}.check(time.Minute), "without a rate nothing looks through the window")
}

func TestTripLogic(t *testing.T) {
	t.Parallel()
	p := BreakerPolicy{Failures: 5, Rate: 0.5, MinCalls: 10}
	for _, row := range []struct {
		streak, failures, successes uint32
		rate                        float64
		want                        bool
	}{
		{5, 5, 0, 0, true}, {4, 4, 0, 0, false}, {6, 6, 0, 0, true},
		{1, 5, 5, 0.5, true}, {1, 4, 5, 0.5, false}, {1, 4, 6, 0.5, false}, {1, 5, 4, 0.5, false},
		{1, 9, 11, 0.5, false}, {1, 10, 10, 0.5, true}, {0, 0, 10, 0, false}, {1, 10, 10, 0, false},
	} {
		p.Rate = row.rate
		n := gobreaker.Counts{ConsecutiveFailures: row.streak, TotalFailures: row.failures, TotalSuccesses: row.successes}
		assert.Equal(t, row.want, p.tripped(n), "%+v", row)
	}
}

// A breaker says how long it stays open, and keeps few transitions.
func TestBreakerKeepsAccounts(t *testing.T) {
	t.Parallel()
	s := newBreakers(BreakerPolicy{}.withDefaults(time.Minute))
	key := breakerKey{target: "tool"}
	for range 5 {
		p, _, ok := s.acquire(key, nil, time.Now())
		assert.True(t, ok)
		p.report(errCounted)
		assert.Nil(t, p.report(errCounted), "a permit is given back once")
	}
	infos, _ := s.info("tool")
	assert.Equal(t, BreakerOpen, infos[0].State)
	assert.InDelta(t, 30*time.Second, infos[0].ClosesIn, float64(time.Second))
	b := s.at(key)
	for range 20 {
		b.changed("", gobreaker.StateClosed, gobreaker.StateHalfOpen)
	}
	assert.Len(t, b.takeTransitions(), 8)
	assert.Empty(t, b.takeTransitions())
	closed := newBreakers(BreakerPolicy{}.withDefaults(time.Minute))
	p, _, _ := closed.acquire(key, nil, time.Now())
	p.report(nil)
	infos, _ = closed.info("tool")
	assert.Equal(t, BreakerClosed, infos[0].State)
	assert.Zero(t, infos[0].ClosesIn)
}

// A rate looks back over its window and no further.
func TestRateForgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newBreakers(BreakerPolicy{Failures: 100, Rate: 0.5, MinCalls: 10, Window: 2 * time.Minute}.withDefaults(time.Minute))
		key := breakerKey{target: "tool"}
		tell := func(n int, err error) {
			for range n {
				p, _, ok := s.acquire(key, nil, time.Now())
				assert.True(t, ok)
				p.report(err)
			}
		}
		tell(9, errCounted)
		time.Sleep(10 * time.Minute)
		tell(6, nil)
		tell(4, errCounted)
		_, open := s.refuses(key, time.Now())
		assert.False(t, open, "four of ten within the window")
		tell(2, errCounted)
		_, open = s.refuses(key, time.Now())
		assert.True(t, open, "six of twelve")
	})
}

func TestLeaseAndPollBounds(t *testing.T) {
	t.Parallel()
	for _, lease := range []time.Duration{0, time.Second, time.Hour} {
		assert.NoError(t, JournalPolicy{Lease: lease}.check(), lease)
	}
	for _, lease := range []time.Duration{time.Second - 1, time.Hour + 1, -1} {
		assert.Error(t, JournalPolicy{Lease: lease}.check(), lease)
	}
	assert.Error(t, JournalPolicy{MaxResult: -1}.check())
	assert.Equal(t, 60, Poll{}.max())
	assert.Equal(t, 5, Poll{Max: 5}.max())
}
