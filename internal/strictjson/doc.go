// Package strictjson parses the JSON a model wrote, refusing everything two
// readers could understand differently.
//
// The result is a flat tree over the original bytes: nothing is decoded until
// somebody asks, numbers keep their digits, and validation, canonical form and
// edits all work from the same spans.
package strictjson

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
type Doc struct {
	Text  []byte
	Nodes []Node
}
