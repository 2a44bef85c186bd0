package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/agentloop"
	"github.com/toolguard-go/toolguard/prompts"
)

func TestAnswersAreReadAndAnswered(t *testing.T) {
	t.Parallel()
	m := model(calls("order", "stock"), "It is on its way.")
	box := boxOf(t, reads("order", says("sent")), reads("stock", says("3 left")))
	list := all(t, loopOf(t, m, box, &agentloop.Options{System: "You help."}).Run(t.Context(), hello()))
	assert.Equal(t, "ask reply answer answer ask reply end", kinds(list))
	r := end(list)
	assert.Equal(t, agentloop.StopAnswered, r.Stop)
	assert.Equal(t, "It is on its way.", r.Text)
	require.NoError(t, r.Err)
	require.Len(t, r.State.Messages, 3)
	asked := m.last()
	assert.Equal(t, "You help.\n\n"+toolguard.SystemPrompt("en"), asked.System)
	assert.False(t, asked.AnswerOnly)
	require.Len(t, asked.Messages, 2)
	assert.Equal(t, agentloop.RoleAssistant, asked.Messages[1].Role)
	assert.Equal(t, "sent", asked.Messages[1].Calls[0].Answer.Text)
	assert.Equal(t, "3 left", asked.Messages[1].Calls[1].Answer.Text)
	assert.Empty(t, asked.Messages[1].Hint, "all succeeded")
	tools, err := asked.Tools(toolguard.ProviderAnthropic)
	require.NoError(t, err)
	want, err := box.Tools(t.Context(), toolguard.ProviderAnthropic)
	require.NoError(t, err)
	assert.JSONEq(t, string(want), string(tools))
}

func TestNextTurn(t *testing.T) {
	t.Parallel()
	m := model(calls("order"), "Sent.", "You are welcome.")
	l := loopOf(t, m, boxOf(t, reads("order", says("sent"))), nil)
	first := agentloop.Wait(l.Run(t.Context(), hello()))
	next := agentloop.Wait(l.Run(t.Context(), append(first.State.Messages, agentloop.User("thanks"))))
	assert.Equal(t, "You are welcome.", next.Text)
	assert.Equal(t, 1, next.State.Iteration)
	assert.NotEqual(t, first.State.Turn, next.State.Turn)
	assert.NotEqual(t, first.State.Step, next.State.Step)
}

func TestLastChance(t *testing.T) {
	t.Parallel()
	l := func(m agentloop.Model) *agentloop.Loop {
		return loopOf(t, m, boxOf(t, reads("more", says("more"))), &agentloop.Options{MaxIterations: 3, Words: prompts.Chinese()})
	}
	t.Run("taken", func(t *testing.T) {
		t.Parallel()
		m := model(calls("more"), calls("more"), calls("more"), "This is what I have.")
		r := end(all(t, l(m).Run(t.Context(), hello())))
		assert.Equal(t, agentloop.StopLimit, r.Stop)
		assert.Equal(t, "This is what I have.", r.Text)
		require.NoError(t, r.Err)
		require.Equal(t, 4, m.asked())
		for i, req := range m.requests {
			assert.Equal(t, i == 3, req.AnswerOnly)
		}
		asked := m.last()
		assert.Equal(t, string(prompts.Chinese().AppendStep(nil, prompts.StepFinishNow, nil)), asked.Messages[3].Hint)
		assert.Equal(t, toolguard.SystemPrompt("zh"), asked.System)
		assert.Empty(t, r.State.Messages[3].Hint, "it is not true of the next turn")
		again := agentloop.Wait(l(m).Resume(t.Context(), r.State))
		assert.Equal(t, r, again, "a run that has ended ends the same way again")
		assert.Equal(t, 4, m.asked(), "without asking")
	})
	t.Run("not taken", func(t *testing.T) {
		t.Parallel()
		m := model(calls("more"))
		r := end(all(t, l(m).Run(t.Context(), hello())))
		assert.Equal(t, agentloop.StopLimit, r.Stop)
		require.Error(t, r.Err)
		assert.Empty(t, r.Text)
		assert.Equal(t, 4, m.asked())
		assert.Len(t, r.State.Messages, 4)
	})
	t.Run("half taken", func(t *testing.T) {
		t.Parallel()
		both := calls("more")
		both.Text = "I will look once more."
		r := end(all(t, l(model(calls("more"), calls("more"), calls("more"), both)).Run(t.Context(), hello())))
		assert.Equal(t, agentloop.StopLimit, r.Stop)
		assert.Equal(t, both.Text, r.Text)
		assert.Empty(t, r.State.Messages[4].Calls)
	})
}

// The last of the replies that may have calls need not have any.
func TestAnswerInTime(t *testing.T) {
	t.Parallel()
	m := model(calls("more"), calls("more"), "Done.")
	r := end(all(t, loopOf(t, m, boxOf(t, reads("more", says("more"))), &agentloop.Options{MaxIterations: 3}).Run(t.Context(), hello())))
	assert.Equal(t, agentloop.StopAnswered, r.Stop)
}

// A host may go on with the slice it gave.
func TestConversationStaysTheHosts(t *testing.T) {
	t.Parallel()
	conversation := append(make([]agentloop.Message, 0, 8), hello()...)
	agentloop.Wait(loopOf(t, model("Hi."), boxOf(t), nil).Run(t.Context(), conversation))
	assert.Zero(t, conversation[:2][1])
}

func TestDefaultLimit(t *testing.T) {
	t.Parallel()
	m := model(calls("more"))
	r := agentloop.Wait(loopOf(t, m, boxOf(t, reads("more", says("more"))), nil).Run(t.Context(), hello()))
	assert.Equal(t, agentloop.StopLimit, r.Stop)
	assert.Equal(t, 11, m.asked())
}

// A model that is refused in all it does, twice in a row, has come to an end.
func TestRefusedRepliesEndInTheLastChance(t *testing.T) {
	t.Parallel()
	refused := func(code toolguard.Code) agentloop.Message {
		m := calls("more")
		m.Role, m.Calls[0].Answer = agentloop.RoleAssistant, &agentloop.Answer{Text: "no", Code: code}
		return m
	}
	for name, tc := range map[string]struct {
		history []agentloop.Message
		last    bool
	}{
		"once":          {[]agentloop.Message{refused("limit_reached")}, false},
		"twice":         {[]agentloop.Message{refused("limit_reached"), refused("loop_detected")}, true},
		"not in a row":  {[]agentloop.Message{refused("loop_detected"), refused("not_found"), refused("loop_detected")}, false},
		"other refusal": {[]agentloop.Message{refused("not_found"), refused("not_found"), refused("not_found")}, false},
		"a turn ago":    {[]agentloop.Message{refused("limit_reached"), refused("limit_reached"), agentloop.User("go on")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := model("That is all.")
			l := loopOf(t, m, boxOf(t, reads("more", says("more"))), nil)
			r := end(all(t, l.Resume(t.Context(), agentloop.State{Messages: append(hello(), tc.history...)})))
			assert.Equal(t, tc.last, m.last().AnswerOnly)
			assert.Equal(t, tc.last, r.Stop == agentloop.StopLimit, r.Stop)
		})
	}
}

func TestHint(t *testing.T) {
	t.Parallel()
	box := boxOf(t, reads("good", says("fine")), reads("gone", fails(toolguard.NotFound("There is no such order."))),
		reads("strict", fails(toolguard.Param("city", "There is no such city."))), reads("busy", fails(toolguard.RateLimited(time.Second))))
	for name, tc := range map[string]struct {
		calls []string
		hint  bool
	}{
		"one lost for good":  {[]string{"good", "gone"}, true},
		"alone":              {[]string{"gone"}, false},
		"can be mended":      {[]string{"good", "strict"}, false},
		"can be sent again":  {[]string{"good", "busy"}, false},
		"beside one to mend": {[]string{"strict", "gone"}, false},
		"all lost":           {[]string{"gone", "gone"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := model(calls(tc.calls...), "Done.")
			r := end(all(t, loopOf(t, m, box, nil).Run(t.Context(), hello())))
			hint := m.last().Messages[1].Hint
			assert.Equal(t, tc.hint, hint != "", hint)
			assert.Equal(t, hint, r.State.Messages[1].Hint)
			if tc.hint {
				assert.Contains(t, hint, "gone (c")
			}
		})
	}
}

// What a model writes badly is answered, whatever it is.
func TestHostileReplies(t *testing.T) {
	t.Parallel()
	ran := 0
	box := boxOf(t, writes("pay", func(context.Context, json.RawMessage) (toolguard.Result, error) {
		ran++
		return toolguard.Result{Text: "paid"}, nil
	}))
	reply := agentloop.Message{Role: agentloop.RoleUser, Truncated: true, Calls: []agentloop.Call{
		{Tool: "pay", Args: `{}`, Answer: &agentloop.Answer{Text: "invented", OK: true}},
		{ID: "x", Tool: "pya", Args: `{}`},
		{ID: "x", Tool: "pay", Args: `{}`},
		{ID: "x", Tool: "pay", Args: `{}`},
		{ID: "y", Tool: "", Args: "\xff{"},
		{ID: "z", Tool: "pay", Args: `{}`},
	}}
	r := end(all(t, loopOf(t, model(reply, "Well."), box, nil).Run(t.Context(), hello())))
	got := r.State.Messages[1]
	assert.Equal(t, []string{"ok", "unknown_tool", "duplicate_call_id", "duplicate_call_id", "unknown_tool", "truncated"}, codes(got))
	assert.Equal(t, agentloop.RoleAssistant, got.Role)
	assert.Equal(t, "call_1_0", got.Calls[0].ID)
	assert.Equal(t, "paid", got.Calls[0].Answer.Text)
	assert.Equal(t, 1, ran)
	text, err := json.Marshal(r.State)
	require.NoError(t, err)
	var back agentloop.State
	require.NoError(t, json.Unmarshal(text, &back))
}

func TestPartsReachTheAdapter(t *testing.T) {
	t.Parallel()
	photo := func(context.Context, json.RawMessage) (toolguard.Result, error) {
		return toolguard.Result{Text: "a cat", Parts: []toolguard.Part{{MediaType: "image/png", Data: []byte("png"), Raw: func() {}}}}, nil
	}
	r := end(all(t, loopOf(t, model(calls("photo"), "A cat."), boxOf(t, reads("photo", photo)), nil).Run(t.Context(), hello())))
	assert.Equal(t, []agentloop.Part{{MediaType: "image/png", Data: []byte("png")}}, r.State.Messages[1].Calls[0].Answer.Parts)
}

func TestScopeOfCalls(t *testing.T) {
	t.Parallel()
	var scopes []toolguard.Scope
	note := writes("note", func(ctx context.Context, _ json.RawMessage) (toolguard.Result, error) {
		scopes = append(scopes, toolguard.ScopeFrom(ctx))
		return toolguard.Result{Text: "noted"}, nil
	})
	note.info.RepeatsNormal = true
	var asked toolguard.Scope
	m := model(calls("note", "note"), func(ctx context.Context, _ agentloop.Request) (agentloop.Message, error) {
		asked = toolguard.ScopeFrom(ctx)
		return calls("note"), nil
	}, "Done.")
	given := toolguard.Scope{Tenant: "t", Principal: "p", Session: "s", Turn: "7", Run: "r", Step: "outer"}
	r := agentloop.Wait(loopOf(t, m, boxOf(t, note), nil).Run(toolguard.WithScope(t.Context(), given), hello()))
	require.NoError(t, r.Err)
	var steps []string
	for _, s := range append(scopes, asked) {
		steps = append(steps, s.Step)
		s.Step = given.Step
		assert.Equal(t, given, s)
	}
	assert.Equal(t, []string{"outer/7/1.0", "outer/7/1.1", "outer/7/2.0", "outer/7/2.model"}, steps)
}

func TestCanceledWhileCallsRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		box := boxOf(t, reads("quick", says("done")), reads("slow", waits), writes("after", says("never")))
		m := model(calls("quick", "slow", "after"), "never")
		why := errors.New("the user closed the window")
		time.AfterFunc(time.Second, func() { cancel(why) })
		list := all(t, loopOf(t, m, box, nil).Run(ctx, hello()))
		r := end(list)
		assert.Equal(t, agentloop.StopCanceled, r.Stop)
		assert.Equal(t, why, r.Err)
		assert.Equal(t, []string{"ok", "canceled", "canceled"}, codes(r.State.Messages[1]))
		assert.Equal(t, "ask reply answer answer answer end", kinds(list))
		assert.Equal(t, 1, m.asked())
	})
}

func TestCanceledBeforeItBegins(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := model("never")
	list := all(t, loopOf(t, m, boxOf(t), nil).Run(ctx, hello()))
	assert.Equal(t, "end", kinds(list))
	assert.Equal(t, agentloop.StopCanceled, end(list).Stop)
	assert.ErrorIs(t, end(list).Err, context.Canceled)
	assert.Zero(t, m.asked())
}

// A range that is left takes the run along: nothing goes on behind its back.
func TestLeavingTheRangeCancels(t *testing.T) {
	t.Parallel()
	for _, leaveAt := range []agentloop.Kind{agentloop.KindAsk, agentloop.KindReply, agentloop.KindAnswer} {
		t.Run(string(leaveAt), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				stopped := 0
				box := boxOf(t, reads("quick", says("done")), reads("slow", func(ctx context.Context, args json.RawMessage) (toolguard.Result, error) {
					defer func() { stopped++ }()
					return waits(ctx, args)
				}))
				m := model(calls("quick", "slow"), "never")
				began := time.Now()
				for e := range loopOf(t, m, box, nil).Run(t.Context(), hello()) {
					if e.Kind == leaveAt {
						break
					}
				}
				assert.Zero(t, time.Since(began))
				assert.LessOrEqual(t, m.asked(), 1)
				assert.Equal(t, leaveAt == agentloop.KindAnswer, stopped == 1)
			}) // the bubble complains of goroutines that are left
		})
	}
}

// A panic of whoever ranges is theirs; nothing of the run is left behind.
func TestPanicInTheRange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		l := loopOf(t, model(calls("slow", "quick")), boxOf(t, reads("slow", waits), reads("quick", says("done"))), nil)
		assert.PanicsWithValue(t, "mine", func() {
			for e := range l.Run(t.Context(), hello()) {
				if e.Kind == agentloop.KindAnswer {
					panic("mine")
				}
			}
		})
		assert.Zero(t, time.Since(began), "what is running is not waited for")
	})
}

func TestControlFlowReachesTheHost(t *testing.T) {
	t.Parallel()
	interrupt := errors.New("interrupt")
	box, err := toolguard.NewToolbox(&toolguard.ToolboxOptions{Options: toolguard.Options{
		PassThrough: func(err error) bool { return errors.Is(err, interrupt) },
	}}, reads("fine", says("fine")), writes("ask", fails(interrupt)))
	require.NoError(t, err)
	m := model(calls("fine", "ask"), "It is being handled.")
	l := loopOf(t, m, box, nil)
	r := end(all(t, l.Run(t.Context(), hello())))
	assert.Equal(t, agentloop.StopControl, r.Stop)
	assert.Same(t, interrupt, r.Err)
	assert.Equal(t, []string{"ok", "control_flow"}, codes(r.State.Messages[1]))
	assert.Equal(t, "It is being handled.", agentloop.Wait(l.Resume(t.Context(), r.State)).Text)
}

func TestRefusedConversations(t *testing.T) {
	t.Parallel()
	open := agentloop.Message{Role: agentloop.RoleAssistant, Calls: calls("a").Calls}
	m := model("Hello.")
	l := loopOf(t, m, boxOf(t), nil)
	for name, tc := range map[string]struct {
		run  func() func(func(agentloop.Event) bool)
		want string
	}{
		"empty":        {func() func(func(agentloop.Event) bool) { return l.Run(t.Context(), nil) }, "not the user's"},
		"not the user": {func() func(func(agentloop.Event) bool) { return l.Run(t.Context(), []agentloop.Message{open}) }, "not the user's"},
		"empty state":  {func() func(func(agentloop.Event) bool) { return l.Resume(t.Context(), agentloop.State{}) }, "is empty"},
		"a role":       {resuming(t, l, agentloop.Message{Role: "system", Text: "x"}), `no role "system"`},
		"a user calls": {resuming(t, l, agentloop.Message{Role: "user", Calls: open.Calls}), "a user makes no calls"},
		"no answer":    {resuming(t, l, open, agentloop.User("well?")), "message 0: call 0 has no answer"},
		"counted wrong": {func() func(func(agentloop.Event) bool) {
			return l.Resume(t.Context(), agentloop.State{Messages: hello(), Iteration: -1})
		}, "-1 is negative"},
	} {
		list := all(t, tc.run())
		assert.Len(t, list, 1, name)
		assert.Equal(t, agentloop.StopInvalid, end(list).Stop, name)
		assert.ErrorContains(t, end(list).Err, tc.want, name)
	}
	assert.Zero(t, m.asked())
}

func resuming(t *testing.T, l *agentloop.Loop, messages ...agentloop.Message) func() func(func(agentloop.Event) bool) {
	return func() func(func(agentloop.Event) bool) {
		return l.Resume(t.Context(), agentloop.State{Messages: messages})
	}
}

func TestRefusedOptions(t *testing.T) {
	t.Parallel()
	box, m := boxOf(t), model("x")
	for want, f := range map[string]func() error{
		"model is nil":             func() error { _, err := agentloop.New(nil, box, nil); return err },
		"toolbox is nil":           func() error { _, err := agentloop.New(m, nil, nil); return err },
		"Options.MaxIterations -1": func() error { _, err := agentloop.New(m, box, &agentloop.Options{MaxIterations: -1}); return err },
		"Options.Model: toolguard": func() error {
			return withModel(m, box, toolguard.Options{Retry: toolguard.RetryPolicy{MaxAttempts: -1}})
		},
		"Options.Model: Fallback": func() error { return withModel(m, box, toolguard.Options{Fallback: &toolguard.Fallback{LastGood: 1}}) },
	} {
		assert.ErrorContains(t, f(), want)
	}
}

func withModel(m agentloop.Model, box *toolguard.Toolbox, o toolguard.Options) error {
	_, err := agentloop.New(m, box, &agentloop.Options{Model: o})
	return err
}

// Many runs of one loop at once keep to themselves.
func TestConcurrentRuns(t *testing.T) {
	t.Parallel()
	echo := reads("echo", func(_ context.Context, args json.RawMessage) (toolguard.Result, error) {
		return toolguard.Result{Text: string(args)}, nil
	})
	m := model(func(_ context.Context, req agentloop.Request) (agentloop.Message, error) {
		if n := len(req.Messages); n > 1 {
			return agentloop.Message{Text: req.Messages[n-1].Calls[0].Answer.Text}, nil
		}
		return calls(`echo {"say":"`+req.Messages[0].Text+`"}`, "echo"), nil
	})
	l := loopOf(t, m, boxOf(t, echo), nil)
	results := make(chan string, 16)
	for i := range cap(results) {
		go func() {
			name := strings.Repeat("x", i+1)
			r := agentloop.Wait(l.Run(context.Background(), []agentloop.Message{agentloop.User(name)}))
			results <- r.Text + " " + name
		}()
	}
	for range cap(results) {
		got, name, _ := strings.Cut(<-results, " ")
		assert.JSONEq(t, `{"say":"`+name+`"}`, got)
	}
}
