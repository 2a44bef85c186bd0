package toolguard_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
)

// What a tool leaves behind under its context, without the context's end, has nothing
// of the attempt's any more: neither its place nor its permit.
func TestWhatAnAttemptLeavesBehindSharesNothing(t *testing.T) {
	const crowd = 8
	for name, outlives := range map[string]time.Duration{"answered": 0, "abandoned": time.Hour} {
		inBubble(t, name, func(t *testing.T) {
			deps := &toolguard.Dependencies{Max: map[string]int{"crm": 1}}
			var live, peak atomic.Int32
			leaf := leafOf(toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) {
				peak.Store(max(peak.Load(), live.Add(1)))
				time.Sleep(time.Second)
				live.Add(-1)
				return toolguard.Result{}, toolguard.Unavailable("down")
			})
			opts := &toolguard.Options{
				Dependencies: deps, Retry: once, Timeout: toolguard.TimeoutPolicy{Attempt: time.Minute},
				Concurrency: toolguard.ConcurrencyPolicy{Wait: time.Minute},
			}
			g := guardOf(t, leaf, opts)
			left := make(chan context.Context, 1)
			starts := leafOf(toolguard.ReadOnly, func(ctx context.Context) (toolguard.Result, error) {
				left <- context.WithoutCancel(ctx)
				time.Sleep(outlives)
				return toolguard.Result{}, nil
			})
			starts.info.Name = "starter"
			do(guardOf(t, starts, opts))
			kept := <-left
			var wg sync.WaitGroup
			codes := make([]toolguard.Code, crowd)
			for n := range crowd {
				wg.Go(func() { codes[n] = codeOf(doIn(kept, g)) })
			}
			wg.Wait()
			assert.EqualValues(t, 1, peak.Load(), "one at a time")
			assert.Contains(t, codes, toolguard.CodeBreakerOpen, "failures count")
			assert.Equal(t, toolguard.BreakerOpen, g.Stats().Breakers[0].State)
			time.Sleep(2 * time.Hour)
			synctest.Wait()
		})
	}
}
