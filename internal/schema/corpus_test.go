package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/internal/schema"
	"github.com/toolguard-go/toolguard/internal/schema/schematest"
)

// Published schemas of a few thousand tools all compile leniently, each for
// itself, and what is rewritten or lost is counted.
func TestPublishedSchemas(t *testing.T) {
	t.Parallel()
	var total, strict, rewritten, partial, flat int
	for _, tool := range schematest.Published(t) {
		s, err := schema.Compile(tool.InputSchema, schema.Lenient)
		require.NoError(t, err, tool.Name())
		total++
		if _, err := schema.Compile(tool.InputSchema, schema.Strict); err == nil {
			strict++
			require.Empty(t, s.NotEnforced(), tool.Name())
		}
		if len(s.Rewrites()) > 0 {
			rewritten++
			t.Log(tool.Name(), s.Rewrites())
		}
		if len(s.NotEnforced()) > 0 {
			partial++
			t.Log(tool.Name(), s.NotEnforced())
		}
		if s.ConstrainsNothing() {
			flat++
		}
	}
	t.Logf("%d schemas: %d compile as they are, %d rewritten, %d partly unenforced, %d constrain nothing",
		total, strict, rewritten, partial, flat)
}
