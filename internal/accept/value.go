package accept

import (
	"bytes"
	"encoding/json"

	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// A valueSet is the values of an enum or a const, sorted by kind.
type valueSet struct {
	kinds     typeSet // null, true, false
	texts     map[string]struct{}
	numbers   []number
	composite []any // arrays and objects
}

// values reads enum and const. An empty enum asks for nothing, as in
// jsonschema/v5.
func (s schema) values() []*valueSet {
	var sets []*valueSet
	if enum := s.list("enum"); len(enum) > 0 {
		sets = append(sets, s.valueSet(enum))
	}
	if v, ok := s.from(6, "const"); ok {
		sets = append(sets, s.valueSet([]any{v}))
	}
	return sets
}

// valueSet sorts the values of a list by kind.
func (s schema) valueSet(list []any) *valueSet {
	set := &valueSet{texts: map[string]struct{}{}}
	for _, v := range list {
		switch v := v.(type) {
		case nil:
			set.kinds |= kindBit(strictjson.Null)
		case bool:
			set.kinds |= kindBit(boolKind(v))
		case string:
			set.texts[v] = struct{}{}
		case json.Number:
			if n := s.schemaNumber(v); n != nil {
				set.numbers = append(set.numbers, *n)
			}
		default:
			s.checkNumbers(v)
			set.composite = append(set.composite, v)
		}
	}
	return set
}

func boolKind(v bool) strictjson.Kind {
	if v {
		return strictjson.True
	}
	return strictjson.False
}

// checkNumbers makes sure that every number in an enum's array or object can
// be compared.
func (s schema) checkNumbers(v any) {
	switch v := v.(type) {
	case json.Number:
		s.schemaNumber(v)
	case []any:
		for _, item := range v {
			s.checkNumbers(item)
		}
	case map[string]any:
		for _, item := range v {
			s.checkNumbers(item)
		}
	case nil, bool, string:
	default:
		s.beyond = true
	}
}

// in reports whether the value at i is in the set; numbers by value.
func (w *walk) in(set *valueSet, i int32) bool {
	v := &w.doc.Nodes[i]
	switch v.Kind {
	case strictjson.Null, strictjson.False, strictjson.True:
		return set.kinds&kindBit(v.Kind) != 0
	case strictjson.String:
		_, ok := set.texts[string(w.text(i))]
		return ok
	case strictjson.Number:
		w.charge(len(set.numbers))
		n := w.number(v)
		for _, m := range set.numbers {
			if n.compare(m) == 0 {
				return true
			}
		}
		return false
	}
	for _, tree := range set.composite {
		if w.equalsTree(i, tree) {
			return true
		}
	}
	return false
}

// equalsTree compares the value at i with a value of the schema.
func (w *walk) equalsTree(i int32, tree any) bool {
	if w.spent() {
		return w.giveUp()
	}
	v := &w.doc.Nodes[i]
	switch t := tree.(type) {
	case nil:
		return v.Kind == strictjson.Null
	case bool:
		return v.Kind == boolKind(t)
	case string:
		return v.Kind == strictjson.String && string(w.text(i)) == t
	case json.Number:
		m, ok := parseNumber([]byte(t))
		return ok && v.Kind == strictjson.Number && w.number(v).compare(m) == 0
	case []any:
		return v.Kind == strictjson.Array && int(v.Len) == len(t) && w.equalsList(i, t)
	case map[string]any:
		return v.Kind == strictjson.Object && int(v.Len) == len(t) && w.equalsMap(i, t)
	}
	return false
}

// equalsList expects both to have the same length.
func (w *walk) equalsList(i int32, list []any) bool {
	c := i + 1
	for _, item := range list {
		if !w.equalsTree(c, item) {
			return false
		}
		c = w.doc.Nodes[c].Next
	}
	return true
}

// equalsMap expects both to have the same size. Names are unique on both
// sides, so looking from one side is enough.
func (w *walk) equalsMap(i int32, m map[string]any) bool {
	nodes := w.doc.Nodes
	for c := i + 1; c < nodes[i].Next; c = nodes[c].Next {
		tree, ok := m[string(w.name(c))]
		if !ok || !w.equalsTree(c, tree) {
			return false
		}
	}
	return true
}

// equal compares two values of the document.
func (w *walk) equal(a, b int32) bool {
	if w.spent() {
		return w.giveUp()
	}
	x, y := &w.doc.Nodes[a], &w.doc.Nodes[b]
	if x.Kind != y.Kind || x.Len != y.Len {
		return false
	}
	switch x.Kind {
	case strictjson.String:
		return bytes.Equal(w.text(a), w.text(b))
	case strictjson.Number:
		return w.number(x).compare(w.number(y)) == 0
	case strictjson.Array:
		return w.equalItems(a, b)
	case strictjson.Object:
		return w.equalMembers(a, b)
	}
	return true
}

// equalItems expects both arrays to have the same length.
func (w *walk) equalItems(a, b int32) bool {
	nodes := w.doc.Nodes
	d := b + 1
	for c := a + 1; c < nodes[a].Next; c = nodes[c].Next {
		if !w.equal(c, d) {
			return false
		}
		d = nodes[d].Next
	}
	return true
}

// equalMembers expects both objects to have the same size.
func (w *walk) equalMembers(a, b int32) bool {
	nodes := w.doc.Nodes
	for c := a + 1; c < nodes[a].Next; c = nodes[c].Next {
		d := w.find(b, w.name(c))
		if d < 0 || !w.equal(c, d) {
			return false
		}
	}
	return true
}
