package toolguard

import "encoding/binary"

// digests tell of nearly all that no entry on a shelf has that none has it: two bits of
// these are set for each that one has. The zero value has none.
type digests [1 << 12]uint64

func (d *digests) add(x *Digest) {
	for _, n := range bitsOf(x) {
		d[n/64] |= 1 << (n % 64)
	}
}

func (d *digests) mayHave(x *Digest) bool {
	for _, n := range bitsOf(x) {
		if d[n/64]&(1<<(n%64)) == 0 {
			return false
		}
	}
	return true
}

// bitsOf are the numbers of a digest's bits. Any part of one is as good as random.
func bitsOf(x *Digest) [2]uint32 {
	const all = uint32(len(digests{}) * 64)
	return [...]uint32{binary.LittleEndian.Uint32(x[0:]) % all, binary.LittleEndian.Uint32(x[4:]) % all}
}
