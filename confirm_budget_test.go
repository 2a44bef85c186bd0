package toolguard_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
)

// A status query has what is left of the call's budget, a quarter of it at least, and
// no more.
func TestAStatusQueryHasWhatIsLeft(t *testing.T) {
	t.Parallel()
	for takes, left := range map[time.Duration]time.Duration{time.Second: 7 * time.Second, time.Minute: 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			began, asked, wait := time.Now(), make(chan time.Duration, 1), untilReleased(t)
			tool := toolguard.Action(toolguard.Info{Name: "pay"}, func(ctx context.Context, _ struct{}) error {
				select {
				case <-time.After(takes):
				case <-ctx.Done():
				}
				return errLost
			})
			tool.Status = func(ctx context.Context, _ string, _ struct{}) (toolguard.Outcome, toolguard.Result, error) {
				end, _ := ctx.Deadline()
				asked <- time.Until(end)
				wait()
				return toolguard.OutcomeSucceeded, toolguard.Result{}, nil
			}
			g := guardOf(t, tool, &toolguard.Options{Timeout: toolguard.TimeoutPolicy{Attempt: 8 * time.Second, Budget: 8 * time.Second}})
			env := do(g)
			assert.False(t, env.OK)
			assert.Equal(t, toolguard.OutcomeUnknown, env.Error.Outcome)
			assert.Equal(t, left, <-asked)
			assert.LessOrEqual(t, time.Since(began), 9*time.Second)
		})
	}
}
