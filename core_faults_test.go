package toolguard_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/toolguardtest"
)

// Every fault of the kit's catalogue, with what else may be around a tool. Package
// toolguardtest tries plain guards. It is not parallel: the kit looks at all
// goroutines of the process, and there are many while other tests run.
func TestEveryFaultUnderEveryCollaborator(t *testing.T) {
	type in struct {
		ID string `json:"id"`
	}
	run := func(context.Context, in) (string, error) { return "done", nil }
	no := func(context.Context, json.RawMessage) error { return nil }
	for effect, options := range map[toolguard.Effect]func() toolguard.Options{
		toolguard.ReadOnly: func() toolguard.Options {
			return toolguard.Options{
				Dependencies: new(toolguard.Dependencies), Observer: new(eventLog), Authorize: no, Check: no,
				Timeout: toolguard.TimeoutPolicy{Attempt: 100 * time.Millisecond, Grace: 10 * time.Millisecond},
			}
		},
		toolguard.NonIdempotent: func() toolguard.Options {
			return toolguard.Options{Journal: toolguard.NewMemoryJournal(), CheckResult: func(context.Context, toolguard.Result) error { return nil }}
		},
	} {
		t.Run(effect.String(), func(t *testing.T) {
			toolguardtest.Matrix(t, func(t testing.TB) toolguardtest.Subject {
				tool := toolguard.Func(toolguard.Info{Name: "tool", Effect: effect, Dependency: "store"}, run)
				box, err := toolguard.NewToolbox(&toolguard.ToolboxOptions{Options: options()}, tool)
				require.NoError(t, err)
				return toolguardtest.Boxed(box, "tool", `{"id":"A-17"}`)
			})
		})
	}
}
