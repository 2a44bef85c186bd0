package toolguard_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
)

// Events say when it ended and how long it took, by itself: an attempt without the
// waits around it, a call with them, a late answer from its attempt's beginning on.
func TestEventsSayHowLongItTook(t *testing.T) {
	t.Parallel()
	line := func(began time.Time, e toolguard.Event) string {
		return fmt.Sprintf("%v at %v, took %v: %v %v", e.Kind, e.Time.Sub(began), e.Duration, e.OK, e.Outcome)
	}
	taking := func(d time.Duration, f run) run {
		return func(ctx context.Context) (toolguard.Result, error) {
			time.Sleep(d)
			return f(ctx)
		}
	}
	inBubble(t, "a retry", func(t *testing.T) {
		events := &eventLog{}
		body := inOrder(taking(2*time.Second, fails(toolguard.RateLimited(10*time.Second))), taking(3*time.Second, answers("fine")))
		g := guardOf(t, toolOf(toolguard.ReadOnly, body.call), &toolguard.Options{Observer: events})
		began := time.Now()
		do(g)
		attempts := events.of(toolguard.EventAttempt)
		wait := attempts[0].Wait
		assert.GreaterOrEqual(t, wait, 10*time.Second)
		assert.Equal(t, "attempt at 2s, took 2s: false failed", line(began, attempts[0]))
		assert.Equal(t, fmt.Sprintf("attempt at %v, took 3s: true succeeded", 5*time.Second+wait), line(began, attempts[1]))
		assert.Equal(t, fmt.Sprintf("call at %v, took %[1]v: true succeeded", 5*time.Second+wait), line(began, events.of(toolguard.EventCall)[0]))
	})
	inBubble(t, "a failure", func(t *testing.T) {
		events := &eventLog{}
		g := guardOf(t, toolOf(toolguard.NonIdempotent, taking(4*time.Second, fails(toolguard.Business("no")))), &toolguard.Options{
			Observer: events, CheckResult: toolguard.Failed,
		})
		began := time.Now()
		do(g)
		assert.Equal(t, "attempt at 4s, took 4s: false failed", line(began, events.of(toolguard.EventAttempt)[0]))
		assert.Equal(t, "call at 4s, took 4s: false failed", line(began, events.of(toolguard.EventCall)[0]))
	})
	inBubble(t, "a success that is checked", func(t *testing.T) {
		events := &eventLog{}
		g := guardOf(t, toolOf(toolguard.ReadOnly, taking(time.Second, answers("fine"))), &toolguard.Options{
			Observer: events, CheckResult: func(context.Context, toolguard.Result) error { time.Sleep(time.Second); return nil },
		})
		began := time.Now()
		do(g)
		assert.Equal(t, "attempt at 1s, took 1s: true succeeded", line(began, events.of(toolguard.EventAttempt)[0]))
		assert.Equal(t, "call at 2s, took 2s: true succeeded", line(began, events.of(toolguard.EventCall)[0]))
	})
	inBubble(t, "a late answer", func(t *testing.T) {
		events := &eventLog{}
		policy := toolguard.ConcurrencyPolicy{Max: 1}
		body := inOrder(taking(time.Second, answers("first")), taking(30*time.Second, answers("late")))
		g := guardOf(t, toolOf(toolguard.ReadOnly, body.call), &toolguard.Options{Observer: events, Timeout: shortTime, Concurrency: policy})
		began := time.Now()
		go do(g)
		synctest.Wait()
		do(g) // waits for the first one's place
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, "late at 31s, took 30s: true succeeded", line(began, events.of(toolguard.EventLate)[0]))
	})
}

// In text, too, a model is told how many violations are not listed.
func TestTheTextCountsWhatIsNotListed(t *testing.T) {
	t.Parallel()
	env := toolguard.Envelope{Error: &toolguard.Failure{Message: "No.", Violations: []toolguard.Violation{{Message: "a is wrong"}}, More: 7}}
	assert.Contains(t, env.String(), "\n- a is wrong\n- ")
	assert.Contains(t, env.String(), "7")
	env.Error.More = 0
	assert.NotContains(t, env.String(), "\n- a is wrong\n- ")
}
