package toolguardtest

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/toolguard-go/toolguard"
)

// JournalSuite says how to try a journal.
type JournalSuite struct {
	// Open returns an empty journal. It is called for each obligation and cleans up
	// when t ends.
	Open func(t testing.TB) toolguard.Journal
	// Again returns another way to the same store, as another process or the next one
	// has it. If nil, the journal has none: it is lost with the process.
	Again func(t testing.TB, j toolguard.Journal) toolguard.Journal
	// Bubble runs each obligation in a bubble of [testing/synctest]: for journals in
	// memory. Others take some ten seconds, because leases have to pass.
	Bubble bool
	// Faults are what may happen to the store: each is let happen, and mended.
	Faults []StoreFault
}

// TestJournal checks what a [toolguard.Journal] owes:
//
//   - Write inserts, and stamps what it wrote; every field comes back as it went in,
//     arguments and results to the byte;
//   - Write replaces only the version it names, and tells which one is there;
//   - a write and its records are there together or not at all, also when its context
//     ends meanwhile;
//   - of many that replace one version, or insert one key, one does;
//   - keys are 1 to 512 bytes, any text, and differ by every byte;
//   - Scan finds by every field, newest first, a page at a time, and the latest
//     generation of a group;
//   - Take hands out what is due, longest due first, to one taker each, keeps it for
//     hold, and gives what is pending a new token, so that who held it cannot settle;
//   - Records come in their order, by key, a page at a time;
//   - Prune deletes what is settled and old, with its records, and nothing else;
//   - what it returns is a copy;
//   - a context that has ended ends every method, with an error that wraps its own, and
//     nothing is written;
//   - with two ways to one store all of this holds between them, and what was written
//     is there in the other;
//   - guards on it run an action once, whatever the race, and never run over a
//     claim that was lost;
//   - guards on it run nothing whose intent is not written, and nothing twice, whichever
//     use of the journal fails, hangs, or is done without an answer;
//   - during each of Faults errors come soon and say what is wrong; afterwards what was
//     acknowledged is there, what was not is there whole or not at all, and no action
//     has run without its intent, or twice.
func TestJournal(t *testing.T, s JournalSuite) {
	t.Helper()
	if s.Open == nil {
		t.Fatalf("toolguardtest: TestJournal has no journal: set JournalSuite.Open to a function that returns an empty one")
	}
	meet(t, s, s.Bubble, journalObligations)
	for _, f := range s.Faults {
		meet(t, s, s.Bubble, []obligation[JournalSuite]{{"fault: " + f.Name, f.check}})
	}
}

var journalObligations = []obligation[JournalSuite]{
	{"Write inserts and stamps", on((*journalTest).inserts)},
	{"every field comes back as it went in", on((*journalTest).everyField)},
	{"Write replaces only the version it names", on((*journalTest).replaces)},
	{"a write and its records go together", on((*journalTest).together)},
	{"a write that is interrupted is there whole or not at all", on((*journalTest).interrupted)},
	{"of many that insert one key, one does", on((*journalTest).insertRace)},
	{"of many that replace one version, one does", on((*journalTest).replaceRace)},
	{"writes of different keys do not disturb each other", on((*journalTest).manyKeys)},
	{"keys are any text of 1 to 512 bytes", on((*journalTest).keys)},
	{"Scan finds by every field", on((*journalTest).scanFields)},
	{"Scan finds by fields together", on((*journalTest).scanTogether)},
	{"Scan is newest first, a page at a time", on((*journalTest).scanPages)},
	{"Scan finds the latest generation of a group", on((*journalTest).scanGroup)},
	{"Take hands out what is due, longest due first", on((*journalTest).takeDue)},
	{"Take fences a claim that is lost", on((*journalTest).takeFences)},
	{"Take keeps what it hands out for hold", on((*journalTest).takeHolds)},
	{"of several takers each gets its own", on((*journalTest).takeRace)},
	{"Records come in order, by key, a page at a time", on((*journalTest).records)},
	{"Prune deletes what is settled and old", on((*journalTest).prunes)},
	{"Prune deletes nothing else", on((*journalTest).prunesNothingElse)},
	{"what it returns is a copy", on((*journalTest).copies)},
	{"a context that has ended ends every method", on((*journalTest).ended)},
	{"what was written is there in another process", on((*journalTest).survives)},
	{"two processes race for one key", on((*journalTest).twoProcesses)},
	{"guards on it run an action once", on((*journalTest).oneEffect)},
	{"guards on it never run over a lost claim", on((*journalTest).lostClaim)},
	{"guards on it run nothing twice, whichever use of it fails", on((*journalTest).anyFault)},
	{"guards on it tell of a result that is too large to keep", on((*journalTest).largeResult)},
}

// journalTest is one obligation under test.
type journalTest struct {
	testing.TB
	suite JournalSuite
	j     toolguard.Journal
}

// on opens an empty journal for an obligation.
func on(f func(*journalTest)) func(JournalSuite, testing.TB) {
	return func(s JournalSuite, t testing.TB) {
		j := s.Open(t)
		if j == nil {
			t.Fatalf("toolguardtest: JournalSuite.Open returned no journal")
		}
		f(&journalTest{TB: t, suite: s, j: j})
	}
}

// ctx bounds one method.
func (x *journalTest) ctx() context.Context {
	ctx, cancel := context.WithTimeout(x.Context(), 30*time.Second)
	x.Cleanup(cancel)
	return ctx
}

// must ends the test after an error.
func (x *journalTest) must(err error, what string) {
	x.Helper()
	if err != nil {
		x.Fatalf("toolguardtest: %s fails: %v", what, err)
	}
}

// full is an entry that has something in every field a caller sets.
func full(key string, state toolguard.State) toolguard.Entry {
	return toolguard.Entry{
		Key: key, Token: 1, State: state, Group: "group of " + key, Generation: 3,
		Tool: "refund", Source: "mcp:pay", ToolVersion: "1.2", SchemaDigest: "sha256:ab", Effect: toolguard.NonIdempotent, Risk: toolguard.RiskHigh,
		Scope:  toolguard.Scope{Tenant: "acme", Principal: "ann", Session: "s1", Turn: "t1", Run: "r1", Step: "st1", Model: "m", PromptVersion: "p"},
		CallID: "call_1", Digest: toolguard.Digest{1, 2, 3}, ApprovalDigest: toolguard.Digest{4, 5, 6},
		Args:   json.RawMessage(`{ "b": 9007199254740993, "a": 1.50,  "t": "caf\u00e9 <b> 'q'" }`),
		Result: json.RawMessage(`{"z":1,"a":[ 1, 2 ]}`), Code: "connection_lost", Attempts: 2,
		Approval: &toolguard.Approval{By: "bob", Why: "it's \"fine\"", Digest: toolguard.Digest{7}, SchemaDigest: "x", ToolVersion: "1", Policy: "p1", Edited: true, Doubt: true, Holds: time.Hour},
		Linked:   "other", Owner: "o.1", Checks: 4, Due: 90 * time.Second, Quiet: 3 * time.Second,
	}
}

// bare is the least a caller writes.
func bare(key string, state toolguard.State) toolguard.Entry {
	return toolguard.Entry{Key: key, Token: 1, State: state, Group: key, Tool: "refund"}
}

// insert writes a new entry, and expects that to work.
func (x *journalTest) insert(e toolguard.Entry, records ...toolguard.Record) toolguard.Entry {
	x.Helper()
	now, ok, err := x.j.Write(x.ctx(), toolguard.Version{}, e, records...)
	x.must(err, "Write")
	if !ok {
		x.Fatalf("toolguardtest: Write does not insert key %q into an empty journal", e.Key)
	}
	return now
}

// read returns the entry with a key; the zero Entry if there is none.
func (x *journalTest) read(key string) toolguard.Entry {
	x.Helper()
	found := x.scan(toolguard.Query{Key: key})
	switch len(found) {
	case 0:
		return toolguard.Entry{}
	case 1:
		return found[0]
	}
	x.Fatalf("toolguardtest: Scan finds %d entries with key %q", len(found), key)
	return toolguard.Entry{}
}

func (x *journalTest) scan(q toolguard.Query) []toolguard.Entry {
	x.Helper()
	found, err := x.j.Scan(x.ctx(), q)
	x.must(err, "Scan")
	return found
}

func (x *journalTest) audit(q toolguard.RecordQuery) []toolguard.Record {
	x.Helper()
	found, err := x.j.Records(x.ctx(), q)
	x.must(err, "Records")
	return found
}

// same compares what a caller set.
func (x *journalTest) same(what string, got, want toolguard.Entry) {
	x.Helper()
	for _, e := range []*toolguard.Entry{&got, &want} {
		e.Created, e.Updated, e.Read = time.Time{}, time.Time{}, time.Time{}
	}
	if !reflect.DeepEqual(got, want) {
		x.Errorf("toolguardtest: %s is not what was written:\n%s", what, diff(fieldLines(want), fieldLines(got)))
	}
}

// fieldLines are those of an entry or a record, one a line.
func fieldLines(v any) (text string) {
	s := reflect.ValueOf(v)
	for i := range s.NumField() {
		f := s.Field(i).Interface()
		switch f := f.(type) {
		case json.RawMessage:
			text += fmt.Sprintf("%s: %s\n", s.Type().Field(i).Name, f)
		case *toolguard.Approval:
			text += fmt.Sprintf("%s: %+v\n", s.Type().Field(i).Name, f)
		default:
			text += fmt.Sprintf("%s: %v\n", s.Type().Field(i).Name, f)
		}
	}
	return text
}

// keysOf are the keys of entries, in order.
func keysOf(entries []toolguard.Entry) []string {
	keys := []string{}
	for _, e := range entries {
		keys = append(keys, e.Key)
	}
	return keys
}

// wantKeys compares keys in order.
func (x *journalTest) wantKeys(what string, got []toolguard.Entry, want ...string) {
	x.Helper()
	if keys := keysOf(got); fmt.Sprint(keys) != fmt.Sprint(want) {
		x.Errorf("toolguardtest: %s: got the keys %q, want %q", what, keys, want)
	}
}
