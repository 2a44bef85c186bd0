package toolguard_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// lingers is a tool that has its effect at once and does not come back before release
// is closed.
func lingers() (tool toolguard.Tool, effects *atomic.Int32, release chan struct{}) {
	effects, release = new(atomic.Int32), make(chan struct{})
	return toolOf(toolguard.NonIdempotent, func(context.Context) (toolguard.Result, error) {
		effects.Add(1)
		<-release
		return toolguard.Result{Text: "paid"}, nil
	}), effects, release
}

// What an abandoned attempt did after all is done in its turn, as if that had been
// known in time: that it is known lets nobody do it again.
func TestALateSuccessIsDone(t *testing.T) {
	t.Parallel()
	for name, j := range map[string]toolguard.Journal{"a conversation": nil, "and a journal, in steps": toolguard.NewMemoryJournal()} {
		inBubble(t, name, func(t *testing.T) {
			tool, effects, release := lingers()
			g := guardOf(t, tool, &toolguard.Options{Sessions: sessionsOf(t, toolguard.SessionPolicy{}), Journal: j})
			in := func(turn, step string) context.Context {
				s := toolguard.Scope{Session: "chat", Turn: turn, Principal: "ann"}
				if j != nil {
					s.Run, s.Step = "r", step
				}
				return toolguard.WithScope(t.Context(), s)
			}
			assert.Equal(t, "abandoned/unknown", verdict(doIn(in("1", "1"), g)))
			assert.Equal(t, "in_doubt/unknown", verdict(doIn(in("1", "2"), g)))
			close(release)
			synctest.Wait()
			env := doIn(in("1", "3"), g)
			assert.True(t, env.OK || env.Error.Outcome == toolguard.OutcomeSucceeded, verdict(env))
			assert.EqualValues(t, 1, effects.Load())
			assert.True(t, doIn(in("2", "4"), g).OK, "the user has spoken")
			assert.EqualValues(t, 2, effects.Load())
		})
	}
}

// An answer that comes while the call is still being answered counts, too.
func TestALateAnswerBeforeTheCallIsBooked(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]error{"done": nil, "nothing done": toolguard.NoEffect(errors.New("no"))} {
		inBubble(t, name, func(t *testing.T) {
			var runs atomic.Int32
			tool := toolguard.Action(toolguard.Info{Name: "pay"}, func(context.Context, struct{}) error {
				if runs.Add(1) > 1 {
					return nil
				}
				time.Sleep(65 * time.Second)
				return late
			})
			tool.Status = func(context.Context, string, struct{}) (toolguard.Outcome, toolguard.Result, error) {
				time.Sleep(8 * time.Second) // and knows nothing
				return toolguard.OutcomeUnknown, toolguard.Result{}, nil
			}
			g := guardOf(t, tool, &toolguard.Options{Sessions: sessionsOf(t, toolguard.SessionPolicy{}), Retry: once})
			assert.Equal(t, "abandoned/unknown", verdict(doIn(inTurn("1"), g)))
			env := doIn(inTurn("1"), g)
			if late == nil {
				assert.Equal(t, "result_unavailable/succeeded", verdict(env))
				assert.EqualValues(t, 1, runs.Load())
			} else {
				assert.Equal(t, "ok", verdict(env))
			}
		})
	}
}

// Where turns are not told apart a repeat may be meant, but not by a model that was
// told that nobody knows.
func TestWithoutTurnsALateSuccessIsDone(t *testing.T) {
	t.Parallel()
	for name, j := range map[string]toolguard.Journal{"a conversation": nil, "a journal": toolguard.NewMemoryJournal()} {
		inBubble(t, name, func(t *testing.T) {
			tool, effects, release := lingers()
			g := guardOf(t, tool, &toolguard.Options{Sessions: sessionsOf(t, toolguard.SessionPolicy{}), Journal: j})
			assert.Equal(t, "abandoned/unknown", verdict(doIn(turn(""), g)))
			close(release)
			synctest.Wait()
			for range 2 {
				env := doIn(turn(""), g)
				assert.True(t, env.OK || env.Error.Outcome == toolguard.OutcomeSucceeded, verdict(env))
			}
			assert.EqualValues(t, 1, effects.Load())
			require.True(t, send(turn(""), g, `{"n":2}`).OK)
			require.True(t, send(turn(""), g, `{"n":2}`).OK, "the model knows, and may mean it")
			assert.EqualValues(t, 3, effects.Load())
		})
	}
}

// A person who tells a conversation what became of a call tells it for good.
func TestWithoutTurnsWhatIsResolvedIsDone(t *testing.T) {
	t.Parallel()
	tool := failingTool(toolguard.NonIdempotent, errors.New("it broke"))
	s := sessionsOf(t, toolguard.SessionPolicy{})
	g := guardOf(t, tool, oneTry(s))
	past := do2(turn(""), g).Past(nil)
	past.Outcome = toolguard.OutcomeSucceeded
	require.NoError(t, s.Resolve(toolguard.Scope{Session: "chat"}, past))
	assert.Equal(t, "result_unavailable/succeeded", verdict(do2(turn(""), g)))
	assert.Equal(t, 1, tool.ran())
}

// A tool that asks for something has had no effect, also when it asks too late.
func TestAskingTooLateIsNoSuccess(t *testing.T) {
	t.Parallel()
	for name, j := range map[string]toolguard.Journal{"a conversation": nil, "a journal": toolguard.NewMemoryJournal()} {
		inBubble(t, name, func(t *testing.T) {
			var runs atomic.Int32
			tool := toolOf(toolguard.NonIdempotent, func(context.Context) (toolguard.Result, error) {
				if runs.Add(1) == 1 {
					time.Sleep(2 * time.Minute)
					return toolguard.Result{Text: "Which account?", InputRequired: true}, nil
				}
				return toolguard.Result{Text: "paid"}, nil
			})
			g := guardOf(t, tool, &toolguard.Options{Sessions: sessionsOf(t, toolguard.SessionPolicy{}), Journal: j})
			assert.Equal(t, "abandoned/unknown", verdict(doIn(turn("1"), g)))
			time.Sleep(2 * time.Minute)
			env := doIn(turn("1"), g)
			assert.Equal(t, "paid", env.Result.Text)
			assert.EqualValues(t, 2, runs.Load())
		})
	}
}

// That an abandoned attempt did nothing says nothing of another call under its key.
func TestALateFailureSettlesNoOtherCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var keys [4]string // an element for each run
		var runs atomic.Int32
		tool := toolOf(toolguard.IdempotentByKey, func(ctx context.Context) (toolguard.Result, error) {
			n := runs.Add(1)
			switch keys[n] = toolguard.Key(ctx); n {
			case 1:
				time.Sleep(2 * time.Minute)
				return toolguard.Result{}, toolguard.NotStarted(errors.New("no"))
			case 2:
				return toolguard.Result{}, errors.New("it broke")
			default:
				return toolguard.Result{Text: "paid"}, nil
			}
		})
		g := guardOf(t, tool, &toolguard.Options{Sessions: sessionsOf(t, toolguard.SessionPolicy{}), Retry: once})
		assert.Equal(t, "abandoned/unknown", verdict(doIn(turn("1"), g)))
		assert.Equal(t, "unknown_error/unknown", verdict(doIn(turn("1"), g)))
		time.Sleep(2 * time.Minute)
		assert.True(t, doIn(turn("1"), g).OK)
		assert.Equal(t, keys[1], keys[3])
	})
}
