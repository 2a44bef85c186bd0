package toolguard_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
)

// What README and docs/side-effects.md say about when the same refund is paid again.
func TestWhatDecidesAboutPayingTwice(t *testing.T) {
	t.Parallel()
	type scope = toolguard.Scope
	for name, c := range map[string]struct {
		first, second scope
		paid          int
		noted         bool
	}{
		"same session and turn": {scope{Session: "chat", Turn: "1"}, scope{Session: "chat", Turn: "1"}, 1, false},
		"another turn":          {scope{Session: "chat", Turn: "1"}, scope{Session: "chat", Turn: "2"}, 2, true},
		"turns not told apart":  {scope{Session: "chat"}, scope{Session: "chat"}, 2, true},
		"another session":       {scope{Session: "chat", Turn: "1"}, scope{Session: "mail", Turn: "1"}, 2, false},
		"no scope":              {scope{}, scope{}, 2, false},
		"same run and step":     {scope{Run: "refunds", Step: "A-17"}, scope{Run: "refunds", Step: "A-17"}, 1, false},
		"the step elsewhere":    {scope{Run: "refunds", Step: "A-17", Session: "chat", Turn: "1"}, scope{Run: "refunds", Step: "A-17", Session: "mail", Turn: "7"}, 1, false},
		"another step":          {scope{Run: "refunds", Step: "1"}, scope{Run: "refunds", Step: "2"}, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				paid := 0
				pay := toolguard.Func(toolguard.Info{Name: "refund", Effect: toolguard.NonIdempotent}, func(context.Context, struct{}) (string, error) {
					paid++
					return "paid", nil
				})
				g := guardOf(t, pay, &toolguard.Options{Journal: toolguard.NewMemoryJournal()})
				call := toolguard.Call{Args: json.RawMessage(`{}`)}
				g.Do(toolguard.WithScope(t.Context(), c.first), call)
				env := g.Do(toolguard.WithScope(t.Context(), c.second), call)
				assert.True(t, env.OK)
				assert.Equal(t, c.paid, paid)
				if c.paid == 2 {
					assert.Equal(t, c.noted, len(env.Notes) > 0, env.Notes)
				}
			})
		})
	}
}
