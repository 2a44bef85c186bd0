package toolguard

import (
	"encoding/binary"
	"strings"
	"time"
)

// packed is an entry in a [MemoryJournal]: what the journal itself looks at, and the
// rest as two texts. A few thousand entries of thirty texts each would be what a garbage
// collector is busy with.
type packed struct {
	state            State
	token, serial    uint64
	generation       int
	created, updated time.Duration // since the journal's first write
	due              time.Duration
	about            string // what records say of the call, too: they share it
	rest             string
}

// version is the zero one of nil.
func (p *packed) version() Version {
	if p == nil {
		return Version{}
	}
	return Version{p.token, p.state}
}

// overdue says whether somebody should have looked at the entry, at an instant.
func (p *packed) overdue(at time.Duration) bool { return p.due > 0 && at-p.updated >= p.due }

// become takes over what e says. The texts are made in a scratch buffer, which is
// returned for the next; that about the call is mostly there already.
func (p *packed) become(e *Entry, scratch []byte) []byte {
	p.state, p.token, p.generation, p.due = e.State, e.Token, e.Generation, e.Due
	text := appendAbout(scratch[:0], e)
	n := len(text)
	if p.about != string(text) {
		p.about = string(text)
	}
	text = appendRest(text, e)
	p.rest = string(text[n:])
	return text
}

// entry unpacks all but the instants. What it returns is the caller's own.
func (p *packed) entry() (e Entry) {
	readAbout(p.about, &e)
	readRest(p.rest, &e)
	e.State, e.Token, e.Generation, e.Due = p.state, p.token, p.generation, p.due
	return e
}

// call is the entry as far as queries and records go.
func (p *packed) call() (e Entry) {
	readAbout(p.about, &e)
	e.State, e.Generation = p.state, p.generation
	return e
}

// callTexts are those of what an entry says of the call, the key first.
func (e *Entry) callTexts() [16]*string {
	s := &e.Scope
	return [...]*string{
		&e.Key, &e.Group, &e.Tool, &e.Source, &e.ToolVersion, &e.SchemaDigest, &e.CallID, &e.Owner,
		&s.Tenant, &s.Principal, &s.Session, &s.Turn, &s.Run, &s.Step, &s.Model, &s.PromptVersion,
	}
}

func appendAbout(dst []byte, e *Entry) []byte {
	for _, s := range e.callTexts() {
		dst = appendText(dst, *s)
	}
	return append(dst, e.Digest[:]...)
}

// readAbout reads what appendAbout wrote. The texts are parts of that one.
func readAbout(text string, e *Entry) {
	r := unpacker{text}
	for _, s := range e.callTexts() {
		*s = r.string()
	}
	copy(e.Digest[:], r.take(len(e.Digest)))
}

// keyIn is the key in what appendAbout wrote.
func keyIn(text string) string {
	r := unpacker{text}
	return r.string()
}

func appendRest(dst []byte, e *Entry) []byte {
	dst = appendText(appendText(dst, string(e.Code)), e.Linked)
	dst = append(append(dst, e.ApprovalDigest[:]...), byte(e.Effect), byte(e.Risk))
	for _, n := range [...]int64{int64(e.Attempts), int64(e.Checks), int64(e.Quiet)} {
		dst = binary.AppendVarint(dst, n)
	}
	dst = appendBool(dst, e.Sealed)
	dst = appendBytes(appendBytes(dst, e.Args), e.Result)
	if dst = appendBool(dst, e.Approval != nil); e.Approval != nil {
		dst = appendApproval(dst, e.Approval)
	}
	return dst
}

// readRest reads what appendRest wrote. It makes texts of its own: parts would keep
// arguments and results of any size from being collected.
func readRest(text string, e *Entry) {
	r := unpacker{text}
	e.Code, e.Linked = Code(strings.Clone(r.string())), strings.Clone(r.string())
	copy(e.ApprovalDigest[:], r.take(len(e.ApprovalDigest)))
	e.Effect, e.Risk = Effect(r.take(1)[0]), Risk(r.take(1)[0])
	e.Attempts, e.Checks, e.Quiet = int(r.int()), int(r.int()), time.Duration(r.int())
	e.Sealed = r.bool()
	e.Args, e.Result = r.bytes(), r.bytes()
	if r.bool() {
		e.Approval = r.approval()
	}
}

func appendApproval(dst []byte, a *Approval) []byte {
	for _, s := range [...]string{a.By, a.Why, a.SchemaDigest, a.ToolVersion, a.Policy} {
		dst = appendText(dst, s)
	}
	return binary.AppendVarint(appendBool(appendBool(append(dst, a.Digest[:]...), a.Edited), a.Doubt), int64(a.Holds))
}

func (r *unpacker) approval() *Approval {
	a := new(Approval)
	for _, s := range [...]*string{&a.By, &a.Why, &a.SchemaDigest, &a.ToolVersion, &a.Policy} {
		*s = strings.Clone(r.string())
	}
	copy(a.Digest[:], r.take(len(a.Digest)))
	a.Edited, a.Doubt, a.Holds = r.bool(), r.bool(), time.Duration(r.int())
	return a
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

// unpacker reads what the functions above wrote.
type unpacker struct{ text string }

func (r *unpacker) take(n int) string {
	s := r.text[:n]
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
