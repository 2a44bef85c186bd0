package toolguard_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// loggedAt runs one call of a tool and returns what the logger wrote.
func loggedAt(t *testing.T, level slog.Level, body func(context.Context) (toolguard.Result, error), o toolguard.Options) string {
	t.Helper()
	var b bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: level}))
	o.Observer = toolguard.LogObserver(logger)
	g, err := toolguard.New(toolguard.Action(toolguard.Info{Name: "lamp", Effect: toolguard.ReadOnly}, func(ctx context.Context, _ struct{}) error {
		_, err := body(ctx)
		return err
	}), &o)
	require.NoError(t, err)
	ctx := toolguard.WithScope(t.Context(), toolguard.Scope{Tenant: "blue", Session: "s1"})
	g.Do(ctx, toolguard.Call{ID: "c9"})
	require.NoError(t, g.Shutdown(t.Context()))
	return b.String()
}

func TestLogSaysWhatWentWrongAndNothingElse(t *testing.T) {
	t.Parallel()
	fine := func(context.Context) (toolguard.Result, error) { return toolguard.Result{}, nil }
	down := func(context.Context) (toolguard.Result, error) {
		return toolguard.Result{}, toolguard.Unavailable("no bulb")
	}
	dies := func(context.Context) (toolguard.Result, error) { panic(errors.New("short circuit")) }

	t.Run("a success is quiet", func(t *testing.T) {
		t.Parallel()
		assert.Empty(t, loggedAt(t, slog.LevelInfo, fine, toolguard.Options{}))
		assert.Contains(t, loggedAt(t, slog.LevelDebug, fine, toolguard.Options{}), `msg="tool attempt"`)
	})
	t.Run("retries inform, the end warns", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			text := loggedAt(t, slog.LevelInfo, down, toolguard.Options{})
			assert.Equal(t, 2, bytes.Count([]byte(text), []byte("level=INFO")), text)
			assert.Equal(t, 1, bytes.Count([]byte(text), []byte("level=WARN")), text)
			for _, want := range []string{"tool=lamp", "code=service_unavailable", "call_id=c9", "tenant=blue", "session=s1", "incident=", "decision=retry", "why=attempts_used", "wait="} {
				assert.Contains(t, text, want)
			}
		})
	})
	t.Run("a panic has its stack", func(t *testing.T) {
		t.Parallel()
		text := loggedAt(t, slog.LevelWarn, dies, toolguard.Options{})
		assert.Contains(t, text, "slog_test.go:")
		assert.NotContains(t, text, "/slog_test.go", "no paths")
	})
	t.Run("what a tool says is redacted", func(t *testing.T) {
		t.Parallel()
		leaks := func(context.Context) (toolguard.Result, error) {
			return toolguard.Result{}, errors.New("login postgres://app:hunter2@db-7.internal/prod")
		}
		assert.NotContains(t, loggedAt(t, slog.LevelDebug, leaks, toolguard.Options{}), "hunter2")
	})
	t.Run("payloads only if asked for", func(t *testing.T) {
		t.Parallel()
		assert.NotContains(t, loggedAt(t, slog.LevelDebug, fine, toolguard.Options{}), "arguments=")
		assert.Contains(t, loggedAt(t, slog.LevelDebug, fine, toolguard.Options{Observe: toolguard.ObservePolicy{Arguments: true, Results: true}}), "arguments={}")
	})
	t.Run("a queue is drained by shutdown", func(t *testing.T) {
		t.Parallel()
		assert.Contains(t, loggedAt(t, slog.LevelDebug, fine, toolguard.Options{Observe: toolguard.ObservePolicy{Queue: 8}}), `msg="tool call"`)
	})
}

// The methods of an error are foreign code in a log too.
func TestLoggingAnErrorThatHangsEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		began := time.Now()
		loggedAt(t, slog.LevelWarn, func(context.Context) (toolguard.Result, error) {
			return toolguard.Result{}, slowError{release}
		}, toolguard.Options{})
		assert.Less(t, time.Since(began), 5*time.Second)
	})
}

type slowError struct{ release chan struct{} }

func (e slowError) Error() string { <-e.release; return "late" }

// aDisk is where a log goes: it may be full, or hang.
type aDisk func() error

func (d aDisk) Write(b []byte) (int, error) { return len(b), d() }

func TestALogThatCannotBeWrittenSlowsNoCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		disk  func(release chan struct{}) error
		queue int
		limit time.Duration
		lost  bool
	}{
		"a full disk":           {func(chan struct{}) error { return errors.New("no space left on device") }, 0, 0, false},
		"one that hangs":        {func(release chan struct{}) error { <-release; return nil }, 0, time.Second, true},
		"one that hangs, queue": {func(release chan struct{}) error { <-release; return nil }, 10, 0, true},
	} {
		inBubble(t, name, func(t *testing.T) {
			release := make(chan struct{})
			logger := slog.New(slog.NewJSONHandler(aDisk(func() error { return c.disk(release) }), nil))
			g := guardOf(t, toolOf(toolguard.ReadOnly, fails(toolguard.NotFound("no"))), &toolguard.Options{
				Observer: toolguard.LogObserver(logger), Observe: toolguard.ObservePolicy{Queue: c.queue},
			})
			assert.Equal(t, c.limit, took(func() {
				for range 1000 {
					assert.Equal(t, "not_found/failed", verdict(do(g)))
				}
			}), "its patience, once")
			assert.Equal(t, c.lost, g.Stats().LostEvents > 0)
			close(release)
			synctest.Wait()
		})
	}
}
