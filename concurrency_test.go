package toolguard

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A resource that nobody holds or waits for any more is forgotten, also where those who
// waited gave up.
func TestResourcesAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type in struct {
			Order int `json:"order"`
		}
		tool := Action(Info{Name: "sleeper"}, func(context.Context, in) error {
			time.Sleep(time.Second)
			return nil
		})
		g, err := New(tool, &Options{Concurrency: ConcurrencyPolicy{Wait: time.Millisecond, SerializeBy: []string{"order"}}, Breaker: BreakerPolicy{Off: true}})
		require.NoError(t, err)
		for n := range 3 {
			args := fmt.Appendf(nil, `{"order":%d}`, n)
			for range 3 {
				go g.Do(t.Context(), Call{Args: args})
			}
		}
		synctest.Wait()
		kept := func() int {
			g.limiter.mu.Lock()
			defer g.limiter.mu.Unlock()
			return len(g.limiter.queues)
		}
		assert.Equal(t, 3, kept())
		time.Sleep(time.Minute)
		assert.Zero(t, kept())
	})
}
