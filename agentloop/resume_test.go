package agentloop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/agentloop"
)

// ledger is a downstream that honours keys, as seen over a process that dies.
type ledger struct {
	mu  sync.Mutex
	ran []string
}

func (l *ledger) tool(name string, effect toolguard.Effect) tool {
	return tool{toolguard.Info{Name: name, Effect: effect}, func(ctx context.Context, args json.RawMessage) (toolguard.Result, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ran = append(l.ran, fmt.Sprint(name, string(args), toolguard.Key(ctx)[:8]))
		if strings.Contains(string(args), "bad") {
			return toolguard.Result{}, toolguard.Business("No.")
		}
		return toolguard.Result{Text: "done " + name}, nil
	}}
}

// replay is a model without a memory: what it says depends on how often it has
// replied in this run, as the conversation shows it.
func replay(plan [][]string) agentloop.Model {
	return model(func(_ context.Context, req agentloop.Request) (agentloop.Message, error) {
		n := len(req.Messages) - 1
		if n >= len(plan) || req.AnswerOnly {
			return agentloop.Message{Text: "All done."}, nil
		}
		return calls(plan[n]...), nil
	})
}

func through(t require.TestingT, s agentloop.State) (back agentloop.State) {
	text, err := json.Marshal(s)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &back))
	return back
}

// A process may die at any event: resumed from the last state that was saved,
// by another process, the run comes to the same end, and no call whose answer
// was saved runs again. Those that run again do so under the same key.
func TestResumeFromEveryEvent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		call := rapid.SampledFrom([]string{`pay {"n":1}`, `pay {"n":2}`, `pay {"bad":1}`, `look {"n":1}`, `look {"n":2}`, `lost {}`, `look {`})
		plan := rapid.SliceOfN(rapid.SliceOfN(call, 1, 4), 1, 4).Draw(rt, "plan")
		most := rapid.IntRange(1, 4).Draw(rt, "most")
		start := func(l *ledger) *agentloop.Loop {
			box, err := toolguard.NewToolbox(&toolguard.ToolboxOptions{Batch: toolguard.BatchPolicy{Parallel: 1}},
				l.tool("pay", toolguard.NonIdempotent), l.tool("look", toolguard.ReadOnly))
			require.NoError(rt, err)
			loop, err := agentloop.New(replay(plan), box, &agentloop.Options{MaxIterations: most})
			require.NoError(rt, err)
			return loop
		}
		ctx := toolguard.WithScope(context.Background(), toolguard.Scope{Run: "r", Turn: "t"})
		whole := new(ledger)
		var saved []agentloop.State
		var end agentloop.Result
		for e := range start(whole).Run(ctx, hello()) {
			saved, end = append(saved, through(rt, e.State)), e.Result
		}
		at := rapid.IntRange(0, len(saved)-1).Draw(rt, "dies at")
		second := new(ledger)
		got := agentloop.Wait(start(second).Resume(ctx, saved[at]))

		assert.Equal(rt, end.Stop, got.Stop)
		assert.Equal(rt, end.Text, got.Text)
		assert.Equal(rt, end.State.Iteration, got.State.Iteration)
		require.Len(rt, got.State.Messages, len(end.State.Messages))
		for i := range end.State.Messages {
			assert.Equal(rt, codes(end.State.Messages[i]), codes(got.State.Messages[i]))
		}
		for _, ran := range second.ran {
			assert.Contains(rt, whole.ran, ran, "under another key")
		}
		answered := 0
		for _, m := range saved[at].Messages {
			for _, c := range m.Calls {
				if c.Answer != nil && (c.Answer.OK || c.Answer.Code == toolguard.CodeBusinessRule) {
					answered++
				}
			}
		}
		assert.Len(rt, second.ran, len(whole.ran)-answered, "calls that are answered do not run again")
	})
}

func TestKeysDifferBetweenCallsAndTurns(t *testing.T) {
	t.Parallel()
	l := new(ledger)
	box := boxOf(t, l.tool("pay", toolguard.NonIdempotent))
	loop := loopOf(t, model(calls("pay", "pay"), calls("pay"), "Done.", calls("pay"), "Done."), box, nil)
	ctx := toolguard.WithScope(t.Context(), toolguard.Scope{Run: "the same for both"})
	first := agentloop.Wait(loop.Run(ctx, hello()))
	agentloop.Wait(loop.Run(ctx, append(first.State.Messages, agentloop.User("again"))))
	require.Len(t, l.ran, 4)
	seen := map[string]bool{}
	for _, ran := range l.ran {
		assert.False(t, seen[ran], ran)
		seen[ran] = true
	}
}

// Events keep their states: what came after has not changed them.
func TestStatesOfEventsStay(t *testing.T) {
	t.Parallel()
	box := boxOf(t, reads("a", says("a")), reads("b", says("b")))
	var texts []string
	var states []agentloop.State
	for e := range loopOf(t, model(calls("a", "b", "a"), calls("b"), "Done."), box, nil).Run(t.Context(), hello()) {
		text, err := json.Marshal(e.State)
		require.NoError(t, err)
		texts, states = append(texts, string(text)), append(states, e.State)
	}
	for i, s := range states {
		text, err := json.Marshal(s)
		require.NoError(t, err)
		assert.Equal(t, texts[i], string(text), "event %d", i)
	}
}

// A call that is left over runs alone: a summary would count wrong, so there is
// none.
func TestPartialResumeHasNoHint(t *testing.T) {
	t.Parallel()
	m := calls("good", "gone", "gone")
	m.Role, m.Calls[0].Answer = agentloop.RoleAssistant, &agentloop.Answer{Text: "fine", OK: true}
	box := boxOf(t, reads("good", fails(toolguard.Business("ran again"))), reads("gone", fails(toolguard.NotFound("none"))))
	r := end(all(t, loopOf(t, model("Done."), box, nil).Resume(t.Context(), agentloop.State{Messages: append(hello(), m), Iteration: 1})))
	assert.Equal(t, []string{"ok", "not_found", "not_found"}, codes(r.State.Messages[1]))
	assert.Empty(t, r.State.Messages[1].Hint)
}

// Whatever a store gives back: one end, no panic.
func FuzzResume(f *testing.F) {
	f.Add([]byte(`{"run":"r","turn":"t","step":"t","iteration":1,"messages":[{"role":"user","text":"x"},{"role":"assistant","calls":[{"id":"a","tool":"good","args":"{}"},{"id":"a","tool":"x","args":"{","answer":{"text":"y","ok":false,"code":"loop_detected","outcome":"not_started"}}]}]}`))
	f.Add([]byte(`{"iteration":9223372036854775807,"messages":[{"role":"assistant","text":"x","truncated":true}]}`))
	f.Add([]byte(`{"iteration":20,"messages":[{"role":"user"}]}`))
	box, err := toolguard.NewToolbox(nil, reads("good", says("fine")))
	require.NoError(f, err)
	loop, err := agentloop.New(model("Done."), box, nil)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		var s agentloop.State
		if json.Unmarshal(data, &s) != nil {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		ends := 0
		var last agentloop.Event
		for last = range loop.Resume(ctx, s) {
			if last.Kind == agentloop.KindEnd {
				ends++
			}
		}
		require.Equal(t, 1, ends)
		require.Equal(t, agentloop.KindEnd, last.Kind)
		if last.Result.Stop != agentloop.StopInvalid {
			require.Empty(t, pendingCalls(last.State))
		}
	})
}

func pendingCalls(s agentloop.State) (ids []string) {
	for _, m := range s.Messages {
		for _, c := range m.Calls {
			if c.Answer == nil {
				ids = append(ids, c.ID)
			}
		}
	}
	return ids
}
