package proxy

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/adapters/mcpguard"
)

func TestWhatIsNoCallPassesUnharmed(t *testing.T) {
	t.Parallel()
	d := serve(t, "plain", nil)
	line := `{"jsonrpc":"2.0","id":"a\u00e9-1","method":"x/any","params":{"b":1.0,"a":[1e3,9007199254740993],"_meta":{"k":null}}}`
	d.say(line)
	var got struct{ Got json.RawMessage }
	require.NoError(t, json.Unmarshal(d.answer(`"a\u00e9-1"`).Result, &got))
	assert.Equal(t, line, string(got.Got))
	var compact, want strings.Builder
	require.NoError(t, json.NewEncoder(&want).Encode(json.RawMessage(fakeTools)))
	require.NoError(t, json.NewEncoder(&compact).Encode(d.ask("tools/list", `{}`).Result))
	assert.Equal(t, want.String(), compact.String())
}

func TestCallsAreGuarded(t *testing.T) {
	t.Parallel()
	d := serve(t, "plain", nil)
	text, isError := d.result(d.call("echo", `{"text":"hi"}`))
	assert.Equal(t, `{"text":"hi"}`, text)
	assert.False(t, isError)

	code, outcome := d.failure(d.call("echo", `{"text":5}`))
	assert.Equal(t, "schema_violation", code)
	assert.Equal(t, "not_started", outcome)
	text, _ = d.result(d.call("ecko", `{}`))
	assert.Contains(t, text, "echo", "the name that was meant")

	text, isError = d.result(d.call("echo", `{"n":"5"}`))
	assert.False(t, isError)
	assert.Contains(t, text, `"notes"`, "the repair is told")
	assert.Contains(t, text, `{\"n\":5}`, "and what ran is the repaired document")
}

// Blocks, members and numbers that the proxy does not know go through as they are.
func TestResultsPassUnharmed(t *testing.T) {
	t.Parallel()
	d := serve(t, "plain", nil)
	assert.Equal(t, `{"content":[{"type":"hologram","z":1.0}],"structuredContent":{"n":9007199254740993},"extra":true}`, string(d.answer(d.call("odd", `{}`)).Result))
}

// A tool that fails may show what it saw: all but the text goes through as it is.
func TestFailuresKeepWhatIsNoText(t *testing.T) {
	t.Parallel()
	d := serve(t, "plain", nil)
	var r struct {
		Content           []json.RawMessage
		StructuredContent json.RawMessage
		IsError           bool
		Meta              json.RawMessage `json:"_meta"`
	}
	require.NoError(t, json.Unmarshal(d.answer(d.call("fail", `{}`)).Result, &r))
	assert.True(t, r.IsError)
	require.Len(t, r.Content, 2)
	assert.Contains(t, string(r.Content[0]), "request_rejected")
	assert.Equal(t, `{"type":"image","data":"AQ==","mimeType":"image/png"}`, string(r.Content[1]))
	assert.Equal(t, `{"n":9007199254740993}`, string(r.StructuredContent))
	assert.Equal(t, `{"k":1}`, string(r.Meta))
}

func TestProgressComesWithItsToken(t *testing.T) {
	t.Parallel()
	d := serve(t, "plain", nil)
	id := d.send("tools/call", `{"name":"progress","arguments":{},"_meta":{"progressToken":"p-1"}}`)
	m := d.receive()
	assert.Equal(t, "notifications/progress", m.Method)
	assert.Contains(t, string(m.Params), `"p-1"`)
	d.answer(id)
}

// The child is killed with a call in its hands: the call is answered as unknown,
// the next by a child that knows the client.
func TestServerKilledInACall(t *testing.T) {
	t.Parallel()
	d := serve(t, "plain", nil)
	d.ask("logging/setLevel", `{"level":"debug"}`)
	die := d.call("die", `{"n":1}`)
	other := d.send("x/slow", `{}`)
	code, outcome := d.failure(die)
	assert.Equal(t, "connection_lost", code)
	assert.Equal(t, "unknown", outcome)
	_ = other
	text, isError := d.result(d.call("echo", `{"text":"back"}`))
	assert.False(t, isError, text)
	assert.Len(t, d.notes("die"), 1, "it was not sent again")
	assert.Len(t, d.notes("start"), 2)
	assert.Len(t, d.notes("initialize"), 2)
	assert.Len(t, d.notes("logging/setLevel"), 2)
	code, _ = d.failure(d.call("die", `{"n":1}`))
	assert.Equal(t, "in_doubt", code, "an identical call does not run over it")
	assert.Len(t, d.notes("die"), 1)
}

// A request that is no call is answered too when the server dies.
func TestServerKilledInAnotherRequest(t *testing.T) {
	t.Parallel()
	d := serve(t, "plain", nil)
	e := d.ask("test/die", `{}`).failed()
	require.NotNil(t, e)
	assert.Equal(t, int64(codeServer), e.Code)
	assert.Contains(t, string(d.ask("x/any", `{}`).Result), "got")
}

// Only where the operator has said so a call that was lost is sent again.
func TestRepeatableCallsAreSentAgain(t *testing.T) {
	t.Parallel()
	d := serve(t, "plain", &mcpguard.Options{Effect: toolguard.Idempotent})
	d.failure(d.call("die", `{}`))
	assert.Len(t, d.notes("die"), 3)
}

func TestServerThatHangsIsGivenUpOn(t *testing.T) {
	t.Parallel()
	d := serve(t, "plain", brisk(200*time.Millisecond))
	code, outcome := d.failure(d.call("hang", `{}`))
	assert.Equal(t, "attempt_timeout", code)
	assert.Equal(t, "unknown", outcome)
	d.eventually("the server is told", func() bool { return len(d.notes("notifications/cancelled")) == 1 })
}

// A stopped process takes in messages and answers none.
func TestServerThatIsStopped(t *testing.T) {
	t.Parallel()
	d := serve(t, "plain", brisk(300*time.Millisecond))
	pid, err := strconv.Atoi(strings.TrimPrefix(d.notes("start")[0], "start "))
	require.NoError(t, err)
	code, _ := d.failure(d.call("stop", `{}`))
	assert.Equal(t, "attempt_timeout", code)
	code, _ = d.failure(d.call("echo", `{}`))
	assert.Equal(t, "attempt_timeout", code)
	require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
	text, isError := d.result(d.call("echo", `{"text":"awake"}`))
	assert.False(t, isError, text)
}

func TestGarbageFromTheServerIsPassedOver(t *testing.T) {
	t.Parallel()
	d := serve(t, "plain", nil)
	text, isError := d.result(d.call("garbage", `{}`))
	assert.False(t, isError)
	assert.Equal(t, "fine", text)
}

func TestGarbageFromTheClientIsAnswered(t *testing.T) {
	t.Parallel()
	d := serve(t, "plain", nil)
	for line, code := range map[string]int64{
		`{"jsonrpc":`: codeParse, `nonsense`: codeParse, "\x00": codeParse, `{"jsonrpc":"2.0","id":77}`: codeInvalid, `5`: codeInvalid, `"x"`: codeInvalid,
		`[]`: codeInvalid, `[1`: codeParse, `{"jsonrpc":"2.0","id":1,"method":{}}`: codeInvalid,
	} {
		d.say(line)
		e := d.receive().failed()
		require.NotNil(t, e, line)
		assert.Equal(t, code, e.Code, line)
	}
	e := d.ask("tools/call", `{"nom":1}`).failed()
	require.NotNil(t, e)
	assert.Equal(t, int64(-32602), e.Code)
	d.say(`[{"jsonrpc":"2.0","id":"b1","method":"x/any"},{"jsonrpc":"2.0","id":"b2","method":"x/any"}]`)
	d.answer(`"b1"`)
	d.answer(`"b2"`)
	d.say(`[{"jsonrpc":"2.0","id":"b3","method":"x/any"},{"id":"bad"},5,{"jsonrpc":"2.0","id":"b4","method":"tools/call","params":{"name":"echo","arguments":{}}}]`)
	answers := make(map[string]*message)
	for range 4 {
		m := d.receive()
		answers[m.key()] = m
	}
	assert.NotNil(t, answers[`"b3"`].Result, "a message that is none takes no other along")
	assert.NotNil(t, answers[`"b4"`].Result)
	assert.Equal(t, int64(codeInvalid), answers[`"bad"`].failed().Code)
	assert.Equal(t, int64(codeInvalid), answers[""].failed().Code)
}

// A huge result is cut; one beyond the limit is answered for, by the ID at its end.
func TestHugeResults(t *testing.T) {
	t.Parallel()
	o, ledger := options(t, "plain", nil)
	o.MaxMessage = 64 * hugeUnit
	d := serveOptions(t, o)
	d.ledger = ledger
	text, isError := d.result(d.call("huge", fmt.Sprintf(`{"bytes":%d}`, 50*hugeUnit)))
	assert.False(t, isError)
	assert.Less(t, len(text), 80<<10)
	assert.Greater(t, len(text), 60<<10)

	code, outcome := d.failure(d.call("huge", fmt.Sprintf(`{"bytes":%d}`, 70*hugeUnit)))
	assert.Equal(t, "bad_response", code)
	assert.Equal(t, "unknown", outcome)
	text, _ = d.result(d.call("echo", `{"text":"still here"}`))
	assert.Contains(t, text, "still here")
}

func TestManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	d := serve(t, "plain", nil)
	const calls = 1000
	waiting := make(map[string]string)
	go func() {
		for i := range calls {
			fmt.Fprintf(d.in, `{"jsonrpc":"2.0","id":"c%d","method":"tools/call","params":{"name":"write","arguments":{"n":%d}}}`+"\n", i, i)
		}
	}()
	for range calls {
		m := d.receive()
		require.Empty(t, waiting[m.key()], "answered twice")
		waiting[m.key()] = string(m.Result)
		assert.Equal(t, `{"content":[{"type":"text","text":"written"}]}`, string(m.Result))
	}
	assert.Len(t, waiting, calls)
	assert.Len(t, d.notes("write"), calls, "no effect twice")
}

// The client's cancellation stops the call, tells the server, and is not answered.
func TestClientCancels(t *testing.T) {
	t.Parallel()
	d := serve(t, "plain", nil)
	id := d.call("hang", `{}`)
	d.eventually("it runs", func() bool { return len(d.notes("hang")) == 1 })
	d.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
	d.eventually("the server is told", func() bool { return len(d.notes("notifications/cancelled")) == 1 })
	next := d.send("x/any", `{}`)
	assert.Equal(t, next, d.receive().key())
}

// A client that closes its end gets the answers that are nearly there, and then
// all of it ends.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	d := serve(t, "plain", nil)
	id := d.call("slow", `{}`)
	hang := d.call("hang", `{}`)
	_ = hang
	require.NoError(t, d.in.Close())
	text, _ := d.result(id)
	assert.Equal(t, "at last", text)
	go func() { d.failure(hang) }()
	require.NoError(t, d.end())
	d.eventually("the server ends too", func() bool { return len(d.notes("eof")) == 1 })
}

// Whatever the server has started ends with it, and a server that will not end is
// made to.
func TestWholeGroupEnds(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"family", "stubborn"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			d := serve(t, script, nil)
			d.ask("x/any", `{}`)
			require.NoError(t, d.in.Close())
			require.NoError(t, d.end())
			for _, line := range append(d.notes("child"), d.notes("start")...) {
				_, number, _ := strings.Cut(line, " ")
				d.eventually(line, func() bool { return gone(number) })
			}
		})
	}
}

// gone reports whether a process has ended, or is only waited for.
func gone(pid string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		n, _ := strconv.Atoi(pid)
		return syscall.Kill(n, 0) != nil
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "Z")
}

// A server that is dead while something it has started holds its pipe is noticed.
func TestDeadServerWithAHeldPipe(t *testing.T) {
	t.Parallel()
	d := serve(t, "family", nil)
	_, outcome := d.failure(d.call("die", `{}`))
	assert.Equal(t, "unknown", outcome)
}

func TestServerThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	o, _ := options(t, "plain", nil)
	o.Command = []string{"/nonexistent/server"}
	err := serveOptions(t, o).end()
	require.ErrorContains(t, err, "does not start")
}

func TestServerThatEndsBeforeItSpeaks(t *testing.T) {
	t.Parallel()
	o, _ := options(t, "mute", nil)
	d := serveOptions(t, o)
	e := d.ask("initialize", `{}`).failed()
	require.NotNil(t, e)
	require.ErrorContains(t, d.end(), "before it said anything")
}

// After its notice that the list has changed, the server is asked for it.
func TestChangedListsAreReadAgain(t *testing.T) {
	t.Parallel()
	d := serve(t, "plain", nil)
	d.result(d.call("more", `{}`))
	o := d.ask("tools/list", `{}`)
	assert.NotNil(t, o.Result)
	text, isError := d.result(d.call("echo", `{}`))
	assert.False(t, isError, text)
}

func TestProbeLearnsAndLeaves(t *testing.T) {
	t.Parallel()
	o, ledger := options(t, "plain", nil)
	require.NoError(t, o.Probe(t.Context()))
	assert.Contains(t, o.Guards.Tools(), "echo")
	d := &desk{t: t, ledger: ledger}
	d.eventually("the server ends", func() bool { return len(d.notes("eof")) == 1 })
}

// A server that says its list has changed and then answers nothing holds no call
// up for long.
func TestListThatDoesNotCome(t *testing.T) {
	t.Parallel()
	d := serve(t, "plain", brisk(200*time.Millisecond))
	pid, err := strconv.Atoi(strings.TrimPrefix(d.notes("start")[0], "start "))
	require.NoError(t, err)
	d.result(d.call("more", `{}`))
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	began := time.Now()
	code, _ := d.failure(d.call("echo", `{}`))
	assert.Equal(t, "attempt_timeout", code)
	assert.Less(t, time.Since(began), 3*listing)
	require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
}

// Blocks and structured content come back from a journal, which keeps bytes only.
func TestStoredResultsAreWrittenAgain(t *testing.T) {
	t.Parallel()
	r, err := readResult(json.RawMessage(`{"content":[{"type":"text","text":"a"},{"type":"image","data":"AQ==","mimeType":"image/png"}],"structuredContent":{"n":1}}`))
	require.NoError(t, err)
	for i := range r.Parts {
		r.Parts[i].Raw = nil
	}
	out := writeResult(toolguard.Envelope{OK: true, Result: r})
	assert.JSONEq(t, `{"content":[{"type":"text","text":"a"},{"type":"image","data":"AQ==","mimeType":"image/png"}],"structuredContent":{"n":1}}`, string(out))
}
