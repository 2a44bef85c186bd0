package toolguard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// deafUntil is a tool that ignores its context until released.
func deafUntil(release <-chan struct{}) run {
	return func(context.Context) (toolguard.Result, error) {
		<-release
		return toolguard.Result{Text: "late"}, nil
	}
}

// Report: strands-agents/harness-sdk#4403 (case e01)
func TestDeadlineHoldsAgainstADeafTool(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release, seen := make(chan struct{}), &eventLog{}
		g := caseGuard(t, toolguard.Info{}, &toolguard.Options{
			Timeout:  toolguard.TimeoutPolicy{Attempt: 50 * time.Millisecond, Grace: 10 * time.Millisecond, MaxAbandoned: 2},
			Observer: seen,
		}, deafUntil(release))
		for range 2 {
			began := time.Now()
			env := doIn(t.Context(), g)
			assert.Equal(t, toolguard.CodeAbandoned, codeOf(env))
			assert.Equal(t, toolguard.OutcomeUnknown, env.Error.Outcome)
			assert.Equal(t, 60*time.Millisecond, time.Since(began))
		}
		assert.Equal(t, 2, g.Stats().Abandoned)

		env := doIn(t.Context(), g)
		assert.Equal(t, toolguard.CodeToolStuck, codeOf(env), "abandoned attempts are capped")
		assert.Equal(t, toolguard.OutcomeNotStarted, env.Error.Outcome)

		close(release)
		synctest.Wait()
		assert.Zero(t, g.Stats().Abandoned)
		assert.Len(t, seen.of(toolguard.EventLate), 2, "late answers go to the observer")
		assert.True(t, doIn(t.Context(), g).OK)
	})
}

// Report: nugget/thane-ai-agent#1167, docker/docker-agent#2462, dimetron/pi-go#92 (case e03)
func TestDeadlineHoldsWhileAGrandchildKeepsThePipe(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	hold, release, err := os.Pipe()
	require.NoError(t, err)
	defer hold.Close()
	g := caseGuard(t, toolguard.Info{}, &toolguard.Options{
		Timeout: toolguard.TimeoutPolicy{Attempt: 100 * time.Millisecond, Grace: 50 * time.Millisecond},
	}, func(ctx context.Context) (toolguard.Result, error) {
		var out bytes.Buffer // a pipe behind it, which Wait reads to its end
		cmd := exec.CommandContext(ctx, sh, "-c", "cat <&3 & echo started; wait")
		cmd.Stdout, cmd.ExtraFiles = &out, []*os.File{hold}
		err := cmd.Run()
		return toolguard.Result{Text: out.String()}, err
	})
	env := doIn(t.Context(), g)
	assert.Equal(t, toolguard.CodeAbandoned, codeOf(env))
	assert.Equal(t, 1, g.Stats().Abandoned)

	require.NoError(t, release.Close()) // the grandchild ends, and with it Wait
	require.Eventually(t, func() bool { return g.Stats().Abandoned == 0 }, 10*time.Second, time.Millisecond)
}

// Report: kubernetes-sigs/agent-sandbox#1428, docker/docker-agent#3814 (case e04)
func TestCallersDeadlineIsNotTheTools(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := caseGuard(t, toolguard.Info{Effect: toolguard.ReadOnly}, &toolguard.Options{
			Timeout: toolguard.TimeoutPolicy{Attempt: 5 * time.Second}, Retry: toolguard.RetryPolicy{MaxAttempts: 2},
		}, obeys)
		for range 6 {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			env := doIn(ctx, g)
			cancel()
			assert.Equal(t, toolguard.CodeCallerDeadline, codeOf(env))
			assert.Equal(t, 1, env.Attempts, "the caller's deadline is not retried")
			assert.False(t, env.Error.Retryable)
		}
		assert.Zero(t, g.Stats().Breakers[0].Streak, "nor does it say anything about the tool")

		env := doIn(t.Context(), g)
		assert.Equal(t, toolguard.CodeAttemptTimeout, codeOf(env))
		assert.Positive(t, g.Stats().Breakers[0].Streak, "the tool's own does")
	})
}

// Report: SamSaffron/term-llm#419 (case e07)
func TestLongTimeoutIsNotCappedInSecret(t *testing.T) {
	bubble(t, func(t *testing.T) {
		seen := &eventLog{}
		opts := &toolguard.Options{Timeout: toolguard.TimeoutPolicy{Attempt: 2 * time.Hour}, Observer: seen}
		slow := func(ctx context.Context) (toolguard.Result, error) {
			time.Sleep(110 * time.Minute)
			return answers("done")(ctx)
		}
		g := caseGuard(t, toolguard.Info{}, opts, slow)
		assert.Equal(t, 2*time.Hour, g.Describe().Timeout.Attempt)
		began := time.Now()
		require.True(t, doIn(t.Context(), g).OK)
		assert.Equal(t, began.Add(2*time.Hour), seen.of(toolguard.EventAttempt)[0].Deadline)

		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		sooner, _ := ctx.Deadline()
		doIn(ctx, g)
		assert.Equal(t, sooner, seen.of(toolguard.EventAttempt)[1].Deadline, "the effective one is the sooner of two")
		time.Sleep(time.Hour) // the tool does not listen

		opts.Timeout.Budget = 5 * time.Minute
		_, err := toolguard.New(caseTool(toolguard.Info{Name: "probe"}, slow), opts)
		require.ErrorContains(t, err, "Timeout.Budget 5m0s", "a cap below it is an error, not a cap")
	})
}

// Report: microsoft/agent-framework-go#1076, micro/go-micro#3096 (case e08)
func TestNothingStartsAfterTheCallerLeft(t *testing.T) {
	t.Run("the next tool", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			first := caseGuard(t, toolguard.Info{}, nil, func(ctx context.Context) (toolguard.Result, error) {
				cancel()
				return toolguard.Result{}, ctx.Err()
			})
			call, runs := caseSteps(answers("done"))
			second := caseGuard(t, toolguard.Info{}, nil, call)
			assert.Equal(t, toolguard.CodeCanceled, codeOf(doIn(ctx, first)))
			env := doIn(ctx, second)
			assert.Equal(t, toolguard.CodeCanceled, codeOf(env))
			assert.Equal(t, toolguard.OutcomeNotStarted, env.Error.Outcome)
			assert.Zero(t, runs())
		})
	})
	t.Run("the next attempt", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
			call, runs := caseSteps(fails(reply(503, "20")))
			g := caseGuard(t, toolguard.Info{Effect: toolguard.ReadOnly}, &toolguard.Options{
				Timeout: toolguard.TimeoutPolicy{Attempt: 4 * time.Second, Budget: time.Minute},
			}, call)
			time.AfterFunc(time.Second, cancel) // while it waits
			began := time.Now()
			assert.False(t, doIn(ctx, g).OK)
			assert.Equal(t, time.Second, time.Since(began))
			assert.Equal(t, 1, runs())
		})
	})
	t.Run("a call in the queue", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			call, runs := caseSteps(obeys)
			g := caseGuard(t, toolguard.Info{}, &toolguard.Options{Concurrency: toolguard.ConcurrencyPolicy{Max: 1}}, call)
			go doIn(t.Context(), g)
			synctest.Wait()
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			env := doIn(ctx, g)
			assert.Equal(t, toolguard.CodeCanceled, codeOf(env))
			assert.Equal(t, toolguard.OutcomeNotStarted, env.Error.Outcome)
			assert.Equal(t, 1, runs())
		})
	})
	t.Run("after a check that took long", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			call, runs := caseSteps(answers("done"))
			g := caseGuard(t, toolguard.Info{}, &toolguard.Options{
				Check: func(context.Context, json.RawMessage) error { cancel(); return nil },
			}, call)
			assert.Equal(t, toolguard.CodeCanceled, codeOf(doIn(ctx, g)))
			assert.Zero(t, runs())
		})
	})
}

// Report: kolega-ai/kolega-code#637 (case e09)
func TestSuccessAfterTheCallerLeftSaysSo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		env := doIn(ctx, caseGuard(t, toolguard.Info{}, nil, func(ctx context.Context) (toolguard.Result, error) {
			<-ctx.Done()
			return toolguard.Result{Text: "stopped at your wish"}, nil
		}))
		require.True(t, env.OK)
		require.Len(t, env.Notes, 1)
		assert.EqualValues(t, "canceled_meanwhile", env.Notes[0].Kind)
		assert.Contains(t, env.ForModel(), env.Notes[0].Text)
	})
}

// Report: arcee-ai/nac#105 (case e11)
func TestStuckCallHoldsNoOtherUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		tool := plain{toolguard.Info{Name: "probe"}, func(ctx context.Context, args json.RawMessage) (toolguard.Result, error) {
			if string(args) == `{"stuck":true}` {
				return deafUntil(release)(ctx)
			}
			return answers("done")(ctx)
		}}
		g := guardOf(t, tool, nil)
		began := time.Now()
		took := make([]time.Duration, 2)
		var both sync.WaitGroup
		for i, args := range []string{`{"stuck":true}`, `{}`} {
			both.Go(func() {
				g.Do(t.Context(), toolguard.Call{Args: json.RawMessage(args)})
				took[i] = time.Since(began)
			})
		}
		both.Wait()
		assert.Equal(t, []time.Duration{61 * time.Second, 0}, took)
		close(release)
	})
}
