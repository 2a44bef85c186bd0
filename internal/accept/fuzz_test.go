package accept

import (
	"testing"

	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// Whatever the schema and the document: no panic, and nothing accepted that
// the general validator refuses.
func FuzzAccept(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"anyOf":[{"type":"integer","multipleOf":0.3},{"const":[1.0]}]}}}`), []byte(`{"a":3e0}`), uint8(0))
	f.Add([]byte(`{"items":[{"minimum":1,"exclusiveMinimum":true}],"additionalItems":{"uniqueItems":true},"id":"x"}`), []byte(`[2,[1,1.0]]`), uint8(4))
	f.Add([]byte(`{"if":{"required":["a"]},"then":{"dependentSchemas":{"a":{"maxProperties":1}}},"not":{"propertyNames":{"pattern":"^b"}}}`), []byte(`{"a":"\u00e9"}`), uint8(0))
	f.Add([]byte(`{"contains":{"enum":[null,true,{"a":[]}]},"minContains":0,"maxContains":1,"$schema":"http://json-schema.org/draft-07/schema#"}`), []byte(`[{"a":[]}]`), uint8(7))
	f.Fuzz(func(t *testing.T, schema, document []byte, draft uint8) {
		tree, err := strictjson.Parse(schema, strictjson.Limits{})
		if err != nil {
			return
		}
		opts := Options{Draft: map[uint8]int{4: 4, 6: 6, 7: 7, 19: 2019}[draft], Formats: testFormats}
		p := Compile(tree.Value(0), opts)
		doc, err := strictjson.Parse(document, strictjson.Limits{})
		if err != nil || !p.Check(&doc).Accepted {
			return
		}
		v5, err := general(tree.Value(0), opts.Draft)
		if err == nil && v5.Validate(doc.Value(0)) != nil {
			t.Fatalf("accepted %s for %s (draft %d)", document, schema, opts.Draft)
		}
	})
}
