package toolguard

import (
	"bytes"
	"context"
	"encoding/json"
	"runtime"
	"testing"
	"time"
	"unsafe"
	weakly "weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What is packed comes out as it went in, and what it says of the call also alone.
func TestPackedEntries(t *testing.T) {
	t.Parallel()
	bytes := func(rt *rapid.T, name string) json.RawMessage {
		if rapid.Bool().Draw(rt, name+" is nil") {
			return nil
		}
		return rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(rt, name)
	}
	rapid.Check(t, func(rt *rapid.T) {
		e := Entry{
			Token: rapid.Uint64().Draw(rt, "token"), State: State(rapid.Byte().Draw(rt, "state")), Due: time.Duration(rapid.Int64().Draw(rt, "due")),
			Effect: Effect(rapid.Byte().Draw(rt, "effect")), Risk: Risk(rapid.Byte().Draw(rt, "risk")),
			Generation: rapid.Int().Draw(rt, "generation"), Attempts: rapid.Int().Draw(rt, "attempts"), Checks: rapid.Int().Draw(rt, "checks"),
			Quiet: time.Duration(rapid.Int64().Draw(rt, "quiet")), Sealed: rapid.Bool().Draw(rt, "sealed"),
			Args: bytes(rt, "args"), Result: bytes(rt, "result"),
		}
		texts := e.callTexts()
		for _, s := range append(texts[:], (*string)(&e.Code), &e.Linked) {
			*s = rapid.StringN(0, 200, -1).Draw(rt, "text")
		}
		copy(e.Digest[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(rt, "digest"))
		copy(e.ApprovalDigest[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(rt, "approval digest"))
		if rapid.Bool().Draw(rt, "approved") {
			text := rapid.String()
			e.Approval = &Approval{
				By: text.Draw(rt, "by"), Why: text.Draw(rt, "why"), SchemaDigest: text.Draw(rt, "schema"), ToolVersion: text.Draw(rt, "version"),
				Policy: text.Draw(rt, "policy"), Digest: e.ApprovalDigest, Edited: rapid.Bool().Draw(rt, "edited"), Doubt: rapid.Bool().Draw(rt, "doubt"),
				Holds: time.Duration(rapid.Int64().Draw(rt, "holds")),
			}
		}
		p := packed{about: rapid.String().Draw(rt, "what was there"), rest: "another"}
		p.become(&e, nil)
		assert.Equal(rt, e, p.entry())
		assert.Equal(rt, e.Key, keyIn(p.about))
		said := recordAbout(&e, 0, "")
		said.Token = 0 // which lines have
		assert.Equal(rt, said, recordAbout(new(p.call()), 0, ""))
	})
}

// What is written again says mostly the same of the call: it is not kept twice.
func TestWhatAnEntrySaysOfTheCallIsKeptOnce(t *testing.T) {
	t.Parallel()
	e, p := Entry{Key: "k", Tool: "refund", State: StatePending}, new(packed)
	p.become(&e, nil)
	was := p.about
	e.State, e.Result, e.Code, e.Attempts = StateSucceeded, []byte("{}"), CodeAttemptTimeout, 2
	p.become(&e, nil)
	assert.Same(t, unsafe.StringData(was), unsafe.StringData(p.about))
	e.CallID = "tc_2"
	p.become(&e, nil)
	assert.Equal(t, "tc_2", p.entry().CallID)
}

// What was large and is written over goes, whatever there still is of it.
func TestALargeEntryIsNotKeptByItsParts(t *testing.T) {
	t.Parallel()
	ctx, j := context.Background(), NewMemoryJournal()
	e := Entry{
		Key: "k", Group: "k", State: StateApproved, Due: time.Nanosecond, Tool: "refund",
		Args: bytes.Repeat([]byte("x"), 256<<10), Approval: &Approval{By: "ann"},
	}
	var was Version
	write := func(lines ...line) weakly.Pointer[byte] {
		t.Helper()
		e.Token++
		ok, err := j.replace(ctx, time.Now(), was, &e, lines)
		require.NoError(t, err)
		require.True(t, ok)
		was = e.Version()
		p, _ := j.find("k")
		return weakly.Make(unsafe.StringData(p.rest))
	}
	kept := map[string]weakly.Pointer[byte]{"by a line of the audit": write(line{}, line{whole: &Record{Key: "k"}}, line{})}
	kept["by what was read"] = write()
	read, err := j.Scan(ctx, Query{Key: "k"})
	require.NoError(t, err)
	kept["by what was taken"] = write()
	taken, err := j.Take(ctx, 1, time.Hour)
	require.NoError(t, err)
	require.Len(t, taken, 1)
	write()
	runtime.GC()
	for how, p := range kept {
		assert.Nil(t, p.Value(), how)
	}
	records, err := j.Records(ctx, RecordQuery{Key: "k"})
	require.NoError(t, err)
	require.Len(t, records, 3)
	assert.Equal(t, []string{"refund", "", "refund"}, []string{records[0].Tool, records[1].Tool, records[2].Tool})
	assert.Equal(t, "ann", read[0].Approval.By)
	assert.Equal(t, "k", taken[0].Key)
	runtime.KeepAlive(j)
}
