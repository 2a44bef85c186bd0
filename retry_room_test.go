package toolguard_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
)

// A quarter of the budget is the fallback's: no attempt is begun that would need it.
func TestRetriesLeaveTheFallbackItsTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fallback *toolguard.Fallback
		want     int
	}{"none": {nil, 3}, "last good": {&toolguard.Fallback{LastGood: time.Hour}, 2}} {
		inBubble(t, name, func(t *testing.T) {
			runs := 0
			g := guardOf(t, toolOf(toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) {
				runs++
				time.Sleep(3 * time.Second)
				return toolguard.Result{}, toolguard.Unavailable("down")
			}), &toolguard.Options{
				Fallback: c.fallback,
				Timeout:  toolguard.TimeoutPolicy{Attempt: 4 * time.Second, Budget: 10 * time.Second},
				Retry:    toolguard.RetryPolicy{BaseDelay: time.Nanosecond},
			})
			do(g)
			assert.Equal(t, c.want, runs)
		})
	}
}

// Whoever gives up for want of time says how long a wait would have been right.
func TestNoTimeNamesTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := do(guardOf(t, toolOf(toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) {
			return toolguard.Result{}, toolguard.Unavailable("down")
		}), &toolguard.Options{
			Timeout: toolguard.TimeoutPolicy{Attempt: 2 * time.Second, Budget: 3 * time.Second},
			Retry:   toolguard.RetryPolicy{BaseDelay: time.Hour, MaxDelay: time.Hour},
		}))
		assert.Positive(t, env.Error.RetryAfter)
	})
}

// A breaker that closes again before the wait is over stops no retry.
func TestABreakerThatClosesInTimeStopsNoRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		env := do(guardOf(t, toolOf(toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) {
			if runs++; runs == 1 {
				return toolguard.Result{}, &toolguard.Error{Code: toolguard.CodeServiceUnavailable, RetryAfter: 5 * time.Second}
			}
			return toolguard.Result{Text: "done"}, nil
		}), &toolguard.Options{Breaker: toolguard.BreakerPolicy{Failures: 1, OpenFor: time.Second}}))
		assert.Equal(t, "ok", verdict(env))
		assert.Equal(t, 2, runs)
	})
}
