package proxy

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary is also the MCP server of the tests: one that does what it is
// told, however badly.
func TestMain(m *testing.M) {
	if script := os.Getenv("FAKE_SERVER"); script != "" {
		fakeServer(script)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// ledger is where the effects of the fake's tools are written, a line each.
func ledger() string { return os.Getenv("FAKE_LEDGER") }

func note(line string) {
	f, err := os.OpenFile(ledger(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintln(f, line)
}

type fakeRequest struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Meta      struct {
			ProgressToken json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

const fakeTools = `{"tools":[
 {"name":"echo","description":"e","inputSchema":{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer"}}},"x-unknown":{"a":1}},
 {"name":"write","inputSchema":{"type":"object"}},{"name":"die","inputSchema":{"type":"object"}},{"name":"hang","inputSchema":{"type":"object"}},
 {"name":"stop","inputSchema":{"type":"object"}},{"name":"huge","inputSchema":{"type":"object"}},{"name":"garbage","inputSchema":{"type":"object"}},
 {"name":"progress","inputSchema":{"type":"object"}},{"name":"slow","inputSchema":{"type":"object"}},{"name":"odd","inputSchema":{"type":"object"}},{"name":"more","inputSchema":{"type":"object"}},
 {"name":"ask","inputSchema":{"type":"object"}},{"name":"fail","inputSchema":{"type":"object"}}]}`

// askers are calls that wait for an answer of the client, by the question's ID.
var askers = make(map[string]fakeRequest)

func fakeServer(script string) {
	switch script {
	case "mute":
		fmt.Fprintln(os.Stderr, "no licence")
		os.Exit(3)
	case "family":
		child := exec.Command("sleep", "1000")
		child.Stdout = os.Stdout // holds the pipe
		_ = child.Start()
		note(fmt.Sprint("child ", child.Process.Pid))
	}
	note(fmt.Sprint("start ", os.Getpid()))
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			note("eof")
			if script == "stubborn" {
				select {}
			}
			return
		}
		var r fakeRequest
		if json.Unmarshal([]byte(line), &r) != nil {
			continue
		}
		fakeAnswer(r, line)
	}
}

func say(text string) { fmt.Println(strings.ReplaceAll(text, "\n", "")) }

func reply(r fakeRequest, result string) {
	say(fmt.Sprintf(`{"result":%s,"jsonrpc":"2.0","id":%s}`, result, r.ID))
}

func fakeAnswer(r fakeRequest, line string) {
	switch r.Method {
	case "": // an answer
		if asker, ok := askers[string(r.ID)]; ok {
			reply(asker, `{"content":[{"type":"text","text":"heard"}]}`)
		}
	case "initialize":
		note("initialize")
		reply(r, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"},"x":1.50}`)
	case "tools/list":
		reply(r, fakeTools)
	case "tools/call":
		fakeTool(r)
	case "notifications/cancelled", "notifications/initialized", "logging/setLevel", "resources/subscribe":
		note(r.Method)
		if r.ID != nil {
			reply(r, `{}`)
		}
	case "test/die":
		os.Exit(1)
	default:
		if r.ID != nil {
			reply(r, `{"got":`+strings.TrimSpace(line)+`}`)
		}
	}
}

func fakeTool(r fakeRequest) {
	text := func(s string) string { return fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, s) }
	switch r.Params.Name {
	case "echo":
		reply(r, text(string(r.Params.Arguments)))
	case "write":
		note("write " + string(r.Params.Arguments))
		reply(r, text("written"))
	case "die":
		note("die " + string(r.Params.Arguments))
		if strings.Contains(string(r.Params.Arguments), "safely") {
			reply(r, text("alive"))
			return
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "stop":
		note("stop")
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case "hang":
		note("hang")
	case "slow":
		note("slow")
		time.Sleep(300 * time.Millisecond)
		reply(r, text("at last"))
	case "huge":
		var a struct{ Bytes int }
		_ = json.Unmarshal(r.Params.Arguments, &a)
		reply(r, text(strings.Repeat("x", a.Bytes)))
	case "garbage":
		say("DEBUG this is no JSON")
		say(`{"half":`)
		say("")
		say(`[1,2]`)
		reply(r, text("fine"))
	case "progress":
		say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, r.Params.Meta.ProgressToken))
		reply(r, text("done"))
	case "odd":
		reply(r, `{"content":[{"type":"hologram","z":1.0}],"structuredContent":{"n":9007199254740993},"extra":true}`)
	case "ask":
		id := fmt.Sprintf(`"q%s"`, r.ID[1:len(r.ID)-1])
		askers[id] = r
		say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"sampling/createMessage","params":{}}`, id))
	case "fail":
		reply(r, `{"content":[{"type":"text","text":"no such page"},{"type":"image","data":"AQ==","mimeType":"image/png"}],"structuredContent":{"n":9007199254740993},"isError":true,"_meta":{"k":1}}`)
	case "more":
		say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		reply(r, text("changed"))
	}
}
