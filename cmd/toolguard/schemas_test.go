package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Published schemas, all of them, go through the proxy as they are, and each tool
// has a guard. The server is a few lines of shell.
func TestPublishedSchemasPassThroughTheProxy(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("../../../shared/schemas/*.jsonl")
	if len(files) == 0 {
		t.Skip("the corpus of published schemas is not here")
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			var list bytes.Buffer
			n := corpus(t, path, &list)
			answers := file(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","id":2,"result":{"tools":[%s]}}
`, list.String()))
			// It says its lines, one for each request, and waits for the end.
			w := dialServer(t, proxied(t, []string{"sh", "-c", `exec 3<"$0"; while read -r l; do case "$l" in *'"id"'*) read -r a <&3 && printf '%s\n' "$a";; esac; done`, answers}, "-log-level", "info"))
			got := w.ask("tools/list", `{}`)
			assert.Equal(t, `{"tools":[`+list.String()+`]}`, string(got.Result))
			assert.Equal(t, n, strings.Count(string(got.Result), `"inputSchema":`))
		})
	}
}

// corpus writes the tools of a file as a list, each under a name of its own.
func corpus(t *testing.T, path string, list *bytes.Buffer) (n int) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	dec := json.NewDecoder(bytes.NewReader(text))
	for dec.More() {
		var tool struct {
			Tool        string          `json:"tool"`
			InputSchema json.RawMessage `json:"inputSchema"`
		}
		require.NoError(t, dec.Decode(&tool))
		if n > 0 {
			list.WriteByte(',')
		}
		var schema bytes.Buffer
		require.NoError(t, json.Compact(&schema, tool.InputSchema))
		fmt.Fprintf(list, `{"name":"%s_%d","inputSchema":%s}`, strings.ReplaceAll(tool.Tool, `"`, ""), n, schema.String())
		n++
	}
	return n
}
