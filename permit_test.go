package toolguard

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sony/gobreaker/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// verdicts are what an attempt can tell a breaker, as often as they should come.
var verdicts = []error{nil, nil, errCounted, errCounted, errCounted, errNeutral}

// A breaker that does not ask gobreaker about all permits is the same breaker.
func TestPermitsAreGobreakers(t *testing.T) {
	t.Parallel()
	for _, policy := range []BreakerPolicy{{Failures: 3}, {Failures: 1}, {Failures: 4, Rate: 0.5, MinCalls: 3, Window: time.Hour}} {
		synctest.Test(t, func(t *testing.T) {
			for seed := range uint64(300) {
				pairOf(policy.withDefaults(time.Minute)).play(t, rand.New(rand.NewPCG(seed, 1)))
			}
		})
	}
}

// pair is a set of breakers, and one gobreaker that is asked about everything.
type pair struct {
	ours  *breakers
	other *gobreaker.TwoStepCircuitBreaker[struct{}]

	permits []permit
	dones   []func(error)
}

func pairOf(p BreakerPolicy) *pair { return &pair{ours: newBreakers(p), other: newBreaker(p).two} }

func (p *pair) play(t *testing.T, r *rand.Rand) {
	for range 60 {
		switch n := r.IntN(10); {
		case n < 4:
			p.acquire(t)
		case n < 9 && len(p.permits) > 0:
			p.report(r.IntN(len(p.permits)), verdicts[r.IntN(len(verdicts))])
		default:
			time.Sleep(time.Duration(r.IntN(40)) * time.Second)
		}
		own := p.ours.at(breakerKey{}).two
		require.Equal(t, p.other.State(), own.State())
		require.Equal(t, own.State() == gobreaker.StateOpen, p.ours.open.Load() == 1)
		require.Equal(t, p.other.Counts().ConsecutiveFailures, own.Counts().ConsecutiveFailures)
	}
}

func (p *pair) acquire(t *testing.T) {
	own, _, ok := p.ours.acquire(breakerKey{}, nil, time.Now())
	done, err := p.other.Allow()
	require.Equal(t, err == nil, ok)
	if ok {
		p.permits, p.dones = append(p.permits, own), append(p.dones, done)
	}
}

func (p *pair) report(i int, verdict error) {
	p.permits[i].report(verdict)
	p.dones[i](verdict)
	p.permits[i].report(errCounted) // given back already
	last := len(p.permits) - 1
	p.permits[i], p.dones[i] = p.permits[last], p.dones[last]
	p.permits, p.dones = p.permits[:last], p.dones[:last]
}

// Whatever happens at once, a breaker is calm only if gobreaker counts no failures.
func TestACalmBreakerHasNoStreak(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		s := newBreakers(BreakerPolicy{Failures: 1 << 30}.withDefaults(time.Minute))
		var wg sync.WaitGroup
		for worker := range uint64(4) {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(seed, worker))
				for range 20 {
					p, _, _ := s.acquire(breakerKey{}, nil, time.Now())
					p.report(verdicts[r.IntN(len(verdicts))])
				}
			})
		}
		wg.Wait()
		b := s.at(breakerKey{})
		if b.calm.is() {
			assert.Zero(t, b.two.Counts().ConsecutiveFailures)
		}
		for range 2 { // the first may have begun before the last failure was told
			p, _, _ := s.acquire(breakerKey{}, nil, time.Now())
			p.report(nil)
		}
		assert.True(t, b.calm.is())
		assert.Zero(t, b.two.Counts().ConsecutiveFailures)
	}
}

// A success that is told while a failure is clears nothing: which of the two
// gobreaker heard of first is not known.
func TestAFailureThatIsBeingToldIsNotCleared(t *testing.T) {
	t.Parallel()
	var c calm
	c.tell(func(error) { c.tell(func(error) {}, 0, nil) }, 0, errCounted)
	assert.False(t, c.is())
	c.tell(func(error) {}, 0, nil)
	assert.True(t, c.is())
}
