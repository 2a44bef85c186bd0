package accept

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/internal/example"
	"github.com/toolguard-go/toolguard/internal/schema/schematest"
)

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
	for _, tool := range schematest.Published(t) {
		tree := schematest.Decode(t, string(tool.InputSchema))
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
			for _, v := range spoilt(schematest.Decode(t, string(text))) {
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
