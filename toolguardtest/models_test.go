package toolguardtest_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/agentloop"
	tgt "github.com/toolguard-go/toolguard/toolguardtest"
)

// converse runs a loop of a model and scripted tools in a session.
func converse(t testing.TB, m *tgt.Model, tools ...toolguard.Tool) agentloop.Result {
	t.Helper()
	box, err := toolguard.NewToolbox(nil, tools...)
	require.NoError(t, err)
	loop, err := agentloop.New(m, box, &agentloop.Options{MaxIterations: 30})
	require.NoError(t, err)
	ctx := toolguard.WithScope(context.Background(), toolguard.Scope{Session: "s", Turn: "1", Principal: "p"})
	return agentloop.Wait(loop.Run(ctx, []agentloop.Message{agentloop.User("Refund order A-17.")}))
}

var want = tgt.Want{Tool: "refund", Args: `{"order_id":"A-17"}`}

func TestObedientModel(t *testing.T) {
	t.Parallel()
	inBubble(t, "success", func(t *testing.T) {
		tool := tgt.NewTool(t, infoOf(0), tgt.OK("R-1"))
		r := converse(t, tgt.Obedient(want), tool)
		tgt.RequireFinalAnswer(t, r.State.Messages, "R-1")
		tgt.RequireEffects(t, tool, 1)
	})
	inBubble(t, "lost answer", func(t *testing.T) {
		tool := tgt.NewTool(t, infoOf(0), tgt.LoseAnswer())
		r := converse(t, tgt.Obedient(want, tgt.Want{Tool: "mail", Args: "{}"}), tool)
		tgt.RequireCalls(t, r.State.Messages, "refund", 1)
		tgt.RequireCalls(t, r.State.Messages, "", 1)
		tgt.RequireFinalAnswer(t, r.State.Messages, "not known", "have it checked")
		tgt.RequireNothingInvented(t, r.State.Messages, "refunded")
	})
	inBubble(t, "corrects its arguments", func(t *testing.T) {
		var got order
		tool := toolguard.Func(infoOf(0), func(_ context.Context, in order) (string, error) {
			got = in
			return "R-1", nil
		})
		r := converse(t, tgt.Obedient(tgt.Want{Tool: "refund", Args: `{"order":"A-17"}`, Corrected: orderArgs}), tool)
		tgt.RequireCalls(t, r.State.Messages, "refund", 2)
		tgt.RequireFinalAnswer(t, r.State.Messages, "R-1")
		assert.Equal(t, order{"A-17", 8000}, got)
	})
	inBubble(t, "sends again what may be sent again", func(t *testing.T) {
		tool := tgt.Always(t, infoOf(toolguard.ReadOnly), tgt.Flaky(1, tgt.FaultError(toolguard.CodeConnectionLost), tgt.OK("R-1")))
		once := &toolguard.Options{Retry: toolguard.RetryPolicy{Off: true}}
		r := converse(t, tgt.Obedient(want), toolguard.With(tool, once))
		tgt.RequireFinalAnswer(t, r.State.Messages, "R-1")
		tgt.RequireCalls(t, r.State.Messages, "refund", 2)
	})
	inBubble(t, "stops at the limit", func(t *testing.T) {
		m := tgt.Obedient(want)
		reply, err := m.Reply(t.Context(), agentloop.Request{AnswerOnly: true})
		require.NoError(t, err)
		assert.NotEmpty(t, reply.Text)
		assert.Len(t, m.Requests(), 1)
	})
}

// A model that does not listen gets no second effect out of a tool that is guarded.
func TestModelsThatDoNotListen(t *testing.T) {
	t.Parallel()
	other := tgt.Want{Tool: "mail", Args: `{}`}
	for name, m := range map[string]*tgt.Model{
		"stubborn":    tgt.Stubborn(want, 6, "It did not work."),
		"minting":     tgt.Minting(want, 6, "It did not work."),
		"alternating": tgt.Alternating(6, "It did not work.", want, other),
	} {
		inBubble(t, name, func(t *testing.T) {
			tool := tgt.Always(t, infoOf(toolguard.NonIdempotent), tgt.LoseAnswer())
			mail := tgt.Always(t, toolguard.Info{Name: "mail"}, tgt.OK("sent"))
			r := converse(t, m, tool, mail)
			require.Equal(t, agentloop.StopAnswered, r.Stop)
			tgt.RequireEffects(t, tool, 1)
			tgt.RequireEffects(t, mail, min(1, mail.Runs()))
			tgt.RequireAllAnswered(t, r.State.Messages)
			tgt.RequireCalls(t, r.State.Messages, "", 6)
			tgt.RequireFinalAnswer(t, r.State.Messages, "did not work")
		})
	}
}

func TestMintedIDsDiffer(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	m := tgt.Minting(want, 50, "end")
	for range 50 {
		reply, err := m.Reply(t.Context(), agentloop.Request{})
		require.NoError(t, err)
		ids[reply.Calls[0].ID] = true
		assert.Equal(t, want.Args, reply.Calls[0].Args)
	}
	assert.Len(t, ids, 50)
}

func TestGarblingModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tool := tgt.NewTool(t, infoOf(0), tgt.OK("R-1"))
		r := converse(t, tgt.Garbling(want, 5, "Refunded: R-1"), tool)
		calls := tgt.CallsOf(r.State.Messages, "refund")
		require.Len(t, calls, 6)
		for _, c := range calls[:5] {
			assert.Equal(t, toolguard.CategoryParam, c.Answer.Code.Category(), c.Args)
		}
		assert.True(t, calls[5].Answer.OK)
		tgt.RequireEffects(t, tool, 1)
		tgt.RequireNothingInvented(t, r.State.Messages, "refunded")
	})
}

// What a hasty model makes up is found.
func TestTranscriptAssertionsFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tool := func() *tgt.Tool { return tgt.Always(t, infoOf(0), tgt.LoseAnswer()) }
		run := func(text string) []agentloop.Message {
			return converse(t, tgt.Hasty(want, text), tool()).State.Messages
		}
		invented := run("I have refunded order A-17, 80.00 EUR, receipt R-99.")
		says := func(want string, f func(t testing.TB)) {
			t.Helper()
			assertSays(t, failing(t, f), want)
		}
		says(`says "80.00", which neither the user nor a tool has said`, func(t testing.TB) { tgt.RequireNothingInvented(t, invented) })
		says(`claims "have refunded", but no call has succeeded`, func(t testing.TB) {
			tgt.RequireNothingInvented(t, run("I have refunded order A-17."), "have refunded")
		})
		assert.Empty(t, failing(t, func(t testing.TB) {
			tgt.RequireNothingInvented(t, run("It is not known what became of order A-17."), "have refunded")
		}))
		says(`has called "refund" 1 time(s), want 2`, func(t testing.TB) { tgt.RequireCalls(t, invented, "refund", 2) })
		says("does not end with an answer", func(t testing.TB) { tgt.RequireFinalAnswer(t, invented[:2]) })
		says("does not end with an answer", func(t testing.TB) { tgt.RequireFinalAnswer(t, nil) })
		says(`does not say "sorry"`, func(t testing.TB) { tgt.RequireFinalAnswer(t, invented, "sorry") })
		says(`call "call_1" of "refund" has no answer`, func(t testing.TB) {
			tgt.RequireAllAnswered(t, []agentloop.Message{{Role: agentloop.RoleAssistant, Calls: []agentloop.Call{{ID: "call_1", Tool: "refund"}}}})
		})
		says(`has had 0 effect(s) in 0 run(s), want 1`, func(t testing.TB) { tgt.RequireEffects(t, tgt.NewTool(t, infoOf(0)), 1) })
	})
}

func TestReplayThatRunsOutSaysWhatToDo(t *testing.T) {
	t.Parallel()
	m := tgt.Replay(agentloop.Message{Text: "one"})
	_, err := m.Reply(t.Context(), agentloop.Request{})
	require.NoError(t, err)
	_, err = m.Reply(t.Context(), agentloop.Request{})
	assert.ErrorContains(t, err, "asked for its 2nd reply, but its script has 1: give Replay another message")
}
