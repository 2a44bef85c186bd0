package toolguard

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A span that takes what was left of the budget leaves its attempt no time, and
// nobody looks at the clock any more: the attempt ends all the same.
func TestAnAttemptThatComesTooLateEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		tool := Action(Info{Name: "tool", Effect: ReadOnly}, func(ctx context.Context, _ struct{}) error {
			if tries++; tries == 1 {
				return Unavailable("down")
			}
			<-ctx.Done()
			return ctx.Err()
		})
		g, err := New(tool, &Options{
			Observer: &slowSpans{}, Observe: ObservePolicy{Patience: time.Hour},
			Timeout: TimeoutPolicy{Attempt: 2 * time.Second, Budget: 3 * time.Second},
		})
		require.NoError(t, err)
		began := time.Now()
		env := g.Do(t.Context(), Call{Args: json.RawMessage(`{}`)})
		assert.Equal(t, CodeAttemptTimeout, env.Error.Code)
		assert.Less(t, time.Since(began), 5*time.Second)
		assert.Equal(t, 2, tries)
	})
}

// slowSpans takes its time over every attempt's span but the first.
type slowSpans struct{ asked atomic.Int32 }

func (*slowSpans) Observe(context.Context, Event) {}

func (s *slowSpans) Start(ctx context.Context, e Event) (context.Context, func(Event)) {
	if e.Kind == EventAttempt && s.asked.Add(1) > 1 {
		time.Sleep(4 * time.Second)
	}
	return ctx, nil
}

func TestNoTimerOutlivesACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, err := New(Action(Info{Name: "tool"}, func(context.Context, struct{}) error { return nil }), nil)
		require.NoError(t, err)
		c := g.open(t.Context(), Call{}, nil, nil)
		c.current.Store(&attempt{call: c, limit: time.Second})
		w := c.watch()
		w.stop()
		w.ring() // it was about to
		assert.False(t, w.timer.Stop(), "it does not run again")
	})
}

// Where processors are busy, a turn may come late: tools that take their time are
// given few.
func TestDoStepsAsideForQuickToolsOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, err := New(Action(Info{Name: "tool"}, func(context.Context, struct{}) error {
			time.Sleep(time.Second)
			return nil
		}), nil)
		require.NoError(t, err)
		assert.False(t, g.pace.slow(), "nothing is known of it")
		require.True(t, g.Do(t.Context(), Call{Args: json.RawMessage(`{}`)}).OK)
		for range slowCalls {
			assert.True(t, g.pace.slow())
		}
		assert.False(t, g.pace.slow(), "it may have become quicker")
	})
}

// A retry may lose its processor between its permit and its start: whoever times it
// may have looked for the last time by then.
func TestARetryThatStartsAfterTheBudgetIsStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, err := New(Action(Info{Name: "tool"}, func(context.Context, struct{}) error { return nil }), nil)
		require.NoError(t, err)
		c := g.open(t.Context(), Call{}, nil, nil)
		a := &attempt{call: c, number: 2, limit: time.Minute}
		a.Init(t.Context())
		time.Sleep(g.opts.Timeout.Budget)
		a.start()
		assert.Equal(t, context.DeadlineExceeded, a.Err())
	})
}
