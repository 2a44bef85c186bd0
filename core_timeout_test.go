package toolguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// The tool's timeout, the caller's deadline and the caller's cancellation are
// three things. cases e01, e04, e09, n01
func TestWhoStoppedTheAttempt(t *testing.T) {
	t.Parallel()
	within := func(d time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
		return func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, d) }
	}
	canceledAfter := func(d time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
		return func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(d, cancel)
			return ctx, cancel
		}
	}
	stringly := func(ctx context.Context) (toolguard.Result, error) {
		<-ctx.Done()
		return toolguard.Result{}, errors.New("driver: " + ctx.Err().Error())
	}
	yields := func(ctx context.Context) (toolguard.Result, error) {
		<-ctx.Done()
		return toolguard.Result{Text: "half"}, nil
	}
	for name, tt := range map[string]struct {
		body    run
		caller  func(context.Context) (context.Context, context.CancelFunc)
		want    string
		took    time.Duration
		streak  int
		notes   []toolguard.NoteKind
		stopped error
	}{
		"own timeout, obeyed":          {obeys, within(time.Hour), "attempt_timeout/unknown", 20 * time.Second, 1, nil, context.DeadlineExceeded},
		"own timeout, ignored":         {nil, within(time.Hour), "abandoned/unknown", 22 * time.Second, 1, nil, nil},
		"caller's deadline, obeyed":    {obeys, within(5 * time.Second), "caller_deadline/unknown", 5 * time.Second, 0, nil, context.DeadlineExceeded},
		"caller's deadline, ignored":   {nil, within(5 * time.Second), "caller_deadline/unknown", 7 * time.Second, 0, nil, nil},
		"caller's deadline, as text":   {stringly, within(5 * time.Second), "caller_deadline/unknown", 5 * time.Second, 0, nil, nil},
		"caller cancels, obeyed":       {obeys, canceledAfter(5 * time.Second), "canceled/unknown", 5 * time.Second, 0, nil, context.Canceled},
		"caller cancels, ignored":      {nil, canceledAfter(5 * time.Second), "canceled/unknown", 7 * time.Second, 0, nil, nil},
		"caller cancels, as text":      {stringly, canceledAfter(5 * time.Second), "canceled/unknown", 5 * time.Second, 0, nil, nil},
		"caller cancels, tool answers": {yields, canceledAfter(5 * time.Second), "ok", 5 * time.Second, 0, []toolguard.NoteKind{"canceled_meanwhile"}, nil},
		"own timeout, tool answers":    {yields, within(time.Hour), "ok", 20 * time.Second, 0, nil, nil},
		"canceled before":              {obeys, canceledAfter(-1), "canceled/not_started", 0, 0, nil, nil},
		"late before":                  {obeys, within(-1), "caller_deadline/not_started", 0, 0, nil, nil},
	} {
		inBubble(t, name, func(t *testing.T) {
			body := tt.body
			if body == nil {
				body = hangs(t)
			}
			g := guardOf(t, toolOf(toolguard.NonIdempotent, body), &toolguard.Options{Timeout: shortTime})
			ctx, cancel := tt.caller(context.Background())
			defer cancel()
			synctest.Wait()
			var env toolguard.Envelope
			assert.Equal(t, tt.took, took(func() { env = doIn(ctx, g) }))
			assert.Equal(t, tt.want, verdict(env))
			for i, kind := range tt.notes {
				assert.Equal(t, kind, env.Notes[i].Kind)
			}
			if tt.stopped != nil {
				assert.ErrorIs(t, env.Err(), tt.stopped)
			}
			for _, b := range g.Stats().Breakers {
				assert.Equal(t, tt.streak, b.Streak)
			}
		})
	}
}

// An answer inside the grace period counts, one after it comes too late: it
// changes nothing but is told.
func TestLateAnswers(t *testing.T) {
	t.Parallel()
	after := func(d time.Duration, err error) run {
		return func(context.Context) (toolguard.Result, error) {
			time.Sleep(d)
			return toolguard.Result{Text: "done after all"}, err
		}
	}
	for name, tt := range map[string]struct {
		body    run
		want    string
		late    string // the outcome the late event tells, if there is one
		fellLat time.Duration
	}{
		"in the grace period":        {after(21*time.Second, nil), "ok", "", 0},
		"after it":                   {after(30*time.Second, nil), "abandoned/unknown", "succeeded", 30 * time.Second},
		"after it, refused":          {after(30*time.Second, toolguard.Business("no")), "abandoned/unknown", "failed", 30 * time.Second},
		"after it, nobody knows why": {after(30*time.Second, errors.New("x")), "abandoned/unknown", "unknown", 30 * time.Second},
	} {
		inBubble(t, name, func(t *testing.T) {
			events := &eventLog{}
			g := guardOf(t, toolOf(toolguard.NonIdempotent, tt.body), &toolguard.Options{Timeout: shortTime, Observer: events})
			env := do(g)
			assert.Equal(t, tt.want, verdict(env))
			abandoned := 0
			if tt.late != "" {
				abandoned = 1
			}
			assert.Equal(t, abandoned, g.Stats().Abandoned)
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.Zero(t, g.Stats().Abandoned)
			assert.EqualValues(t, abandoned, g.Stats().EverAbandoned)
			assert.Len(t, events.of(toolguard.EventAttempt), 1)
			assert.Len(t, events.of(toolguard.EventCall), 1)
			late := events.of(toolguard.EventLate)
			require.Len(t, late, abandoned)
			for _, e := range late {
				assert.Equal(t, tt.late, e.Outcome.String())
				assert.Equal(t, tt.fellLat, e.Duration)
				assert.Equal(t, 1, e.Attempt)
			}
		})
	}
}

func TestAbandonedAttemptsAreCapped(t *testing.T) {
	t.Parallel()
	inBubble(t, "eight", func(t *testing.T) {
		release := make(chan struct{})
		body := inOrder(func(context.Context) (toolguard.Result, error) { <-release; return toolguard.Result{}, nil })
		g := guardOf(t, toolOf(toolguard.ReadOnly, body.call), &toolguard.Options{Timeout: shortTime, Breaker: toolguard.BreakerPolicy{Off: true}})
		for range 8 {
			assert.Equal(t, "abandoned/failed", verdict(do(g)))
		}
		for range 20 {
			assert.Equal(t, "tool_stuck/not_started", verdict(do(g)))
		}
		assert.Equal(t, 8, body.count())
		assert.Equal(t, 8, g.Stats().Abandoned)
		close(release)
		synctest.Wait()
		assert.Zero(t, g.Stats().Abandoned)
		assert.Equal(t, "ok", verdict(do(g)), "the tool serves again once they are gone")
	})
}

// Invariant 2: no attempt over a live attempt, even for a tool that may be
// repeated.
func TestNeverTwoAttemptsOfACallAtOnce(t *testing.T) {
	t.Parallel()
	for name, takes := range map[string]time.Duration{"obeys late": 21 * time.Second, "abandoned": 25 * time.Second} {
		inBubble(t, name, func(t *testing.T) {
			var in gauge
			g := guardOf(t, toolOf(toolguard.ReadOnly, func(ctx context.Context) (toolguard.Result, error) {
				in.enter("")
				defer in.leave()
				time.Sleep(takes)
				return toolguard.Result{}, ctx.Err()
			}), &toolguard.Options{Timeout: toolguard.TimeoutPolicy{Attempt: 20 * time.Second, Budget: 10 * time.Minute, Grace: 2 * time.Second}})
			do(g)
			time.Sleep(time.Hour)
			synctest.Wait()
			assert.Equal(t, 1, in.most)
			if takes > 22*time.Second {
				assert.Len(t, in.order, 1, "an abandoned attempt is followed by none")
			} else {
				assert.Len(t, in.order, 3)
			}
		})
	}
}

// An abandoned attempt outlives the caller's buffer.
func TestArgumentsOfAnAbandonedAttemptAreItsOwn(t *testing.T) {
	t.Parallel()
	inBubble(t, "buffer reused", func(t *testing.T) {
		var late json.RawMessage
		tool := plain{info: toolguard.Info{Name: "tool"}, call: func(_ context.Context, args json.RawMessage) (toolguard.Result, error) {
			time.Sleep(time.Minute)
			late = args
			return toolguard.Result{}, nil
		}}
		g := guardOf(t, tool, &toolguard.Options{Timeout: shortTime})
		buffer := []byte(`{"order":"A1"}`)
		g.Do(t.Context(), toolguard.Call{Args: buffer})
		copy(buffer, `{"order":"B2"}`)
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.JSONEq(t, `{"order":"A1"}`, string(late))
	})
}

func TestAttemptContext(t *testing.T) {
	t.Parallel()
	type mark struct{}
	inBubble(t, "derived", func(t *testing.T) {
		began := time.Now()
		ended := make(map[string]time.Duration)
		body := func(ctx context.Context) (toolguard.Result, error) {
			deadline, ok := ctx.Deadline()
			assert.True(t, ok)
			assert.Equal(t, 20*time.Second, deadline.Sub(began))
			assert.Equal(t, "mine", ctx.Value(mark{}))
			assert.NoError(t, ctx.Err())
			child, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			grand, cancelGrand := context.WithCancelCause(context.WithValue(child, mark{}, 1))
			defer cancelGrand(nil)
			fired := make(chan time.Duration)
			context.AfterFunc(grand, func() { fired <- time.Since(began) })
			stop := context.AfterFunc(ctx, func() { t.Error("was stopped") })
			assert.True(t, stop())
			<-child.Done()
			ended["child"] = time.Since(began)
			<-grand.Done()
			ended["after func"] = <-fired
			assert.ErrorIs(t, child.Err(), context.DeadlineExceeded)
			return toolguard.Result{}, ctx.Err()
		}
		g := guardOf(t, toolOf(toolguard.NonIdempotent, body), &toolguard.Options{Timeout: shortTime})
		env := g.Do(context.WithValue(t.Context(), mark{}, "mine"), toolguard.Call{})
		assert.Equal(t, "attempt_timeout/unknown", verdict(env))
		assert.Equal(t, map[string]time.Duration{"child": 20 * time.Second, "after func": 20 * time.Second}, ended)
	})
	inBubble(t, "ends with the attempt", func(t *testing.T) {
		var kept context.Context
		g := guardOf(t, toolOf(toolguard.ReadOnly, func(ctx context.Context) (toolguard.Result, error) {
			kept = ctx
			return toolguard.Result{}, nil
		}), nil)
		do(g)
		assert.ErrorIs(t, kept.Err(), context.Canceled)
		<-kept.Done()
	})
}

// case e07
func TestEffectiveDeadline(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		policy toolguard.TimeoutPolicy
		class  string
		caller time.Duration // 0: none
		want   time.Duration // 0: none
	}{
		"the default":            {toolguard.TimeoutPolicy{}, "", 0, time.Minute},
		"media":                  {toolguard.TimeoutPolicy{}, "media", 0, 5 * time.Minute},
		"media, said otherwise":  {toolguard.TimeoutPolicy{Classes: map[string]time.Duration{"media": time.Hour}}, "media", 0, time.Hour},
		"a class of its own":     {toolguard.TimeoutPolicy{Classes: map[string]time.Duration{"batch": 2 * time.Hour}}, "batch", 0, 2 * time.Hour},
		"given outright":         {toolguard.TimeoutPolicy{Attempt: 7200 * time.Second}, "media", 0, 2 * time.Hour},
		"the caller's is sooner": {toolguard.TimeoutPolicy{}, "", time.Second, time.Second},
		"the caller's is later":  {toolguard.TimeoutPolicy{}, "", time.Hour, time.Minute},
		"off":                    {toolguard.TimeoutPolicy{Off: true}, "", 0, 0},
		"off, with a caller's":   {toolguard.TimeoutPolicy{Off: true}, "", time.Hour, time.Hour},
	} {
		inBubble(t, name, func(t *testing.T) {
			ctx := context.Background()
			if tt.caller > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, tt.caller)
				defer cancel()
			}
			var got time.Duration
			tool := toolOf(toolguard.ReadOnly, func(ctx context.Context) (toolguard.Result, error) {
				if deadline, ok := ctx.Deadline(); ok {
					got = time.Until(deadline)
				}
				return toolguard.Result{}, nil
			})
			tool.info.Class = tt.class
			events := &eventLog{}
			g := guardOf(t, tool, &toolguard.Options{Timeout: tt.policy, Observer: events})
			began := time.Now()
			require.True(t, g.Do(ctx, toolguard.Call{}).OK)
			assert.Equal(t, tt.want, got)
			told := events.of(toolguard.EventAttempt)[0].Deadline
			if tt.want == 0 {
				assert.Zero(t, told)
			} else {
				assert.Equal(t, tt.want, told.Sub(began))
			}
		})
	}
}

// Off waits for as long as the caller does.
func TestTimeoutOff(t *testing.T) {
	t.Parallel()
	inBubble(t, "a long run", func(t *testing.T) {
		g := guardOf(t, toolOf(toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) {
			time.Sleep(100 * time.Hour)
			return toolguard.Result{Text: "done"}, nil
		}), &toolguard.Options{Timeout: toolguard.TimeoutPolicy{Off: true}})
		assert.True(t, do(g).OK)
	})
	inBubble(t, "until the caller goes", func(t *testing.T) {
		g := guardOf(t, toolOf(toolguard.NonIdempotent, hangs(t)), &toolguard.Options{Timeout: toolguard.TimeoutPolicy{Off: true}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var env toolguard.Envelope
		assert.Equal(t, time.Hour+time.Second, took(func() { env = g.Do(ctx, toolguard.Call{}) }))
		assert.Equal(t, "caller_deadline/unknown", verdict(env))
	})
}

// The budget bounds the call over attempts, waits and everything around them.
func TestBudget(t *testing.T) {
	t.Parallel()
	inBubble(t, "cuts the last attempt short", func(t *testing.T) {
		var limits []time.Duration
		g := guardOf(t, toolOf(toolguard.ReadOnly, func(ctx context.Context) (toolguard.Result, error) {
			deadline, _ := ctx.Deadline()
			limits = append(limits, time.Until(deadline))
			return obeys(ctx)
		}), &toolguard.Options{Timeout: shortTime})
		var env toolguard.Envelope
		assert.LessOrEqual(t, took(func() { env = do(g) }), 40*time.Second)
		assert.Equal(t, "attempt_timeout/failed", verdict(env))
		require.Len(t, limits, 2)
		assert.Equal(t, 20*time.Second, limits[0])
		assert.Less(t, limits[1], 20*time.Second)
	})
	inBubble(t, "includes the wait for a place", func(t *testing.T) {
		g := guardOf(t, toolOf(toolguard.ReadOnly, hangs(t)), &toolguard.Options{
			Timeout:     shortTime,
			Concurrency: toolguard.ConcurrencyPolicy{Max: 1, Wait: time.Hour},
		})
		go do(g)
		synctest.Wait()
		// The first gives its place back after 22 s; 18 s of the budget are left.
		var env toolguard.Envelope
		assert.LessOrEqual(t, took(func() { env = do(g) }), shortBound)
		assert.Equal(t, "abandoned/failed", verdict(env))
	})
	inBubble(t, "ends the wait for a place", func(t *testing.T) {
		shared := &toolguard.Dependencies{Max: map[string]int{"db": 1}}
		tool := toolOf(toolguard.ReadOnly, hangs(t))
		tool.info.Dependency = "db"
		holder := guardOf(t, tool, &toolguard.Options{Dependencies: shared, Timeout: toolguard.TimeoutPolicy{Attempt: time.Hour}})
		go do(holder)
		synctest.Wait()
		g := guardOf(t, tool, &toolguard.Options{Dependencies: shared, Timeout: shortTime, Concurrency: toolguard.ConcurrencyPolicy{Wait: time.Hour}})
		var env toolguard.Envelope
		assert.Equal(t, 40*time.Second, took(func() { env = do(g) }))
		assert.Equal(t, "overloaded/not_started", verdict(env))
	})
	inBubble(t, "leaves a quarter to a fallback", func(t *testing.T) {
		g := guardOf(t, toolOf(toolguard.ReadOnly, obeys), &toolguard.Options{
			Timeout: toolguard.TimeoutPolicy{Attempt: 40 * time.Second, Budget: 40 * time.Second},
			Fallback: &toolguard.Fallback{Alternatives: []toolguard.Alternative{{Tool: toolOf(toolguard.ReadOnly, func(ctx context.Context) (toolguard.Result, error) {
				time.Sleep(9 * time.Second)
				return toolguard.Result{Text: "old"}, ctx.Err()
			})}}},
		})
		var env toolguard.Envelope
		assert.Equal(t, 39*time.Second, took(func() { env = do(g) }))
		require.True(t, env.OK)
		assert.Equal(t, "tool", env.Degraded.Source)
	})
	inBubble(t, "gives a fallback no more grace than it has itself", func(t *testing.T) {
		patient := guardOf(t, toolOf(toolguard.ReadOnly, hangs(t)), &toolguard.Options{
			Timeout: toolguard.TimeoutPolicy{Attempt: time.Hour, Grace: time.Minute},
		})
		g := guardOf(t, toolOf(toolguard.ReadOnly, fails(toolguard.Unavailable("down"))), &toolguard.Options{
			Timeout: toolguard.TimeoutPolicy{Attempt: 40 * time.Second, Budget: 40 * time.Second, Grace: 2 * time.Second},
			Retry:   toolguard.RetryPolicy{Off: true}, Fallback: &toolguard.Fallback{Alternatives: []toolguard.Alternative{{Tool: patient}}},
		})
		assert.Equal(t, 42*time.Second, took(func() { assert.False(t, do(g).OK) }))
		assert.Equal(t, time.Hour+time.Minute, took(func() { do(patient) }), "by itself it has its own")
	})
}

// A classifier that hangs costs the verdict, not the knowledge that the tool
// came back.
func TestAHangingClassifierIsNoHangingTool(t *testing.T) {
	t.Parallel()
	inBubble(t, "short attempt", func(t *testing.T) {
		wait := untilReleased(t)
		g := guardOf(t, toolOf(toolguard.NonIdempotent, fails(toolguard.Business("no"))), &toolguard.Options{
			Timeout:    toolguard.TimeoutPolicy{Attempt: 2 * time.Second, Budget: 4 * time.Second},
			Classifier: func(context.Context, error) (toolguard.Verdict, bool) { wait(); return toolguard.Verdict{}, false },
		})
		assert.Equal(t, "business_rule/failed", verdict(do(g)))
		assert.Zero(t, g.Stats().EverAbandoned)
	})
}
