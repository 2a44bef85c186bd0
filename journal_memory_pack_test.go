package toolguard

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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
