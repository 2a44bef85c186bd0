package example

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func decode(t testing.TB, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var tree any
	require.NoError(t, d.Decode(&tree), text)
	return tree
}

// judge returns a validity check by jsonschema/v5, with every format it knows.
func judge(tree any) (func(any) bool, error) {
	text, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat = true
	c.LoadURL = func(string) (io.ReadCloser, error) { return nil, errors.New("no loading") }
	if err := c.AddResource("mem:///tool.json", bytes.NewReader(text)); err != nil {
		return nil, err
	}
	s, err := c.Compile("mem:///tool.json")
	if err != nil {
		return nil, err
	}
	return func(v any) bool { return s.Validate(v) == nil }, nil
}

// Nearly every schema in use must get an example.
func TestRealSchemas(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../shared/schemas/*.jsonl")
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("no collection of schemas here")
	}
	compiled, made := 0, 0
	for _, name := range files {
		f, err := os.Open(name)
		require.NoError(t, err)
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			line := decode(t, lines.Text()).(map[string]any)
			tree := line["inputSchema"]
			valid, err := judge(tree)
			if err != nil {
				continue
			}
			compiled++
			if text, ok := Generate(tree, valid); ok {
				made++
				assert.LessOrEqual(t, len(text), maxBytes)
			} else {
				t.Logf("no example: %v", line["tool"])
			}
		}
		require.NoError(t, lines.Err())
		require.NoError(t, f.Close())
	}
	t.Logf("examples for %d of %d schemas", made, compiled)
	assert.GreaterOrEqual(t, made*100, compiled*99)
}
