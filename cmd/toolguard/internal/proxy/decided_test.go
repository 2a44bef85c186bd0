package proxy

import (
	"context"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/adapters/mcpguard"
)

// asker is a client that says it can ask its user.
const asker = `{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}`

// mute is one that cannot.
const mute = `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`

// approving is a proxy whose tool write needs a yes.
func approving(t *testing.T, journal toolguard.Journal, client string) *desk {
	o, ledger := options(t, "plain", &mcpguard.Options{
		Options: toolguard.Options{
			Journal: journal, Approver: Approver{},
			Approval: toolguard.ApprovalPolicy{Risks: []toolguard.Risk{toolguard.RiskHigh}, Wait: ApprovalWait},
		},
		Info: func(tool *mcp.Tool, i toolguard.Info) toolguard.Info {
			if tool.Name == "write" {
				i.Risk = toolguard.RiskHigh
			}
			return i
		},
	})
	o.Journal = journal
	d := serveOptions(t, o)
	d.ledger = ledger
	d.ask("initialize", client)
	d.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return d
}

func TestApprovalByTheClientsUser(t *testing.T) {
	t.Parallel()
	d := approving(t, toolguard.NewMemoryJournal(), asker)
	text, isError := d.result(d.call("echo", `{}`))
	assert.False(t, isError, text, "nobody is asked about the others")
	for answer, want := range map[string]string{
		`{"action":"accept","content":{"allow":true}}`:  "",
		`{"action":"accept","content":{"allow":false}}`: "approval_denied",
		`{"action":"decline"}`:                          "approval_denied",
		`{"action":"cancel"}`:                           "approval_pending",
	} {
		id := d.call("write", fmt.Sprintf(`{"for":%q}`, answer))
		q := d.receive()
		require.Equal(t, "elicitation/create", q.Method)
		assert.Contains(t, string(q.Params), "Allow the tool write to run with")
		d.say(`{"jsonrpc":"2.0","id":` + q.key() + `,"result":` + answer + `}`)
		if want == "" {
			text, isError := d.result(id)
			assert.False(t, isError, text)
			continue
		}
		code, outcome := d.failure(id)
		assert.Equal(t, want, code)
		assert.Equal(t, "not_started", outcome)
	}
	assert.Len(t, d.notes("write"), 1)
}

// Where the client cannot ask, the call waits in the journal, and runs when the
// model sends it again after somebody has said yes there.
func TestApprovalLater(t *testing.T) {
	t.Parallel()
	j := toolguard.NewMemoryJournal()
	d := approving(t, j, mute)
	code, _ := d.failure(d.call("write", `{"n":1}`))
	assert.Equal(t, "approval_pending", code)
	assert.Empty(t, d.notes("write"))
	waiting, err := j.Scan(t.Context(), toolguard.Query{States: []toolguard.State{toolguard.StateAwaiting}})
	require.NoError(t, err)
	require.Len(t, waiting, 1)
	_, err = toolguard.Decide(t.Context(), j, toolguard.Ruling{Key: waiting[0].Key, Verdict: toolguard.RulingApprove, By: "ann"})
	require.NoError(t, err)
	text, isError := d.result(d.call("write", `{"n":1}`))
	assert.False(t, isError, text)
	assert.Equal(t, []string{`write {"n":1}`}, d.notes("write"))
}

// With a journal a proxy that is started again knows what the one before it left
// unknown.
func TestJournalOutlivesTheProxy(t *testing.T) {
	t.Parallel()
	j := toolguard.NewMemoryJournal()
	opts := &mcpguard.Options{Options: toolguard.Options{Journal: j}}
	d := serve(t, "plain", opts)
	_, outcome := d.failure(d.call("die", `{"n":1}`))
	assert.Equal(t, "unknown", outcome)
	require.NoError(t, d.in.Close())
	require.NoError(t, d.end())
	again := serve(t, "plain", opts)
	code, _ := again.failure(again.call("die", `{"n":1}`))
	assert.Equal(t, "in_doubt", code)
	assert.Empty(t, again.notes("die"))
}

// decide says what a person decides about the only entry in a state.
func decide(t *testing.T, j toolguard.Journal, state toolguard.State, r toolguard.Ruling) {
	t.Helper()
	found, err := j.Scan(t.Context(), toolguard.Query{States: []toolguard.State{state}})
	require.NoError(t, err)
	require.Len(t, found, 1)
	r.Key, r.By = found[0].Key, "ann"
	_, err = toolguard.Decide(t.Context(), j, r)
	require.NoError(t, err)
}

// again is the same proxy anew or, with restart, one that is started in its place.
func again(t *testing.T, d *desk, j toolguard.Journal, restart bool) *desk {
	t.Helper()
	if !restart {
		return d
	}
	require.NoError(t, d.in.Close())
	require.NoError(t, d.end())
	return approving(t, j, mute)
}

// What a person decides reaches the model with the next such call, once, and then
// the call is one like any other.
func TestDecisionsReachTheModel(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart=", restart), func(t *testing.T) {
			t.Parallel()
			t.Run("approved", func(t *testing.T) {
				t.Parallel()
				j := toolguard.NewMemoryJournal()
				d := approving(t, j, mute)
				d.failure(d.call("write", `{"n":1}`))
				decide(t, j, toolguard.StateAwaiting, toolguard.Ruling{Verdict: toolguard.RulingApprove, Args: []byte(`{"n":2}`)})
				d2 := again(t, d, j, restart)
				text, isError := d2.result(d2.call("write", `{"n":1}`))
				assert.False(t, isError, text)
				assert.Equal(t, []string{`write {"n":2}`}, d2.notes("write"), "what was approved runs")
				code, _ := d2.failure(d2.call("write", `{ "n": 1 }`))
				assert.Equal(t, "approval_pending", code)
				assert.Len(t, d2.notes("write"), 1, "once")
			})
			t.Run("denied", func(t *testing.T) {
				t.Parallel()
				j := toolguard.NewMemoryJournal()
				d := approving(t, j, mute)
				d.failure(d.call("write", `{"n":1}`))
				decide(t, j, toolguard.StateAwaiting, toolguard.Ruling{Verdict: toolguard.RulingDeny, Why: "not on a Friday"})
				d2 := again(t, d, j, restart)
				code, _ := d2.failure(d2.call("write", `{ "n": 1 }`))
				assert.Equal(t, "approval_denied", code)
				code, _ = d2.failure(d2.call("write", `{"n":1}`))
				assert.Equal(t, "approval_pending", code, "it may be asked for again")
				assert.Empty(t, d2.notes("write"))
			})
			t.Run("had its effect", func(t *testing.T) {
				t.Parallel()
				j := toolguard.NewMemoryJournal()
				d := approving(t, j, mute)
				d.failure(d.call("die", `{"n":1}`))
				decide(t, j, toolguard.StateUnknown, toolguard.Ruling{Verdict: toolguard.RulingSucceeded, Result: toolguard.Result{Text: "seen on the statement"}})
				before := len(d.notes("die"))
				d2 := again(t, d, j, restart)
				if restart {
					before = 0
				}
				text, isError := d2.result(d2.call("die", `{"n":1}`))
				assert.False(t, isError, text)
				assert.Contains(t, text, "seen on the statement")
				assert.Len(t, d2.notes("die"), before, "it is not done again")
				d2.failure(d2.call("die", `{"n":1}`))
				assert.Len(t, d2.notes("die"), before+1, "what is meant anew is")
			})
			for _, verdict := range []toolguard.RulingVerdict{toolguard.RulingFailed, toolguard.RulingRetry, toolguard.RulingAbort} {
				t.Run(verdict.String(), func(t *testing.T) {
					t.Parallel()
					j := toolguard.NewMemoryJournal()
					d := approving(t, j, mute)
					d.failure(d.call("die", `{"n":1}`))
					decide(t, j, toolguard.StateUnknown, toolguard.Ruling{Verdict: verdict})
					before := len(d.notes("die"))
					d2 := again(t, d, j, restart)
					if restart {
						before = 0
					}
					code, _ := d2.failure(d2.call("die", `{"n":1}`))
					if verdict == toolguard.RulingAbort {
						assert.Equal(t, "aborted", code)
						assert.Len(t, d2.notes("die"), before)
						return
					}
					assert.Equal(t, "connection_lost", code)
					assert.Len(t, d2.notes("die"), before+1)
					code, _ = d2.failure(d2.call("die", `{"n":1}`))
					assert.Equal(t, "in_doubt", code, "once")
				})
			}
			t.Run("in another way", func(t *testing.T) {
				t.Parallel()
				j := toolguard.NewMemoryJournal()
				d := approving(t, j, mute)
				d.failure(d.call("die", `{"n":1}`))
				decide(t, j, toolguard.StateUnknown, toolguard.Ruling{Verdict: toolguard.RulingRetry, Args: []byte(`{"n":1,"how":"safely"}`)})
				d2 := again(t, d, j, restart)
				text, isError := d2.result(d2.call("die", `{"n":1}`))
				assert.False(t, isError, text)
				assert.Contains(t, d2.notes("die"), `die {"n":1,"how":"safely"}`)
				runs := len(d2.notes("die"))
				code, _ := d2.failure(d2.call("die", `{"n":1}`))
				assert.Equal(t, "aborted", code)
				assert.Len(t, d2.notes("die"), runs, "once")
			})
		})
	}
}

// A journal that does not answer decides nothing, and is not asked without need.
func TestOpenCallsAreBounded(t *testing.T) {
	t.Parallel()
	o := openCalls{journal: toolguard.NewMemoryJournal(), session: "s"}
	for i := range maxOpen + 100 {
		o.keep(fmt.Sprint(i), "k")
	}
	assert.Len(t, o.keys, maxOpen)
	none := openCalls{}
	e, err := none.find(context.Background(), &call{name: "x"})
	require.NoError(t, err)
	assert.Equal(t, toolguard.StateNone, e.State)
}
