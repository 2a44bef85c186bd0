// Package schematest holds what tests of several packages ask of schemas: those
// that published tools have, and the judgement of jsonschema/v5 alone. Nothing
// but tests uses it.
package schematest

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
)

// A Tool is what a published tool says of its arguments.
type Tool struct {
	Server, Tool string
	InputSchema  json.RawMessage
}

// Name is unique among the published tools.
func (t Tool) Name() string { return t.Server + "/" + t.Tool }

// Published returns the tools collected in a folder beside the repository. Where
// there is none the test is skipped.
func Published(t testing.TB) []Tool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root(t), "../shared/schemas/*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var tools []Tool
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(text))
		lines.Buffer(nil, len(text)+1)
		for lines.Scan() {
			var tool Tool
			if err := json.Unmarshal(lines.Bytes(), &tool); err != nil {
				t.Fatal(name, err)
			}
			tools = append(tools, tool)
		}
	}
	if len(tools) == 0 {
		t.Skip("there are no collected schemas beside the repository")
	}
	return tools
}

// root is the folder of the module.
func root(t testing.TB) string {
	dir, err := filepath.Abs(".")
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Fatal("no go.mod above ", dir, err)
	return ""
}

// Decode reads JSON as schemas are kept: numbers as [json.Number].
func Decode(t testing.TB, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		t.Fatal(text, err)
	}
	return tree
}

// Compile compiles a decoded schema with jsonschema/v5 alone, which asserts the
// formats it knows and loads nothing. setup, if not nil, changes the compiler.
func Compile(tree any, setup func(*jsonschema.Compiler)) (*jsonschema.Schema, error) {
	text, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat = true
	c.LoadURL = func(string) (io.ReadCloser, error) { return nil, errors.New("nothing is loaded") }
	if setup != nil {
		setup(c)
	}
	const name = "mem:///tool.json"
	if err := c.AddResource(name, bytes.NewReader(text)); err != nil {
		return nil, err
	}
	return c.Compile(name)
}
