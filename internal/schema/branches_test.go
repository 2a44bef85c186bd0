package schema_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard/internal/schema"
)

// Of alternatives that all fail, the one clearly meant speaks.
func TestAlternatives(t *testing.T) {
	t.Parallel()
	const shapes = `{"properties":{"s":{"oneOf":[
		{"properties":{"kind":{"const":"circle"},"r":{"type":"number"}},"required":["kind","r"]},
		{"properties":{"kind":{"enum":["rect","box"]},"w":{"type":"number"}},"required":["kind","w"]},
		{"$ref":"#/$defs/text"}]}},
		"$defs":{"text":{"properties":{"kind":{"const":"text"}},"required":["kind","body"]}}}`
	tests := []struct {
		name, schema, args string
		want               []string
		wanted             []string
	}{
		{"only one takes the type", `{"properties":{"a":{"anyOf":[{"type":"integer","minimum":1},{"type":"null"}]}}}`, `{"a":0}`, []string{"/a minimum"}, nil},
		{"none takes the type", `{"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"null"},{"type":["boolean","null"]}]}}}`, `{"a":"x"}`,
			[]string{"/a type"}, []string{"integer", "null", "boolean"}},
		{"constants are an enum", `{"properties":{"a":{"oneOf":[{"const":"x"},{"const":"y"},{"enum":["z"]}]}}}`, `{"a":"w"}`, []string{"/a enum"}, []string{`"x"`, `"y"`, `"z"`}},
		{"constants or null", `{"properties":{"a":{"anyOf":[{"const":"x"},{"const":"y"},{"type":"null"}]}}}`, `{"a":"w"}`, []string{"/a enum"}, []string{`"x"`, `"y"`}},
		{"tag", shapes, `{"s":{"kind":"circle","r":"1"}}`, []string{"/s/r type"}, []string{"number"}},
		{"tag, by reference", shapes, `{"s":{"kind":"text"}}`, []string{"/s required"}, nil},
		{"tag, one of several", shapes, `{"s":{"kind":"box"}}`, []string{"/s required"}, nil},
		{"no such tag", shapes, `{"s":{"kind":"oval","r":1,"w":1,"body":1}}`, []string{"/s/kind enum"}, []string{`"circle"`, `"rect"`, `"box"`, `"text"`}},
		{"an enum that is no tag", `{"anyOf":[{"properties":{"colour":{"enum":["red"]}}},{"required":["size"]}]}`, `{"colour":"blue"}`, []string{"any_of"}, nil},
		{"one of two names", `{"anyOf":[{"required":["id"]},{"required":["name","id"]}]}`, `{}`, []string{"any_of"}, []string{"id", "name"}},
		{"nested", `{"properties":{"a":{"anyOf":[{"type":"null"},{"anyOf":[{"type":"array","minItems":1},{"type":"string"}]}]}}}`, `{"a":[]}`, []string{"/a min_items"}, nil},
		{"a member called anyOf", `{"required":["q"],"properties":{"anyOf":{"type":"object","required":["x","y"],"minProperties":1}}}`, `{"anyOf":{}}`,
			[]string{"required", "/anyOf min_properties", "/anyOf required", "/anyOf required"}, nil},
		{"a member called minContains", `{"required":["q"],"properties":{"minContains":{"required":["x"],"minProperties":1}}}`, `{"minContains":{}}`,
			[]string{"required", "/minContains min_properties", "/minContains required"}, nil},
	}
	for _, tt := range tests {
		s := compile(t, tt.schema, schema.Strict)
		found, _ := s.Validate(parse(t, tt.args))
		assert.Equal(t, tt.want, brief(found), tt.name)
		if tt.wanted != nil && len(found) > 0 {
			assert.Equal(t, tt.wanted, found[0].WantList, tt.name)
		}
	}
}
