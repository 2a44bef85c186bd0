package toolguard

import (
	"encoding/binary"
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

// packer appends what an entry is made of.
type packer struct{ text []byte }

func (w *packer) string(s string) {
	w.text = append(binary.AppendUvarint(w.text, uint64(len(s))), s...)
}

// bytes tells nil from what is empty.
func (w *packer) bytes(b []byte) {
	if b == nil {
		w.text = append(w.text, 0)
		return
	}
	w.text = append(binary.AppendUvarint(w.text, uint64(len(b))+1), b...)
}

func (w *packer) int(n int64) { w.text = binary.AppendVarint(w.text, n) }

func (w *packer) bool(b bool) {
	n := byte(0)
	if b {
		n = 1
	}
	w.text = append(w.text, n)
}

// entry appends all of e but what the head has and what the store stamps.
func (w *packer) entry(e *Entry) {
	for _, s := range e.texts() {
		w.string(*s)
	}
	w.text = append(append(w.text, e.Digest[:]...), e.ApprovalDigest[:]...)
	w.text = append(w.text, byte(e.Effect), byte(e.Risk))
	w.int(int64(e.Generation))
	w.int(int64(e.Attempts))
	w.int(int64(e.Checks))
	w.int(int64(e.Quiet))
	w.bool(e.Sealed)
	w.bytes(e.Args)
	w.bytes(e.Result)
	if w.bool(e.Approval != nil); e.Approval != nil {
		w.approval(e.Approval)
	}
}

func (w *packer) approval(a *Approval) {
	for _, s := range [...]string{a.By, a.Why, a.SchemaDigest, a.ToolVersion, a.Policy} {
		w.string(s)
	}
	w.text = append(w.text, a.Digest[:]...)
	w.bool(a.Edited)
	w.bool(a.Doubt)
}

// unpacker reads what packer wrote. Its texts are parts of the packed one.
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
		*s = r.string()
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

// call is the entry as far as records are about it.
func (p packed) call() (e Entry) {
	r := unpacker{p[packedHeadLen:]}
	r.call(&e)
	return e
}

// entry unpacks all but the instants. What it returns is the caller's own.
func (p packed) entry() (e Entry) {
	r := unpacker{p[packedHeadLen:]}
	r.call(&e)
	r.rest(&e)
	h := p.head()
	e.State, e.Token, e.Due = h.state, h.token, h.due
	return e
}
