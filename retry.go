package toolguard

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// RetryPolicy says when an attempt is followed by another. Only failures that
// may go away are retried, and only where running the tool again is safe: a
// tool that is not repeatable runs again only after a proof that nothing
// happened, and three times at most.
type RetryPolicy struct {
	// Off makes one attempt.
	Off bool
	// MaxAttempts counts the first one. If zero, 3.
	MaxAttempts int
	// BaseDelay is the longest first wait. If zero, 200 ms.
	BaseDelay time.Duration
	// RateLimitDelay takes its place after a rate limit. If zero, 1 s.
	RateLimitDelay time.Duration
	// Factor lengthens the wait with each attempt. If zero, 2.
	Factor float64
	// MaxDelay bounds a wait before jitter. If zero, 20 s.
	MaxDelay time.Duration
	// MaxRetryAfter is the longest wait a service may ask for; beyond it the
	// call ends at once and says when to come back. If zero, 30 s.
	MaxRetryAfter time.Duration
	// Budget is the share of recent calls that may be retries. If zero, 0.2.
	Budget float64
	// BudgetFloor is how many retries a minute are always allowed. If zero, 3.
	BudgetFloor int
	// Rules replace the schedule for a code or a category, named by its text;
	// a code's rule goes before its category's. See [RetryTable].
	Rules map[string]RetryRule
}

// RetryRule is the schedule of one code or category.
type RetryRule struct {
	// Attempts counts the first one; it must be at least 1.
	Attempts int
	// Delay is the longest first wait. If zero, the policy's.
	Delay time.Duration
	// Factor lengthens it with each attempt. If zero, the policy's.
	Factor float64
}

// RetryTable is a ready-made set of Rules for patient agents: three more
// attempts after timeouts and outages, two after rate limits, one after an
// error nobody could classify.
func RetryTable() map[string]RetryRule {
	return map[string]RetryRule{
		CategoryTimeout.String():     {Attempts: 4, Delay: time.Second, Factor: 2},
		CategoryUnavailable.String(): {Attempts: 4, Delay: 2 * time.Second, Factor: 1.5},
		string(CodeRateLimited):      {Attempts: 3, Delay: 5 * time.Second, Factor: 1},
		string(CodeUnknownError):     {Attempts: 2, Delay: time.Second, Factor: 1},
	}
}

// maxUnrepeatable bounds the attempts of a tool that is not repeatable.
const maxUnrepeatable = 3

func (p RetryPolicy) withDefaults() RetryPolicy {
	setDefault(&p.MaxAttempts, 3)
	setDefault(&p.BaseDelay, 200*time.Millisecond)
	setDefault(&p.RateLimitDelay, time.Second)
	setDefault(&p.Factor, 2)
	setDefault(&p.MaxDelay, 20*time.Second)
	setDefault(&p.MaxRetryAfter, 30*time.Second)
	setDefault(&p.Budget, 0.2)
	setDefault(&p.BudgetFloor, 3)
	return p
}

func (p RetryPolicy) check() error {
	errs := []error{
		notNegative("Retry.MaxAttempts", p.MaxAttempts), notNegative("Retry.BaseDelay", p.BaseDelay),
		notNegative("Retry.RateLimitDelay", p.RateLimitDelay), notNegative("Retry.MaxDelay", p.MaxDelay),
		notNegative("Retry.MaxRetryAfter", p.MaxRetryAfter), notNegative("Retry.BudgetFloor", p.BudgetFloor),
		factorOption("Retry.Factor", p.Factor),
	}
	if !(p.Budget >= 0 && p.Budget <= 1) {
		errs = append(errs, badOption("Retry.Budget", p.Budget, "between 0 and 1"))
	}
	for name, rule := range p.Rules {
		errs = append(errs, rule.check(name))
	}
	return errors.Join(errs...)
}

func (r RetryRule) check(name string) error {
	field := fmt.Sprintf("Retry.Rules[%q]", name)
	row, isCode := codeIndex[Code(name)]
	if !isCodeOrCategory(name) {
		return badOption(field, name, "a code or a category")
	}
	if isCode && (row.neutral || row.code == CodeAbandoned) && r.Attempts > 1 {
		return badOption(field, name, "a code that may be followed by another attempt")
	}
	if r.Attempts < 1 {
		return badOption(field+".Attempts", r.Attempts, "1 or more, the first attempt included")
	}
	return errors.Join(notNegative(field+".Delay", r.Delay), factorOption(field+".Factor", r.Factor))
}

func factorOption(field string, f float64) error {
	if f != 0 && !(f >= 1 && f <= 100) {
		return badOption(field, f, "between 1 and 100")
	}
	return nil
}

// schedule is what applies to one code.
type schedule struct {
	attempts int
	base     time.Duration
	factor   float64
}

// scheduleFor returns the schedule of a code; attempts 1 means never again.
func (p *RetryPolicy) scheduleFor(row *codeRow) schedule {
	s := schedule{attempts: p.MaxAttempts, base: p.BaseDelay, factor: p.Factor}
	switch row.retry {
	case retryNever:
		s.attempts = 1
	case retryRateLimit:
		s.base = p.RateLimitDelay
	case retryRefresh:
		s.attempts, s.base = 2, 0
	}
	rule, ok := p.Rules[string(row.code)]
	if !ok {
		rule, ok = p.Rules[row.category.String()]
		ok = ok && row.retry != retryNever
	}
	if ok {
		s.attempts = rule.Attempts
		setDefault(&rule.Delay, s.base)
		setDefault(&rule.Factor, s.factor)
		s.base, s.factor = rule.Delay, rule.Factor
	}
	return s
}

// delay returns the wait before attempt n+1, n ≥ 1: exponential, capped, then
// full jitter. A server's own wait is never undercut, so its jitter, a tenth,
// only goes up.
func (s schedule) delay(n int, limit, retryAfter time.Duration) time.Duration {
	if retryAfter > 0 {
		return longer(retryAfter, jitter(retryAfter/10))
	}
	d := float64(s.base) * math.Pow(s.factor, float64(n-1))
	if !(d < float64(limit)) {
		return jitter(limit)
	}
	return jitter(time.Duration(d))
}

// longer adds two times that may be as long as there are.
func longer(a, b time.Duration) time.Duration { return a + min(b, noLimit-a) }

func jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return rand.N(d)
}

// retryBudget bounds retries to a share of the calls of the last minute, in two
// half-minute buckets.
type retryBudget struct {
	share float64
	floor int

	mu             sync.Mutex
	since          time.Time
	calls, retries [2]int
}

const budgetBucket = 30 * time.Second

// call counts a call.
func (b *retryBudget) call(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn(now)
	b.calls[0]++
}

// spend counts a retry, if there is one left.
func (b *retryBudget) spend(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn(now)
	allowed := max(float64(b.floor), b.share*float64(b.calls[0]+b.calls[1]))
	if float64(b.retries[0]+b.retries[1])+1 > allowed {
		return false
	}
	b.retries[0]++
	return true
}

func (b *retryBudget) turn(now time.Time) {
	switch age := now.Sub(b.since); {
	case age < budgetBucket:
		return
	case age < 2*budgetBucket:
		b.calls[1], b.retries[1] = b.calls[0], b.retries[0]
		b.since = b.since.Add(budgetBucket)
	default:
		b.calls[1], b.retries[1] = 0, 0
		b.since = now
	}
	b.calls[0], b.retries[0] = 0, 0
}

// retry decides whether another attempt follows the one that failed, and waits
// for its time. The last error stays the answer if it does not.
func (c *call) retry() bool {
	wait, why := c.planRetry()
	if why != "" {
		c.decided, c.why = DecisionStop, why
		return false
	}
	c.retrying(wait)
	return c.pause(wait)
}

// Why no attempt follows a failed one, in [Event].Why of a DecisionStop. Beside
// these it may be the code of a refusal.
const (
	WhyFinal       = "not_retried"     // the code is not retried
	WhyUnsure      = "outcome_unknown" // the effect may have happened
	WhyAttempts    = "attempts_used"   // no attempt is left
	WhyNested      = "nested"          // an outer guard of the same tool retries
	WhyNoTime      = "no_time"         // the wait and a useful attempt do not fit
	WhyLongWait    = "wait_too_long"   // the service asks for a longer wait than allowed
	WhyRetryBudget = "retry_budget"    // too many recent calls were retries
	WhyCallerGone  = "caller_gone"     // the caller stopped waiting
	WhyRefresh     = "refresh_failed"  // the credentials could not be renewed
	WhyRunning     = "still_running"   // the attempt was abandoned, or one inside it
)

// planRetry returns the wait before the next attempt, or why there is none.
func (c *call) planRetry() (wait time.Duration, why string) {
	g, f := c.guard, c.failure
	s := g.opts.Retry.scheduleOf(f)
	if why := c.forbidden(s); why != "" {
		return 0, why
	}
	if f.RetryAfter > g.opts.Retry.MaxRetryAfter {
		return 0, WhyLongWait
	}
	now := c.now()
	wait = s.delay(c.attempts, g.opts.Retry.MaxDelay, f.RetryAfter)
	closed, refuses := g.breakers.refuses(c.breakerKey(), now)
	switch {
	case refuses && closed > wait:
		f.RetryAfter = max(f.RetryAfter, closed)
		return 0, string(CodeBreakerOpen) // the very failure opened it
	case !c.fits(now, wait):
		setDefault(&f.RetryAfter, wait)
		return 0, WhyNoTime
	case f.row().retry == retryRefresh && !c.refreshed():
		return 0, WhyRefresh
	case !g.budget.spend(now):
		return 0, WhyRetryBudget
	}
	return wait, ""
}

// scheduleOf returns the schedule of a failure. Where the author says that
// nothing was started, an error without a code may run again like an outage.
func (p *RetryPolicy) scheduleOf(f *failure) schedule {
	if f.Code == CodeUnknownError && f.claimed && f.Outcome == OutcomeNotStarted {
		return p.scheduleFor(CodeServiceUnavailable.row())
	}
	return p.scheduleFor(f.row())
}

// forbidden says why no attempt may follow, whatever the wait; "" if one may.
func (c *call) forbidden(s schedule) string {
	switch {
	case c.guard.opts.Retry.Off || s.attempts <= 1:
		return WhyFinal
	case c.failure.Code == CodeAbandoned || c.last().strays.Load() > 0:
		return WhyRunning
	case c.ctx.Err() != nil:
		return WhyCallerGone
	case c.nested():
		return WhyNested
	case !c.mayRepeat():
		return WhyUnsure
	case c.attempts >= c.allowed(s.attempts):
		return WhyAttempts
	default:
		return ""
	}
}

// mayRepeat says whether running the tool again is safe.
func (c *call) mayRepeat() bool {
	return c.guard.info.repeatable(c.began) || c.outcome == OutcomeNotStarted || c.outcome == OutcomeFailed
}

// allowed bounds the attempts of a tool that is not repeatable.
func (c *call) allowed(n int) int {
	if c.guard.info.repeatable(c.began) {
		return n
	}
	return min(n, maxUnrepeatable)
}

// fits says whether the wait and half of what an attempt may take fit into what
// is left. Waiting past that would only lose the reason.
func (c *call) fits(now time.Time, wait time.Duration) bool {
	end := c.effectiveDeadline()
	if end.IsZero() {
		return true
	}
	usual := min(c.guard.opts.Timeout.Attempt, end.Sub(c.began))
	return end.Sub(now)-c.reserve() >= longer(wait, usual/2)
}

// nested says whether this call was made by an attempt of the same tool: only
// the outermost guard retries, or the attempts would multiply.
func (c *call) nested() bool {
	for a := c.outer; a != nil; a = a.call.outer {
		if a.call.guard.args.identity == c.guard.args.identity {
			return true
		}
	}
	return false
}

// refreshed renews the credentials, once a call: a second time would not help.
func (c *call) refreshed() bool {
	refresh := c.guard.opts.Refresh
	if refresh == nil || c.renewed {
		return false
	}
	c.renewed = true
	return c.isolate(refresh) == nil
}

// pause waits, unless the caller stops waiting first.
func (c *call) pause(d time.Duration) bool {
	if d <= 0 {
		return c.ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.ctx.Done():
		return false
	}
}
