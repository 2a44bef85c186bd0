// Package digest names what a call asks for: SHA-256 over the identity of the
// tool and the canonical form of the arguments.
//
// Digests are stored in journals and bound to approvals. What goes into them
// is therefore frozen: an 8-byte big-endian length, the identity, a byte that
// tells parsed arguments from raw text, and the arguments.
package digest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/toolguard-go/toolguard/internal/canonical"
	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// A Sum is a SHA-256 digest. The zero value is the digest of nothing.
type Sum [sha256.Size]byte

// String returns the 64 lower-case hexadecimal digits.
func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// MarshalText returns what String returns.
func (s Sum) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, s[:]), nil }

// UnmarshalText reads what MarshalText wrote. On an error s is unchanged.
func (s *Sum) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(s)) {
		return fmt.Errorf("digest: %d hexadecimal digits, want %d", len(text), hex.EncodedLen(len(s)))
	}
	var sum Sum
	if _, err := hex.Decode(sum[:], text); err != nil {
		return fmt.Errorf("digest: %w", err)
	}
	*s = sum
	return nil
}

// The bytes that keep the two kinds of input apart.
const (
	parsed byte = 'j'
	raw    byte = 'r'
)

// Of returns the digest of parsed arguments for the tool called identity.
// Texts that mean the same have the same digest. Top-level members for which
// omit returns true do not count; nil omits nothing.
func Of(identity string, doc *strictjson.Doc, omit func(key string) bool) Sum {
	buffer := buffers.Get().(*[]byte)
	text := canonical.Append(appendHeader((*buffer)[:0], identity, parsed), doc, omit)
	sum := sha256.Sum256(text)
	release(buffer, text)
	return sum
}

// OfRaw returns the digest of a text that does not parse. It is never equal
// to the result of Of, whatever the arguments.
func OfRaw(identity string, text []byte) Sum {
	buffer := buffers.Get().(*[]byte)
	input := append(appendHeader((*buffer)[:0], identity, raw), text...)
	sum := sha256.Sum256(input)
	release(buffer, input)
	return sum
}

// appendHeader puts the length first, so that no identity can pass a part of
// itself off as arguments.
func appendHeader(dst []byte, identity string, kind byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(len(identity)))
	return append(append(dst, identity...), kind)
}

var buffers = sync.Pool{New: func() any { return new(make([]byte, 0, 512)) }}

// maxPooled keeps one huge call from pinning its memory for good.
const maxPooled = 64 << 10

// release gives the buffer back, in the size it grew to. What it holds are
// arguments of an earlier call; they are overwritten, never read.
func release(buffer *[]byte, grown []byte) {
	if cap(grown) <= maxPooled {
		*buffer = grown[:0]
		buffers.Put(buffer)
	}
}
