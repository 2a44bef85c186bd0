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
		for _, s := range e.texts() {
			*s = rapid.StringN(0, 200, -1).Draw(rt, "text")
		}
		copy(e.Digest[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(rt, "digest"))
		copy(e.ApprovalDigest[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(rt, "approval digest"))
		if rapid.Bool().Draw(rt, "approved") {
			text := rapid.String()
			e.Approval = &Approval{
				By: text.Draw(rt, "by"), Why: text.Draw(rt, "why"), SchemaDigest: text.Draw(rt, "schema"), ToolVersion: text.Draw(rt, "version"),
				Policy: text.Draw(rt, "policy"), Digest: e.ApprovalDigest, Edited: rapid.Bool().Draw(rt, "edited"), Doubt: rapid.Bool().Draw(rt, "doubt"),
			}
		}
		h := packedHead{state: e.State, token: e.Token, serial: rapid.Uint64().Draw(rt, "serial"), created: -1, updated: 1 << 62, due: e.Due}
		p := packed(appendEntry(h.append(nil), &e))
		assert.Equal(rt, h, p.head())
		assert.Equal(rt, e, p.entry())
		assert.Equal(rt, e.Key, p.key())
		call := p.call()
		assert.Equal(rt, recordAbout(&e, 0, "").Scope, call.Scope)
		assert.Equal(rt, []any{e.Key, e.CallID, e.Digest, e.Tool}, []any{call.Key, call.CallID, call.Digest, call.Tool})
	})
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
		return weakly.Make(unsafe.StringData(string(p)))
	}
	kept := map[string]weakly.Pointer[byte]{"by a line of the audit": write(line{}, line{whole: &Record{Key: "k"}}, line{})}
	kept["by what was read"] = write()
	read, err := j.Scan(ctx, Query{Key: "k"})
	require.NoError(t, err)
	kept["by its key, when taken"] = write()
	taken, err := j.Take(ctx, 1, time.Hour)
	require.NoError(t, err)
	require.Len(t, taken, 1)
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
