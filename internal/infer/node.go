package infer

import (
	"bytes"
	"encoding/json"
	"regexp"
)

// node is a schema as it is written, with its keywords in this order. The zero
// node admits anything.
type node struct {
	Ref         string      `json:"$ref,omitempty"`
	Type        types       `json:"type,omitempty"`
	Description string      `json:"description,omitempty"`
	Format      string      `json:"format,omitempty"`
	Encoding    string      `json:"contentEncoding,omitempty"`
	Pattern     string      `json:"pattern,omitempty"`
	Enum        []any       `json:"enum,omitempty"`
	Examples    []string    `json:"examples,omitempty"`
	Minimum     json.Number `json:"minimum,omitempty"`
	Maximum     json.Number `json:"maximum,omitempty"`
	AnyOf       []*node     `json:"anyOf,omitempty"`
	Properties  members     `json:"properties,omitempty"`
	Required    []string    `json:"required,omitempty"`
	Additional  any         `json:"additionalProperties,omitempty"` // a *node or false
	// PropertyNames constrain the keys of a map.
	PropertyNames *node   `json:"propertyNames,omitempty"`
	Items         *node   `json:"items,omitempty"`
	MinItems      *int    `json:"minItems,omitempty"`
	MaxItems      *int    `json:"maxItems,omitempty"`
	Defs          members `json:"$defs,omitempty"`
}

// any reports whether the node admits every value.
func (n *node) any() bool {
	return n.Ref == "" && len(n.Type) == 0 && len(n.AnyOf) == 0
}

// orNull admits null as well. It is put first only where the other choice may
// go on for ever.
func (n *node) orNull() *node {
	null := &node{Type: types{"null"}}
	switch {
	case n == nil || n.any() || n.nullable():
	case n.Ref != "":
		return &node{AnyOf: []*node{null, n}}
	case len(n.AnyOf) > 0:
		n.AnyOf = append(n.AnyOf, null)
	default:
		n.Type = append(n.Type, "null")
		if n.Enum != nil {
			n.Enum = append(n.Enum, nil)
		}
	}
	return n
}

func (n *node) nullable() bool {
	return len(n.Type) > 0 && n.Type[len(n.Type)-1] == "null" ||
		len(n.AnyOf) > 0 && n.AnyOf[0].nullable()
}

// keywordLike are tags that mean to constrain. Taken for descriptions they would
// promise what nobody enforces.
var keywordLike = regexp.MustCompile(`^[^ \t\n]*=`)

// explain adds a field's tag to what the node says of itself, such as its unit.
func (n *node) explain(tag string) {
	switch {
	case tag == "":
	case n.Description != "":
		n.Description = tag + " (" + n.Description + ")"
	default:
		n.Description = tag
	}
}

// types are written as one name where there is only one.
type types []string

// MarshalJSON implements [json.Marshaler].
func (t types) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

// members are written in their order: a model reads them so.
type members []member

type member struct {
	name  string
	value *node
}

// MarshalJSON implements [json.Marshaler].
func (m members) MarshalJSON() ([]byte, error) {
	b := bytes.NewBufferString("{")
	for i, e := range m {
		name, err := json.Marshal(e.name)
		if err != nil {
			return nil, err
		}
		value, err := e.value.text()
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
