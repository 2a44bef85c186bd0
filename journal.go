package toolguard

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Journal remembers what was begun and what became of it, so that no side effect
// happens twice because somebody was unsure. It stores entries and an append-only
// audit of records, and decides nothing: what may follow what is decided by this
// package, whose every write names the version it replaces. Implementations:
//   - may be called concurrently, also from several processes on one store;
//   - return from Write and Append only when what they wrote is as safe as
//     Durability says, an entry and its records together or not at all;
//   - stamp Created, Updated, Read and At by one clock, the store's own;
//   - return copies, which the caller may change;
//   - return soon after ctx has ended, with an error. What was being written may
//     then be there or not;
//   - never delete anything but in Prune.
//
// [NewMemoryJournal] is one for tests and short runs. Those in journal/sqlite and
// journal/postgres survive the process.
type Journal interface {
	// Write stores e in place of the version was of the entry with e.Key, and adds
	// the records. The zero Version is that of an entry that does not exist. It
	// returns the entry as it is now, and whether that is e: if another version
	// is there, nothing is written. Of two that replace one version, one does.
	Write(ctx context.Context, was Version, e Entry, records ...Record) (now Entry, ok bool, err error)
	// Append adds records that go with no change of an entry.
	Append(ctx context.Context, records ...Record) error
	// Scan returns the entries the query asks for, the newest first: the one
	// made last, and of one Group the highest Generation. Calls wait for the answers
	// by Group, and by Digest with Session or Run: those want an index.
	Scan(ctx context.Context, q Query) ([]Entry, error)
	// Take returns up to n entries that are due, the longest due first, and makes
	// them due again after hold, so that of several takers each gets its own. One
	// that is pending gets the next Token: who held it can settle it no more.
	Take(ctx context.Context, n int, hold time.Duration) ([]Entry, error)
	// Records returns records in the order they were added.
	Records(ctx context.Context, q RecordQuery) ([]Record, error)
	// Prune deletes the entries in a final state, or failed, that have not changed
	// for age, with their records; and records of no entry that are as old. It
	// returns how many entries it deleted.
	Prune(ctx context.Context, age time.Duration) (int, error)
	// Durability says what a write survives.
	Durability() Durability
}

// Durability says what a write to a [Journal] survives once it is acknowledged.
type Durability uint8

const (
	// DurabilityVolatile: nothing; it is lost with the process.
	DurabilityVolatile Durability = iota
	// DurabilityProcess: the end of the process, not that of the machine.
	DurabilityProcess
	// DurabilityDisk: a loss of power.
	DurabilityDisk
	// DurabilityReplicated: the loss of one machine.
	DurabilityReplicated
)

var durabilityNames = names{"volatile", "process", "disk", "replicated"}

// String returns the lower-case name, or Durability(n) outside the set.
func (d Durability) String() string { return durabilityNames.text("Durability", uint8(d)) }

// MarshalText implements [encoding.TextMarshaler].
func (d Durability) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText accepts the names that String returns.
func (d *Durability) UnmarshalText(b []byte) error {
	return durabilityNames.parse("Durability", b, (*uint8)(d))
}

// Entry is what a [Journal] knows of one key: one action, from the intent to what
// became of it.
type Entry struct {
	// Key is the idempotency key, 1 to 512 bytes.
	Key string `json:"key"`
	// Token fences: who settles must name the one it claimed with.
	Token uint64 `json:"token"`
	State State  `json:"state"`
	// Group is shared by the generations of one action: a call that is meant
	// again, in a later turn, has another Key.
	Group      string `json:"group"`
	Generation int    `json:"generation"`

	Tool         string `json:"tool"`
	Source       string `json:"source,omitempty"`
	ToolVersion  string `json:"tool_version,omitempty"`
	SchemaDigest string `json:"schema_digest,omitempty"`
	Effect       Effect `json:"effect"`
	Risk         Risk   `json:"risk"`
	Scope        Scope  `json:"scope"`
	CallID       string `json:"call_id,omitempty"`

	// Digest is of what the model asked for, without irrelevant arguments;
	// ApprovalDigest of all of what runs.
	Digest         Digest `json:"digest"`
	ApprovalDigest Digest `json:"approval_digest"`
	// Args are the exact arguments that run, Result what the tool returned, in
	// this package's own form; nil if there is none, or it was too large. What a Journal
	// is given to write is the call's: it must not be changed in place.
	Args   json.RawMessage `json:"args,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	// Sealed says that both are as they are stored, because they cannot be unsealed:
	// see the function [Sealed].
	Sealed bool `json:"-"`
	// Code is that of the failure, or CodeAbandoned where an attempt may still run. A
	// success that became known later keeps it: the call was answered so. Attempts is
	// how often the tool ran.
	Code     Code `json:"code,omitempty"`
	Attempts int  `json:"attempts,omitempty"`
	// Approval is who said yes, and to what; nil if nobody was asked.
	Approval *Approval `json:"approval,omitempty"`
	// Linked is the key of the entry this one takes the place of, or that takes
	// its place.
	Linked string `json:"linked,omitempty"`
	// Owner tells the calls apart that claim a key, in a [MemoryJournal] the guards;
	// Checks counts status queries.
	Owner  string `json:"owner,omitempty"`
	Checks int    `json:"checks,omitempty"`

	// Due is how long after Updated somebody should look at the entry: the lease
	// of a pending one, the wait for a decision, the next status query. If zero,
	// never.
	Due time.Duration `json:"due_ns,omitempty"`
	// Quiet is how long before Updated the tool was last known to run, or its
	// outcome became unknown. Later checks and decisions are no signs of life of
	// it. If zero, Updated is when.
	Quiet time.Duration `json:"quiet_ns,omitempty"`
	// Created, Updated and Read are instants of the store's clock: of the first
	// write, of the last, and of this reading. The store sets them.
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	Read    time.Time `json:"-"`
}

// Version is what a write replaces.
type Version struct {
	Token uint64
	State State
}

// Version returns the entry's.
func (e *Entry) Version() Version { return Version{e.Token, e.State} }

// Check says what no store can keep: a key that is empty or above 512 bytes.
func (e *Entry) Check() error {
	if e.Key == "" || len(e.Key) > maxKey {
		return fmt.Errorf("toolguard: journal: the key has %d bytes, want 1 to %d", len(e.Key), maxKey)
	}
	return nil
}

const maxKey = 512

// overdue says whether somebody should have looked at the entry.
func (e *Entry) overdue() bool { return e.Due > 0 && e.Read.Sub(e.Updated) >= e.Due }

// holds is how long after Updated an approval is good, or may be given. A recoverer that
// takes the entry makes it due later, and nothing holds longer by that.
func (e *Entry) holds() time.Duration {
	if a := e.Approval; a != nil && a.Holds > 0 {
		return a.Holds
	}
	return e.Due
}

// ranOut says that this is over.
func (e *Entry) ranOut() bool { return e.Due > 0 && e.Read.Sub(e.Updated) >= e.holds() }

// effective is the last instant at which the tool is known to have run: if it had
// its effect, it was about then.
func (e *Entry) effective() time.Time { return e.Updated.Add(-e.Quiet) }

// unheard is an entry in doubt for somebody to write who has not run the tool.
func (e Entry) unheard() Entry {
	if past := e.Read.Sub(e.Updated); past > 0 && (e.State.inDoubt() || e.Approval.doubts()) {
		e.Quiet, e.Updated = e.Quiet+past, e.Read
	}
	return e
}

// identity is what the entry's tool is known by.
func (e *Entry) identity() string {
	info := Info{Name: e.Tool, Source: e.Source}
	return info.identity()
}

// Query says which entries [Journal.Scan] returns: those that have all of what
// is set. The zero value asks for all.
type Query struct {
	Key, Group           string
	Tenant, Session, Run string
	Tool                 string
	Digest               Digest
	States               []State
	// Skip leaves out as many of the newest. Limit bounds the answer; if zero, 100.
	Skip, Limit int
}

// Matches says whether the query asks for e. Skip and Limit do not count.
func (q *Query) Matches(e *Entry) bool {
	same := func(want, is string) bool { return want == "" || want == is }
	return same(q.Key, e.Key) && same(q.Group, e.Group) && same(q.Tenant, e.Scope.Tenant) &&
		same(q.Session, e.Scope.Session) && same(q.Run, e.Scope.Run) && same(q.Tool, e.Tool) &&
		(q.Digest == Digest{} || q.Digest == e.Digest) &&
		(len(q.States) == 0 || slices.Contains(q.States, e.State))
}

// Record is one line of the audit.
type Record struct {
	// Seq orders records; At is an instant of the store's clock. The store sets both.
	Seq  uint64     `json:"seq"`
	At   time.Time  `json:"at"`
	Kind RecordKind `json:"kind"`
	// Key and Token are those of the entry; Key is "" for a call without one.
	Key   string `json:"key,omitempty"`
	Token uint64 `json:"token,omitempty"`
	From  State  `json:"from"`
	To    State  `json:"to"`
	// Actor is who did it: "guard", "recoverer", or the person who decided.
	Actor string `json:"actor"`
	Why   string `json:"why,omitempty"`

	Tool         string `json:"tool"`
	Source       string `json:"source,omitempty"`
	ToolVersion  string `json:"tool_version,omitempty"`
	SchemaDigest string `json:"schema_digest,omitempty"`
	Scope        Scope  `json:"scope"`
	CallID       string `json:"call_id,omitempty"`
	Digest       Digest `json:"digest"`
	// Args are the arguments, redacted; nil where the policy leaves them out.
	Args json.RawMessage `json:"args,omitempty"`

	// Attempt is the number of the attempt, Duration how long it took.
	Attempt  int           `json:"attempt,omitempty"`
	Duration time.Duration `json:"duration_ns,omitempty"`
	Code     Code          `json:"code,omitempty"`
	Outcome  Outcome       `json:"outcome"`
	Incident string        `json:"incident,omitempty"`
}

// RecordKind says what a [Record] is about.
type RecordKind uint8

const (
	// RecordState: an entry went from one state to another.
	RecordState RecordKind = iota
	// RecordAttempt: the tool ran.
	RecordAttempt
	// RecordLate: an abandoned attempt ended, or one whose lease was lost. What it
	// came to is evidence.
	RecordLate
	// RecordCheck: the downstream was asked what became of the key.
	RecordCheck
	// RecordApproval: somebody was asked whether the call may run, and answered: no, if
	// Code is CodeApprovalDenied, else yes.
	RecordApproval
	// RecordRefused: the caller was not allowed to do this.
	RecordRefused
	// RecordStandIn: another tool, named by Why with the key it had, acts in the place
	// of this one. Without a Duration it begins to.
	RecordStandIn
)

var recordKindNames = names{"state", "attempt", "late", "check", "approval", "refused", "stand_in"}

// String returns the lower-case name, or RecordKind(n) outside the set.
func (k RecordKind) String() string { return recordKindNames.text("RecordKind", uint8(k)) }

// MarshalText implements [encoding.TextMarshaler].
func (k RecordKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText accepts the names that String returns.
func (k *RecordKind) UnmarshalText(b []byte) error {
	return recordKindNames.parse("RecordKind", b, (*uint8)(k))
}

// RecordQuery says which records [Journal.Records] returns.
type RecordQuery struct {
	// Key is the entry's; if "", the records of all.
	Key string
	// After leaves out records up to this Seq. Limit bounds the answer; if zero, 1000.
	After uint64
	Limit int
}
