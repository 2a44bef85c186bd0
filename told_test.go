package toolguard_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// What ran in place of what was asked for is said wherever the answer is read.
func TestEditedArgumentsAreTold(t *testing.T) {
	t.Parallel()
	b, j := new(bank), toolguard.NewMemoryJournal()
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: pendingDesk()})
	first := refundOf(inTurn("1"), g, "A")
	edited := `{"order":"B"}`
	decide(t, j, toolguard.Ruling{Key: first.Key, Verdict: toolguard.RulingApprove, Args: []byte(edited)})
	ran := g.Resume(t.Context(), first.Key)
	require.True(t, ran.OK)
	assert.Equal(t, []toolguard.NoteKind{"args_edited"}, noteKinds(ran))
	assert.JSONEq(t, edited, string(ran.Args))
	again := refundOf(inTurn("1"), g, "A")
	assert.Equal(t, []toolguard.NoteKind{"replayed", "args_edited"}, noteKinds(again))
	assert.JSONEq(t, edited, string(again.Args))
	assertOnce(t, b)
}

// The entry counts all attempts, and the audit has the turn in which it was asked for.
func TestAttemptsOfACallThatRanAgain(t *testing.T) {
	t.Parallel()
	b, j := &bank{loses: true}, toolguard.NewMemoryJournal()
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j})
	first := refundOf(inTurn("1"), g, "A")
	decide(t, j, toolguard.Ruling{Key: first.Key, Verdict: toolguard.RulingRetry})
	b.set(false, nil)
	require.True(t, g.Resume(t.Context(), first.Key).OK)
	assert.Equal(t, 2, entry(t, j).Attempts)
	for _, r := range recordsOf(t, j, first.Key) {
		assert.Equal(t, "1", r.Scope.Turn, "%v", r.Kind)
	}
}

func TestADecisionThatComesTooLateIsToldSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := toolguard.NewMemoryJournal()
		g := guardOf(t, refundTool(new(bank), toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: pendingDesk()})
		key := refundOf(inTurn("1"), g, "A").Key
		over := time.Now().Add(24 * time.Hour).Format(time.RFC3339)
		time.Sleep(25 * time.Hour)
		_, err := toolguard.Decide(t.Context(), j, toolguard.Ruling{Key: key, By: "ann", Verdict: toolguard.RulingApprove})
		require.ErrorIs(t, err, toolguard.ErrDecided)
		assert.ErrorContains(t, err, "was over at "+over)
	})
}

// Whoever reads the journal sees which tool acted, and where that can be asked about.
func TestStandInsAreInTheAudit(t *testing.T) {
	t.Parallel()
	j := toolguard.NewMemoryJournal()
	d := &detour{down: true}
	g := d.guard(t, j, nil)
	first := refundOf(inTurn("1"), g, "A")
	require.True(t, first.OK)
	var told []string
	for _, r := range recordsOf(t, j, first.Key) {
		if r.Kind == toolguard.RecordStandIn {
			told = append(told, r.Why+": "+r.Outcome.String())
			assert.Equal(t, len(told) > 1, r.Duration > 0, "the first says that it begins")
		}
	}
	assert.Equal(t, []string{"refund_by_post: unknown", "refund_by_post: succeeded"}, told)

	again := refundOf(inTurn("1"), d.guard(t, j, nil), "A")
	assert.Equal(t, []toolguard.NoteKind{"replayed", "degraded"}, noteKinds(again))
	require.NotNil(t, again.Degraded, "a substitute stays one")
	assert.Equal(t, "refund_by_post", again.Degraded.Source)
	assert.Equal(t, 1, d.effects)
}

// Also what one of them failed with.
func TestAStandInsFailureIsInTheAudit(t *testing.T) {
	t.Parallel()
	j := toolguard.NewMemoryJournal()
	d := &detour{down: true, lost: toolguard.MaybeDone(toolguard.Unavailable("no answer"))}
	env := refundOf(inTurn("1"), d.guard(t, j, nil), "A")
	require.Equal(t, toolguard.OutcomeUnknown, env.Error.Outcome)
	var last toolguard.Record
	for _, r := range recordsOf(t, j, env.Key) {
		if r.Kind == toolguard.RecordStandIn {
			last = r
		}
	}
	assert.Equal(t, []any{toolguard.CodeServiceUnavailable, toolguard.OutcomeUnknown}, []any{last.Code, last.Outcome})
}

// The host may look as often as it likes what became of a call.
func TestResumingIsNoRepeat(t *testing.T) {
	t.Parallel()
	b, j := new(bank), toolguard.NewMemoryJournal()
	sessions := sessionsOf(t, toolguard.SessionPolicy{})
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: pendingDesk(), Sessions: sessions})
	key := refundOf(inTurn("1"), g, "A").Key
	for range 6 {
		assert.Equal(t, "approval_pending/not_started", verdict(g.Resume(t.Context(), key)))
	}
	for range 2 {
		refundOf(inTurn("1"), g, "A")
	}
	assert.Empty(t, noteKinds(g.Resume(t.Context(), key)), "nor is the host told how often the model asked")
	decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove})
	for n := range 6 {
		env := g.Resume(t.Context(), key)
		assert.True(t, env.OK)
		assert.Equal(t, n > 0, len(env.Notes) == 1, "%v", noteKinds(env))
	}
	assertOnce(t, b)
	again := refundOf(inTurn("1"), g, "A")
	assert.Contains(t, noteKinds(again), toolguard.NoteKind("replayed"), "what was resumed is what the model asked for")
}

// A repeat of what was run in addition is not run in addition itself, and does not say so.
func TestARepeatInATurnDoesNotSayThatItRan(t *testing.T) {
	t.Parallel()
	for name, turn := range map[string]string{"the same turn": "2", "none, which is the same": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := new(bank)
			g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{
				Journal: toolguard.NewMemoryJournal(), Sessions: sessionsOf(t, toolguard.SessionPolicy{}),
			})
			require.True(t, refundOf(inTurn("1"), g, "A").OK)
			assert.Equal(t, []toolguard.NoteKind{"earlier_success"}, noteKinds(refundOf(inTurn("2"), g, "A")))
			assert.Equal(t, []toolguard.NoteKind{"replayed"}, noteKinds(refundOf(inTurn(turn), g, "A")))
			assert.Equal(t, 2, b.count())
		})
	}
}

// A host that looks again and again what became of a call uses up none of the model's calls.
func TestResumingIsNoCallOfTheModels(t *testing.T) {
	t.Parallel()
	b, j := new(bank), toolguard.NewMemoryJournal()
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{
		Journal: j, Approver: pendingDesk(), Sessions: sessionsOf(t, toolguard.SessionPolicy{}), Loop: toolguard.LoopPolicy{ToolCalls: 2, NoteAfter: 1, TurnCalls: 3},
	})
	key := refundOf(inTurn("1"), g, "A").Key
	for range 5 {
		assert.Equal(t, toolguard.CodeApprovalPending, codeOf(g.Resume(t.Context(), key)))
	}
	other := refundOf(inTurn("1"), g, "B")
	assert.Equal(t, toolguard.CodeApprovalPending, codeOf(other))
	assert.Equal(t, []toolguard.NoteKind{"many_calls"}, noteKinds(other), "the second")
	assert.Equal(t, toolguard.CodeLimitReached, codeOf(refundOf(inTurn("1"), g, "C")), "the third")
	decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove})
	assert.True(t, g.Resume(t.Context(), key).OK)
}
