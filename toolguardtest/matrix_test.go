package toolguardtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/agentloop"
	tgt "github.com/toolguard-go/toolguard/toolguardtest"
)

type order struct {
	OrderID string `json:"order_id"`
	Cents   int    `json:"cents"`
}

const orderArgs = `{"order_id":"A-17","cents":8000}`

// refund is a tool as a user writes one.
func refund(info toolguard.Info) toolguard.Tool {
	return toolguard.Func(info, func(context.Context, order) (string, error) { return "refunded", nil })
}

func TestMatrixOfGuards(t *testing.T) {
	t.Parallel()
	for _, effect := range effects {
		t.Run(effect.String(), func(t *testing.T) {
			t.Parallel()
			tgt.Matrix(t, func(t testing.TB) tgt.Subject {
				return tgt.Guarded(guardOf(t, refund(infoOf(effect)), nil), orderArgs)
			})
		})
	}
}

func TestMatrixOfOptions(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]toolguard.Options{
		"a media tool": {Timeout: toolguard.TimeoutPolicy{Attempt: 300 * time.Second}},
		"no retries":   {Retry: toolguard.RetryPolicy{Off: true}},
		"no limits":    {Timeout: toolguard.TimeoutPolicy{Off: true}, Concurrency: toolguard.ConcurrencyPolicy{Off: true}, Breaker: toolguard.BreakerPolicy{Off: true}},
		"text":         {Render: toolguard.RenderPolicy{Format: toolguard.FormatText, Locale: "zh"}},
		"quoted":       {Render: toolguard.RenderPolicy{HideCauses: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tgt.Matrix(t, func(t testing.TB) tgt.Subject {
				return tgt.Guarded(guardOf(t, refund(infoOf(toolguard.NonIdempotent)), &opts), orderArgs)
			})
		})
	}
	t.Run("a single request", func(t *testing.T) {
		t.Parallel()
		tgt.Matrix(t, func(t testing.TB) tgt.Subject {
			info := infoOf(toolguard.NonIdempotent)
			info.SingleRequest = true
			return tgt.Guarded(guardOf(t, refund(info), nil), orderArgs)
		})
	})
}

func TestMatrixOfToolboxes(t *testing.T) {
	t.Parallel()
	for _, effect := range []toolguard.Effect{toolguard.ReadOnly, toolguard.NonIdempotent} { // a guard has the others
		t.Run(effect.String(), func(t *testing.T) {
			t.Parallel()
			tgt.Matrix(t, func(t testing.TB) tgt.Subject {
				box, err := toolguard.NewToolbox(nil, refund(infoOf(effect)))
				require.NoError(t, err)
				return tgt.Boxed(box, "refund", orderArgs)
			})
		})
	}
}

func TestMatrixOfLoops(t *testing.T) {
	t.Parallel()
	tgt.Matrix(t, func(t testing.TB) tgt.Subject {
		box, err := toolguard.NewToolbox(&toolguard.ToolboxOptions{Batch: toolguard.BatchPolicy{Timeout: 10 * time.Minute}}, refund(infoOf(toolguard.NonIdempotent)))
		require.NoError(t, err)
		return tgt.Looped(box, "refund", orderArgs, func(m agentloop.Model) (*agentloop.Loop, error) { return agentloop.New(m, box, nil) })
	})
}

// A model that plans anew after a lost answer makes the same call in another step.
func TestMatrixOfLoopsWithAJournal(t *testing.T) {
	t.Parallel()
	for _, effect := range []toolguard.Effect{toolguard.IdempotentByKey, toolguard.NonIdempotent} {
		t.Run(effect.String(), func(t *testing.T) {
			t.Parallel()
			tgt.Matrix(t, func(t testing.TB) tgt.Subject {
				info := infoOf(effect)
				info.Durability = toolguard.DurabilityProcess
				box, err := toolguard.NewToolbox(&toolguard.ToolboxOptions{
					Options: toolguard.Options{Journal: tgt.JournalFor(info)}, Batch: toolguard.BatchPolicy{Timeout: 10 * time.Minute},
				}, refund(info))
				require.NoError(t, err)
				return tgt.Looped(box, "refund", orderArgs, func(m agentloop.Model) (*agentloop.Loop, error) { return agentloop.New(m, box, nil) })
			})
		})
	}
}

// A tool that insists on a journal, and on a person.
func TestMatrixOfJournalsAndApprovals(t *testing.T) {
	t.Parallel()
	for _, effect := range []toolguard.Effect{toolguard.Idempotent, toolguard.NonIdempotent} {
		t.Run(effect.String(), func(t *testing.T) {
			t.Parallel()
			tgt.Matrix(t, func(t testing.TB) tgt.Subject { return approved(t, effect) })
		})
	}
}

// What a subject has running beside the call is no leak of the call.
func TestMatrixLeavesTheSubjectsOwnGoroutines(t *testing.T) {
	t.Parallel()
	subjects := 0
	tgt.MatrixOf(t, []tgt.Fault{tgt.FaultNamed("slow"), tgt.FaultNamed("acts, hangs and cannot be stopped")}, func(t testing.TB) tgt.Subject {
		subjects++
		tgt.NewServer(t, nil)
		return tgt.Guarded(guardOf(t, refund(infoOf(0)), nil), orderArgs)
	})
	assert.Equal(t, 1+2*2, subjects, "one to see that it works, and for each fault one more to tell goroutines apart")
}
