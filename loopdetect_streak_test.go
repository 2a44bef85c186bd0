package toolguard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// outage is a tool whose service is away or not. Calls take a second.
type outage struct{ away bool }

func (*outage) Info() toolguard.Info {
	return toolguard.Info{Name: "svc", RepeatsNormal: true}
}

func (o *outage) Call(context.Context, json.RawMessage) (toolguard.Result, error) {
	away := o.away
	time.Sleep(time.Second)
	if away {
		return toolguard.Result{}, toolguard.NotStarted(toolguard.Unavailable("away"))
	}
	return toolguard.Result{Text: "done"}, nil
}

func outageGuard(t *testing.T) (tool *outage, s *toolguard.Sessions, g *toolguard.Guard, do func(n int) toolguard.Code) {
	s, err := toolguard.NewSessions(toolguard.SessionPolicy{})
	require.NoError(t, err)
	tool = &outage{away: true}
	g, err = toolguard.New(tool, &toolguard.Options{
		Sessions: s, Breaker: toolguard.BreakerPolicy{Off: true}, Retry: toolguard.RetryPolicy{Off: true},
	})
	require.NoError(t, err)
	ctx := toolguard.WithScope(t.Context(), toolguard.Scope{Session: "s"})
	return tool, s, g, func(n int) toolguard.Code {
		env := g.Do(ctx, toolguard.Call{Args: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))})
		if env.OK {
			return ""
		}
		return env.Error.Code
	}
}

// One outage fails all calls that are in progress. The model has tried once, not as
// often as that.
func TestCallsThatFailTogetherAreOneFailureInARow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tool, _, _, do := outageGuard(t)
		var together sync.WaitGroup
		for i := range 8 {
			together.Go(func() { assert.Equal(t, toolguard.CodeServiceUnavailable, do(i)) })
		}
		together.Wait()
		tool.away = false
		assert.Empty(t, do(100), "nothing stands against it")

		tool.away = true
		for i := range 3 {
			assert.Equal(t, toolguard.CodeServiceUnavailable, do(200+i))
		}
		assert.Equal(t, toolguard.CodeLoopDetected, do(300), "three one after the other are a streak")
	})
}

// A service that is known to be back is not left alone any longer.
func TestAServiceThatHasReturned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tool, s, g, do := outageGuard(t)
		for i := range 3 {
			do(i)
		}
		require.Equal(t, toolguard.CodeLoopDetected, do(10))
		tool.away = false
		s.Returned(nil)
		(*toolguard.Sessions)(nil).Returned(g)
		require.Equal(t, toolguard.CodeLoopDetected, do(11))
		s.Returned(g)
		assert.Empty(t, do(12))
	})
}
