package example

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard/internal/schema/schematest"
)

// judge returns a validity check by jsonschema/v5, with every format it knows.
func judge(tree any) (func(any) bool, error) {
	s, err := schematest.Compile(tree, nil)
	if err != nil {
		return nil, err
	}
	return func(v any) bool { return s.Validate(v) == nil }, nil
}

// Nearly every schema in use must get an example.
func TestRealSchemas(t *testing.T) {
	t.Parallel()
	compiled, made := 0, 0
	for _, tool := range schematest.Published(t) {
		tree := schematest.Decode(t, string(tool.InputSchema))
		valid, err := judge(tree)
		if err != nil {
			continue
		}
		compiled++
		if text, ok := Generate(tree, valid); ok {
			made++
			assert.LessOrEqual(t, len(text), maxBytes)
		} else {
			t.Logf("no example: %s", tool.Name())
		}
	}
	t.Logf("examples for %d of %d schemas", made, compiled)
	assert.GreaterOrEqual(t, made*100, compiled*99)
}
