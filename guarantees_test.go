package toolguard_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/toolguard-go/toolguard"
)

// The properties that docs/guarantees.md promises of a call as a whole.

// behaviour is one way an attempt can go, and what it leaves behind.
type behaviour struct {
	name  string
	run   run
	maybe bool // the effect may have happened
	done  bool // it is a success
}

var everyWay = []behaviour{
	{name: "answers", run: answers("done"), done: true},
	{name: "not started", run: fails(toolguard.NotStarted(toolguard.Unavailable("The queue is closed.")))},
	{name: "no effect", run: fails(toolguard.NoEffect(toolguard.Unavailable("Rolled back.")))},
	{name: "limited before it began", run: fails(toolguard.NotStarted(toolguard.RateLimited(time.Second)))},
	{name: "limited after it began", run: fails(toolguard.MaybeDone(toolguard.RateLimited(time.Second))), maybe: true},
	{name: "unavailable", run: fails(toolguard.Unavailable("Down.")), maybe: true},
	{name: "plain error", run: fails(errors.New("broken")), maybe: true},
	{name: "stops at its deadline", run: obeys, maybe: true},
	{name: "panics", run: func(context.Context) (toolguard.Result, error) { panic("broken") }, maybe: true},
	{name: "exits", run: func(context.Context) (toolguard.Result, error) { runtime.Goexit(); return toolguard.Result{}, nil }, maybe: true},
}

// trial is a guarded call that was made.
type trial struct {
	effect toolguard.Effect
	plan   []behaviour // of the attempts, the last one for all further ones
	ran    int
	env    toolguard.Envelope
}

var effects = []toolguard.Effect{
	toolguard.EffectUnknown, toolguard.ReadOnly, toolguard.Idempotent, toolguard.IdempotentByKey, toolguard.NonIdempotent,
}

// forTrials judges calls whose attempts go in every way twice in a row, and
// longer ones at random. Rapid can neither draw nor fail inside of a bubble, so
// the judging is done outside.
func forTrials(t *testing.T, judge func(assert.TestingT, *trial)) {
	for _, effect := range effects {
		for _, first := range everyWay {
			for _, second := range everyWay {
				judge(t, try(t, effect, first, second))
			}
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		effect := rapid.SampledFrom(effects).Draw(rt, "effect")
		plan := rapid.SliceOfN(rapid.SampledFrom(everyWay), 3, 5).Draw(rt, "plan")
		judge(rt, try(t, effect, plan...))
	})
}

func try(t *testing.T, effect toolguard.Effect, plan ...behaviour) *trial {
	tr := &trial{effect: effect, plan: plan}
	synctest.Test(t, func(t *testing.T) {
		var steps []run
		for _, b := range plan {
			steps = append(steps, b.run)
		}
		body := inOrder(steps...)
		g := guardOf(t, toolOf(effect, body.call), &toolguard.Options{
			Timeout: toolguard.TimeoutPolicy{Attempt: 10 * time.Second, Budget: 10 * time.Minute},
			Retry:   toolguard.RetryPolicy{MaxAttempts: 5, BudgetFloor: 10, Rules: toolguard.RetryTable()},
		})
		tr.env = do(g)
		tr.ran = body.count()
	})
	return tr
}

func (tr *trial) played() []behaviour {
	var played []behaviour
	for i := range tr.ran {
		played = append(played, tr.plan[min(i, len(tr.plan)-1)])
	}
	return played
}

func (tr *trial) repeatable() bool {
	switch tr.effect {
	case toolguard.ReadOnly, toolguard.Idempotent, toolguard.IdempotentByKey:
		return true
	}
	return false
}

func (tr *trial) String() string {
	var names []string
	for _, b := range tr.played() {
		names = append(names, b.name)
	}
	return fmt.Sprintf("%v: %s -> %s", tr.effect, strings.Join(names, ", "), verdict(tr.env))
}

func TestNeverRepeatsWhatMayHaveHappened(t *testing.T) {
	t.Parallel()
	forTrials(t, func(t assert.TestingT, tr *trial) {
		played := tr.played()
		for _, b := range played[:len(played)-1] {
			assert.False(t, b.done, "repeated after a success: %v", tr)
			assert.True(t, tr.repeatable() || !b.maybe, "repeated over what may have happened: %v", tr)
		}
		if !tr.repeatable() {
			assert.LessOrEqual(t, len(played), 3, "%v", tr)
		}
	})
}

// What may have happened stays unknown until a success settles it; a tool that
// only reads has nothing that may have happened.
func TestAnUnknownOutcomeStaysUntilASuccess(t *testing.T) {
	t.Parallel()
	forTrials(t, func(t assert.TestingT, tr *trial) {
		played := tr.played()
		maybe := false
		for _, b := range played {
			maybe = maybe || b.maybe
		}
		switch last := played[len(played)-1]; {
		case last.done:
			assert.True(t, tr.env.OK, "%v", tr)
		case maybe && tr.effect != toolguard.ReadOnly:
			assert.Equal(t, toolguard.OutcomeUnknown, tr.env.Error.Outcome, "%v", tr)
			assert.True(t, tr.repeatable() || !tr.env.Error.Retryable, "the model is told to repeat: %v", tr)
		default:
			assert.NotEqual(t, toolguard.OutcomeUnknown, tr.env.Error.Outcome, "%v", tr)
		}
	})
}

// Another tool takes over only where the first one certainly did nothing, and
// the answer says so.
func TestFallbackNeverHidesAnEffect(t *testing.T) {
	t.Parallel()
	for _, b := range everyWay {
		inBubble(t, b.name, func(t *testing.T) {
			standIn := inOrder(answers("by post"))
			g := guardOf(t, toolOf(toolguard.NonIdempotent, b.run), &toolguard.Options{
				Retry: toolguard.RetryPolicy{Off: true},
				Fallback: &toolguard.Fallback{Alternatives: []toolguard.Alternative{
					{Tool: toolOf(toolguard.NonIdempotent, standIn.call), SameEffect: true},
				}},
			})
			env := do(g)
			if b.done || b.maybe {
				assert.Zero(t, standIn.count())
				assert.Nil(t, env.Degraded)
				return
			}
			assert.Equal(t, "ok", verdict(env))
			assert.NotNil(t, env.Degraded)
			assert.Contains(t, env.ForModel(), "substitute")
		})
	}
}
