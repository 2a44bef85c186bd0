package toolguard_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// The model reads what ran in place of what it sent: it has to tell the user.
func TestTheModelReadsWhatAPersonMadeOfItsCall(t *testing.T) {
	t.Parallel()
	b, j := new(bank), toolguard.NewMemoryJournal()
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{
		Journal: j, Approver: pendingDesk(), Sessions: sessionsOf(t, toolguard.SessionPolicy{}),
	})
	asked := refundOf(inTurn("1"), g, "A")
	decide(t, j, toolguard.Ruling{Key: asked.Key, Verdict: toolguard.RulingApprove, Args: []byte(`{"order":"B","reason":"token=sk-live-4242424242424242"}`)})
	const ran = `changed the arguments to {\"order\":\"B\",`
	for _, env := range []toolguard.Envelope{g.Resume(t.Context(), asked.Key), refundOf(inTurn("1"), g, "A"), g.Resume(t.Context(), asked.Key)} {
		require.True(t, env.OK)
		assert.Contains(t, env.ForModel(), ran)
		assert.NotContains(t, env.ForModel(), "4242424242424242", "it is redacted")
	}
	same := g.Do(inTurn("1"), toolguard.Call{ID: "c2", Args: []byte(`{"order":"B","reason":"token=sk-live-4242424242424242"}`)})
	require.True(t, same.OK)
	assert.False(t, hasNote(same, "args_edited"), "this is what it sent: %s", same.ForModel())
	assertOnce(t, b)
}

// What a person wrote and the schema or a rule refuses is not the model's to mend.
func TestArgumentsThatAPersonGotWrong(t *testing.T) {
	t.Parallel()
	wrong := []byte(`{"order":7}`)
	check := func(t *testing.T, env toolguard.Envelope) {
		t.Helper()
		require.Equal(t, toolguard.CodeSchemaViolation, codeOf(env))
		assert.Equal(t, toolguard.OutcomeNotStarted, env.Error.Outcome)
		assert.Contains(t, env.ForModel(), `changed the arguments to {\"order\":7}`)
		assert.Contains(t, env.Suggestion, "Do not send this call again")
		assert.NotContains(t, env.Suggestion, "corrected call")
	}
	t.Run("later", func(t *testing.T) {
		t.Parallel()
		j := toolguard.NewMemoryJournal()
		g := guardOf(t, refundTool(new(bank), toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: pendingDesk()})
		asked := refundOf(inTurn("1"), g, "A")
		decide(t, j, toolguard.Ruling{Key: asked.Key, Verdict: toolguard.RulingApprove, Args: wrong})
		check(t, g.Resume(t.Context(), asked.Key))
		check(t, refundOf(inTurn("1"), g, "A"))
	})
	t.Run("at once", func(t *testing.T) {
		t.Parallel()
		desk := &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalEdited, By: "ann", Args: wrong}}
		g := guardOf(t, refundTool(new(bank), toolguard.NonIdempotent), &toolguard.Options{Journal: toolguard.NewMemoryJournal(), Approver: desk})
		check(t, refundOf(inTurn("1"), g, "A"))
	})
}
