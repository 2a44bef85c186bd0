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

// Every fault of the kit's catalogue, under what else may be around a tool: the
// promises hold whatever it is. Package toolguardtest has the plain guards.
func TestEveryFaultUnderEveryCollaborator(t *testing.T) {
	t.Parallel()
	type in struct {
		ID string `json:"id"`
	}
	tool := func(name string, effect toolguard.Effect) toolguard.Tool {
		return toolguard.Func(toolguard.Info{Name: name, Effect: effect, Dependency: "store"}, func(context.Context, in) (string, error) { return "done", nil })
	}
	for name, options := range map[string]func() toolguard.Options{
		"journal":      func() toolguard.Options { return toolguard.Options{Journal: toolguard.NewMemoryJournal()} },
		"dependencies": func() toolguard.Options { return toolguard.Options{Dependencies: new(toolguard.Dependencies)} },
		"observer":     func() toolguard.Options { return toolguard.Options{Observer: new(eventLog)} },
		"gates": func() toolguard.Options {
			return toolguard.Options{
				Authorize:   func(context.Context, json.RawMessage) error { return nil },
				Check:       func(context.Context, json.RawMessage) error { return nil },
				CheckResult: func(context.Context, toolguard.Result) error { return nil },
			}
		},
		"short times": func() toolguard.Options {
			return toolguard.Options{Timeout: toolguard.TimeoutPolicy{Attempt: 100 * time.Millisecond, Grace: 10 * time.Millisecond}}
		},
	} {
		for _, effect := range []toolguard.Effect{toolguard.ReadOnly, toolguard.NonIdempotent} {
			t.Run(name+"/"+effect.String(), func(t *testing.T) {
				t.Parallel()
				toolguardtest.Matrix(t, func(t testing.TB) toolguardtest.Subject {
					box, err := toolguard.NewToolbox(&toolguard.ToolboxOptions{Options: options()}, tool("write", effect))
					require.NoError(t, err)
					return toolguardtest.Boxed(box, "write", `{"id":"A-17"}`)
				})
			})
		}
	}
}
