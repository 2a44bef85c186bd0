package accept

import "github.com/toolguard-go/toolguard/internal/strictjson"

// A typeSet is a set of JSON types: a bit for each strictjson.Kind and one for
// integers. The zero typeSet stands for all types.
type typeSet uint8

const integer typeSet = 1 << 7

func kindBit(k strictjson.Kind) typeSet { return 1 << k }

var typesByName = map[string]typeSet{
	"null":    kindBit(strictjson.Null),
	"boolean": kindBit(strictjson.False) | kindBit(strictjson.True),
	"number":  kindBit(strictjson.Number),
	"integer": integer,
	"string":  kindBit(strictjson.String),
	"array":   kindBit(strictjson.Array),
	"object":  kindBit(strictjson.Object),
}

func (s schema) types() typeSet {
	v, ok := s.m["type"]
	if !ok {
		return 0
	}
	names, ok := v.([]any)
	if !ok {
		names = []any{v}
	}
	var set typeSet
	for _, item := range names {
		name, _ := item.(string)
		bits, known := typesByName[name]
		if !known {
			s.beyond = true
		}
		set |= bits
	}
	return set
}
