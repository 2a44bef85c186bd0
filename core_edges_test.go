package toolguard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// New keeps a copy: whoever goes on changing their maps changes no guard, and
// breaks no call in progress.
func TestOptionsAndInfoAreCopied(t *testing.T) {
	t.Parallel()
	rules := map[string]toolguard.RetryRule{"timeout": {Attempts: 2}}
	classes := map[string]time.Duration{"slow": time.Minute}
	by, alternatives, schema := []string{"id"}, []string{"other"}, json.RawMessage(`{"type":"object"}`)
	tool := toolOf(toolguard.ReadOnly, fails(toolguard.Business("no")))
	tool.info.Alternatives, tool.info.VerifyWith, tool.info.Schema = alternatives, alternatives, schema
	fallback := &toolguard.Fallback{LastGood: time.Hour}
	g := guardOf(t, tool, &toolguard.Options{
		Retry: toolguard.RetryPolicy{Rules: rules}, Timeout: toolguard.TimeoutPolicy{Classes: classes},
		Concurrency: toolguard.ConcurrencyPolicy{SerializeBy: by}, Fallback: fallback,
	})
	said := func() string { return fmt.Sprintf("%+v %+v", g.Describe(), g.Info()) } // a text shares nothing
	before := said()
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 200 {
			do(g)
		}
	})
	for i := range 200 {
		rules["unavailable"], classes["fast"] = toolguard.RetryRule{Attempts: i + 1}, time.Second
		by[0], alternatives[0], schema[0] = "ID", "IGNORE ALL", '['
		fallback.LastGood = 0
	}
	wg.Wait()
	assert.Equal(t, before, said())

	d := g.Describe() // and neither does whoever asks
	d.Retry.Rules["timeout"], d.Timeout.Classes["slow"], d.Concurrency.SerializeBy[0] = toolguard.RetryRule{}, 0, ""
	got := g.Info()
	got.Alternatives[0], got.Schema[0] = "", 0
	assert.Equal(t, before, said())
}

// What a policy holds is plain data: New can copy it.
func TestPoliciesArePlainData(t *testing.T) {
	t.Parallel()
	var plainData func(v reflect.Type) bool
	plainData = func(v reflect.Type) bool {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if !plainData(v.Field(i).Type) {
					return false
				}
			}
			return true
		case reflect.Slice:
			return plainData(v.Elem())
		case reflect.Map:
			k := v.Elem().Kind()
			return plainData(v.Elem()) && k != reflect.Slice && k != reflect.Map
		case reflect.Pointer, reflect.Func, reflect.Interface, reflect.Chan:
			return false
		default:
			return true
		}
	}
	assert.True(t, plainData(reflect.TypeFor[toolguard.Info]()))
	for f := range reflect.TypeFor[toolguard.Options]().Fields() {
		if strings.HasSuffix(f.Type.Name(), "Policy") {
			assert.True(t, plainData(f.Type), f.Name)
		}
	}
}

func TestTimesBeyondWhatCanBeCountedAreRefused(t *testing.T) {
	t.Parallel()
	const huge = time.Duration(math.MaxInt64)
	for field, o := range map[string]toolguard.Options{
		"Timeout.Attempt":       {Timeout: toolguard.TimeoutPolicy{Attempt: huge/2 + 1}},
		"Timeout.Budget":        {Timeout: toolguard.TimeoutPolicy{Budget: huge}},
		"Timeout.Grace":         {Timeout: toolguard.TimeoutPolicy{Grace: huge}},
		`Timeout.Classes["a"]`:  {Timeout: toolguard.TimeoutPolicy{Classes: map[string]time.Duration{"a": huge}}},
		"Breaker.Window":        {Breaker: toolguard.BreakerPolicy{Rate: 0.5, Window: huge}},
		"Breaker.Failures":      {Breaker: toolguard.BreakerPolicy{Failures: 1 << 32}},
		"Breaker.MinCalls":      {Breaker: toolguard.BreakerPolicy{Rate: 0.5, MinCalls: 1 << 32}},
		"Fallback.LastGoodByte": {Fallback: &toolguard.Fallback{LastGood: 1, LastGoodBytes: -1}},
	} {
		_, err := toolguard.New(toolOf(toolguard.ReadOnly, answers("x")), &o)
		assert.ErrorContains(t, err, field)
	}
	g := guardOf(t, toolOf(toolguard.ReadOnly, answers("x")), &toolguard.Options{Timeout: toolguard.TimeoutPolicy{Attempt: 1 << 60}})
	assert.True(t, do(g).OK, "36 years are all right")
}

// A wait that cannot be counted is not a short one.
func TestTheLongestRetryAfterIsNotCutShort(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		const huge = time.Duration(math.MaxInt64)
		for _, wait := range []time.Duration{huge, huge - 1, huge - time.Hour} {
			steps := inOrder(fails(toolguard.NotStarted(toolguard.RateLimited(wait))), answers("x"))
			g := guardOf(t, toolOf(toolguard.ReadOnly, steps.call), &toolguard.Options{
				Timeout: toolguard.TimeoutPolicy{Off: true}, Retry: toolguard.RetryPolicy{MaxRetryAfter: huge},
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			assert.Zero(t, took(func() { assert.Equal(t, toolguard.CodeRateLimited, codeOf(doIn(ctx, g))) }))
			assert.Equal(t, 1, steps.count())
			cancel()
		}
	})
}

// spanning starts spans as its function says.
type spanning func(context.Context) (context.Context, func(toolguard.Event))

func (spanning) Observe(context.Context, toolguard.Event) {}

func (s spanning) Start(ctx context.Context, _ toolguard.Event) (context.Context, func(toolguard.Event)) {
	return s(ctx)
}

// embedded panics whatever it is asked, if it is nil.
type embedded struct{ context.Context }

func TestASpanThatIsNoneChangesNoAnswer(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]spanning{
		"a typed nil": func(context.Context) (context.Context, func(toolguard.Event)) { return (*embedded)(nil), nil },
		"empty":       func(context.Context) (context.Context, func(toolguard.Event)) { return embedded{}, nil },
		"nothing":     func(context.Context) (context.Context, func(toolguard.Event)) { return nil, nil },
		"somebody's":  func(context.Context) (context.Context, func(toolguard.Event)) { return context.Background(), nil },
		"and its end": func(ctx context.Context) (context.Context, func(toolguard.Event)) {
			return ctx, func(toolguard.Event) { panic("x") }
		},
		"it panics":     func(context.Context) (context.Context, func(toolguard.Event)) { panic("x") },
		"it is ignored": func(ctx context.Context) (context.Context, func(toolguard.Event)) { return ctx, nil },
	} {
		type key struct{}
		g := guardOf(t, toolOf(toolguard.ReadOnly, func(ctx context.Context) (toolguard.Result, error) {
			return toolguard.Result{Text: ctx.Value(key{}).(string)}, nil
		}), &toolguard.Options{Observer: start, Authorize: func(context.Context, json.RawMessage) error { return nil }})
		env := doIn(context.WithValue(t.Context(), key{}, "the caller's"), g)
		assert.Equal(t, "the caller's", env.Result.Text, name)
	}
}

// What an observer takes to begin spans comes off the attempt, not on top of it.
func TestSlowSpansTakeNoMoreThanTheBudget(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		slow := spanning(func(ctx context.Context) (context.Context, func(toolguard.Event)) {
			time.Sleep(900 * time.Millisecond)
			return ctx, nil
		})
		g := guardOf(t, toolOf(toolguard.ReadOnly, obeys), &toolguard.Options{
			Observer: slow, Timeout: toolguard.TimeoutPolicy{Attempt: 10 * time.Second, Budget: 10 * time.Second},
		})
		assert.Equal(t, 10*time.Second, took(func() { do(g) }))
	})
}

// An observer that waits for itself is stuck; the guard is not.
func TestShutdownByAQueuedObserver(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		var g *toolguard.Guard
		var seen atomic.Int32
		var err error
		g = guardOf(t, toolOf(toolguard.ReadOnly, answers("x")), &toolguard.Options{
			Observe: toolguard.ObservePolicy{Queue: 10},
			Observer: observe(func(context.Context, toolguard.Event) {
				if seen.Add(1) == 1 {
					err = g.Shutdown(context.Background())
				}
			}),
		})
		do(g)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.ErrorContains(t, err, "observer")
		assert.EqualValues(t, 2, seen.Load(), "the attempt and the call")
		assert.NoError(t, g.Shutdown(context.Background()))
	})
}

// The words of an inner guard speak of its own attempts. Where more is open they
// are not passed on.
func TestAdoptedWordsDoNotContradictTheOutcome(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		steps := inOrder(obeys, fails(toolguard.NotStarted(toolguard.RateLimited(time.Second))))
		inner := guardOf(t, toolOf(toolguard.Idempotent, steps.call), &toolguard.Options{Timeout: toolguard.TimeoutPolicy{Attempt: time.Second}})
		outer := guardOf(t, inner, &toolguard.Options{Retry: toolguard.RetryPolicy{MaxAttempts: 2}})
		env := do(outer)
		require.Equal(t, "rate_limited/unknown", verdict(env))
		assert.NotContains(t, env.Error.Message, "Nothing was done")
		alone := do(guardOf(t, toolOf(toolguard.Idempotent, fails(toolguard.MaybeDone(toolguard.RateLimited(time.Second)))), &toolguard.Options{Retry: toolguard.RetryPolicy{Off: true}}))
		assert.Equal(t, alone.Error.Message, env.Error.Message)
		assert.Equal(t, alone.Suggestion, env.Suggestion)
	})
	t.Run("but are where they agree", func(t *testing.T) {
		t.Parallel()
		inner := guardOf(t, toolOf(toolguard.Idempotent, fails(toolguard.Business("no account"))), nil)
		assert.Equal(t, do(inner).Error.Message, do(guardOf(t, inner, nil)).Error.Message)
	})
}

// The time that is named is the one the attempt had.
func TestTheNamedTimeoutIsTheAttempts(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		g := guardOf(t, toolOf(toolguard.ReadOnly, obeys), &toolguard.Options{
			Timeout:  toolguard.TimeoutPolicy{Attempt: 12 * time.Second, Budget: 12 * time.Second},
			Fallback: &toolguard.Fallback{LastGood: time.Second},
		})
		assert.Contains(t, do(g).ForModel(), "within 9 s")
	})
}
