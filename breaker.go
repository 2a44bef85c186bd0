package toolguard

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/toolguard-go/toolguard/internal/lru"
)

// BreakerPolicy says when a tool that keeps failing is left alone for a while.
// Only timeouts and unavailability count; a business refusal is a sign of life;
// a cancelled call, a rate limit and an error nobody can classify say nothing
// either way.
type BreakerPolicy struct {
	// Off admits every call.
	Off bool
	// Failures in a row open the breaker. If zero, 5.
	Failures int
	// Rate of failures, above 0 and up to 1, opens the breaker as well once
	// Window has seen MinCalls. If zero, only Failures counts.
	Rate float64
	// Window is how far Rate looks back. If zero, twice the call budget. A
	// shorter one is refused: slow outcomes would fall out of it unseen.
	Window time.Duration
	// MinCalls is how many calls Rate needs. If zero, 10.
	MinCalls int
	// OpenFor is how long an open breaker refuses before it lets one call
	// through to see. If zero, 30 s.
	OpenFor time.Duration
	// MaxKeys bounds the breakers kept, one for each tool or dependency and
	// tenant; the one unused for longest goes first. If zero, 1024.
	MaxKeys int
}

func (p BreakerPolicy) withDefaults(budget time.Duration) BreakerPolicy {
	setDefault(&p.Failures, 5)
	setDefault(&p.Window, 2*budget)
	setDefault(&p.MinCalls, 10)
	setDefault(&p.OpenFor, 30*time.Second)
	setDefault(&p.MaxKeys, 1024)
	return p
}

func (p BreakerPolicy) check(budget time.Duration) error {
	if p.Rate > 0 && p.Window != 0 && p.Window < 2*budget {
		return fmt.Errorf("toolguard: Options.Breaker.Window %v is shorter than twice the call budget %v", p.Window, budget)
	}
	if !(p.Rate >= 0 && p.Rate <= 1) {
		return badOption("Breaker.Rate", p.Rate, "between 0 and 1")
	}
	return errors.Join(
		countOption("Breaker.Failures", p.Failures), durationOption("Breaker.Window", p.Window),
		countOption("Breaker.MinCalls", p.MinCalls), notNegative("Breaker.OpenFor", p.OpenFor),
		notNegative("Breaker.MaxKeys", p.MaxKeys))
}

// countOption keeps a number comparable with what gobreaker counts in 32 bits.
func countOption(field string, n int) error {
	if n < 0 || n > 1<<30 {
		return badOption(field, n, "between 0 and 2^30")
	}
	return nil
}

// tripped is the whole trip logic: a streak, or a rate over the window.
func (p BreakerPolicy) tripped(n gobreaker.Counts) bool {
	if n.ConsecutiveFailures >= uint32(p.Failures) {
		return true
	}
	seen := n.TotalSuccesses + n.TotalFailures
	return p.Rate > 0 && seen >= uint32(p.MinCalls) &&
		float64(n.TotalFailures) >= p.Rate*float64(seen)
}

// BreakerState is the state of one breaker.
type BreakerState uint8

const (
	// BreakerClosed admits calls.
	BreakerClosed BreakerState = iota
	// BreakerHalfOpen admits one call to see whether the tool is back.
	BreakerHalfOpen
	// BreakerOpen refuses calls.
	BreakerOpen
)

var breakerStateNames = names{"closed", "half_open", "open"}

// String returns the lower_snake name, or BreakerState(n) outside the set.
func (s BreakerState) String() string { return breakerStateNames.text("BreakerState", uint8(s)) }

// MarshalText implements [encoding.TextMarshaler].
func (s BreakerState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText accepts the names that String returns.
func (s *BreakerState) UnmarshalText(b []byte) error {
	return breakerStateNames.parse("BreakerState", b, (*uint8)(s))
}

// Transition is a change of a breaker's state, reported in the event of the
// call that brought it about.
type Transition struct {
	From, To BreakerState
	At       time.Time
}

// breakerKey names one breaker: what fails together, for whom.
type breakerKey struct{ target, tenant string }

// breakers is a bounded set of breakers under one policy.
type breakers struct {
	policy BreakerPolicy
	// forced is what an operator decided: 0 nothing, else the state plus one.
	forced atomic.Uint32
	// open counts those that are; what makes way while it is open stays counted.
	open atomic.Int32

	mu    sync.Mutex
	byKey *lru.Cache[breakerKey, *breaker]
}

func newBreakers(p BreakerPolicy) *breakers {
	return &breakers{policy: p, byKey: lru.New[breakerKey, *breaker](p.MaxKeys)}
}

func (s *breakers) at(key breakerKey) *breaker {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, ok := s.byKey.Get(key); ok {
		return b
	}
	b := newBreaker(s.policy)
	b.open = &s.open
	s.byKey.Put(key, b)
	return b
}

// breaker is one gobreaker, with its transitions kept as values: gobreaker
// reports them under its own lock, where nothing else may run.
type breaker struct {
	two     *gobreaker.TwoStepCircuitBreaker[struct{}]
	openFor time.Duration
	opened  atomic.Bool   // since it was last closed or half-open
	open    *atomic.Int32 // of the set
	news    atomic.Bool   // there are changes
	calm    calm

	mu       sync.Mutex
	openedAt time.Time
	changes  []Transition
}

// The three things an attempt can tell a breaker; nil is a success.
var (
	errCounted = errors.New("counted")
	errNeutral = errors.New("neutral")
)

func newBreaker(p BreakerPolicy) *breaker {
	b := &breaker{openFor: p.OpenFor, open: new(atomic.Int32), calm: calm{never: p.Rate > 0}}
	settings := gobreaker.Settings{
		MaxRequests: 1,
		// It refuses up to and including its timeout, but the time we name is
		// when the next call is let through.
		Timeout:       max(p.OpenFor-1, 1),
		ReadyToTrip:   p.tripped,
		OnStateChange: b.changed,
		IsExcluded:    func(err error) bool { return err == errNeutral },
	}
	if p.Rate > 0 {
		settings.Interval, settings.BucketPeriod = p.Window, max(p.Window/10, 1)
	}
	b.two = gobreaker.NewTwoStepCircuitBreaker[struct{}](settings)
	return b
}

// changed runs under gobreaker's lock.
func (b *breaker) changed(_ string, from, to gobreaker.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if to == gobreaker.StateOpen {
		b.openedAt = now
		b.open.Add(1)
	}
	if from == gobreaker.StateOpen {
		b.open.Add(-1)
	}
	b.opened.Store(to == gobreaker.StateOpen)
	b.calm.generation.Add(1)
	b.news.Store(true)
	if len(b.changes) < 8 {
		b.changes = append(b.changes, Transition{From: fromGobreaker(from), To: fromGobreaker(to), At: now})
	}
}

// takeTransitions returns what changed since it was last called.
func (b *breaker) takeTransitions() []Transition {
	if !b.news.Load() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	changes := b.changes
	b.changes = nil
	b.news.Store(false)
	return changes
}

// closesIn returns how long an open breaker still refuses, never less than 1 ms:
// a half-open one waits for its probe.
func (b *breaker) closesIn(now time.Time) time.Duration { return max(b.left(now), time.Millisecond) }

// left is what is left of the time for which the breaker was last opened.
func (b *breaker) left(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.openFor - now.Sub(b.openedAt)
}

// admitAll reports whether no breaker refuses anything, without a look at the clock.
func (s *breakers) admitAll() bool {
	return s == nil || s.open.Load() == 0 && s.forced.Load() == 0
}

// refuses reports whether the breaker would refuse an attempt now, and for how
// long, without asking for a permit.
func (s *breakers) refuses(key breakerKey, now time.Time) (wait time.Duration, yes bool) {
	if s.admitAll() {
		return 0, false
	}
	if state, forced := s.forcedState(); forced {
		return s.policy.OpenFor, state == BreakerOpen
	}
	b := s.at(key)
	if !b.opened.Load() {
		return 0, false
	}
	if left := b.left(now); left > 0 {
		return max(left, time.Millisecond), true // gobreaker would say so, too
	}
	return b.closesIn(now), b.two.State() == gobreaker.StateOpen
}

// force holds every breaker of the set in one state until released.
func (s *breakers) force(state BreakerState) { s.forced.Store(uint32(state) + 1) }

func (s *breakers) release() { s.forced.Store(0) }

func (s *breakers) forcedState() (BreakerState, bool) {
	v := s.forced.Load()
	return BreakerState(v - 1), v != 0
}

// BreakerInfo is what can be read of one breaker.
type BreakerInfo struct {
	// Target is the dependency, or the tool where none is named.
	Target, Tenant string
	State          BreakerState
	// Forced says that an operator holds the state.
	Forced bool
	// ClosesIn is how long an open breaker goes on refusing; 0 if its state is forced.
	ClosesIn time.Duration
	// Streak is the number of counted failures in a row.
	Streak int
}

// info lists the breakers, most recently used first, and counts the evicted. What an
// operator has forced is there before anybody has called target.
func (s *breakers) info(target string) (infos []BreakerInfo, evicted uint64) {
	if s == nil {
		return nil, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	state, forced := s.forcedState()
	if forced && s.byKey.Len() == 0 {
		infos = append(infos, BreakerInfo{Target: target, State: state, Forced: true})
	}
	for key, b := range s.byKey.All {
		i := b.info(key)
		if forced {
			i.State, i.Forced, i.ClosesIn = state, true, 0 // as long as the operator likes
		}
		infos = append(infos, i)
	}
	return infos, s.byKey.Evicted()
}

func (b *breaker) info(key breakerKey) BreakerInfo {
	i := BreakerInfo{Target: key.target, Tenant: key.tenant, State: fromGobreaker(b.two.State())}
	if i.State == BreakerOpen {
		i.ClosesIn = b.closesIn(time.Now())
	}
	i.Streak = int(b.two.Counts().ConsecutiveFailures)
	return i
}

func fromGobreaker(s gobreaker.State) BreakerState {
	switch s {
	case gobreaker.StateOpen:
		return BreakerOpen
	case gobreaker.StateHalfOpen:
		return BreakerHalfOpen
	default:
		return BreakerClosed
	}
}
