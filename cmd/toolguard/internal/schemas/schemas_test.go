package schemas

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const aTool = `{"name":"a","description":"d","inputSchema":{"type":"object"}}`

// Schemas come in many wrappings; all of them are the same tool.
func TestEveryFormIsRead(t *testing.T) {
	t.Parallel()
	want := Tool{"a", "d", []byte(`{"type":"object"}`)}
	for _, form := range []string{
		aTool, "[" + aTool + "]", `{"tools":[` + aTool + `]}`, `{"jsonrpc":"2.0","id":7,"result":{"tools":[` + aTool + `],"nextCursor":"x"}}`,
		"\n\t" + aTool + "\r\n", `{"tool":"a","description":"d","inputSchema":{"type":"object"}}`, `{"name":"a","description":"d","input_schema":{"type":"object"}}`,
		`{"name":"a","description":"d","inputSchema":{"type":"object"},"annotations":5,"x":[null]}`,
	} {
		got, err := Read([]byte(form))
		require.NoError(t, err, form)
		require.Len(t, got, 1, form)
		assert.Equal(t, want, got[0], form)
	}
	got, err := Read([]byte(aTool + aTool + "\n[" + aTool + "]"))
	require.NoError(t, err)
	assert.Len(t, got, 3, "several documents, one after the other")
}

// What is no tool is a schema: one that says nothing, and one with a property that
// is called tools.
func TestBareSchemas(t *testing.T) {
	t.Parallel()
	for _, form := range []string{`{}`, `{"type":"object","required":["n"]}`, `{"tools":5}`, `{"tools":{"type":"string"}}`, `{"result":{"type":"string"}}`} {
		got, err := Read([]byte(form))
		require.NoError(t, err, form)
		assert.Equal(t, []Tool{{InputSchema: []byte(form)}}, got)
	}
}

func TestWhatIsNoSchema(t *testing.T) {
	t.Parallel()
	for form, want := range map[string]string{
		``: "there is no tool", ` `: "there is no tool", `[]`: "there is no tool", `{"tools":[]}`: "there is no tool",
		`5`: "want an object or an array, got 5", `"x"`: "want an object", `null`: "there is no tool", `true`: "want an object",
		`{"a":`: "offset", aTool + `x`: "offset", aTool + ` {"name":}`: "offset",
		`[` + aTool + `,7]`: "tool 1", `[{"name":7}]`: "tool 0", `{"name":["a"],"inputSchema":{}}`: "name",
		`{"jsonrpc":"2.0","result":5}`: "want an object", `"` + strings.Repeat("x", 1000) + `"`: "…",
	} {
		_, err := Read([]byte(form))
		if want == "…" {
			require.Error(t, err)
			assert.Less(t, len(err.Error()), 120, "what is not understood is not printed whole")
			continue
		}
		assert.ErrorContains(t, err, want, form)
	}
}
