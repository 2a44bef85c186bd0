package mcpguard_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/adapters/mcpguard"
)

// After a success an identical call runs again: MCP does not say when the user has
// spoken. docs/mcp.md says so; with an effect that is known, the answer notes it.
func TestIdenticalCallsRunAgainAfterASuccess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		effect toolguard.Effect
		noted  bool
	}{"nobody said": {toolguard.EffectUnknown, false}, "declared": {toolguard.NonIdempotent, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ran := 0
				opts := &mcpguard.Options{Effect: c.effect, Options: toolguard.Options{Journal: toolguard.NewMemoryJournal()}}
				cs := guardedClient(t, opts, mcp.Tool{}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					ran++
					return says("paid")(ctx, r)
				})
				call(t, cs, "probe", nil)
				again := call(t, cs, "probe", nil)
				assert.False(t, again.IsError)
				assert.Equal(t, 2, ran)
				t.Log(text(again))
				assert.Equal(t, c.noted, text(again) != "paid", text(again))
			})
		})
	}
}
