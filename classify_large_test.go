package toolguard_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/httpguard"
)

// An answer beyond a tool's own bound was there: of a look-up less is to be asked for, of an
// action nobody knows more than before. The package's words are not the tool's.
func TestAnswersThatAreTooLarge(t *testing.T) {
	t.Parallel()
	for effect, want := range map[toolguard.Effect]struct{ outcome, step string }{
		toolguard.ReadOnly:      {"failed", "ask for less"},
		toolguard.NonIdempotent: {"unknown", "Do not send this call again"},
	} {
		t.Run(effect.String(), func(t *testing.T) {
			t.Parallel()
			tool := toolOf(effect, func(context.Context) (toolguard.Result, error) {
				_, err := httpguard.ReadAll(strings.NewReader("more than that"), 4)
				return toolguard.Result{}, fmt.Errorf("reading the orders: %w", err)
			})
			env := do(guardOf(t, tool, nil))
			assert.Equal(t, "result_unavailable/"+want.outcome, verdict(env))
			assert.Contains(t, env.Suggestion, want.step)
			assert.NotContains(t, env.ForModel(), "httpguard")
			assert.Equal(t, 1, env.Attempts)
		})
	}
}
