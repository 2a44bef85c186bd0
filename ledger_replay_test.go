package toolguard_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// What answers from the conversation has the key of the call that ran, under which
// there is an entry, or none.
func TestAnAnswerFromTheConversationHasTheKeyOfTheCall(t *testing.T) {
	t.Parallel()
	session := func(step string) context.Context {
		return toolguard.WithScope(context.Background(), toolguard.Scope{Session: "s", Turn: "1", Run: step, Step: step})
	}
	for name, c := range map[string]struct {
		info     toolguard.Info
		contexts [2]context.Context
		journal  bool
		keyed    bool
	}{
		"sets a state":      {toolguard.Info{Name: "refund", Effect: toolguard.Idempotent}, [2]context.Context{session(""), session("")}, true, true},
		"in another step":   {toolguard.Info{Name: "refund"}, [2]context.Context{session("1"), session("2")}, true, true},
		"no journal":        {toolguard.Info{Name: "refund", KeyField: "key"}, [2]context.Context{session(""), session("")}, false, true},
		"nobody asks a key": {toolguard.Info{Name: "refund"}, [2]context.Context{session(""), session("")}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs, j := 0, toolguard.NewMemoryJournal()
			sessions, err := toolguard.NewSessions(toolguard.SessionPolicy{})
			require.NoError(t, err)
			opts := &toolguard.Options{Sessions: sessions}
			if c.journal {
				opts.Journal = j
			}
			g := guardOf(t, toolguard.Func(c.info, func(context.Context, struct {
				Order string `json:"order"`
				Key   string `json:"key,omitempty"`
			}) (string, error) {
				runs++
				return "done", nil
			}), opts)
			first, again := refundOf(c.contexts[0], g, "A"), refundOf(c.contexts[1], g, "A")
			require.True(t, hasNote(again, "replayed"))
			assert.Equal(t, 1, runs)
			assert.Equal(t, c.keyed, first.Key != "")
			assert.Equal(t, first.Key, again.Key)
			if c.journal {
				assert.Equal(t, again.Key, entry(t, j).Key)
			}
		})
	}
}

// So does one from a conversation that was restored.
func TestARestoredAnswerHasTheKeyOfTheCall(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]string{"with its result": "refunded A", "without": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sessions, err := toolguard.NewSessions(toolguard.SessionPolicy{})
			require.NoError(t, err)
			g := guardOf(t, refundTool(new(bank), toolguard.NonIdempotent), &toolguard.Options{Sessions: sessions})
			scope := toolguard.Scope{Session: "s", Turn: "1"}
			past := toolguard.PastCall{Tool: "refund", Args: `{"order":"A"}`, Result: result, Turn: "1", Key: "k-1"}
			require.NoError(t, sessions.Restore(scope, []toolguard.PastCall{past}))
			assert.Equal(t, "k-1", refundOf(toolguard.WithScope(context.Background(), scope), g, "A").Key)
		})
	}
}
