package toolguard

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The reference is written from the rules alone, over the whole history of a turn,
// with no thought of speed: each call and its answer is one letter pair.

type modelCall struct {
	call, answer string
	writes       bool
	refused      bool
}

// modelRefuses says whether the rules refuse the next call.
func modelRefuses(turn []modelCall, next string, p LoopPolicy) bool {
	if n := len(turn); n > 0 && turn[n-1].refused && turn[n-1].call == next {
		return true // a refusal holds when the call is sent again at once
	}
	return modelRepeats(turn, next, p) || modelCycles(turn, next, p)
}

// modelRepeats: the identical call had the identical answer p.Repeats times in a
// row, or ran p.Tries times, since another call changed something.
func modelRepeats(turn []modelCall, next string, p LoopPolicy) bool {
	var answers []string
	for _, c := range turn {
		switch {
		case c.writes && c.call != next:
			answers = nil
		case c.call == next:
			answers = append(answers, c.answer)
		}
	}
	if len(answers) >= p.Tries {
		return true
	}
	same := 0
	for i := len(answers) - 1; i >= 0 && answers[i] == answers[len(answers)-1]; i-- {
		same++
	}
	return same >= p.Repeats
}

// modelCycles: the last calls are one block of 2 to 6 calls with their answers,
// p.Cycles times, and the next call is how the block begins.
func modelCycles(turn []modelCall, next string, p LoopPolicy) bool {
	for period := 2; period <= 6; period++ {
		n := period * p.Cycles
		if len(turn) < n {
			continue
		}
		tail := turn[len(turn)-n:]
		cyclic := tail[0].call == next
		for i := period; i < n; i++ {
			cyclic = cyclic && tail[i].call == tail[i-period].call && tail[i].answer == tail[i-period].answer
		}
		if cyclic {
			return true
		}
	}
	return false
}

// modelRecord is what becomes of the call: a refused one stands for what it would
// have been.
func modelRecord(turn []modelCall, c modelCall) []modelCall {
	if c.refused {
		for i := len(turn) - 1; i >= 0; i-- {
			if turn[i].call == c.call {
				c.answer = turn[i].answer
				break
			}
		}
	}
	return append(turn, c)
}

// modelTool answers from a queue, so that a test decides what each call gets.
type modelTool struct {
	name   string
	effect Effect
	answer *string
}

func (m modelTool) Info() Info { return Info{Name: m.name, Effect: m.effect} }

func (m modelTool) Call(context.Context, json.RawMessage) (Result, error) {
	return Result{Text: *m.answer}, nil
}

// modelBench is a conversation with three reads and two writes.
type modelBench struct {
	answer string
	guards map[string]*Guard
	writes map[string]bool
	ctx    context.Context
}

func newModelBench(t require.TestingT, policy LoopPolicy) *modelBench {
	sessions, err := NewSessions(SessionPolicy{History: 256})
	require.NoError(t, err)
	b := &modelBench{guards: map[string]*Guard{}, writes: map[string]bool{"x": true, "y": true}}
	for _, name := range []string{"a", "b", "c", "x", "y"} {
		effect := ReadOnly
		if b.writes[name] {
			effect = NonIdempotent
		}
		b.guards[name], err = New(modelTool{name, effect, &b.answer}, &Options{
			Sessions: sessions, Loop: policy, Dedupe: DedupePolicy{Off: true}, Concurrency: ConcurrencyPolicy{Off: true},
		})
		require.NoError(t, err)
	}
	b.ctx = WithScope(context.Background(), Scope{Session: "s", Turn: "t"})
	return b
}

// call sends one call and reports whether it was refused as a loop.
func (b *modelBench) call(t require.TestingT, name, answer string) bool {
	b.answer = answer
	env := b.guards[name].Do(b.ctx, Call{Args: json.RawMessage(`{}`)})
	require.True(t, env.OK || env.Error.Code == CodeLoopDetected, "%s", env)
	return !env.OK
}

// What Describe does not show.
func TestDefaultsOfSessionsAndBatches(t *testing.T) {
	t.Parallel()
	assert.Equal(t, SessionPolicy{Max: 10_000, Idle: time.Hour, History: 64, MaxKept: 32 << 20}, SessionPolicy{}.withDefaults())
	assert.Equal(t, BatchPolicy{Parallel: 8, Timeout: 30 * time.Second, MaxCalls: 256}, BatchPolicy{}.withDefaults())
}

func wide() LoopPolicy { return LoopPolicy{ToolCalls: 1 << 20, TurnCalls: 1 << 20, NoteAfter: 1 << 20} }

func TestDetectorIsTheReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		policy := wide()
		policy.Repeats = rapid.IntRange(2, 5).Draw(t, "repeats")
		policy.Cycles = rapid.IntRange(2, 4).Draw(t, "cycles")
		policy.Tries = rapid.IntRange(5, 12).Draw(t, "tries")
		b, turn := newModelBench(t, policy), []modelCall(nil)
		// Words of few letters, said several times, make repeats and cycles likely.
		names := rapid.SampledFrom([]string{"a", "b", "c", "x", "y"})
		for range rapid.IntRange(1, 6).Draw(t, "phrases") {
			phrase := rapid.SliceOfN(names, 1, 6).Draw(t, "phrase")
			fickle := rapid.IntRange(0, 9).Draw(t, "fickle")
			for range rapid.IntRange(1, 5).Draw(t, "times") {
				for _, name := range phrase {
					answer := "0"
					if fickle > 7 {
						answer = rapid.SampledFrom([]string{"0", "1"}).Draw(t, "answer")
					}
					want := modelRefuses(turn, name, policy.withDefaults())
					require.Equal(t, want, b.call(t, name, answer), "after %v, %s", turn, name)
					turn = modelRecord(turn, modelCall{name, answer, b.writes[name] && !want, want})
				}
			}
		}
	})
}

// Whoever gets on is left alone: each answer is new, or each call is, or something
// else was changed before the same is asked again.
func TestNoAlarmOnProgress(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := newModelBench(t, wide())
		runs := map[string]int{}
		reads := rapid.SampledFrom([]string{"a", "b", "c"})
		for i := range rapid.IntRange(1, 120).Draw(t, "calls") {
			name := reads.Draw(t, "read")
			if runs[name] == 2 || rapid.IntRange(0, 4).Draw(t, "edit") == 0 {
				// An edit is another call each time, so it changes something new.
				b.answer = "done"
				env := b.guards["x"].Do(b.ctx, Call{Args: json.RawMessage(fmt.Sprintf(`{"edit":%d}`, i))})
				require.True(t, env.OK, "%s", env)
				clear(runs)
			}
			require.False(t, b.call(t, name, "the tests fail"), "call %d", i)
			runs[name]++
		}
	})
}

// Whatever block of calls a model goes round and round, it is stopped before the
// fourth round is over, and stays stopped.
func TestEveryLoopIsFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := newModelBench(t, wide())
		block := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "x", "y"}), 1, maxPeriod).Draw(t, "block")
		for range rapid.IntRange(0, 20).Draw(t, "before") {
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "read")
			b.answer = "before"
			b.guards[name].Do(b.ctx, Call{Args: json.RawMessage(fmt.Sprintf(`{"n":%d}`, rapid.IntRange(0, 1000).Draw(t, "n")))})
		}
		ran := 0
		for range 12 * len(block) {
			name := block[0]
			block = append(block[1:], name)
			if !b.call(t, name, "as before") {
				ran++
			}
		}
		require.LessOrEqual(t, ran, 3*len(block)+1)
	})
}

// The streak by its rule: failures of the system in a row, nothing else counting
// either way but an answer of the tool.
func TestStreakIsTheReference(t *testing.T) {
	t.Parallel()
	fails := []Code{CodeAttemptTimeout, CodeAbandoned, CodeServerError, CodeUnknownError, CodePanic, CodeBreakerOpen}
	answers := []Code{"", CodeBusinessRule, CodeNotFound, CodePermissionDenied}
	silent := []Code{CodeCanceled, CodeCallerDeadline, CodeSchemaViolation, CodeOverloaded, CodeInDoubt}
	rapid.Check(t, func(t *rapid.T) {
		var tool toolTurn
		failed, refused := 0, false
		now, p := time.Unix(1000, 0), LoopPolicy{}.withDefaults()
		codes := rapid.OneOf(rapid.SampledFrom(fails), rapid.SampledFrom(answers), rapid.SampledFrom(silent))
		for _, code := range rapid.SliceOfN(codes, 1, 30).Draw(t, "codes") {
			switch {
			case slices.Contains(fails, code):
				failed++
			case slices.Contains(answers, code):
				failed = 0
			}
			refused = refused || failed >= 3
			tool.book(code, true, &p, now, now)
			require.Equal(t, failed, tool.streak)
			require.Equal(t, refused, now.Before(tool.refused))
		}
	})
}

// Without turns, repeats count for five minutes.
func TestRepeatsWithoutTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newModelBench(t, LoopPolicy{})
		b.ctx = WithScope(context.Background(), Scope{Session: "s"})
		for range 3 {
			require.False(t, b.call(t, "a", "same"))
		}
		require.True(t, b.call(t, "a", "same"))
		time.Sleep(5*time.Minute - time.Second)
		require.True(t, b.call(t, "a", "same"))
		time.Sleep(time.Second)
		require.False(t, b.call(t, "a", "same"))
		for i := range 60 { // and there are no limits of a turn
			b.answer = "fine"
			require.True(t, b.guards["b"].Do(b.ctx, Call{Args: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))}).OK)
		}
	})
}
