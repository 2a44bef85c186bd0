package strictjson

import (
	"strconv"

	"github.com/toolguard-go/toolguard/internal/jsonpointer"
)

// Pointer returns the JSON pointer (RFC 6901) of node i, "" for node 0.
// It takes time linear in the siblings of i and of its ancestors.
func (d *Doc) Pointer(i int32) string {
	var path []byte
	for at := int32(0); at != i; {
		child, index := at+1, 0
		for d.Nodes[child].Next <= i {
			child = d.Nodes[child].Next
			index++
		}
		path = d.appendStep(path, child, index)
		at = child
	}
	return string(path)
}

// appendStep appends the pointer token of node i, child number index.
func (d *Doc) appendStep(path []byte, i int32, index int) []byte {
	path = append(path, '/')
	if d.Nodes[i].KeyEnd == 0 {
		return strconv.AppendInt(path, int64(index), 10)
	}
	return append(path, jsonpointer.Escape(d.Key(i))...)
}
