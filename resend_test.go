package toolguard_test

import (
	"context"
	"encoding/json"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// The model is told that it may repeat a call whose downstream honours a key only where
// the repeat has the same key. Without a name of the host's for the work, and with nothing
// that remembers the conversation, each call has a key of its own.
func TestARepeatIsSafeOnlyUnderTheSameKey(t *testing.T) {
	t.Parallel()
	remembers := func() *toolguard.Options {
		return &toolguard.Options{Sessions: sessionsOf(t, toolguard.SessionPolicy{})}
	}
	journaled := func() *toolguard.Options { return &toolguard.Options{Journal: toolguard.NewMemoryJournal()} }
	nothing := func() *toolguard.Options { return new(toolguard.Options) }
	chat, step := toolguard.Scope{Session: "chat", Turn: "1"}, toolguard.Scope{Run: "r", Step: "1"}
	for name, c := range map[string]struct {
		scope toolguard.Scope
		opts  func() *toolguard.Options
		safe  bool
	}{
		"nobody knows the work":                 {opts: nothing},
		"remembered, but of no conversation":    {opts: remembers},
		"journaled, but of no conversation":     {opts: journaled},
		"a conversation that nobody remembers":  {scope: chat, opts: nothing},
		"a conversation that is remembered":     {scope: chat, opts: remembers, safe: true},
		"a conversation in the journal":         {scope: chat, opts: journaled, safe: true},
		"a conversation that tells no turns":    {scope: toolguard.Scope{Session: "chat"}, opts: journaled, safe: true},
		"a step of the host's":                  {scope: step, opts: nothing, safe: true},
		"a step of the host's, in the journal":  {scope: step, opts: journaled, safe: true},
		"a run without a step tells no calls":   {scope: toolguard.Scope{Run: "r"}, opts: nothing},
		"a tool that may run twice in any case": {opts: nothing, safe: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys := map[string]bool{}
			info := toolguard.Info{Name: "charge", Effect: toolguard.IdempotentByKey, VerifyWith: []string{"get_charge"}}
			anyway := c.safe && c.scope == toolguard.Scope{}
			if anyway {
				info.Effect = toolguard.Idempotent
			}
			tool := toolguard.Action(info, func(ctx context.Context, _ struct{}) error {
				keys[toolguard.Key(ctx)] = true
				return toolguard.MaybeDone(io.ErrUnexpectedEOF) // the answer is lost
			})
			opts := c.opts()
			opts.Retry.Off = true
			g := guardOf(t, tool, opts)
			for _, id := range []string{"1", "2", "3"} {
				scope := c.scope
				if scope.Turn != "" {
					scope.Turn = id // nobody knows, whoever asks
				}
				env := g.Do(toolguard.WithScope(t.Context(), scope), toolguard.Call{ID: id, Args: json.RawMessage(`{}`)})
				require.False(t, env.OK)
				require.Equal(t, toolguard.OutcomeUnknown, env.Error.Outcome)
				assert.Equal(t, c.safe, env.Error.Retryable)
				if c.safe {
					assert.Contains(t, env.Suggestion, "repeating it is safe")
				} else {
					assert.Contains(t, env.Suggestion, "Do not send this call again")
					assert.Contains(t, env.Suggestion, "get_charge")
				}
			}
			assert.Equal(t, c.safe, anyway || len(keys) == 1, "%v", keys)
		})
	}
}
