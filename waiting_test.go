package toolguard_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// asking is a tool of which each attempt does what is in it, in turn.
type asking struct {
	effect   toolguard.Effect
	attempts []func(ctx context.Context, w *toolguard.Waiting) error
	deadline time.Time // of the last attempt, at its end
	runs     int
}

func (t *asking) Info() toolguard.Info {
	return toolguard.Info{Name: "ask", Effect: t.effect, RepeatsNormal: true}
}

func (t *asking) Call(ctx context.Context, _ json.RawMessage) (toolguard.Result, error) {
	t.runs++
	err := t.attempts[t.runs-1](ctx, toolguard.WaitingFrom(ctx))
	t.deadline, _ = ctx.Deadline()
	return toolguard.Result{Text: "done"}, err
}

// pause is a wait for somebody of that length.
func pause(d time.Duration) func(context.Context, *toolguard.Waiting) error {
	return func(ctx context.Context, w *toolguard.Waiting) error {
		defer w.Begin()()
		return idle(ctx, d)
	}
}

// work is time of the tool's own.
func work(d time.Duration) func(context.Context, *toolguard.Waiting) error {
	return func(ctx context.Context, _ *toolguard.Waiting) error { return idle(ctx, d) }
}

func idle(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func then(steps ...func(context.Context, *toolguard.Waiting) error) func(context.Context, *toolguard.Waiting) error {
	return func(ctx context.Context, w *toolguard.Waiting) error {
		for _, step := range steps {
			if err := step(ctx, w); err != nil {
				return err
			}
		}
		return nil
	}
}

// askWith calls the tool under a Waiting with that limit, and returns how long it took.
func askWith(t *testing.T, limit time.Duration, tool *asking) (toolguard.Envelope, time.Duration) {
	t.Helper()
	g, err := toolguard.New(tool, nil)
	require.NoError(t, err)
	w, err := toolguard.NewWaiting(limit)
	require.NoError(t, err)
	began := time.Now()
	env := g.Do(toolguard.WithWaiting(t.Context(), w), toolguard.Call{})
	return env, time.Since(began)
}

// The time in which a person is waited for is not the tool's.
func TestWaitingForSomebodyDoesNotCount(t *testing.T) {
	t.Parallel()
	minute := time.Minute // the attempt's timeout
	for name, c := range map[string]struct {
		limit time.Duration
		tool  func(context.Context, *toolguard.Waiting) error
		took  time.Duration
		code  toolguard.Code // "" for a success
	}{
		"a long wait":                   {time.Hour, then(work(50*time.Second), pause(30*minute), work(9*time.Second)), 30*minute + 59*time.Second, ""},
		"several waits":                 {time.Hour, then(pause(minute), work(time.Second), pause(minute), work(58*time.Second), pause(minute)), 3*minute + 59*time.Second, ""},
		"a hang after it":               {time.Hour, then(work(10*time.Second), pause(30*minute), work(time.Hour)), 31 * minute, toolguard.CodeAttemptTimeout},
		"a hang before it":              {time.Hour, then(work(time.Hour), pause(minute)), minute, toolguard.CodeAttemptTimeout},
		"a wait beyond the limit":       {5 * minute, then(work(10*time.Second), pause(time.Hour)), 6 * minute, toolguard.CodeAttemptTimeout},
		"waits beyond it together":      {5 * minute, then(pause(4*minute), pause(4*minute)), 6 * minute, toolguard.CodeAttemptTimeout},
		"a wait that ends at the limit": {minute, then(pause(minute), work(59*time.Second)), minute + 59*time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tool := &asking{attempts: []func(context.Context, *toolguard.Waiting) error{c.tool}}
				env, took := askWith(t, c.limit, tool)
				assert.Equal(t, c.took, took)
				if assert.Equal(t, c.code == "", env.OK, env); !env.OK {
					assert.Equal(t, c.code, env.Error.Code)
				}
			})
		})
	}
}

// Waits that overlap count once, and one that never ends does not outlive its call.
func TestWaitsThatOverlapCountOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tool := &asking{attempts: []func(context.Context, *toolguard.Waiting) error{func(ctx context.Context, w *toolguard.Waiting) error {
			first, second := w.Begin(), w.Begin()
			_ = idle(ctx, 2*time.Minute)
			first()
			first() // counts once too
			_ = idle(ctx, 2*time.Minute)
			second()
			w.Begin() // for ever
			return nil
		}}}
		env, took := askWith(t, time.Hour, tool)
		assert.True(t, env.OK, env)
		assert.Equal(t, 4*time.Minute, took)
		assert.WithinDuration(t, time.Now().Add(time.Minute), tool.deadline, 0, "the tool can see how much it has left")
	})
}

// After a wait that was longer than the whole budget a repeatable tool still has
// its other attempts.
func TestTheBudgetDoesNotCountWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fails := func(context.Context, *toolguard.Waiting) error { return toolguard.Unavailable("down") }
		tool := &asking{effect: toolguard.ReadOnly, attempts: []func(context.Context, *toolguard.Waiting) error{then(pause(30*time.Minute), fails), work(50 * time.Second)}}
		env, _ := askWith(t, time.Hour, tool)
		assert.True(t, env.OK, env)
		assert.Equal(t, 2, tool.runs)
	})
}

// An attempt does not get the time that an earlier one has waited.
func TestAWaitIsOfOneAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fails := func(context.Context, *toolguard.Waiting) error { return toolguard.Unavailable("down") }
		tool := &asking{effect: toolguard.ReadOnly, attempts: []func(context.Context, *toolguard.Waiting) error{
			then(pause(30*time.Minute), fails), work(time.Hour), work(time.Second),
		}}
		env, took := askWith(t, time.Hour, tool)
		assert.True(t, env.OK, env)
		assert.Less(t, took, 32*time.Minute)
	})
}

// The caller's own deadline goes on: it is waiting too.
func TestTheCallersDeadlineIsNotMoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, err := toolguard.New(&asking{attempts: []func(context.Context, *toolguard.Waiting) error{pause(time.Hour)}}, nil)
		require.NoError(t, err)
		w, err := toolguard.NewWaiting(time.Hour)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(toolguard.WithWaiting(t.Context(), w), 2*time.Minute)
		defer cancel()
		env := g.Do(ctx, toolguard.Call{})
		assert.Equal(t, toolguard.CodeCallerDeadline, env.Error.Code)
	})
}

func TestWaitingWithoutOneCountsAll(t *testing.T) {
	t.Parallel()
	for _, limit := range []time.Duration{0, -1, 1<<60 + 1} {
		_, err := toolguard.NewWaiting(limit)
		assert.ErrorContains(t, err, limit.String())
	}
	var none *toolguard.Waiting
	none.Begin()()
	synctest.Test(t, func(t *testing.T) {
		g, err := toolguard.New(&asking{attempts: []func(context.Context, *toolguard.Waiting) error{pause(time.Hour)}}, nil)
		require.NoError(t, err)
		env := g.Do(toolguard.WithWaiting(t.Context(), none), toolguard.Call{})
		assert.Equal(t, toolguard.CodeAttemptTimeout, env.Error.Code)
	})
}

// However often it is waited, all of it stands still.
func TestManyWaitsAreAllRemembered(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		wait := func(w *toolguard.Waiting, d time.Duration) {
			defer w.Begin()()
			time.Sleep(d)
		}
		g := guardOf(t, toolOf(toolguard.ReadOnly, func(ctx context.Context) (toolguard.Result, error) {
			w := toolguard.WaitingFrom(ctx)
			wait(w, 30*time.Minute)
			for range 100 {
				wait(w, time.Millisecond)
			}
			time.Sleep(time.Second)
			return toolguard.Result{Text: "fine"}, ctx.Err()
		}), nil)
		w, err := toolguard.NewWaiting(time.Hour)
		require.NoError(t, err)
		assert.True(t, doIn(toolguard.WithWaiting(t.Context(), w), g).OK)
	})
}

// The others of a batch do not wait for a person.
func TestABatchEndsInSpiteOfAWait(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		var end time.Time
		box := boxOf(t, nil, toolOf(toolguard.ReadOnly, func(ctx context.Context) (toolguard.Result, error) {
			defer toolguard.WaitingFrom(ctx).Begin()()
			time.Sleep(10 * time.Second)
			end, _ = ctx.Deadline()
			<-ctx.Done()
			return toolguard.Result{}, ctx.Err()
		}))
		w, err := toolguard.NewWaiting(time.Hour)
		require.NoError(t, err)
		began := time.Now()
		box.DoAll(toolguard.WithWaiting(t.Context(), w), batchOf("tool"))
		assert.Equal(t, 30*time.Second, time.Since(began))
		assert.Equal(t, began.Add(30*time.Second), end)
	})
}
