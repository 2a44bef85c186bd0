package toolguard_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// A nil pointer is no error, and saying what it did not do makes it none: a tool
// that ends so has succeeded, and must not run again for it.
func TestNoErrorIsNotStarted(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]func(error) error{
		"not started": toolguard.NotStarted, "no effect": toolguard.NoEffect, "maybe done": toolguard.MaybeDone,
		"twice": func(err error) error { return toolguard.MaybeDone(toolguard.NotStarted(err)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			charged := 0
			g := guardOf(t, charges(&charged, says), nil)
			env := doIn(t.Context(), g)
			require.True(t, env.OK, verdict(env))
			assert.Equal(t, 1, charged)
			require.Len(t, env.Notes, 1)
			assert.EqualValues(t, "typed_nil_error", env.Notes[0].Kind)
			assert.NoError(t, says(nil))
		})
	}
}

func charges(charged *int, says func(error) error) toolguard.Tool {
	return toolguard.Func(toolguard.Info{Name: "charge"}, func(context.Context, struct{}) (string, error) {
		*charged++
		var none *cyclic
		return "charged", says(none)
	})
}
