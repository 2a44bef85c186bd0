package toolguard

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"testing"
	"time"
)

// BenchmarkMemoryJournal is what a guarded call asks of a journal in memory, as guards
// do: what is known of its key, the claim, and what it came to, with three lines of the
// audit. The journal is as full as it gets.
//
//	go test -run '^$' -bench MemoryJournal -cpu 1,2 .
func BenchmarkMemoryJournal(b *testing.B) {
	j, n := NewMemoryJournal(), uint64(0)
	book := func() {
		n++
		if !booked(j, n) {
			b.Fatal("the entry is not as it was left")
		}
	}
	for range 4 * memorySettled {
		book()
	}
	b.ReportAllocs()
	for b.Loop() {
		book()
	}
}

// booked books the nth call.
func booked(j *MemoryJournal, n uint64) bool {
	var digest Digest
	binary.LittleEndian.PutUint64(digest[:], n*0x9e3779b97f4a7c15) // spread, as digests are
	at, key := time.Now(), hex.EncodeToString(digest[:])
	e := Entry{
		Key: key, Token: 1, State: StatePending, Group: key, Tool: "charge", SchemaDigest: key, CallID: "tc_1",
		Scope: Scope{Principal: "ann", Session: "chat", Turn: "one"}, Digest: digest, ApprovalDigest: digest,
		Args: []byte(`{"order":"A-17"}`), Owner: "guard", Due: time.Minute,
	}
	ctx := context.Background()
	var known Entry
	readErr := j.last(ctx, key, &known)
	claimed, claimErr := j.replace(ctx, at, known.Version(), &e, []line{{kind: RecordState, to: e.State, token: 1}})
	was := e.Version()
	e.State, e.Due, e.Attempts, e.Result = StateSucceeded, 0, 1, []byte(`{"text":"a result of some length, as most of them are"}`)
	settled, settleErr := j.replace(ctx, at, was, &e, []line{
		{kind: RecordAttempt, attempt: 1, token: 1}, {kind: RecordState, from: was.State, to: e.State, token: 1},
	})
	return readErr == nil && claimErr == nil && settleErr == nil && claimed && settled
}
