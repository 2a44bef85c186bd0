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

// detour is a refund that may go by another way, with one effect between them.
type detour struct {
	effects int
	down    bool  // the first way
	lost    error // what comes back by the other
	meets   func()
	asks    toolguard.Approver
	effect  toolguard.Effect
}

func (d *detour) guard(t *testing.T, j toolguard.Journal, sessions *toolguard.Sessions) *toolguard.Guard {
	tool := toolguard.Action(toolguard.Info{Name: "refund", Effect: d.effect}, func(ctx context.Context, _ refundIn) error {
		toolguard.Key(ctx)
		if d.down {
			return toolguard.NotStarted(toolguard.Unavailable("down"))
		}
		d.effects++
		return nil
	})
	if j != nil {
		tool.Status = func(context.Context, string, refundIn) (toolguard.Outcome, toolguard.Result, error) {
			return toolguard.OutcomeNotStarted, toolguard.Result{}, nil // it has never heard of it
		}
	}
	other := named{"refund_by_post", toolguard.NonIdempotent, func(context.Context) (toolguard.Result, error) {
		if d.meets != nil {
			d.meets()
		}
		d.effects++
		return toolguard.Result{Text: "posted"}, d.lost
	}}
	return guardOf(t, tool, &toolguard.Options{
		Journal: j, Sessions: sessions, Retry: once, Approver: d.asks,
		Fallback: &toolguard.Fallback{Alternatives: []toolguard.Alternative{{Tool: other, SameEffect: true}}},
	})
}

// What a stand-in did is done: whoever resumes the step does not do it again, once the
// tool is back.
func TestWhatAStandInDidIsInTheJournal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lost        error
		open        bool // the breaker
		state       toolguard.State
		first, then string
	}{
		"done":                     {nil, false, toolguard.StateSucceeded, "ok", "ok"},
		"done, the breaker open":   {nil, true, toolguard.StateSucceeded, "ok", "ok"},
		"nobody knows":             {errors.New("lost"), false, toolguard.StateUnknown, "service_unavailable/unknown", "in_doubt/unknown"},
		"nobody knows, while open": {errors.New("lost"), true, toolguard.StateUnknown, "breaker_open/unknown", "in_doubt/unknown"},
	} {
		inBubble(t, name, func(t *testing.T) {
			j, d := toolguard.NewMemoryJournal(), &detour{down: true, lost: c.lost}
			g := d.guard(t, j, nil)
			if c.open {
				g.ForceBreaker(toolguard.BreakerOpen)
			}
			assert.Equal(t, c.first, verdict(refundOf(inStep("1"), g, "A")))
			assert.Equal(t, c.state, entry(t, j).State)
			d.down = false
			g.ReleaseBreaker()
			time.Sleep(time.Hour) // the tool's service would say by now that it knows nothing of it
			env := refundOf(inStep("1"), g, "A")
			assert.Equal(t, c.then, verdict(env))
			assert.Equal(t, env.OK, hasNote(env, "replayed"))
			assert.Equal(t, 1, d.effects)
		})
	}
}

// A stand-in whose intent is not in the journal does not run.
func TestAStandInNeedsAnIntent(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 2; n++ { // the claim, and that somebody stands in
		d, j := &detour{down: true}, &faulty{Journal: toolguard.NewMemoryJournal(), before: on(n, errDisk)}
		assert.Equal(t, toolguard.OutcomeNotStarted, refundOf(inStep("1"), d.guard(t, j, nil), "A").Error.Outcome)
		assert.Zero(t, d.effects)
	}
}

// A process that ends while a stand-in runs leaves a doubt that the tool's Status,
// which has never heard of it, does not clear up.
func TestAProcessThatEndsWhileAStandInRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := toolguard.NewMemoryJournal()
		d := &detour{down: true}
		d.meets = func() { require.Equal(t, toolguard.StatePending, entry(t, mem).State, "it is not settled yet") }
		gone := &faulty{Journal: mem, before: func(n int) error {
			if n > 2 {
				return errDisk
			}
			return nil
		}}
		env := refundOf(inStep("1"), d.guard(t, gone, nil), "A")
		assert.True(t, env.OK)
		assert.True(t, hasNote(env, "not_recorded"))
		time.Sleep(time.Hour)
		d.down = false
		g := d.guard(t, mem, nil)
		r, err := toolguard.NewRecoverer(mem, nil, g)
		require.NoError(t, err)
		_, err = r.Once(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "in_doubt/unknown", verdict(refundOf(inStep("1"), g, "A")))
		assert.Equal(t, 1, d.effects)
	})
}

// A conversation is in doubt about a stand-in too, whether or not the tool ran.
func TestAConversationDoubtsAStandIn(t *testing.T) {
	t.Parallel()
	for _, open := range []bool{false, true} {
		d := &detour{down: true, lost: errors.New("lost")}
		g := d.guard(t, nil, sessionsOf(t, toolguard.SessionPolicy{}))
		if open {
			g.ForceBreaker(toolguard.BreakerOpen)
		}
		assert.Equal(t, toolguard.OutcomeUnknown, refundOf(inTurn("1"), g, "A").Error.Outcome)
		g.ReleaseBreaker()
		d.down = false
		assert.Equal(t, "in_doubt/unknown", verdict(refundOf(inTurn("1"), g, "A")))
		assert.Equal(t, 1, d.effects)
	}
}

// An approval that a stand-in may have used is used, whether or not the tool ran.
func TestAStandInUsesTheApproval(t *testing.T) {
	t.Parallel()
	for _, open := range []bool{false, true} {
		j := toolguard.NewMemoryJournal()
		d := &detour{down: true, lost: errors.New("lost"), asks: &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalGranted, By: "ben"}}}
		g := d.guard(t, j, nil)
		if open {
			g.ForceBreaker(toolguard.BreakerOpen)
		}
		assert.Equal(t, toolguard.OutcomeUnknown, refundOf(inStep("1"), g, "A").Error.Outcome)
		assert.Equal(t, toolguard.StateUnknown, entry(t, j).State)
		d.lost, d.down = nil, false
		g.ReleaseBreaker()
		assert.Equal(t, "in_doubt/unknown", verdict(refundOf(inStep("1"), g, "A")))
		assert.Equal(t, 1, d.effects)
	}
}

// The key of a tool does not stand for what another one did.
func TestAStandInDoesNotShareTheKey(t *testing.T) {
	t.Parallel()
	for name, j := range map[string]toolguard.Journal{"a conversation": nil, "a journal": toolguard.NewMemoryJournal()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &detour{down: true, lost: errors.New("lost"), effect: toolguard.IdempotentByKey}
			g := d.guard(t, j, sessionsOf(t, toolguard.SessionPolicy{}))
			assert.Equal(t, toolguard.OutcomeUnknown, refundOf(inTurn("1"), g, "A").Error.Outcome)
			d.down = false
			assert.Equal(t, "in_doubt/unknown", verdict(refundOf(inTurn("1"), g, "A")))
			assert.Equal(t, 1, d.effects)
		})
	}
}

// That a stand-in asks for something first says nothing of what its attempt before did.
func TestAStandInThatAsksMayHaveActed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		other := inOrder(fails(toolguard.Unavailable("the answer is lost")), func(context.Context) (toolguard.Result, error) {
			return toolguard.Result{Text: "which one?", InputRequired: true}, nil
		})
		j := toolguard.NewMemoryJournal()
		g := guardOf(t, toolOf(toolguard.Idempotent, fails(toolguard.NotStarted(toolguard.Unavailable("down")))), &toolguard.Options{
			Journal: j, Retry: once,
			Fallback: &toolguard.Fallback{Alternatives: []toolguard.Alternative{{Tool: named{"other", toolguard.Idempotent, other.call}, SameEffect: true}}},
		})
		assert.True(t, doIn(inTurn("1"), g).OK)
		assert.Equal(t, toolguard.StateUnknown, entry(t, j).State)
	})
}

// A stand-in that cannot be asked is not written down to act.
func TestAStandInWithoutArgumentsIsNotIntended(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		j := toolguard.NewMemoryJournal()
		g := guardOf(t, toolOf(toolguard.NonIdempotent, fails(toolguard.NotStarted(toolguard.Unavailable("down")))), &toolguard.Options{
			Journal: j, Retry: once, Fallback: &toolguard.Fallback{Alternatives: []toolguard.Alternative{{
				Tool: toolOf(toolguard.NonIdempotent, answers("never")), SameEffect: true,
				Args: func(json.RawMessage) (json.RawMessage, error) { return nil, errors.New("no such form") },
			}}},
		})
		doIn(inStep("1"), g)
		records, err := j.Records(t.Context(), toolguard.RecordQuery{})
		require.NoError(t, err)
		require.NotEmpty(t, records)
		for _, r := range records {
			assert.NotEqual(t, toolguard.RecordStandIn, r.Kind)
		}
	})
}
