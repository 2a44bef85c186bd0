package toolguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// slow answers after a minute of the bubble's time, unless its context ends.
func slow(effect toolguard.Effect, r toolguard.Result, err error) *counted {
	return &counted{
		info: toolguard.Info{Name: "tool", Effect: effect},
		answer: func(ctx context.Context, _ int, _ string) (toolguard.Result, error) {
			select {
			case <-time.After(30 * time.Second):
				return r, err
			case <-ctx.Done():
				return toolguard.Result{}, ctx.Err()
			}
		},
	}
}

// together makes calls at once and returns their answers in order.
func together(g *toolguard.Guard, calls ...context.Context) []toolguard.Envelope {
	envs := make([]toolguard.Envelope, len(calls))
	var wg sync.WaitGroup
	for i, ctx := range calls {
		wg.Go(func() {
			envs[i] = g.Do(ctx, toolguard.Call{ID: string(rune('a' + i)), Args: json.RawMessage(`{}`)})
		})
		synctest.Wait() // the first one leads
	}
	wg.Wait()
	return envs
}

// case h11: an identical slow call while the first one runs.
func TestJoin(t *testing.T) {
	t.Parallel()
	for _, effect := range []toolguard.Effect{toolguard.ReadOnly, toolguard.Idempotent, toolguard.IdempotentByKey, toolguard.NonIdempotent} {
		inBubble(t, effect.String(), func(t *testing.T) {
			tool := slow(effect, toolguard.Result{JSON: json.RawMessage(`{"n":1}`), Parts: []toolguard.Part{{Data: []byte("abc")}}}, nil)
			s := sessionsOf(t, toolguard.SessionPolicy{})
			g := guardOf(t, tool, oneTry(s))
			envs := together(g, turn("one"), turn("one"))
			assert.Equal(t, 1, tool.ran())
			for i, env := range envs {
				require.True(t, env.OK)
				assert.Equal(t, string(rune('a'+i)), env.CallID)
				assert.Equal(t, i > 0, noted(env, "joined") != nil)
			}
			envs[0].Result.JSON[2], envs[0].Result.Parts[0].Data[0] = '!', '!'
			assert.JSONEq(t, `{"n":1}`, string(envs[1].Result.JSON), "each has its own copy")
			assert.Equal(t, "abc", string(envs[1].Result.Parts[0].Data))
			envs[1].Result.JSON[2] = '?'
			assert.EqualValues(t, 1, s.Stats().Joined)
			again := do2(turn("one"), g)
			assert.JSONEq(t, `{"n":1}`, string(again.Result.JSON), "and so has whoever comes later")
			assert.Equal(t, 1, tool.ran())
		})
	}
}

func do2(ctx context.Context, g *toolguard.Guard) toolguard.Envelope { return send(ctx, g, `{}`) }

func TestJoinedFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tool := slow(toolguard.ReadOnly, toolguard.Result{}, toolguard.Business("closed on Sundays"))
		g := guardOf(t, tool, oneTry(sessionsOf(t, toolguard.SessionPolicy{})))
		envs := together(g, turn("one"), turn("one"))
		assert.Equal(t, 1, tool.ran())
		assert.Equal(t, "business_rule/failed", verdict(envs[1]))
		assert.Equal(t, envs[0].Error.Message, envs[1].Error.Message)
		assert.NotEqual(t, envs[0].Error.Incident, envs[1].Error.Incident)
		do2(turn("one"), g)
		assert.Equal(t, 2, tool.ran(), "a failure is for those who wait, not for who comes later")
	})
}

// One failure that five calls share is one failure of the tool.
func TestJoinedFailuresAreOneFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tool := slow(toolguard.ReadOnly, toolguard.Result{}, toolguard.Unavailable("down"))
		g := guardOf(t, tool, oneTry(sessionsOf(t, toolguard.SessionPolicy{})))
		together(g, turn("one"), turn("one"), turn("one"), turn("one"), turn("one"))
		assert.NotEqual(t, toolguard.CodeLoopDetected, codeOf(send(turn("one"), g, `{"other":1}`)))
		assert.Equal(t, 2, tool.ran())
	})
}

// Nobody pays for another one's cancellation, whether that one leads or waits.
func TestJoinAndCancel(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		effect  toolguard.Effect
		who     int
		runs    int
		verdict [3]string
	}{
		{"the waiting read", toolguard.ReadOnly, 1, 1, [3]string{"ok", "canceled/not_started", "ok"}},
		{"the leading read", toolguard.ReadOnly, 0, 2, [3]string{"canceled/failed", "ok", "ok"}},
		{"the waiting write", toolguard.NonIdempotent, 1, 1, [3]string{"ok", "canceled/unknown", "ok"}},
		{"the leading write", toolguard.NonIdempotent, 0, 1, [3]string{"canceled/unknown", "in_doubt/unknown", "in_doubt/unknown"}},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			tool := slow(tc.effect, toolguard.Result{Text: "fine"}, nil)
			ctxs := []context.Context{turn("one"), turn("one"), turn("one")}
			canceled, cancel := context.WithCancel(ctxs[tc.who])
			ctxs[tc.who] = canceled
			time.AfterFunc(10*time.Second, cancel)
			envs := together(guardOf(t, tool, oneTry(sessionsOf(t, toolguard.SessionPolicy{}))), ctxs...)
			for i := range envs {
				assert.Equal(t, tc.verdict[i], verdict(envs[i]), "call %d", i)
			}
			assert.Equal(t, tc.runs, tool.ran())
		})
	}
}

// A write that is canceled but succeeds has succeeded for all.
func TestJoinedWriteSucceedsInSpiteOfCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tool := countedTool(toolguard.NonIdempotent, "")
		tool.answer = func(ctx context.Context, _ int, _ string) (toolguard.Result, error) {
			<-ctx.Done()
			return toolguard.Result{Text: "done all the same"}, nil
		}
		ctx, cancel := context.WithCancel(turn(""))
		time.AfterFunc(time.Second, cancel)
		envs := together(guardOf(t, tool, oneTry(sessionsOf(t, toolguard.SessionPolicy{}))), ctx, turn(""))
		assert.True(t, envs[0].OK && envs[1].OK)
		assert.Equal(t, 1, tool.ran())
	})
}

func TestJoinNeedsTheSame(t *testing.T) {
	t.Parallel()
	scope := toolguard.Scope{Session: "chat", Turn: "one", Principal: "ann"}
	other := func(change func(*toolguard.Scope)) context.Context {
		changed := scope
		change(&changed)
		return toolguard.WithScope(context.Background(), changed)
	}
	for name, ctx := range map[string]context.Context{
		"principal": other(func(s *toolguard.Scope) { s.Principal = "bob" }),
		"tenant":    other(func(s *toolguard.Scope) { s.Tenant = "t2" }),
		"session":   other(func(s *toolguard.Scope) { s.Session = "c2" }),
		"a session": other(func(s *toolguard.Scope) { s.Session = "" }),
	} {
		inBubble(t, name, func(t *testing.T) {
			tool := slow(toolguard.ReadOnly, toolguard.Result{Text: "private"}, nil)
			g := guardOf(t, tool, oneTry(sessionsOf(t, toolguard.SessionPolicy{})))
			together(g, turn("one"), ctx)
			do2(ctx, g)
			do2(turn("one"), g)
			want := 2
			if name == "a session" {
				want = 4 // no session, no memory; and a read of 30 s ago is no recent one
			}
			assert.Equal(t, want, tool.ran())
		})
	}
}

func TestNoJoin(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		effect toolguard.Effect
		policy toolguard.DedupePolicy
		runs   int
	}{
		{"reads side by side", toolguard.ReadOnly, toolguard.DedupePolicy{NoJoin: true}, 2},
		{"not writes", toolguard.NonIdempotent, toolguard.DedupePolicy{NoJoin: true}, 1},
		{"off", toolguard.NonIdempotent, toolguard.DedupePolicy{Off: true}, 2},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			tool := slow(tc.effect, toolguard.Result{Text: "x"}, nil)
			opts := oneTry(sessionsOf(t, toolguard.SessionPolicy{}))
			opts.Dedupe = tc.policy
			together(guardOf(t, tool, opts), turn("one"), turn("one"))
			assert.Equal(t, tc.runs, tool.ran())
		})
	}
}

// A call that waits no longer than its budget says so.
func TestJoinBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		tool := countedTool(toolguard.NonIdempotent, "")
		tool.answer = func(context.Context, int, string) (toolguard.Result, error) {
			<-release
			return toolguard.Result{Text: "late"}, nil
		}
		s := sessionsOf(t, toolguard.SessionPolicy{})
		patient, short := oneTry(s), oneTry(s)
		patient.Timeout.Off = true
		short.Timeout = toolguard.TimeoutPolicy{Attempt: time.Second, Budget: 2 * time.Second}
		var wg sync.WaitGroup
		wg.Go(func() { do2(turn("one"), guardOf(t, tool, patient)) })
		synctest.Wait()
		env := do2(turn("one"), guardOf(t, tool, short))
		assert.Equal(t, "in_progress/unknown", verdict(env))
		assert.Contains(t, env.Suggestion, "may still be running")
		close(release)
		wg.Wait()
	})
}

// Tools that call each other through guards must not wait for each other.
func TestNestedCallsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sessionsOf(t, toolguard.SessionPolicy{})
		var a, b *toolguard.Guard
		calls := func(name string, other **toolguard.Guard) *counted {
			return &counted{info: toolguard.Info{Name: name, Effect: toolguard.NonIdempotent}, answer: func(ctx context.Context, n int, _ string) (toolguard.Result, error) {
				time.Sleep(time.Second)
				if n > 1 {
					return toolguard.Result{Text: "inner"}, nil
				}
				env := send(ctx, *other, `{}`)
				return toolguard.Result{Text: verdict(env)}, nil
			}}
		}
		toolA, toolB := calls("a", &b), calls("b", &a)
		a, b = guardOf(t, toolA, oneTry(s)), guardOf(t, toolB, oneTry(s))
		var fromA, fromB toolguard.Envelope
		elapsed := took(func() {
			var wg sync.WaitGroup
			wg.Go(func() { fromA = do2(turn("one"), a) })
			wg.Go(func() { fromB = do2(turn("one"), b) })
			wg.Wait()
		})
		assert.Less(t, elapsed, 10*time.Second)
		for _, env := range []toolguard.Envelope{fromA, fromB} {
			assert.Contains(t, []string{"in_progress/unknown", "ok"}, env.Result.Text, "it runs, or is done")
		}
		assert.Equal(t, 1, toolA.ran(), "a write that runs is not run again")
		assert.Equal(t, 1, toolB.ran())
	})
}

// A guard inside a guard of the same tool is one tool to the conversation.
func TestGuardInGuardCountsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sessionsOf(t, toolguard.SessionPolicy{})
		tool := countedTool(toolguard.ReadOnly, "same")
		g := guardOf(t, guardOf(t, tool, everyTime(s)), oneTry(s))
		assert.True(t, do2(turn("one"), g).OK)
		time.Sleep(time.Minute)
		assert.Nil(t, noted(do2(turn("one"), g), "repeated_call"))
		time.Sleep(time.Minute)
		assert.NotNil(t, noted(do2(turn("one"), g), "repeated_call"))
		assert.Equal(t, 3, tool.ran())
	})
}

// What the host must answer first is neither success nor failure, and the call
// that follows is no repeat.
func TestInputRequired(t *testing.T) {
	t.Parallel()
	tool := countedTool(toolguard.NonIdempotent, "")
	tool.answer = func(_ context.Context, n int, _ string) (toolguard.Result, error) {
		return toolguard.Result{Text: "which account?", InputRequired: n < 6}, nil
	}
	g := guardOf(t, tool, oneTry(sessionsOf(t, toolguard.SessionPolicy{})))
	for range 6 {
		env := do2(turn("one"), g)
		require.True(t, env.OK)
		assert.Nil(t, noted(env, "repeated_call"))
	}
	assert.Equal(t, 6, tool.ran())
	assert.NotNil(t, noted(do2(turn("one"), g), "replayed"), "now it is done")
}

func TestControlFlowIsNoRepeat(t *testing.T) {
	t.Parallel()
	interrupt := errors.New("interrupt")
	tool := failingTool(toolguard.NonIdempotent, interrupt)
	opts := oneTry(sessionsOf(t, toolguard.SessionPolicy{}))
	opts.PassThrough = func(err error) bool { return errors.Is(err, interrupt) }
	g := guardOf(t, tool, opts)
	for range 5 {
		assert.ErrorIs(t, do2(turn("one"), g).Control(), interrupt)
	}
	assert.Equal(t, 5, tool.ran())
}
