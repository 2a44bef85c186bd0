package main

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// background runs a command until the test ends.
func background(t *testing.T, command []string) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // it was told to end
	})
}

// freeAddress is one that nobody listened at a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	return ln.Addr().String()
}

func awaitListener(t *testing.T, address string) {
	t.Helper()
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, realPatience, 20*time.Millisecond)
}

var scenario = regexp.MustCompile(`(?m)^. ([a-z0-9-]+): (\d+) passed, (\d+) failed$`)

// conformance runs the official suite against a server, and returns for each
// scenario how many checks passed and failed.
func conformance(t *testing.T, address string) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*realPatience)
	defer cancel()
	out, _ := exec.CommandContext(ctx, node(t), npm(t, "@modelcontextprotocol", "conformance", "dist", "index.js"),
		"server", "--url", "http://"+address+"/mcp").CombinedOutput() // failed checks are its error too
	found := make(map[string]string)
	for _, m := range scenario.FindAllStringSubmatch(string(out), -1) {
		found[m[1]] = m[2] + " passed, " + m[3] + " failed"
	}
	require.Len(t, found, 30, string(out))
	return found
}

// Behind the proxy the official suite finds what it finds directly, scenario by
// scenario, whichever way the proxy reaches the server.
func TestRealConformance(t *testing.T) {
	t.Parallel()
	everything := built(t, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server")
	direct, stateless := freeAddress(t), freeAddress(t)
	background(t, []string{everything, "-http", direct, "-stateless=false"})
	background(t, []string{everything, "-http", stateless})
	byStdio, byHTTP, byStateless := freeAddress(t), freeAddress(t), freeAddress(t)
	proxy := built(t, ".")
	background(t, []string{proxy, "proxy", "-listen", byStdio, "--", everything})
	background(t, []string{proxy, "proxy", "-listen", byHTTP, "-url", "http://" + direct + "/mcp"})
	background(t, []string{proxy, "proxy", "-listen", byStateless, "-url", "http://" + stateless + "/mcp"})
	for _, address := range []string{direct, stateless, byStdio, byHTTP, byStateless} {
		awaitListener(t, address)
	}

	want := conformance(t, direct)
	assert.Zero(t, failures(want))
	assert.Equal(t, want, conformance(t, byStdio), "in front of a process")
	assert.Equal(t, want, conformance(t, byHTTP), "in front of a server with sessions")

	// The server without sessions fails what needs them. The proxy has sessions, so
	// that the suite can open several streams in one: it skips that directly.
	want, got := conformance(t, stateless), conformance(t, byStateless)
	assert.Equal(t, 4, failures(want))
	delete(want, "server-sse-multiple-streams")
	delete(got, "server-sse-multiple-streams")
	assert.Equal(t, want, got, "in front of a server without sessions")
}

func failures(found map[string]string) (n int) {
	for _, result := range found {
		if !strings.HasSuffix(result, " 0 failed") {
			n++
		}
	}
	return n
}

// The official inspector shows the same behind the proxy.
func TestRealInspector(t *testing.T) {
	t.Parallel()
	server := npmServer(t, "everything", "stdio")
	inspect := func(command []string, args ...string) string {
		ctx, cancel := context.WithTimeout(t.Context(), 2*realPatience)
		defer cancel()
		all := append([]string{npm(t, ".bin", "mcp-inspector"), "--cli"}, command...)
		out, err := exec.CommandContext(ctx, node(t), append(all, args...)...).Output()
		require.NoError(t, err, fmt.Sprint(all))
		return string(out)
	}
	for _, args := range [][]string{
		{"--method", "tools/list"}, {"--method", "prompts/list"}, {"--method", "resources/list"},
		{"--method", "tools/call", "--tool-name", "get-sum", "--tool-arg", "a=1", "--tool-arg", "b=2"},
	} {
		direct := inspect(server, args...)
		assert.NotEmpty(t, direct)
		assert.Equal(t, direct, inspect(append([]string{built(t, "."), "proxy"}, server...), args...), args)
	}
}
