package toolguard_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// A nil pointer is no error, and saying what it did not do makes it none: a tool
// that ends so has succeeded, and must not run again for it.
func TestNoErrorIsNotStarted(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]func(error) error{
		"not started": toolguard.NotStarted, "no effect": toolguard.NoEffect, "maybe done": toolguard.MaybeDone,
		"twice": func(err error) error { return toolguard.MaybeDone(toolguard.NotStarted(err)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			charged := 0
			g := guardOf(t, charges(&charged, says), nil)
			env := doIn(t.Context(), g)
			require.True(t, env.OK, verdict(env))
			assert.Equal(t, 1, charged)
			require.Len(t, env.Notes, 1)
			assert.EqualValues(t, "typed_nil_error", env.Notes[0].Kind)
			assert.NoError(t, says(nil))
		})
	}
}

func charges(charged *int, says func(error) error) toolguard.Tool {
	return toolguard.Func(toolguard.Info{Name: "charge"}, func(context.Context, struct{}) (string, error) {
		*charged++
		var none *cyclic
		return "charged", says(none)
	})
}

// Whoever asks an envelope's error what it is gets an answer, though the tool's own
// error wraps itself, never ends, or does not say what it wraps.
func TestErrorsWithoutAnEndCanBeAsked(t *testing.T) {
	t.Parallel()
	ring := &cyclic{}
	ring.next = fmt.Errorf("around: %w", errors.Join(io.ErrNoProgress, ring))
	for name, of := range map[string]func(t *testing.T) error{
		"wraps itself": func(*testing.T) error { return ring },
		"never ends":   func(*testing.T) error { return endlessly(0) },
		"says nothing": func(t *testing.T) error {
			return fmt.Errorf("%w: %w", io.ErrNoProgress, badUnwrap{untilReleased(t)})
		},
		"an address that is its own cause": func(*testing.T) error {
			e := &url.Error{Op: "get"}
			e.Err = e
			return e
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			err := of(t)
			env := do(guardOf(t, toolOf(toolguard.ReadOnly, fails(err)), nil))
			answered := new(atomic.Pointer[error])
			go func() {
				got := env.Err()
				assert.NotErrorIs(t, got, context.Canceled)
				assert.Equal(t, name == "wraps itself" || name == "says nothing", errors.Is(got, io.ErrNoProgress))
				var ours *toolguard.Error
				assert.ErrorAs(t, got, &ours)
				var own *cyclic
				assert.Equal(t, name == "wraps itself", errors.As(got, &own))
				_, said := toolguard.RetryAfter(got)
				assert.False(t, said)
				answered.Store(&got)
			}()
			time.Sleep(time.Minute)
			synctest.Wait()
			if got := answered.Load(); assert.NotNil(t, got, "still asking") {
				assert.NotEmpty(t, (*got).Error())
			}
			assert.True(t, err == env.Cause(), "the tool's own error")
		})
	}
}

type endlessly int

func (n endlessly) Error() string { return "and" }
func (n endlessly) Unwrap() error { return n + 1 }

// Host code that hangs over an error takes no more time than the attempt had.
func TestWhoHangsOverAnErrorDoesNotHoldUpTheCall(t *testing.T) {
	t.Parallel()
	for name, hang := range map[string]func(o *toolguard.Options, wait func()){
		"classifier": func(o *toolguard.Options, wait func()) {
			o.Classifier = func(context.Context, error) (toolguard.Verdict, bool) { wait(); return toolguard.Verdict{}, false }
		},
		"pass through": func(o *toolguard.Options, wait func()) { o.PassThrough = func(error) bool { wait(); return false } },
	} {
		inBubble(t, name, func(t *testing.T) {
			o := &toolguard.Options{Timeout: toolguard.TimeoutPolicy{Attempt: 20 * time.Second, Budget: 20 * time.Second, Grace: 2 * time.Second}}
			hang(o, untilReleased(t))
			g := guardOf(t, toolOf(toolguard.ReadOnly, obeys), o)
			var env toolguard.Envelope
			assert.LessOrEqual(t, took(func() { env = do(g) }), 22*time.Second)
			assert.Equal(t, "attempt_timeout/failed", verdict(env))
		})
	}
}
