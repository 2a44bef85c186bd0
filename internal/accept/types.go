package accept

import "github.com/toolguard-go/toolguard/internal/strictjson"

// A typeSet is a set of JSON types: a bit for each strictjson.Kind and one for
// integers. The zero typeSet stands for all types.
type typeSet uint8

const integer typeSet = 1 << 7

// kindBit is the bit of one kind. true and false are two kinds and one type.
func kindBit(k strictjson.Kind) typeSet { return 1 << k }

// typesByName holds no bit for integers under "number": a value that may be
// any number need not be looked at.
var typesByName = map[string]typeSet{
	"null":    kindBit(strictjson.Null),
	"boolean": kindBit(strictjson.False) | kindBit(strictjson.True),
	"number":  kindBit(strictjson.Number),
	"integer": integer,
	"string":  kindBit(strictjson.String),
	"array":   kindBit(strictjson.Array),
	"object":  kindBit(strictjson.Object),
}

// types reads type, a name or a list of names.
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
