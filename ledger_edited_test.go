package toolguard_test

import (
	"context"
	"encoding/json"
	"strings"
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

// editing approves of an order B in place of whatever was asked for.
func editing() *desk {
	return &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalEdited, By: "policy", Args: []byte(`{"order":"B"}`)}}
}

// Neither another reason, nor the key among the arguments, nor that a person was asked
// meanwhile makes another call of the arguments that ran.
func TestWhatWasEditedIsKnownAgain(t *testing.T) {
	t.Parallel()
	tools := map[string]toolguard.Info{
		"":                                   {Name: "pay", Irrelevant: []string{"reason"}},
		"the key is an argument":             {Name: "pay", Irrelevant: []string{"reason"}, KeyField: "idempotency_key"},
		"a person lets it run again":         {Name: "pay", Irrelevant: []string{"reason"}},
		"a person does, and takes that back": {Name: "pay", Irrelevant: []string{"reason"}},
	}
	for name, info := range tools {
		ran, j := 0, toolguard.NewMemoryJournal()
		info.Schema = []byte(`{"properties":{"order":{},"reason":{},"idempotency_key":{}}}`)
		g := guardOf(t, plain{info, func(context.Context, json.RawMessage) (toolguard.Result, error) {
			ran++
			return toolguard.Result{}, toolguard.MaybeDone(errLost)
		}}, &toolguard.Options{Journal: j, Approver: editing()})
		key := g.Do(inTurn("1"), toolguard.Call{Args: []byte(`{"order":"A"}`)}).Key
		if strings.Contains(name, "person") {
			decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingRetry})
		}
		if strings.Contains(name, "back") {
			decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingDeny})
		}
		assert.Equal(t, "in_doubt/unknown", verdict(g.Do(inTurn("1"), toolguard.Call{Args: []byte(`{"order":"B","reason":"so"}`)})), name)
		assert.Equal(t, 1, ran, name)
	}
}

// A call that was lost with other arguments than were asked for goes on with those: the
// service knows them by its key.
func TestALostCallGoesOnWithTheArgumentsItHad(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var orders []string
		tool := toolguard.Action(toolguard.Info{Name: "pay", Effect: toolguard.IdempotentByKey}, func(_ context.Context, in refundIn) error {
			orders = append(orders, in.Order)
			return nil
		})
		caps := editing()
		j := &faulty{Journal: toolguard.NewMemoryJournal(), before: on(2, errDisk)} // it is not written what came of it
		g := guardOf(t, tool, &toolguard.Options{Journal: j, Approver: caps})
		call := toolguard.Call{Args: []byte(`{"order":"A"}`)}
		g.Do(inTurn("1"), call)
		pass(2 * minute)
		caps.answer = toolguard.Answer{Verdict: toolguard.ApprovalGranted, By: "policy"}
		assert.True(t, hasNote(g.Do(inTurn("1"), call), "args_edited"))
		assert.True(t, hasNote(g.Do(inTurn("1"), call), "args_edited"), "who has approved of them now has not edited them")
		assert.Equal(t, []string{"B", "B"}, orders)
	})
}
