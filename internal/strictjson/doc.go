// Package strictjson parses the JSON a model wrote, refusing everything two
// readers could understand differently.
//
// The result is a flat tree over the original bytes: nothing is decoded until
// somebody asks, numbers keep their digits, and validation, canonical form and
// edits all work from the same spans.
package strictjson

import "fmt"

// Kind is the kind of a JSON value.
type Kind uint8

const (
	Null Kind = iota
	False
	True
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"null", "boolean", "boolean", "number", "string", "array", "object"}

// String returns the name of the JSON type, or "kind(n)" for an unknown kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// A Node is one value of a [Doc]. Nodes stand in document order, so the
// children of node i begin at i+1 and a subtree ends at Next:
//
//	for c := i + 1; c < doc.Nodes[i].Next; c = doc.Nodes[c].Next { … }
type Node struct {
	Kind Kind
	// Escaped reports that a String contains a backslash.
	Escaped bool
	// KeyEscaped reports that the member name contains a backslash.
	KeyEscaped bool
	// Start and End bound the value in Doc.Text, quotes and brackets included.
	Start, End int32
	// KeyStart and KeyEnd bound the member name, quotes included.
	// Both are 0 for a value that is not a member of an object.
	KeyStart, KeyEnd int32
	// Next is the index of the first node after this subtree.
	Next int32
	// Len is the number of direct children of an Array or Object.
	Len int32
}

// A Doc is a parsed document. Node 0 is the top-level value.
// A Doc is immutable and safe for concurrent use as long as Text is.
// Indexes are absolute: a slice of Nodes is not a Doc of its own.
type Doc struct {
	Text  []byte
	Nodes []Node
}

// Limits bound what [Parse] accepts. The zero value means the defaults.
type Limits struct {
	// MaxBytes bounds the text. If zero, 1 MiB; at most 1 GiB.
	MaxBytes int
	// MaxDepth bounds how many arrays and objects may be open at once.
	// If zero, 64; at most 10,000, because the parser recurses.
	MaxDepth int
	// MaxDigits bounds the digits of one number, its exponent not counted.
	// If zero, 1,000.
	MaxDigits int
	// MaxExponent bounds the exponent of a number in both directions.
	// If zero, 400; at most 1,000,000.
	MaxExponent int
}

// The defaults of [Limits].
const (
	DefaultMaxBytes    = 1 << 20
	DefaultMaxDepth    = 64
	DefaultMaxDigits   = 1000
	DefaultMaxExponent = 400
)

// OrDefault returns l with zero fields replaced by their defaults and
// too large ones by the most that is supported.
func (l Limits) OrDefault() Limits {
	return Limits{
		MaxBytes:    limit(l.MaxBytes, DefaultMaxBytes, 1<<30),
		MaxDepth:    limit(l.MaxDepth, DefaultMaxDepth, 10_000),
		MaxDigits:   limit(l.MaxDigits, DefaultMaxDigits, 1<<30),
		MaxExponent: limit(l.MaxExponent, DefaultMaxExponent, 1_000_000),
	}
}

func limit(value, fallback, most int) int {
	if value <= 0 {
		return fallback
	}
	return min(value, most)
}
