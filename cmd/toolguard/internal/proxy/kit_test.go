package proxy

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/adapters/mcpguard"
)

// desk is a client of a proxy in front of the fake server.
type desk struct {
	t      *testing.T
	in     io.WriteCloser
	out    *bufio.Reader
	ledger string
	ended  chan error
	stop   context.CancelFunc
	last   int
}

// patienceOfTests bounds every wait for a real process.
const patienceOfTests = 60 * time.Second

func options(t *testing.T, script string, opts *mcpguard.Options) (*Options, string) {
	t.Helper()
	ledger := filepath.Join(t.TempDir(), "ledger")
	guards, err := mcpguard.New(opts)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	return &Options{
		Command: []string{"env", "FAKE_SERVER=" + script, "FAKE_LEDGER=" + ledger, self},
		Stderr:  io.Discard, Guards: guards, Session: "test", MaxMessage: 64 << 20, Log: slog.New(slog.DiscardHandler),
	}, ledger
}

// serve starts a proxy and shakes hands.
func serve(t *testing.T, script string, opts *mcpguard.Options) *desk {
	o, ledger := options(t, script, opts)
	d := serveOptions(t, o)
	d.ledger = ledger
	a := d.ask("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	require.Contains(t, string(a.Result), `"x":1.50`, "handed on as it was written")
	d.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return d
}

func serveOptions(t *testing.T, o *Options) *desk {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	clientIn, proxyOut := io.Pipe()
	proxyIn, clientOut := io.Pipe()
	d := &desk{t: t, in: clientOut, out: bufio.NewReader(clientIn), ended: make(chan error, 1), stop: stop}
	go func() {
		err := o.Stdio(ctx, proxyIn, proxyOut)
		_ = proxyOut.Close()
		d.ended <- err
	}()
	t.Cleanup(func() {
		stop()
		go func() { _, _ = io.Copy(io.Discard, d.out) }()
		d.end()
	})
	return d
}

// end waits until the proxy is gone.
func (d *desk) end() error {
	d.t.Helper()
	select {
	case err := <-d.ended:
		d.ended <- err
		return err
	case <-time.After(patienceOfTests):
		d.t.Fatal("the proxy does not end")
		return nil
	}
}

func (d *desk) say(line string) {
	d.t.Helper()
	_, err := io.WriteString(d.in, line+"\n")
	require.NoError(d.t, err)
}

// send makes a request and returns its ID.
func (d *desk) send(method, params string) string {
	d.t.Helper()
	d.last++
	id := fmt.Sprint(d.last)
	d.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return id
}

func (d *desk) call(tool, args string) string {
	d.t.Helper()
	return d.send("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
}

// receive returns the next message.
func (d *desk) receive() *message {
	d.t.Helper()
	type read struct {
		line string
		err  error
	}
	got := make(chan read, 1)
	go func() {
		line, err := d.out.ReadString('\n')
		got <- read{line, err}
	}()
	select {
	case r := <-got:
		require.NoError(d.t, r.err)
		m, err := parseOne([]byte(strings.TrimSpace(r.line)))
		require.NoError(d.t, err, r.line)
		return m
	case <-time.After(patienceOfTests):
		d.t.Fatal("nothing comes")
		return nil
	}
}

// answer returns the answer to a request, passing over what comes before it.
func (d *desk) answer(id string) *message {
	d.t.Helper()
	for {
		if m := d.receive(); m.isAnswer() && m.key() == id {
			return m
		}
	}
}

func (d *desk) ask(method, params string) *message {
	d.t.Helper()
	return d.answer(d.send(method, params))
}

// result is the result of a call.
type callResult struct {
	Content []struct{ Type, Text string }
	IsError bool
}

func (d *desk) result(id string) (text string, isError bool) {
	d.t.Helper()
	var r callResult
	require.NoError(d.t, json.Unmarshal(d.answer(id).Result, &r))
	if len(r.Content) > 0 {
		text = r.Content[0].Text
	}
	return text, r.IsError
}

// failure wants a call to have failed.
func (d *desk) failure(id string) (code, outcome string) {
	d.t.Helper()
	text, isError := d.result(id)
	require.True(d.t, isError, text)
	var e struct {
		Error struct{ Code, Outcome string }
	}
	require.NoError(d.t, json.Unmarshal([]byte(text), &e), text)
	return e.Error.Code, e.Error.Outcome
}

// notes are the lines of the ledger that begin with a word.
func (d *desk) notes(word string) []string {
	d.t.Helper()
	text, err := os.ReadFile(d.ledger)
	require.NoError(d.t, err)
	var found []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == word || strings.HasPrefix(line, word+" ") {
			found = append(found, line)
		}
	}
	return found
}

// eventually waits for what a process does in its own time.
func (d *desk) eventually(what string, ok func() bool) {
	d.t.Helper()
	assert.Eventually(d.t, ok, patienceOfTests, 10*time.Millisecond, what)
}

// brisk makes attempts short.
func brisk(attempt time.Duration) *mcpguard.Options {
	return &mcpguard.Options{Options: toolguard.Options{Timeout: toolguard.TimeoutPolicy{Attempt: attempt}}}
}
