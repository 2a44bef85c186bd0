package schema_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/internal/schema"
)

// Published schemas of a few thousand tools all compile leniently, each for
// itself, and what is rewritten or lost is counted.
func TestPublishedSchemas(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("../../../shared/schemas/*.jsonl")
	if len(files) == 0 {
		t.Skip("no published schemas here")
	}
	var total, strict, rewritten, partial, flat int
	for _, name := range files {
		f, err := os.Open(name)
		require.NoError(t, err)
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<22)
		for lines.Scan() {
			var tool struct {
				Tool        string
				InputSchema json.RawMessage
			}
			require.NoError(t, json.Unmarshal(lines.Bytes(), &tool))
			s, err := schema.Compile(tool.InputSchema, schema.Lenient)
			require.NoError(t, err, tool.Tool)
			total++
			if _, err := schema.Compile(tool.InputSchema, schema.Strict); err == nil {
				strict++
				require.Empty(t, s.NotEnforced(), tool.Tool)
			}
			if len(s.Rewrites()) > 0 {
				rewritten++
				t.Log(tool.Tool, s.Rewrites())
			}
			if len(s.NotEnforced()) > 0 {
				partial++
				t.Log(tool.Tool, s.NotEnforced())
			}
			if s.ConstrainsNothing() {
				flat++
			}
		}
		require.NoError(t, lines.Err())
	}
	t.Logf("%d schemas: %d compile as they are, %d rewritten, %d partly unenforced, %d constrain nothing",
		total, strict, rewritten, partial, flat)
	require.Positive(t, total)
}
