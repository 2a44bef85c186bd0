package accept

import (
	"net/netip"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/internal/schema/schematest"
	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// testFormats are asserted by both validators in every test.
var testFormats = map[string]func(string) bool{
	"date": func(s string) bool { _, err := time.Parse(time.DateOnly, s); return err == nil },
	"ipv4": func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is4() },
}

func parse(t testing.TB, text string) *strictjson.Doc {
	t.Helper()
	doc, err := strictjson.Parse([]byte(text), strictjson.Limits{})
	require.NoError(t, err, text)
	return &doc
}

// general compiles the schema with jsonschema/v5, formats as in testFormats.
func general(tree any, draft int) (*jsonschema.Schema, error) {
	return schematest.Compile(tree, func(c *jsonschema.Compiler) {
		c.Draft = map[int]*jsonschema.Draft{
			0: jsonschema.Draft2020, 4: jsonschema.Draft4, 6: jsonschema.Draft6, 7: jsonschema.Draft7,
			2019: jsonschema.Draft2019, 2020: jsonschema.Draft2020,
		}[draft]
		for name := range jsonschema.Formats {
			c.Formats[name] = asserted(testFormats[name])
		}
	})
}

func asserted(format func(string) bool) func(any) bool {
	return func(v any) bool {
		s, ok := v.(string)
		return !ok || format == nil || format(s)
	}
}

// answers are what the two validators say of one document.
type answers struct {
	fast    Verdict
	general bool
}

func ask(t testing.TB, schema, document string, opts Options) answers {
	t.Helper()
	tree := schematest.Decode(t, schema)
	v5, err := general(tree, opts.Draft)
	require.NoError(t, err, schema)
	opts.Formats = testFormats
	doc := parse(t, document)
	return answers{
		fast:    Compile(tree, opts).Check(doc),
		general: v5.Validate(doc.Value(0)) == nil,
	}
}

func parseRapid(t interface {
	require.TestingT
	Helper()
}, text []byte) *strictjson.Doc {
	t.Helper()
	doc, err := strictjson.Parse(text, strictjson.Limits{})
	require.NoError(t, err, string(text))
	return &doc
}
