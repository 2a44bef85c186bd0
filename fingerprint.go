package toolguard

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"math/rand/v2"
	"slices"

	"github.com/toolguard-go/toolguard/internal/canonical"
	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// A fingerprint tells answers apart: the first 8 bytes of a SHA-256, the same on
// every machine. Answers that cannot be compared have a random one, since what
// is not known to be identical is no repeat.

// fingerprint is that of the call's answer, without what always differs.
func (c *call) fingerprint() uint64 {
	if f := c.failure; f != nil {
		return f.fingerprint()
	}
	if c.result == nil {
		return 0
	}
	text := withoutVolatile(c.result.content(), c.guard.opts.Loop.Volatile)
	if len(c.result.Parts) == 0 {
		return textFingerprint(text)
	}
	h := sha256.New()
	writePart(h.Write, text)
	for _, p := range c.result.Parts {
		if len(p.Data) == 0 && p.Raw != nil {
			return rand.Uint64()
		}
		writePart(h.Write, p.MediaType)
		writePart(h.Write, string(p.Data))
	}
	return sum64(h)
}

// fingerprint is that of a failure: its reason and its words, but not the values
// that were refused.
func (f *failure) fingerprint() uint64 {
	h := sha256.New()
	writePart(h.Write, string(f.Code))
	if f.adopted != nil {
		writePart(h.Write, f.adopted.Error.Message)
	}
	for _, s := range []string{f.Message, f.quote, f.field} {
		writePart(h.Write, s)
	}
	for i := range f.faults().violations {
		v := &f.args.violations[i]
		writePart(h.Write, v.Path)
		writePart(h.Write, string(v.Rule))
		writePart(h.Write, v.Name)
	}
	return sum64(h)
}

func textFingerprint(text string) uint64 {
	var room [1024]byte
	sum := sha256.Sum256(append(room[:0], text...))
	return binary.BigEndian.Uint64(sum[:])
}

func sum64(h hash.Hash) uint64 {
	var room [sha256.Size]byte
	return binary.BigEndian.Uint64(h.Sum(room[:0]))
}

func formatFingerprint(n uint64) string {
	return hex.EncodeToString(binary.BigEndian.AppendUint64(nil, n))
}

func parseFingerprint(text string) (uint64, error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 8 {
		return 0, errors.New("want 16 hexadecimal digits")
	}
	return binary.BigEndian.Uint64(b), nil
}

// withoutVolatile drops the named members of a JSON object; other texts stay.
func withoutVolatile(content string, names []string) string {
	if len(names) == 0 {
		return content
	}
	doc, err := strictjson.Parse([]byte(content), strictjson.Limits{})
	if err != nil || !doc.IsObject() {
		return content
	}
	return string(canonical.Append(nil, &doc, func(name string) bool { return slices.Contains(names, name) }))
}

// writePart writes s with its length, so that no two lists of parts collide.
func writePart(write func([]byte) (int, error), s string) {
	n := len(s)
	_, _ = write([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
	_, _ = write([]byte(s))
}
