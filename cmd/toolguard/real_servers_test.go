package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// request is one to ask directly and through the proxy.
type exchange struct{ method, params string }

func called(tool, args string) exchange { return exchange{"tools/call", toolCall(tool, args)} }

// Behind the proxy a server says what it says directly, byte by byte but for the
// errors of its tools.
func TestRealServersSayTheSameBehindTheProxy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello\nthere\n"), 0o600))
	kb := filepath.Join(dir, "kb.json")
	sdk := "github.com/modelcontextprotocol/go-sdk/examples/server/"
	for name, c := range map[string]struct {
		server    func(*testing.T) []string
		exchanges []exchange
	}{
		"everything": {func(t *testing.T) []string { return npmServer(t, "everything", "stdio") }, []exchange{
			{"tools/list", `{}`}, {"prompts/list", `{}`}, {"resources/list", `{}`}, {"resources/templates/list", `{}`},
			{"resources/read", `{"uri":"demo://resource/static/document/architecture.md"}`}, {"prompts/get", `{"name":"simple-prompt"}`},
			{"logging/setLevel", `{"level":"error"}`}, {"ping", `{}`}, {"no/such", `{}`},
			called("echo", `{"message":"hé\u2028llo"}`), called("get-sum", `{"a":1e2,"b":2.50}`), called("get-tiny-image", `{}`),
			called("get-structured-content", `{"location":"Chicago"}`), called("get-resource-links", `{"count":3}`),
			called("get-resource-reference", `{"resourceType":"Text","resourceId":1}`), called("get-annotated-message", `{"messageType":"debug","includeImage":true}`),
		}},
		"filesystem": {func(t *testing.T) []string { return npmServer(t, "filesystem", dir) }, []exchange{
			{"tools/list", `{}`}, called("read_text_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(dir, "a.txt"))),
			called("list_directory", fmt.Sprintf(`{"path":%q}`, dir)), called("list_allowed_directories", `{}`),
		}},
		"memory": {func(t *testing.T) []string {
			return append([]string{"env", "MEMORY_FILE_PATH=" + kb}, npmServer(t, "memory")...)
		}, []exchange{
			{"tools/list", `{}`}, called("create_entities", `{"entities":[{"name":"a","entityType":"t","observations":["o"]}]}`),
			called("read_graph", `{}`), called("delete_entities", `{"entityNames":["a"]}`),
		}},
		"sequential-thinking": {func(t *testing.T) []string { return npmServer(t, "sequential-thinking") }, []exchange{
			{"tools/list", `{}`}, called("sequentialthinking", `{"thought":"x","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`),
		}},
		"sdk everything": {func(t *testing.T) []string { return []string{built(t, sdk+"everything")} }, []exchange{
			{"tools/list", `{}`}, {"prompts/list", `{}`}, {"resources/list", `{}`}, called("greet", `{"name":"x"}`),
		}},
		"sdk hello": {func(t *testing.T) []string { return []string{built(t, sdk+"hello")} }, []exchange{
			{"tools/list", `{}`}, called("greet", `{"name":"x"}`),
		}},
		"sdk sequentialthinking": {func(t *testing.T) []string { return []string{built(t, sdk+"sequentialthinking")} }, []exchange{
			{"tools/list", `{}`}, {"resources/list", `{}`}, called("start_thinking", `{"problem":"x","sessionId":"s1"}`), called("review_thinking", `{"sessionId":"s1"}`),
		}},
		"sdk toolschemas": {func(t *testing.T) []string { return []string{built(t, sdk+"toolschemas")} }, []exchange{
			{"tools/list", `{}`}, called("simple greeting", `{"name":"x"}`), called("manual greeting", `{"name":"x"}`), called("unvalidated greeting", `{"name":"x"}`),
		}},
		"sdk memory": {func(t *testing.T) []string { return []string{built(t, sdk+"memory")} }, []exchange{
			{"tools/list", `{}`}, called("create_entities", `{"entities":[{"name":"a","entityType":"t","observations":["o"]}]}`), called("read_graph", `{}`),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := c.server(t)
			direct := dialServer(t, server)
			var want []string
			for _, x := range c.exchanges {
				a := direct.ask(x.method, x.params)
				want = append(want, timeless(a))
			}
			direct.close()
			behind := dialServer(t, proxied(t, server))
			for i, x := range c.exchanges {
				a := behind.ask(x.method, x.params)
				assert.Equal(t, want[i], timeless(a), "%s %s", x.method, x.params)
			}
		})
	}
}

var clock = regexp.MustCompile(`\d+:\d\d:\d\d [AP]M`)

// timeless is an answer without the time of day.
func timeless(a answer) string { return clock.ReplaceAllString(string(a.Result)+string(a.Error), "") }

func TestRealErrorsOfTools(t *testing.T) {
	t.Parallel()
	w := dialServer(t, proxied(t, npmServer(t, "filesystem", t.TempDir())))
	code, outcome := failureOf(t, w.ask("tools/call", toolCall("read_text_file", `{"path":"/etc/shadow"}`)))
	assert.Equal(t, "request_rejected", code)
	assert.Equal(t, "failed", outcome)
	code, outcome = failureOf(t, w.ask("tools/call", toolCall("read_text_file", `{"pth":"/etc/shadow"}`)))
	assert.Equal(t, "schema_violation", code)
	assert.Equal(t, "not_started", outcome)
}

// pages are files that server-filesystem edits, the ledger: each edit adds a line,
// so that one made twice shows.
type pages struct {
	dir string
	n   int
}

func newPages(t *testing.T, n int) *pages {
	p := &pages{t.TempDir(), n}
	for i := range n {
		require.NoError(t, os.WriteFile(p.path(i), []byte("end\n"), 0o600))
	}
	return p
}

func (p *pages) path(i int) string { return filepath.Join(p.dir, fmt.Sprint(i)) }

// edit is a call that adds a line to a page.
func (p *pages) edit(i int) string {
	return toolCall("edit_file", fmt.Sprintf(`{"path":%q,"edits":[{"oldText":"end","newText":"line\nend"}]}`, p.path(i)))
}

// edits returns how many pages were edited; none was twice.
func (p *pages) edits(t *testing.T) (n int) {
	t.Helper()
	for i := range p.n {
		text, err := os.ReadFile(p.path(i))
		require.NoError(t, err)
		lines := strings.Count(string(text), "line")
		assert.LessOrEqual(t, lines, 1, "page %d", i)
		n += lines
	}
	return n
}

// Whatever happens to a server, every call is answered once and no edit is made
// twice; and once it is back its tools can be called, however many calls were lost.
func TestRealLedgerUnderKills(t *testing.T) {
	t.Parallel()
	const calls, kills = 120, 3
	p := newPages(t, calls)
	w := dialServer(t, proxied(t, npmServer(t, "filesystem", p.dir)))
	answers, unknown := 0, 0
	for round := range kills {
		require.Eventually(t, func() bool { return w.ask("ping", `{}`).Error == nil }, realPatience, time.Millisecond, "it is back")
		server := w.child() // it takes longer to find than calls take
		var ids []string
		for i := range calls / kills {
			ids = append(ids, w.send("tools/call", p.edit(round*calls/kills+i)))
		}
		seen := w.answer(ids[0])
		assert.NotContains(t, string(seen.Result), `"isError":true`, "round %d", round)
		w.early[ids[0]] = seen // it counts like the others
		require.NoError(t, syscall.Kill(server, syscall.SIGKILL))
		for _, id := range ids {
			var r struct{ IsError bool }
			a := w.answer(id)
			require.NoError(t, json.Unmarshal(a.Result, &r))
			if answers++; r.IsError {
				code, outcome := failureOf(t, a)
				assert.Equal(t, "connection_lost", code)
				assert.Contains(t, []string{"unknown", "not_started"}, outcome)
				unknown++
			}
		}
	}
	assert.Equal(t, calls, answers)
	assert.Positive(t, unknown, "the kills hit nothing")
	assert.GreaterOrEqual(t, p.edits(t), answers-unknown, "what was answered as done is done")
}

// What the server asks of the client's model or user takes as long as it takes: the
// tool has 2 s here, and the answer comes after 5.
func TestRealServerAsksTheClient(t *testing.T) {
	t.Parallel()
	policy := file(t, `{"version":1,"defaults":{"timeout":{"attempt":"2s","grace":"100ms"}}}`)
	w := dialClient(t, proxied(t, npmServer(t, "everything", "stdio"), "-config", policy), `{"sampling":{},"elicitation":{}}`)
	for tool, c := range map[string]struct{ args, method, answer, want string }{
		"trigger-sampling-request": {
			`{"prompt":"x"}`, "sampling/createMessage", `{"role":"assistant","model":"m","content":{"type":"text","text":"sampled"}}`, "sampled",
		},
		"trigger-elicitation-request": {`{}`, "elicitation/create", `{"action":"decline"}`, "decline"},
	} {
		id := w.send("tools/call", toolCall(tool, c.args))
		q := w.question(c.method)
		asked := time.Now()
		require.Eventually(t, func() bool { return time.Since(asked) > 5*time.Second }, realPatience, 100*time.Millisecond)
		w.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, c.answer))
		a := w.answer(id)
		assert.NotContains(t, string(a.Result), `"isError":true`)
		assert.Contains(t, string(a.Result), c.want)
	}
}

// A server that is stopped in a call is given up on, and used again when it goes on.
func TestRealServerStops(t *testing.T) {
	t.Parallel()
	policy := file(t, `{"version":1,"defaults":{"timeout":{"attempt":"1s","grace":"100ms"}}}`)
	w := dialServer(t, proxied(t, npmServer(t, "everything", "stdio"), "-config", policy))
	w.ask("tools/call", toolCall("echo", `{"message":"a"}`))
	w.signalChild(syscall.SIGSTOP)
	code, outcome := failureOf(t, w.ask("tools/call", toolCall("echo", `{"message":"b"}`)))
	assert.Equal(t, "attempt_timeout", code)
	assert.Equal(t, "unknown", outcome)
	w.signalChild(syscall.SIGCONT)
	assert.Contains(t, string(w.ask("tools/call", toolCall("echo", `{"message":"c"}`)).Result), "Echo: c")
}

func TestRealServerFloodsAndThousandCalls(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	big := filepath.Join(dir, "big.txt")
	require.NoError(t, os.WriteFile(big, []byte(strings.Repeat("0123456789abcde\n", 50<<16)), 0o600))
	w := dialServer(t, proxied(t, npmServer(t, "filesystem", dir), "-max-message", "200000000"))
	a := w.ask("tools/call", toolCall("read_text_file", fmt.Sprintf(`{"path":%q}`, big)))
	assert.Less(t, len(a.Result), 128<<10, "50 MB are cut")
	assert.NotContains(t, string(a.Result), `"isError":true`)

	var ids []string
	for i := range 1000 {
		ids = append(ids, w.send("tools/call", toolCall("write_file", fmt.Sprintf(`{"path":%q,"content":"%d"}`, filepath.Join(dir, fmt.Sprint(i)), i))))
	}
	for _, id := range ids {
		assert.NotContains(t, string(w.answer(id).Result), `"isError":true`)
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, files, 1001)
}

// What a server or its launcher prints beside the protocol is passed over.
func TestRealServerWithGarbageOnItsOutput(t *testing.T) {
	t.Parallel()
	noisy := append([]string{"sh", "-c", `echo 'Starting the server ...'; echo '{"half":'; printf '\000\377\n\n[1,2]\n'; exec "$0" "$@"`}, npmServer(t, "everything", "stdio")...)
	w := dialServer(t, proxied(t, noisy))
	assert.Contains(t, string(w.ask("tools/call", toolCall("echo", `{"message":"a"}`)).Result), "Echo: a")
}

// A client that is gone in the middle of a call leaves no process behind.
func TestRealClientLeavesInACall(t *testing.T) {
	t.Parallel()
	w := dialServer(t, proxied(t, npmServer(t, "everything", "stdio")))
	w.send("tools/call", toolCall("trigger-long-running-operation", `{"duration":600,"steps":600}`))
	pid := w.child()
	w.close()
	assert.Eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, realPatience, 20*time.Millisecond)
}

func TestRealConfigNamesToolsTheServerHas(t *testing.T) {
	t.Parallel()
	server := npmServer(t, "everything", "stdio")
	for text, want := range map[string]string{
		`{"version":1,"tools":{"ech":{"timeout":{"attempt":"1s"}}}}`:       "/tools/ech",
		`{"version":1,"mcp":{"tools":{"get_sum":{"effect":"read_only"}}}}`: `no tool "get_sum"`,
	} {
		code, out, errs := invoke(t, "", append([]string{"proxy", "-config", file(t, text), "--"}, server...)...)
		assert.Equal(t, exitUsage, code)
		assert.Contains(t, errs, want)
		assert.Empty(t, out)
	}
	w := dialServer(t, proxied(t, server, "-config", file(t, `{"version":1,"mcp":{"tools":{"echo":{"effect":"read_only"}}}}`)))
	assert.Contains(t, string(w.ask("tools/call", toolCall("echo", `{"message":"c"}`)).Result), "Echo: c")
}

// With a journal a proxy that was killed in the middle of calls leaves a successor
// that repeats none of them.
func TestRealRestartWithAJournal(t *testing.T) {
	t.Parallel()
	const calls = 300
	p, journal := newPages(t, calls), filepath.Join(t.TempDir(), "j.db")
	policy := file(t, `{"version":1,"mcp":{"tools":{"edit_file":{"effect":"non_idempotent"}}}}`)
	command := proxied(t, npmServer(t, "filesystem", p.dir), "-journal", journal, "-config", policy)
	first := dialServer(t, command)
	for i := range calls {
		first.send("tools/call", p.edit(i))
	}
	require.Eventually(t, func() bool { return p.edits(t) > 0 }, realPatience, time.Millisecond)
	require.NoError(t, first.cmd.Process.Kill())
	_, err := first.cmd.Process.Wait() // until then it may settle calls, and be seen to
	require.NoError(t, err)
	begun := p.edits(t)

	second := dialServer(t, command)
	doubts := 0
	for i := range calls {
		text, err := os.ReadFile(p.path(i))
		require.NoError(t, err)
		if strings.Contains(string(text), "line") && !inDoubt(t, journal, p.path(i)) {
			continue // it is done and known to be: the model is not told to send it again
		}
		var r struct{ IsError bool }
		a := second.ask("tools/call", p.edit(i))
		require.NoError(t, json.Unmarshal(a.Result, &r))
		if r.IsError {
			code, _ := failureOf(t, a)
			assert.Contains(t, []string{"in_doubt", "in_progress"}, code)
			doubts++
		}
	}
	t.Logf("%d of %d edits before the kill, %d calls are left for people to decide", begun, calls, doubts)
	assert.Positive(t, doubts, "the kill hit nothing")
	assert.GreaterOrEqual(t, p.edits(t), calls-doubts)
}

// inDoubt says whether the journal has an open call on a page.
func inDoubt(t *testing.T, journal, path string) bool {
	_, out, _ := invoke(t, "", "journal", "list", "-journal", journal, "-json", "-limit", "1000", "-state", "pending,unknown,parked")
	return strings.Contains(out, path+`"`) // of page 6, not of 64
}
