package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// invoke runs a command line and returns the exit code and what was printed.
func invoke(t *testing.T, stdin string, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr locked
	code = run(t.Context(), args, &console{strings.NewReader(stdin), &stdout, &stderr})
	return code, stdout.String(), stderr.String()
}

// locked is a buffer for several writers: a log, and a server's stderr.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// file writes a file for a test.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.json")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestHelpIsEverywhere(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-h"}, {"help"}, {"--help"}} {
		code, out, _ := invoke(t, "", args...)
		assert.Equal(t, exitOK, code)
		for _, cmd := range commands() {
			assert.Contains(t, out, cmd.name)
		}
	}
	for _, cmd := range commands() {
		code, out, errs := invoke(t, "", cmd.name, "-h")
		assert.Equal(t, exitOK, code, cmd.name)
		assert.Contains(t, out, "usage: toolguard "+cmd.name)
		assert.Empty(t, errs)
	}
	code, _, errs := invoke(t, "")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, "usage:")
}

// What makes no sense is said before anything is served, and names the thing.
func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	schema := file(t, `{"type":"object"}`)
	token := file(t, "short")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"prox"}, exitUsage, `no command "prox"`},
		{[]string{"proxy"}, exitUsage, "which server"},
		{[]string{"proxy", "-flag"}, exitUsage, "-flag"},
		{[]string{"proxy", "-url", "http://x/", "--", "cmd"}, exitUsage, "want one of them"},
		{[]string{"proxy", "-url", "ftp://x/"}, exitUsage, "ftp"},
		{[]string{"proxy", "-header", "x", "-url", "http://x/"}, exitUsage, "Name: value"},
		{[]string{"proxy", "-header", "A: b", "--", "cmd"}, exitUsage, "-header"},
		{[]string{"proxy", "-max-message", "5", "--", "cmd"}, exitUsage, "-max-message 5"},
		{[]string{"proxy", "-max-sessions", "0", "--", "cmd"}, exitUsage, "-max-sessions 0"},
		{[]string{"proxy", "-idle", "-1s", "--", "cmd"}, exitUsage, "-idle"},
		{[]string{"proxy", "-token-file", token, "--", "cmd"}, exitUsage, "-listen"},
		{[]string{"proxy", "-listen", "nonsense", "--", "cmd"}, exitUsage, "host:port"},
		{[]string{"proxy", "-listen", "0.0.0.0:0", "--", "cmd"}, exitUsage, "-token-file"},
		{[]string{"proxy", "-listen", "127.0.0.1:0", "-token-file", token, "--", "cmd"}, exitUsage, "16 or more"},
		{[]string{"proxy", "-log-level", "loud", "--", "cmd"}, exitUsage, "loud"},
		{[]string{"proxy", "-config", "/nonexistent.json", "--", "cmd"}, exitUsage, "/nonexistent.json"},
		{[]string{"proxy", "-config", file(t, `{"version":1,"tols":{}}`), "--", "cmd"}, exitUsage, "tols"},
		{[]string{"proxy", "-config", file(t, `{"version":1,"mcp":{"tols":{}}}`), "--", "cmd"}, exitUsage, "tols"},
		{[]string{"proxy", "-config", file(t, `{"version":1,"mcp":{"effect":"maybe"}}`), "--", "cmd"}, exitUsage, "maybe"},
		{[]string{"proxy", "-config", file(t, `{"version":1,"defaults":{"retry":{"budget":3}}}`), "--", "cmd"}, exitUsage, "/defaults/retry/budget"},
		{[]string{"proxy", "-event-successes", "2", "-events", "x", "--", "cmd"}, exitUsage, "-event-successes 2"},
		{[]string{"proxy", "-event-successes", "1", "--", "cmd"}, exitUsage, "-events"},
		{[]string{"proxy", "--", "/nonexistent/server"}, exitFailure, "does not start"},
		{[]string{"proxy", "--", "no-such-program"}, exitFailure, "no-such-program"},
		{[]string{"proxy", "-listen", "127.0.0.1:0", "--", "/nonexistent/server"}, exitFailure, "does not start"},
		{[]string{"check", schema}, exitUsage, "1 files"},
		{[]string{"check", "-lint", schema, schema}, exitUsage, "2 files"},
		{[]string{"check", "/nonexistent.json", schema}, exitUsage, "/nonexistent.json"},
		{[]string{"check", file(t, `{"a":`), schema}, exitUsage, "offset"},
		{[]string{"check", file(t, `5`), schema}, exitUsage, "want an object"},
		{[]string{"check", file(t, ``), schema}, exitUsage, "no tool"},
		{[]string{"check", "-locale", "xx", schema, schema}, exitUsage, "xx"},
		{[]string{"check", "-tool", "b", file(t, `[{"name":"a","inputSchema":{}}]`), schema}, exitUsage, "one of: a"},
	} {
		code, out, errs := invoke(t, "", c.args...)
		assert.Equal(t, c.code, code, c.args)
		assert.Contains(t, errs, c.want, c.args)
		assert.Empty(t, out, c.args)
	}
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	first := &waiter{found: make(chan string, 1)}
	ended := make(chan int)
	go func() {
		ended <- run(ctx, []string{"proxy", "-listen", "127.0.0.1:0", "--", "cat"}, &console{strings.NewReader(""), first, first})
	}()
	address := <-first.found
	code, _, errs := invoke(t, "", "proxy", "-listen", address, "--", "cat")
	assert.Equal(t, exitFailure, code)
	assert.Contains(t, errs, address)
	stop()
	assert.Equal(t, exitOK, <-ended)
}

// waiter finds the address a proxy says it serves at.
type waiter struct{ found chan string }

func (w *waiter) Write(p []byte) (int, error) {
	if _, rest, ok := strings.Cut(string(p), "http://"); ok {
		address, _, _ := strings.Cut(rest, "/mcp")
		w.found <- address
	}
	return len(p), nil
}

func TestVersion(t *testing.T) {
	t.Parallel()
	code, out, _ := invoke(t, "", "version")
	assert.Equal(t, exitOK, code)
	assert.Regexp(t, `^toolguard \S+`, out)
}

func TestCheckShowsWhatAGuardMakesOfArguments(t *testing.T) {
	t.Parallel()
	schema := file(t, `{"name":"pay","description":"d","inputSchema":{"type":"object","properties":{"cents":{"type":"integer"}},"required":["cents"]}}`)
	code, out, _ := invoke(t, `{"cents":"5"}`, "check", schema, "-")
	assert.Equal(t, exitOK, code)
	assert.Contains(t, out, `"ok":true`)
	assert.Contains(t, out, `arguments: {"cents":5}`)

	code, out, _ = invoke(t, `{"cent":5}`, "check", "-format", "text", schema, "-")
	assert.Equal(t, exitFailure, code)
	assert.Contains(t, out, "[TOOL ARGUMENTS REFUSED]")
	code, out, _ = invoke(t, `{"cents":`, "check", "-locale", "zh", "-json", schema, "-")
	assert.Equal(t, exitFailure, code)
	assert.Contains(t, out, `"envelope":{"ok":false`)
	assert.Contains(t, out, "参数")
}

func TestCheckReadsEveryForm(t *testing.T) {
	t.Parallel()
	tool := `{"name":"a","description":"d","inputSchema":{"type":"object","properties":{"n":{"type":"integer","description":"d"}},"required":["n"]}}`
	for _, form := range []string{
		`{"type":"object","required":["n"]}`,
		tool, `[` + tool + `]`, `{"tools":[` + tool + `]}`, `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + tool + `]}}`,
		tool + "\n" + strings.Replace(tool, `"a"`, `"b"`, 1),
		`{"tool":"a","input_schema":{"type":"object","required":["n"]}}`,
	} {
		code, out, errs := invoke(t, `{}`, "check", "-tool", "a", file(t, form), "-")
		assert.Equal(t, exitFailure, code, form+errs)
		assert.Contains(t, out, "schema_violation", form)
	}
}

func TestLintFinds(t *testing.T) {
	t.Parallel()
	code, out, _ := invoke(t, "", "check", "-lint", file(t, `[
		{"name":"flat","description":"d","inputSchema":{"query":{"type":"string","description":"SQL"}}},
		{"name":"get-user","inputSchema":{"type":"object","properties":{"userId":{},"user_id":{"type":["string","integer"],"description":"d"},"ids":{"type":"array","description":"d"},"deep":{"type":"object","description":"d","properties":{"x":{"type":"string"}}}}}},
		{"name":"get_user","description":"d","inputSchema":{"type":"object","properties":{"a":{"$ref":"#/nowhere"}}}},
		{"name":"two words","description":"d","inputSchema":{"type":"object"}}]`))
	assert.Equal(t, exitFailure, code)
	for _, want := range []string{
		"flat: a map of arguments where a schema belongs", "(constrains_nothing)",
		"get-user: the tool has no description (no_description)",
		"get-user/properties/userId: has no type", "get-user/properties/user_id: a model can take it for \"userId\" (name_collides)",
		"get-user/properties/user_id: may be one of [string integer]", "get-user/properties/ids: is an array of anything",
		"get-user/properties/deep/properties/x: has no description",
		"get_user: a model can take it for the tool \"get-user\" (name_collides)", "get_user: not enforced:",
		"two words: providers take 1 to 64",
	} {
		assert.Contains(t, out, want)
	}
	code, out, _ = invoke(t, "", "check", "-lint", file(t, `{"name":"a","description":"d","inputSchema":{"type":"object","properties":{"n":{"type":"integer","description":"d"}}}}`))
	assert.Equal(t, exitOK, code)
	assert.Empty(t, out)
	code, out, _ = invoke(t, "", "check", "-lint", "-json", file(t, `{"name":"a","inputSchema":{}}`))
	assert.Equal(t, exitFailure, code)
	assert.JSONEq(t, `[{"tool":"a","rule":"no_description","text":"the tool has no description"}]`, out)
}
