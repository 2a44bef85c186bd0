package toolguard_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
)

// A model that is told which arguments ran, and not whether, asks for those itself.
func TestWhatWasEditedIsNotDoneAgainUnderItsOwnName(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]func(step string) context.Context{
		"in a conversation": func(string) context.Context { return inTurn("1") },
		"in a later turn":   inTurn,
		"in steps":          inStep,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, j := &bank{loses: true}, toolguard.NewMemoryJournal()
			caps := &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalEdited, By: "policy", Args: []byte(`{"order":"B"}`)}}
			g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: caps})
			first := refundOf(in("1"), g, "A")
			assert.Equal(t, toolguard.OutcomeUnknown, first.Error.Outcome)
			b.set(false, nil)
			again := g.Do(in("2"), toolguard.Call{Args: first.Args})
			assert.Equal(t, "in_doubt/unknown", verdict(again))
			assert.Equal(t, first.Key, again.Key, "the key that can be asked about")
			assertOnce(t, b)

			decide(t, j, toolguard.Ruling{Key: first.Key, Verdict: toolguard.RulingFailed})
			caps.answer = toolguard.Answer{Verdict: toolguard.ApprovalGranted, By: "policy"}
			assert.True(t, g.Do(in("3"), toolguard.Call{Args: first.Args}).OK, "what did nothing is in nobody's way")
			assert.Equal(t, 2, b.count())
			assert.True(t, refundOf(in("4"), g, "C").OK, "nor in that of other arguments")
		})
	}
}

// What a person has closed answers until the user speaks.
func TestWhatWasEditedAndClosed(t *testing.T) {
	t.Parallel()
	b, j := &bank{loses: true}, toolguard.NewMemoryJournal()
	caps := &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalEdited, By: "policy", Args: []byte(`{"order":"B"}`)}}
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: caps})
	first := refundOf(inTurn("1"), g, "A")
	b.set(false, nil)
	decide(t, j, toolguard.Ruling{Key: first.Key, Verdict: toolguard.RulingAbort})
	assert.Equal(t, "aborted/unknown", verdict(g.Do(inTurn("1"), toolguard.Call{Args: first.Args})))
	assertOnce(t, b)
	assert.True(t, g.Do(inTurn("2"), toolguard.Call{Args: first.Args}).OK)
}

// Another run, without a conversation, is another piece of work.
func TestWhatWasEditedInAnotherRun(t *testing.T) {
	t.Parallel()
	b, j := &bank{loses: true}, toolguard.NewMemoryJournal()
	caps := &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalEdited, By: "policy", Args: []byte(`{"order":"B"}`)}}
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: caps})
	first := refundOf(inStep("1"), g, "A")
	b.set(false, nil)
	elsewhere := toolguard.WithScope(t.Context(), toolguard.Scope{Tenant: "t", Run: "another", Step: "1"})
	assert.True(t, g.Do(elsewhere, toolguard.Call{Args: first.Args}).OK)
}
