package toolguardtest_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	tgt "github.com/toolguard-go/toolguard/toolguardtest"
)

func TestScriptInOrder(t *testing.T) {
	t.Parallel()
	tool := tgt.NewTool(t, infoOf(toolguard.NonIdempotent), tgt.OK("one"), tgt.Fail(io.EOF)).Then(tgt.OK("rest"))
	for _, want := range []string{"one", "", "rest", "rest"} {
		r, err := tool.Call(t.Context(), []byte(`{"a":1}`))
		assert.Equal(t, want, r.Text)
		assert.Equal(t, want == "", err != nil)
	}
	assert.Equal(t, 4, tool.Runs())
	assert.Equal(t, 3, tool.Ledger().Effects())
	assert.Equal(t, 1, tool.Peak())
	assert.JSONEq(t, `{"a":1}`, string(tool.Args()[3]))
}

func TestScriptThatRunsOutSaysWhatToDo(t *testing.T) {
	t.Parallel()
	said := failing(t, func(t testing.TB) {
		tool := tgt.NewTool(t, infoOf(0), tgt.OK("one"))
		for range 2 {
			_, _ = tool.Call(context.Background(), nil)
		}
	})
	assertSays(t, said, `tool "refund" runs for the 2nd time, but its script has 1 step(s)`, "give NewTool another step, or say with Then")
}

// What repeats without harm is one effect.
func TestLedgerCountsDistinctEffects(t *testing.T) {
	t.Parallel()
	for effect, want := range map[toolguard.Effect]int{
		toolguard.ReadOnly: 0, toolguard.Idempotent: 1, toolguard.IdempotentByKey: 1, toolguard.NonIdempotent: 3, toolguard.EffectUnknown: 3,
	} {
		inBubble(t, effect.String(), func(t *testing.T) {
			tool := tgt.Always(t, infoOf(effect), tgt.LoseAnswer())
			g := guardOf(t, tool, &toolguard.Options{Retry: toolguard.RetryPolicy{BudgetFloor: 100}})
			for range 3 {
				do(toolguard.WithScope(t.Context(), toolguard.Scope{Run: "r", Step: "1"}), g)
			}
			assert.Equal(t, want, tool.Ledger().Effects())
			assert.GreaterOrEqual(t, tool.Runs(), 3)
		})
	}
}

// A guard makes of each fault what the catalogue says, for a tool that has no effect
// and for one that has.
func TestCatalogueIsWhatAGuardMakesOfIt(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, f := range tgt.Faults() {
		require.False(t, seen[f.Name], "two faults are named %q", f.Name)
		seen[f.Name] = true
		inBubble(t, f.Name, func(t *testing.T) {
			tool := tgt.Always(t, infoOf(toolguard.ReadOnly), f.Step)
			env := do(t.Context(), guardOf(t, tool, nil))
			if f.Code != "(any)" {
				assert.Equal(t, f.Code, codeOf(env), env.ForModel())
			}
		})
	}
	assert.Greater(t, len(seen), 100)
}

func TestHangsEndWithTheBubble(t *testing.T) {
	t.Parallel()
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		tool := tgt.NewTool(t, infoOf(0), tgt.Ignore(tgt.OK("late")), tgt.Obey(), tgt.Slow(time.Hour, tgt.OK("slow")))
		g := guardOf(t, tool, &toolguard.Options{Timeout: toolguard.TimeoutPolicy{Attempt: 300 * time.Second}})
		assert.Equal(t, toolguard.CodeAbandoned, codeOf(do(t.Context(), g)))
		assert.Equal(t, toolguard.CodeAttemptTimeout, codeOf(do(t.Context(), g)))
		assert.Equal(t, toolguard.CodeAttemptTimeout, codeOf(do(t.Context(), g)))
	})
	assert.Less(t, time.Since(began), 30*time.Second, "timeouts pass in fake time")
}

func TestLateSuccess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tool := tgt.NewTool(t, infoOf(toolguard.NonIdempotent), tgt.Late(5*time.Minute, tgt.OK("too late")))
		env := do(t.Context(), guardOf(t, tool, nil))
		assert.Equal(t, toolguard.CodeAbandoned, codeOf(env))
		assert.Zero(t, tool.Ledger().Effects())
		time.Sleep(10 * time.Minute)
		assert.Equal(t, 1, tool.Ledger().Effects(), "it happened after all: unknown was the honest word")
	})
}

func TestChaosIsTheSameForASeed(t *testing.T) {
	t.Parallel()
	play := func(seed uint64) (failed int, pattern string) {
		tool := tgt.Always(t, infoOf(0), tgt.Chaos(seed, 0.3, tgt.OK("fine"), tgt.Fail(io.EOF), tgt.Fail(errors.New("odd"))))
		for range 200 {
			r, err := tool.Call(t.Context(), nil)
			if err != nil {
				failed++
			}
			pattern += r.Text
			if err != nil {
				pattern += err.Error()
			}
		}
		return failed, pattern
	}
	failed, once := play(1)
	_, again := play(1)
	_, other := play(2)
	assert.InDelta(t, 60, failed, 25)
	assert.Equal(t, once, again)
	assert.NotEqual(t, once, other)
}

func TestAroundPlacesFaultsInnermost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type in struct {
			ID string `json:"id"`
		}
		real := toolguard.Func(infoOf(toolguard.ReadOnly), func(_ context.Context, in in) (string, error) { return "order " + in.ID, nil })
		tool := tgt.Around(t, real, tgt.FaultError(toolguard.CodeServiceUnavailable), tgt.Through(real))
		env := guardOf(t, tool, nil).Do(t.Context(), toolguard.Call{Args: []byte(`{"id":"A1"}`)})
		assert.Equal(t, "order A1", env.ForModel())
		assert.Equal(t, 2, tool.Runs())
	})
}

func TestReplaceKeepsSchemaAndPolicies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type in struct {
			Cents int `json:"cents"`
		}
		refund := toolguard.Func(infoOf(toolguard.NonIdempotent), func(context.Context, in) (string, error) { return "real", nil })
		refund.Check = func(_ context.Context, in in) error {
			if in.Cents > 100 {
				return toolguard.Business("Too much.")
			}
			return nil
		}
		box, err := toolguard.NewToolbox(nil, refund)
		require.NoError(t, err)
		fault := tgt.NewTool(t, toolguard.Info{}, tgt.LoseAnswer())
		require.NoError(t, box.Replace("refund", fault))
		call := func(args string) toolguard.Envelope {
			return box.Do(t.Context(), toolguard.Call{Tool: "refund", Args: []byte(args)})
		}
		assert.Equal(t, toolguard.CodeSchemaViolation, codeOf(call(`{"cents":"x"}`)))
		assert.Equal(t, toolguard.CodeBusinessRule, codeOf(call(`{"cents":101}`)))
		env := call(`{"cents":100}`)
		assert.Equal(t, toolguard.CodeBadResponse, codeOf(env))
		assert.Equal(t, toolguard.OutcomeUnknown, env.Error.Outcome)
		assert.Equal(t, 1, fault.Runs())
	})
}
