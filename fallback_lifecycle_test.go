package toolguard_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// slowFor is an observer that takes its time over one tool's events.
type slowFor struct {
	*eventLog
	tool string
}

func (s slowFor) Observe(ctx context.Context, e toolguard.Event) {
	if e.Tool == s.tool {
		time.Sleep(time.Second)
	}
	s.eventLog.Observe(ctx, e)
}

// Nobody but the guard can shut down those it has made for its stand-ins, nor read
// what they count.
func TestShutdownIsOfStandInsToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		standIn := named{"other", toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) {
			<-release
			return toolguard.Result{}, nil
		}}
		log := new(eventLog)
		g := guardOf(t, toolOf(toolguard.ReadOnly, fails(errDown)), &toolguard.Options{
			Retry: once, Observer: slowFor{log, "other"}, Observe: toolguard.ObservePolicy{Queue: 1},
			Fallback: &toolguard.Fallback{Alternatives: []toolguard.Alternative{{Tool: standIn}}},
		})
		assert.False(t, do(g).OK)
		assert.ErrorContains(t, g.Shutdown(t.Context()), `"other": 1 abandoned`)
		assert.Equal(t, 1, g.Stats().Abandoned)
		assert.EqualValues(t, 1, g.Stats().EverAbandoned)
		close(release)
		synctest.Wait()
		require.NoError(t, g.Shutdown(t.Context()))
		told := len(log.of(toolguard.EventCall)) + len(log.of(toolguard.EventAttempt)) + len(log.of(toolguard.EventLate))
		assert.EqualValues(t, 5, uint64(told)+g.Stats().LostEvents, "none is lost without being counted")
		assert.Zero(t, g.Stats().Abandoned)
	})
}
