package toolguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
)

// What hangs in the host's code, or in the methods of errors, does not pile up:
// of each function 64 may hang, and nobody else pays for it.

func TestHangingGatesAreCapped(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		wait := untilReleased(t)
		g := guardOf(t, toolOf(toolguard.ReadOnly, answers("x")), &toolguard.Options{
			Authorize: func(context.Context, json.RawMessage) error { wait(); return nil },
			Timeout:   toolguard.TimeoutPolicy{Attempt: time.Second},
		})
		for range 100 {
			assert.Equal(t, "check_failed/not_started", verdict(do(g)), "closed, whether it hangs or is not asked")
		}
		assert.Equal(t, 64, g.Stats().StuckCallbacks)
		assert.Zero(t, took(func() { do(g) }), "at once")
	})
}

func TestAHangingRedactorLeavesAuthorizeAlone(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		wait := untilReleased(t)
		g := guardOf(t, toolOf(toolguard.ReadOnly, fails(errors.New("words"))), &toolguard.Options{
			Authorize: func(context.Context, json.RawMessage) error { return nil },
			Redact:    func(string) string { wait(); return "" },
			Retry:     toolguard.RetryPolicy{Off: true},
		})
		for range 70 {
			assert.Equal(t, toolguard.CodeUnknownError, codeOf(do(g)))
		}
		assert.Equal(t, 64, g.Stats().StuckCallbacks)
	})
}

// hangingErr answers nothing about itself.
type hangingErr struct{ wait func() }

func (e hangingErr) Error() string { e.wait(); return "" }
func (e hangingErr) Unwrap() error { e.wait(); return nil }

// statusErr is foreign: it must be asked to be understood.
type statusErr struct{ code int }

func (e *statusErr) Error() string   { return "no" }
func (e *statusErr) StatusCode() int { return e.code }

func TestHangingErrorsOfOneToolBlindNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wait := untilReleased(t)
		off := &toolguard.Options{Retry: toolguard.RetryPolicy{Off: true}, Breaker: toolguard.BreakerPolicy{Off: true}}
		bad := guardOf(t, toolOf(toolguard.ReadOnly, fails(hangingErr{wait})), off)
		good := guardOf(t, toolOf(toolguard.NonIdempotent, fails(&statusErr{503})), off)
		for range 100 {
			do(bad)
		}
		assert.Equal(t, 64, bad.Stats().StuckCallbacks)
		assert.Equal(t, "service_unavailable/unknown", verdict(do(good)))
	})
}

// Shutdown waits for what an abandoned attempt that has ended knows: who closes the
// journal afterwards would lose what became of the call.
func TestShutdownWaitsForWhatIsStillWrittenDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := toolguard.NewMemoryJournal()
		j := &faulty{Journal: mem, before: func(n int) error {
			if n > 2 {
				time.Sleep(time.Second)
			}
			return nil
		}}
		g := guardOf(t, toolOf(toolguard.NonIdempotent, func(context.Context) (toolguard.Result, error) {
			time.Sleep(2 * time.Minute)
			return toolguard.Result{}, nil
		}), &toolguard.Options{Journal: j, Journaling: toolguard.JournalPolicy{Lease: time.Hour}})
		assert.Equal(t, "abandoned/unknown", verdict(doIn(inStep("1"), g)))
		time.Sleep(59*time.Second + time.Millisecond)
		assert.Zero(t, g.Stats().InProgress)
		assert.NoError(t, g.Shutdown(t.Context()))
		assert.Equal(t, toolguard.StateSucceeded, entry(t, mem).State)
	})
}
