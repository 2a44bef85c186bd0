package toolguard

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/toolguard-go/toolguard/internal/evidence"
)

// Key returns the idempotency key of the call ctx belongs to, or "" outside a
// guarded call. It is the same in every attempt of a call. With Scope.Run and
// Scope.Step it is the same whenever the host resumes that step, whatever the
// arguments: give each call a step of its own. Otherwise, with a [Journal] and
// Scope.Session, identical calls of the session have one until the user speaks
// again. Otherwise it is random. A key is up to 64 characters of lower-case
// hexadecimal. Options.CheckResult has the call's key, too, to look up what is there.
func Key(ctx context.Context) string {
	key, ok := evidence.CallKey(ctx)
	if c, checks := ctx.Value(checkedKey{}).(*call); checks && !ok {
		return c.CallKey()
	}
	return key
}

// checkedKey finds the call whose result is checked.
type checkedKey struct{}

// checking is the context of a result check. What that sends gets no idempotency key:
// these are other requests than the tool's.
func (c *call) checking(ctx context.Context) context.Context {
	return evidence.WithCallKey(context.WithValue(ctx, checkedKey{}, c), "")
}

// CallKey implements [evidence.CallKeyer]: the key is made when somebody asks.
func (c *call) CallKey() string {
	if c.key.Load() == nil {
		key := c.makeKey()
		c.key.CompareAndSwap(nil, &key)
	}
	return *c.key.Load()
}

// keyIfMade returns the key, or "" if nobody has asked for one.
func (c *call) keyIfMade() string {
	if key := c.key.Load(); key != nil {
		return *key
	}
	return ""
}

func (c *call) makeKey() string {
	if s := c.scope; s.stepped() {
		return hashParts(s.Tenant, s.Run, s.Step, c.guard.args.identity)
	}
	return randomKey()
}

// keyLasts says that the next identical call has this one's key, or takes it over: the
// host has named the work, or the journal or the conversation remembers it.
func (c *call) keyLasts() bool {
	named := c.scope.stepped()
	switch {
	case c.lender() != nil:
		return c.lender().call.keyLasts()
	case c.inJournal() && c.outer != nil && (named || c.rare != nil && c.rare.beside) && !c.outer.call.keyLasts():
		return false // its name in the journal is made from the outer one's
	}
	return named || c.scope.Session != "" && (c.session != nil || c.inJournal())
}

// safeAgain says that the model may send the call again, whatever became of it.
func (c *call) safeAgain() bool {
	i := &c.guard.info
	return i.repeatable(c.began) && (i.Effect != IdempotentByKey || c.keyLasts())
}

func randomKey() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// hashParts returns one key for one list of parts.
func hashParts(parts ...string) string {
	var room [512]byte
	return hashed(appendParts(room[:0], parts...))
}

// hashWith is hashParts with the digest as the last part.
func hashWith(d *Digest, parts ...string) string {
	var room [512]byte
	text := binary.BigEndian.AppendUint32(appendParts(room[:0], parts...), sha256.Size)
	return hashed(append(text, d[:]...))
}

// appendParts appends each part after its length, so that no two lists collide.
func appendParts(text []byte, parts ...string) []byte {
	for _, part := range parts {
		text = append(binary.BigEndian.AppendUint32(text, uint32(len(part))), part...)
	}
	return text
}

func hashed(text []byte) string {
	var name [2 * sha256.Size]byte
	sum := sha256.Sum256(text)
	hex.Encode(name[:], sum[:])
	return string(name[:])
}
