package toolguard

import (
	"encoding/binary"
	"strings"
	"time"
)

// packed is an entry in a [MemoryJournal], as one text: a few thousand entries of
// thirty texts each would be what a garbage collector is busy with. It does not
// change; a write makes another one.
type packed string

// packedHead is what the journal reads without unpacking.
type packedHead struct {
	state            State
	token, serial    uint64
	created, updated time.Duration // since the journal's first write
	due              time.Duration
}

const packedHeadLen = 1 + 5*8

func (p packed) state() State { return State(p[0]) }

func (p packed) head() packedHead {
	return packedHead{
		state: p.state(), token: p.word(1), serial: p.word(9),
		created: time.Duration(p.word(17)), updated: time.Duration(p.word(25)), due: time.Duration(p.word(33)),
	}
}

func (p packed) word(at int) uint64 {
	var b [8]byte
	copy(b[:], p[at:])
	return binary.LittleEndian.Uint64(b[:])
}

func (h *packedHead) version() Version { return Version{h.token, h.state} }

// overdue says whether somebody should have looked at the entry, at an instant.
func (h *packedHead) overdue(at time.Duration) bool { return h.due > 0 && at-h.updated >= h.due }

func (h *packedHead) append(dst []byte) []byte {
	dst = append(dst, byte(h.state))
	for _, n := range [...]uint64{h.token, h.serial, uint64(h.created), uint64(h.updated), uint64(h.due)} {
		dst = binary.LittleEndian.AppendUint64(dst, n)
	}
	return dst
}

// texts are those of an entry, the key first.
func (e *Entry) texts() [18]*string {
	s := &e.Scope
	return [...]*string{
		&e.Key, &e.Group, &e.Tool, &e.Source, &e.ToolVersion, &e.SchemaDigest, &e.CallID, (*string)(&e.Code), &e.Linked, &e.Owner,
		&s.Tenant, &s.Principal, &s.Session, &s.Turn, &s.Run, &s.Step, &s.Model, &s.PromptVersion,
	}
}

func appendText(dst []byte, s string) []byte {
	if len(s) < 0x80 { // as most are
		return append(append(dst, byte(len(s))), s...)
	}
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// appendBytes tells nil from what is empty.
func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return append(dst, 0)
	}
	return append(binary.AppendUvarint(dst, uint64(len(b))+1), b...)
}

func appendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// appendEntry appends all of e but what the head has and what the store stamps.
func appendEntry(dst []byte, e *Entry) []byte {
	for _, s := range e.texts() {
		dst = appendText(dst, *s)
	}
	dst = append(append(dst, e.Digest[:]...), e.ApprovalDigest[:]...)
	dst = append(dst, byte(e.Effect), byte(e.Risk))
	for _, n := range [...]int64{int64(e.Generation), int64(e.Attempts), int64(e.Checks), int64(e.Quiet)} {
		dst = binary.AppendVarint(dst, n)
	}
	dst = appendBool(dst, e.Sealed)
	dst = appendBytes(appendBytes(dst, e.Args), e.Result)
	if dst = appendBool(dst, e.Approval != nil); e.Approval != nil {
		dst = appendApproval(dst, e.Approval)
	}
	return dst
}

func appendApproval(dst []byte, a *Approval) []byte {
	for _, s := range [...]string{a.By, a.Why, a.SchemaDigest, a.ToolVersion, a.Policy} {
		dst = appendText(dst, s)
	}
	return appendBool(appendBool(append(dst, a.Digest[:]...), a.Edited), a.Doubt)
}

// unpacker reads what appendEntry wrote. Its texts are parts of the packed one.
type unpacker struct{ text packed }

func (r *unpacker) take(n int) string {
	s := string(r.text[:n])
	r.text = r.text[n:]
	return s
}

func (r *unpacker) uvarint() (n uint64) {
	for shift := 0; ; shift += 7 {
		b := r.text[0]
		r.text = r.text[1:]
		if n |= uint64(b&0x7f) << shift; b < 0x80 {
			return n
		}
	}
}

func (r *unpacker) string() string { return r.take(int(r.uvarint())) }

func (r *unpacker) bytes() []byte {
	n := r.uvarint()
	if n == 0 {
		return nil
	}
	return []byte(r.take(int(n - 1)))
}

func (r *unpacker) int() int64 {
	n := r.uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

func (r *unpacker) bool() bool { return r.take(1)[0] != 0 }

// call reads what the entry says of the tool and the call, and its texts.
func (r *unpacker) call(e *Entry) {
	for _, s := range e.texts() {
		*s = r.string()
	}
	copy(e.Digest[:], r.take(len(e.Digest)))
	copy(e.ApprovalDigest[:], r.take(len(e.ApprovalDigest)))
	e.Effect, e.Risk = Effect(r.take(1)[0]), Risk(r.take(1)[0])
}

func (r *unpacker) rest(e *Entry) {
	e.Generation, e.Attempts, e.Checks = int(r.int()), int(r.int()), int(r.int())
	e.Quiet, e.Sealed = time.Duration(r.int()), r.bool()
	e.Args, e.Result = r.bytes(), r.bytes()
	if r.bool() {
		e.Approval = r.approval()
	}
}

func (r *unpacker) approval() *Approval {
	a := new(Approval)
	for _, s := range [...]*string{&a.By, &a.Why, &a.SchemaDigest, &a.ToolVersion, &a.Policy} {
		*s = strings.Clone(r.string())
	}
	copy(a.Digest[:], r.take(len(a.Digest)))
	a.Edited, a.Doubt = r.bool(), r.bool()
	return a
}

// key is the entry's.
func (p packed) key() string {
	r := unpacker{p[packedHeadLen:]}
	return r.string()
}

// generation is the entry's.
func (p packed) generation() int {
	var e Entry
	r := unpacker{p[packedHeadLen:]}
	r.call(&e)
	return int(r.int())
}

// call is the entry as far as records are about it.
func (p packed) call() (e Entry) {
	r := unpacker{p[packedHeadLen:]}
	r.call(&e)
	return e
}

// smallEntry is how long a packed entry may be for a part of it to keep the whole.
const smallEntry = 1 << 10

// about is as much of the entry as call reads, or all of a small one. It does not
// keep arguments and results of any size from being collected.
func (p packed) about() packed {
	if len(p) <= smallEntry {
		return p
	}
	r := unpacker{p[packedHeadLen:]}
	r.call(new(Entry))
	return packed(strings.Clone(string(p[:len(p)-len(r.text)])))
}

// entry unpacks all but the instants. What it returns is the caller's own, and no part
// of p unless that is small.
func (p packed) entry() (e Entry) {
	about := p.about()
	r := unpacker{about[packedHeadLen:]}
	r.call(&e)
	r.text = p[len(about)-len(r.text):]
	r.rest(&e)
	h := p.head()
	e.State, e.Token, e.Due = h.state, h.token, h.due
	return e
}
