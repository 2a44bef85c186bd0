package strictjson

import (
	"bytes"
	"hash/maphash"
	"math/bits"

	"github.com/toolguard-go/toolguard/internal/jsonpointer"
)

// pairwise is the largest object whose names are compared one by one. Beyond
// it a hash table keeps the cost linear; a random seed keeps it so for names
// chosen to collide.
const pairwise = 16

// unique refuses object i, whose members are complete, if two of them have
// one name. Readers disagree on which of the two counts.
func (p *parser) unique(i int32) *Error {
	first, end := i+1, int32(len(p.doc.Nodes))
	twin := int32(-1)
	switch n := p.doc.Nodes[i].Len; {
	case n < 2:
		return nil
	case n <= pairwise:
		twin = p.doc.twinPairwise(first, end)
	default:
		twin = p.doc.twinHashed(first, end, int(n))
	}
	if twin < 0 {
		return nil
	}
	p.pos = int(p.doc.Nodes[twin].KeyStart)
	err := p.fail(ReasonDuplicateKey)
	err.Name = p.doc.Key(twin)
	err.Path += "/" + jsonpointer.Escape(err.Name)
	return err
}

// twinPairwise returns the first of the siblings in [first, end) whose name
// stood before, or -1.
func (d *Doc) twinPairwise(first, end int32) int32 {
	for c := d.Nodes[first].Next; c < end; c = d.Nodes[c].Next {
		for e := first; e < c; e = d.Nodes[e].Next {
			if d.sameKey(e, c) {
				return c
			}
		}
	}
	return -1
}

// twinHashed does the same for n siblings with open addressing. Slots hold
// node indexes; 0 is free, because node 0 is nobody's member.
func (d *Doc) twinHashed(first, end int32, n int) int32 {
	seed := maphash.MakeSeed()
	slots := make([]int32, 1<<bits.Len(uint(2*n)))
	mask := uint64(len(slots) - 1)
	var scratch []byte
	for c := first; c < end; c = d.Nodes[c].Next {
		scratch = d.appendKey(scratch[:0], c)
		h := maphash.Bytes(seed, scratch) & mask
		for ; slots[h] != 0; h = (h + 1) & mask {
			if d.sameKey(slots[h], c) {
				return c
			}
		}
		slots[h] = c
	}
	return -1
}

// sameKey reports whether two members have one name after decoding.
func (d *Doc) sameKey(a, b int32) bool {
	x, y := d.KeyContent(a), d.KeyContent(b)
	if !d.Nodes[a].KeyEscaped && !d.Nodes[b].KeyEscaped {
		return bytes.Equal(x, y)
	}
	for len(x) > 0 && len(y) > 0 {
		r, n := DecodeRune(x)
		s, m := DecodeRune(y)
		if r != s {
			return false
		}
		x, y = x[n:], y[m:]
	}
	return len(x) == len(y)
}
