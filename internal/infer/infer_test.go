package infer_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/internal/infer"
)

type tree struct {
	Name string `json:"name"`
	Kids []tree `json:"kids,omitempty"`
}

type chain[T any] struct {
	Value T         `json:"value"`
	Next  *chain[T] `json:"next"`
}

// colour reads itself from text, by a method of its pointer.
type colour int

func (c *colour) UnmarshalText(text []byte) error {
	if string(text) != "red" {
		return fmt.Errorf("no such colour %q", text)
	}
	*c = 1
	return nil
}

// level does so too, and its zero value shows how.
type level int

func (l level) MarshalText() ([]byte, error) { return []byte{'L', '0' + byte(l)}, nil }

func (l *level) UnmarshalText(text []byte) error {
	if len(text) != 2 || text[0] != 'L' || text[1] < '0' || text[1] > '9' {
		return errors.New("want L and a digit")
	}
	*l = level(text[1] - '0')
	return nil
}

type uuid [16]byte

func (u uuid) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:]), nil
}

func (u *uuid) UnmarshalText(text []byte) error {
	if len(text) != 36 {
		return errors.New("no uuid")
	}
	return nil
}

// union reads itself from JSON.
type union struct{ raw string }

func (u *union) UnmarshalJSON(text []byte) error { u.raw = string(text); return nil }

type base struct {
	ID     string `json:"id"`
	Hidden string `json:"hidden"`
}

type Extra struct {
	Note string `json:"note"`
}

type left struct{ Both, L string }
type right struct{ Both, R string }

func TestSchemaOfAField(t *testing.T) {
	t.Parallel()
	type set map[string]struct{}
	for want, typ := range map[string]reflect.Type{
		`{"type":"string"}`:                               reflect.TypeFor[struct{ V string }](),
		`{"type":"boolean"}`:                              reflect.TypeFor[struct{ V bool }](),
		`{"type":"integer"}`:                              reflect.TypeFor[struct{ V int64 }](),
		`{"type":"integer","minimum":0}`:                  reflect.TypeFor[struct{ V uint }](),
		`{"type":"integer","minimum":-128,"maximum":127}`: reflect.TypeFor[struct{ V int8 }](),
		`{"type":["integer","null"]}`:                     reflect.TypeFor[struct{ V *int }](),
		`{"type":"number"}`:                               reflect.TypeFor[struct{ V json.Number }](),
		`{"type":"string","pattern":"^-?(0|[1-9][0-9]*)$"}`: reflect.TypeFor[struct {
			V int `json:",string"`
		}](),
		`{"type":["string","null"],"enum":["true","false",null]}`: reflect.TypeFor[struct {
			V *bool `json:",string"`
		}](),
		`{}`: reflect.TypeFor[struct{ V json.RawMessage }](),
		`{"description":"anything"}`: reflect.TypeFor[struct {
			V any `jsonschema:"anything"`
		}](),
		`{"type":"string","format":"date-time"}`:          reflect.TypeFor[struct{ V time.Time }](),
		`{"type":["string","null"],"format":"date-time"}`: reflect.TypeFor[struct{ V *time.Time }](),
		`{"type":"integer","description":"how long (nanoseconds)"}`: reflect.TypeFor[struct {
			V time.Duration `jsonschema:"how long"`
		}](),
		`{"type":"array","items":{"type":"integer","minimum":0,"maximum":255},"minItems":4,"maxItems":4}`: reflect.TypeFor[struct{ V [4]byte }](),
		`{"type":["array","null"],"items":{}}`: reflect.TypeFor[struct{ V []any }](),
		`{"type":["object","null"]}`:           reflect.TypeFor[struct{ V map[string]any }](),
		`{"type":["object","null"],"additionalProperties":{"type":"object","additionalProperties":false}}`:                    reflect.TypeFor[struct{ V set }](),
		`{"type":["object","null"],"additionalProperties":{"type":"string"},"propertyNames":{"pattern":"^(0|[1-9][0-9]*)$"}}`: reflect.TypeFor[struct{ V map[uint8]string }](),
		`{"type":"string","format":"uuid"}`:   reflect.TypeFor[struct{ V uuid }](),
		`{"type":"string","examples":["L0"]}`: reflect.TypeFor[struct{ V level }](),
		`{"anyOf":[{"type":"string","format":"ipv4"},{"type":"string","format":"ipv6"},{"type":"null"}]}`:                                          reflect.TypeFor[struct{ V *netip.Addr }](),
		`{"type":"object","properties":{"V":{"type":"integer"},"Valid":{"type":"boolean"}},"required":["V","Valid"],"additionalProperties":false}`: reflect.TypeFor[struct{ V sql.Null[int] }](),
		`{"anyOf":[{"type":"null"},{"$ref":"#"}]}`: reflect.TypeFor[loop](),
	} {
		assert.Equal(t, want, property(t, typ, "V"))
	}
	assert.Equal(t, `{"type":["string","null"]}`, property(t, reflect.TypeFor[struct{ V *colour }](), "V"))
	assert.Equal(t, `{"type":"string"}`, property(t, reflect.TypeFor[struct{ V colour }](), "V"))
	assert.Equal(t, `{}`, property(t, reflect.TypeFor[struct{ V union }](), "V"))
	assert.Equal(t, `{"type":"integer"}`, property(t, reflect.TypeFor[struct{ V big.Int }](), "V"))
	assert.Contains(t, property(t, reflect.TypeFor[struct{ V []byte }](), "V"), `"contentEncoding":"base64"`)
	assert.Contains(t, property(t, reflect.TypeFor[struct{ V net.IP }](), "V"), `"format":"ipv4"`)
}

type loop struct{ V *loop }

func property(t *testing.T, typ reflect.Type, name string) string {
	t.Helper()
	text, err := infer.Schema(typ)
	require.NoError(t, err, typ)
	var s struct{ Properties map[string]json.RawMessage }
	require.NoError(t, json.Unmarshal(text, &s))
	require.Contains(t, s.Properties, name, "%s", text)
	return string(s.Properties[name])
}

// Names, their order and what is required are those of encoding/json.
func TestSchemaOfAStruct(t *testing.T) {
	t.Parallel()
	type in struct {
		base        // its id counts, its hidden does not
		*Extra      // may be absent, with all it has
		Named  base `json:"named"`
		secret string
		Skip   string `json:"-"`
		//lint:ignore SA5008 the odd tag is the point
		Dash   string `json:"-,"`
		Hidden int    `json:"hidden"`
		A      int    `json:"a,omitempty"`
		B      int    `json:"b,omitzero"`
		Upper  int    `json:"A"`
		NoTag  bool
		//lint:ignore SA5008 the odd tag is the point
		Odd string `json:"o\"dd"` // no name that encoding/json takes
	}
	_ = in{}.secret
	text, err := infer.Schema(reflect.TypeFor[in]())
	require.NoError(t, err)
	named := `{"type":"object","properties":{"id":{"type":"string"},"hidden":{"type":"string"}},"required":["id","hidden"],"additionalProperties":false}`
	assert.Equal(t, `{"type":"object","properties":{"id":{"type":"string"},"note":{"type":"string"},"named":`+named+
		`,"-":{"type":"string"},"hidden":{"type":"integer"},"a":{"type":"integer"},"b":{"type":"integer"},"A":{"type":"integer"},"NoTag":{"type":"boolean"},"Odd":{"type":"string"}}`+
		`,"required":["id","named","-","hidden","A","NoTag","Odd"],"additionalProperties":false}`, string(text))

	text, err = infer.Schema(reflect.TypeFor[struct {
		left
		right
	}]())
	require.NoError(t, err)
	assert.NotContains(t, string(text), "Both", "two of one name and depth hide each other")
	assert.Contains(t, string(text), `"required":["L","R"]`)
}

type (
	deep   struct{ A, B, C string }
	middle struct {
		deep
		B string
	}
	twin1    struct{ deep }
	twin2    struct{ deep }
	Untagged struct{ Z, W string }
	Given    struct {
		V string `json:"Z"`
	}
	Word string
)

// Which of several fields of one name counts is for encoding/json to say.
func TestFieldsAreThoseOfEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		struct{ middle }{},
		struct {
			twin1
			twin2
		}{},
		struct {
			twin1
			middle
			A int
		}{},
		struct {
			Untagged
			Given
		}{},
		struct {
			Untagged `json:"u"`
			Word
			error
		}{},
		struct {
			Word `json:"w"`
			*deep
			base
		}{deep: &deep{}},
	} {
		typ := reflect.TypeOf(v)
		text, err := json.Marshal(v)
		require.NoError(t, err)
		var written map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(text, &written))
		text, err = infer.Schema(typ)
		if err != nil { // it cannot be set, but is there
			assert.ErrorContains(t, err, "embedded pointer")
			continue
		}
		var s struct {
			Properties map[string]json.RawMessage
			Required   []string
		}
		require.NoError(t, json.Unmarshal(text, &s))
		assert.ElementsMatch(t, slices.Collect(maps.Keys(written)), s.Required, "%v", typ)
		assert.Len(t, s.Properties, len(s.Required), "%v", typ)
	}
}

func TestSchemaOfWhatContainsItself(t *testing.T) {
	t.Parallel()
	text, err := infer.Schema(reflect.TypeFor[tree]())
	require.NoError(t, err)
	assert.Equal(t, `{"type":"object","properties":{"name":{"type":"string"},"kids":{"type":["array","null"],"items":{"$ref":"#"}}},"required":["name"],"additionalProperties":false}`, string(text))

	text, err = infer.Schema(reflect.TypeFor[struct {
		A chain[int]
		B chain[string]
		C chain[int]
	}]())
	require.NoError(t, err)
	assert.Contains(t, string(text), `"properties":{"A":{"$ref":"#/$defs/chain"},"B":{"$ref":"#/$defs/chain2"},"C":{"$ref":"#/$defs/chain"}}`)
	assert.Contains(t, string(text), `"$defs":{"chain":{`)
	assert.Contains(t, string(text), `"next":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/chain2"}]}`)
}

func TestSchemaOfTheWhole(t *testing.T) {
	t.Parallel()
	for _, typ := range []reflect.Type{reflect.TypeFor[any](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[union](), reflect.TypeFor[map[string]any]()} {
		text, err := infer.Schema(typ)
		require.NoError(t, err)
		assert.Equal(t, `{"type":"object"}`, string(text), typ)
	}
}

type self *self

func TestNoSchema(t *testing.T) {
	t.Parallel()
	for want, typ := range map[string]reflect.Type{
		"*infer_test.tree is a pointer, use the value type infer_test.tree": reflect.TypeFor[*tree](),
		"int is neither a struct nor a map":                                 reflect.TypeFor[int](),
		"[]string is neither":                                               reflect.TypeFor[[]string](),
		"infer_test.colour is neither":                                      reflect.TypeFor[colour](),
		"has no exported fields":                                            reflect.TypeFor[struct{ id string }](),
		"field f: func() cannot be read from JSON": reflect.TypeFor[struct {
			F func() `json:"f"`
		}](),
		"field a[].C: chan int cannot": reflect.TypeFor[struct {
			A []struct{ C chan int } `json:"a"`
		}](),
		"field M[].E: error cannot":                                   reflect.TypeFor[struct{ M map[string]struct{ E error } }](),
		"field V: map[bool]int has keys":                              reflect.TypeFor[struct{ V map[bool]int }](),
		"field id: string is in infer_test.base, an embedded pointer": reflect.TypeFor[struct{ *base }](),
		`field V: infer_test.colour reads itself, which the option "string"`: reflect.TypeFor[struct {
			V colour `json:",string"`
		}](),
		"field V: string has a jsonschema tag that begins like a keyword": reflect.TypeFor[struct {
			V string `jsonschema:"enum=a,enum=b"`
		}](),
		"nests too deep": reflect.TypeFor[struct{ V self }](),
	} {
		_, err := infer.Schema(typ)
		assert.ErrorContains(t, err, want)
	}
}

func TestUnread(t *testing.T) {
	t.Parallel()
	type in struct {
		ID    string `json:"id"`
		Items []struct {
			Price int `json:"price"`
		} `json:"items"`
		ByName map[string]tree `json:"by_name"`
		Any    any             `json:"any"`
		Union  *union          `json:"union"`
	}
	for schema, want := range map[string]string{
		`{}`:   "",
		`true`: "",
		`{"properties":{"id":{},"ID":{},"any":{"properties":{"x":{}}},"union":{"properties":{"x":{}}}}}`: "",
		`{"properties":{"order":{}}}`:    "order",
		`{"required":["order"]}`:         "order",
		`{"properties":{"order":false}}`: "",
		`{"properties":{"items":{"items":{"properties":{"price":{},"cost":{}}}}}}`:                                    "items[].cost",
		`{"properties":{"by_name":{"additionalProperties":{"properties":{"kids":{"items":{"required":["nick"]}}}}}}}`: "by_name[].kids[].nick",
	} {
		var tree any
		require.NoError(t, json.Unmarshal([]byte(schema), &tree))
		got, found := infer.Unread(tree, reflect.TypeFor[in]())
		assert.Equal(t, want, got, schema)
		assert.Equal(t, want != "", found)
	}
}

func TestExcludes(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]bool{
		`{"additionalProperties":false}`:                               true,
		`{"additionalProperties":false,"properties":{"b":{}}}`:         true,
		`{"additionalProperties":false,"properties":{"a":{}}}`:         false,
		`{"additionalProperties":false,"patternProperties":{"^a":{}}}`: false,
		`{"properties":{"b":{}}}`:                                      false,
		`{}`:                                                           false,
	} {
		var tree any
		require.NoError(t, json.Unmarshal([]byte(schema), &tree))
		assert.Equal(t, want, infer.Excludes(tree, "a"), schema)
	}
}
