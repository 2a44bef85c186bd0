package accept

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/internal/example"
)

// realSchemas returns the schemas of a collection of real tools.
func realSchemas(t *testing.T) []any {
	t.Helper()
	files, err := filepath.Glob("../../../shared/schemas/*.jsonl")
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("no collection of schemas here")
	}
	var trees []any
	for _, name := range files {
		f, err := os.Open(name)
		require.NoError(t, err)
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			trees = append(trees, decode(t, lines.Text()).(map[string]any)["inputSchema"])
		}
		require.NoError(t, lines.Err())
		require.NoError(t, f.Close())
	}
	return trees
}

// allRequired returns the schema with every property required, so that an
// example of it has them all.
func allRequired(tree any) any {
	m, _ := tree.(map[string]any)
	properties, ok := m["properties"].(map[string]any)
	if !ok {
		return tree
	}
	full := maps.Clone(m)
	full["required"] = anys(slices.Sorted(maps.Keys(properties)))
	return full
}

// spoilt returns documents that differ from v in one member each.
func spoilt(v any) []any {
	others := []any{nil, "other", json.Number("7.5"), json.Number("7.0"), []any{"x"}, map[string]any{"x": true}}
	m, _ := v.(map[string]any)
	documents := []any{v}
	for i, name := range slices.Sorted(maps.Keys(m)) {
		changed, less := maps.Clone(m), maps.Clone(m)
		changed[name] = others[(i+len(m))%len(others)]
		delete(less, name)
		documents = append(documents, changed, less)
	}
	return documents
}

func TestRealSchemas(t *testing.T) {
	t.Parallel()
	schemas, decided, documents, valid, accepted := 0, 0, 0, 0, 0
	for _, tree := range realSchemas(t) {
		v5, err := general(tree, 0)
		if err != nil {
			continue
		}
		p := Compile(tree, Options{Formats: testFormats, FoldCheck: true})
		schemas++
		if p.Decides() {
			decided++
		}
		for _, variant := range []any{tree, allRequired(tree)} {
			text, ok := example.Generate(variant, func(v any) bool { return v5.Validate(v) == nil })
			if !ok {
				continue
			}
			for _, v := range spoilt(decode(t, string(text))) {
				text, err := json.Marshal(v)
				require.NoError(t, err)
				doc := parse(t, string(text))
				documents++
				fast := p.Check(doc).Accepted
				if v5.Validate(doc.Value(0)) == nil {
					valid++
					if fast {
						accepted++
					}
				} else {
					assert.False(t, fast, "%s for %v", text, tree)
				}
			}
		}
	}
	t.Logf("%d of %d schemas decided; %d documents, %d valid, %d of them accepted", decided, schemas, documents, valid, accepted)
	assert.GreaterOrEqual(t, accepted*100, valid*99)
}
