package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/agentloop"
)

type ctx = context.Context
type request = agentloop.Request
type message = agentloop.Message

// A model that fails after its tools have worked: the run ends, says why, and
// keeps what the tools had answered.
func TestFailingModels(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		model func(ctx, request) (message, error)
		code  toolguard.Code
		after time.Duration // when the run ends
		asked int
	}{
		"refuses": {func(ctx, request) (message, error) {
			return message{}, toolguard.Permission("The key is not accepted.")
		}, "permission_denied", 0, 1},
		"panics":        {func(ctx, request) (message, error) { panic("boom") }, "panic", 0, 1},
		"exits":         {func(ctx, request) (message, error) { runtime.Goexit(); return message{}, nil }, "exited", 0, 1},
		"stalls":        {func(c ctx, _ request) (message, error) { <-c.Done(); return message{}, c.Err() }, "attempt_timeout", 600 * time.Second, 2},
		"hangs":         {nil, "abandoned", 301 * time.Second, 1},
		"says nothing":  {func(ctx, request) (message, error) { return message{}, nil }, "service_unavailable", -1, 3},
		"no JSON extra": {func(ctx, request) (message, error) { return message{Text: "x", Extra: json.RawMessage("{")}, nil }, "service_unavailable", -1, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				defer close(release)
				if tc.model == nil {
					tc.model = func(ctx, request) (message, error) { <-release; return message{Text: "late"}, nil }
				}
				m := model(calls("order"), tc.model)
				l := loopOf(t, m, boxOf(t, reads("order", says("sent"))), nil)
				began := time.Now()
				list := all(t, l.Run(t.Context(), hello()))
				assert.Equal(t, "ask reply answer ask end", kinds(list))
				r := end(list)
				assert.Equal(t, agentloop.StopModel, r.Stop)
				var failure *toolguard.Error
				require.ErrorAs(t, r.Err, &failure)
				assert.Equal(t, tc.code, failure.Code)
				if took := time.Since(began); tc.after >= 0 {
					assert.Equal(t, tc.after, took)
				}
				assert.Equal(t, 1+tc.asked, m.asked())
				assert.Equal(t, []string{"ok"}, codes(r.State.Messages[1]))
			})
		})
	}
}

// What passes is asked for again by the guard, within one iteration.
func TestModelIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := model(toolguard.RateLimited(3*time.Second), toolguard.Unavailable("overloaded"), "Hello.")
		began := time.Now()
		list := all(t, loopOf(t, m, boxOf(t), nil).Run(t.Context(), hello()))
		assert.Equal(t, "ask reply end", kinds(list))
		assert.Equal(t, "Hello.", end(list).Text)
		assert.Equal(t, 1, end(list).State.Iteration)
		assert.Equal(t, 3, m.asked())
		assert.GreaterOrEqual(t, time.Since(began), 3*time.Second)
	})
}

// A reply that comes after its attempt was given up is nobody's.
func TestLateReplyIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		m := model(func(ctx, request) (message, error) { <-release; return message{Text: "late"}, nil }, "Now.")
		l := loopOf(t, m, boxOf(t), &agentloop.Options{Model: toolguard.Options{Timeout: toolguard.TimeoutPolicy{Attempt: time.Second}}})
		first := agentloop.Wait(l.Run(t.Context(), hello()))
		assert.Equal(t, agentloop.StopModel, first.Stop)
		close(release)
		synctest.Wait()
		assert.Len(t, first.State.Messages, 1)
		second := agentloop.Wait(l.Resume(t.Context(), first.State))
		assert.Equal(t, "Now.", second.Text)
	})
}

// An open breaker ends further runs at once, instead of after minutes each.
func TestModelsBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := model(toolguard.Unavailable("down"))
		l := loopOf(t, m, boxOf(t), &agentloop.Options{Model: toolguard.Options{Breaker: toolguard.BreakerPolicy{Failures: 3}}})
		agentloop.Wait(l.Run(t.Context(), hello()))
		asked := m.asked()
		r := agentloop.Wait(l.Run(t.Context(), hello()))
		var failure *toolguard.Error
		require.ErrorAs(t, r.Err, &failure)
		assert.Equal(t, toolguard.CodeBreakerOpen, failure.Code)
		assert.Equal(t, asked, m.asked())
	})
}

func TestCanceledWhileTheModelThinks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		m := model(calls("order"), func(c ctx, _ request) (message, error) { <-c.Done(); return message{}, c.Err() })
		began := time.Now()
		r := end(all(t, loopOf(t, m, boxOf(t, reads("order", says("sent"))), nil).Run(c, hello())))
		assert.Equal(t, agentloop.StopCanceled, r.Stop)
		assert.ErrorIs(t, r.Err, context.DeadlineExceeded)
		assert.Equal(t, time.Minute, time.Since(began))
		assert.Len(t, r.State.Messages, 2)
	})
}

// The host's own control flow passes a model as it passes a tool.
func TestControlFlowOfTheModel(t *testing.T) {
	t.Parallel()
	pause := errors.New("pause")
	l := loopOf(t, model(pause), boxOf(t), &agentloop.Options{Model: toolguard.Options{PassThrough: func(err error) bool { return err == pause }}})
	r := agentloop.Wait(l.Run(t.Context(), hello()))
	assert.Equal(t, agentloop.StopModel, r.Stop)
	assert.Same(t, pause, r.Err)
}

// A model that meddles with what it is asked changes nothing but its copy.
func TestMeddlingModel(t *testing.T) {
	t.Parallel()
	m := model(calls("order"), func(_ ctx, req request) (message, error) {
		req.Messages[0] = agentloop.User("something else")
		_ = append(req.Messages, agentloop.User("more"))
		return message{Text: "Done."}, nil
	})
	r := end(all(t, loopOf(t, m, boxOf(t, reads("order", says("sent"))), nil).Run(t.Context(), hello())))
	require.Len(t, r.State.Messages, 3)
	assert.Equal(t, "hello", r.State.Messages[0].Text)
}

// What hides the tools also hides them from the model.
func TestToolsThatCannotBeListed(t *testing.T) {
	t.Parallel()
	box, err := toolguard.NewToolbox(&toolguard.ToolboxOptions{Visible: func(context.Context, toolguard.Info) bool { panic("no") }}, reads("order", says("sent")))
	require.NoError(t, err)
	m := model(func(_ ctx, req request) (message, error) {
		_, err := req.Tools(toolguard.ProviderOpenAI)
		return message{Text: "unreached"}, err
	})
	r := agentloop.Wait(loopOf(t, m, box, nil).Run(t.Context(), hello()))
	assert.Equal(t, agentloop.StopModel, r.Stop)
	assert.Error(t, r.Err)
}
