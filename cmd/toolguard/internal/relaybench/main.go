// Command relaybench compares the proxy with a bare relay that is written with the
// same SDK and guards nothing: time of a call, calls a second with 64 in flight,
// memory. Both stand in front of the same no-op server over stdio; the rounds
// alternate. It prints ratios, and ends with 1 if one is beyond its bound.
//
//	go build -o /tmp/toolguard ./cmd/toolguard && go run ./cmd/toolguard/internal/relaybench /tmp/toolguard
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	log.SetFlags(0)
	var err error
	switch {
	case len(os.Args) == 2 && os.Args[1] == "server":
		err = noop().Run(context.Background(), &mcp.StdioTransport{})
	case len(os.Args) == 2 && os.Args[1] == "relay":
		err = relay(context.Background())
	case len(os.Args) == 2:
		err = compare(context.Background(), os.Args[1])
	default:
		log.Fatal("usage: relaybench <toolguard binary>")
	}
	if err != nil {
		log.Fatal(err)
	}
}

func implementation() *mcp.Implementation {
	return &mcp.Implementation{Name: "relaybench", Version: "1"}
}

// noop is a server with a tool that does nothing.
func noop() *mcp.Server {
	s := mcp.NewServer(implementation(), nil)
	s.AddTool(tool(), func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ok"}}}, nil
	})
	return s
}

func tool() *mcp.Tool {
	return &mcp.Tool{Name: "noop", InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}
}

// relay hands calls on, and guards nothing.
func relay(ctx context.Context) error {
	up, err := connect(ctx, self("server"))
	if err != nil {
		return err
	}
	defer func() { _ = up.Close() }()
	s := mcp.NewServer(implementation(), nil)
	s.AddTool(tool(), func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return up.CallTool(ctx, &mcp.CallToolParams{Name: req.Params.Name, Arguments: req.Params.Arguments})
	})
	return s.Run(ctx, &mcp.StdioTransport{})
}

func self(role string) *exec.Cmd {
	path, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	return exec.Command(path, role)
}

func connect(ctx context.Context, cmd *exec.Cmd) (*mcp.ClientSession, error) {
	cmd.Stderr = os.Stderr
	return mcp.NewClient(implementation(), nil).Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
}

// subject is what is measured.
type subject struct {
	name    string
	cmd     *exec.Cmd
	session *mcp.ClientSession
	n       atomic.Int64
	p50     []time.Duration
	rate    []float64
}

func (s *subject) call(ctx context.Context) {
	r, err := s.session.CallTool(ctx, &mcp.CallToolParams{Name: "noop", Arguments: map[string]any{"n": s.n.Add(1)}})
	if err != nil || r.IsError || len(r.Content) != 1 {
		log.Fatalf("%s: %v %v", s.name, r, err)
	}
}

// Sizes of a comparison.
const (
	rounds   = 9
	single   = 400
	parallel = 6000
	inFlight = 64
	many     = 100_000
)

func compare(ctx context.Context, toolguard string) error {
	server := self("server")
	subjects := []*subject{
		{name: "relay", cmd: self("relay")},
		{name: "proxy", cmd: exec.Command(toolguard, "proxy", "--", server.Path, "server")},
	}
	for _, s := range subjects {
		var err error
		if s.session, err = connect(ctx, s.cmd); err != nil {
			return err
		}
		defer func() { _ = s.session.Close() }()
		s.call(ctx)
	}
	idle := subjects[1].memory()
	for range rounds {
		for _, s := range subjects {
			s.p50 = append(s.p50, s.one(ctx))
			s.rate = append(s.rate, s.all(ctx, parallel))
		}
	}
	proxy, bare := subjects[1], subjects[0]
	slow := ratio(proxy.p50, bare.p50)
	fast := ratio(proxy.rate, bare.rate)
	half := proxy.memory()
	proxy.all(ctx, many)
	grown := proxy.memory()
	fmt.Printf("time of a call, p50:            %.2f of the relay's (at most 1.20)\n", slow)
	fmt.Printf("calls a second, %d in flight:   %.2f of the relay's (at least 0.85)\n", inFlight, fast)
	fmt.Printf("memory when idle:               %d MiB (at most 40)\n", idle>>10)
	fmt.Printf("memory, %d calls later:     %d MiB, from %d MiB\n", many, grown>>10, half>>10)
	if slow > 1.2 || fast < 0.85 || idle > 40<<10 || grown > half+half/4+8<<10 {
		return fmt.Errorf("beyond the bounds")
	}
	return nil
}

// one returns the median time of a call that is alone.
func (s *subject) one(ctx context.Context) time.Duration {
	times := make([]time.Duration, single)
	for i := range times {
		began := time.Now()
		s.call(ctx)
		times[i] = time.Since(began)
	}
	return median(times)
}

// all returns the calls a second with many in flight.
func (s *subject) all(ctx context.Context, calls int) float64 {
	began := time.Now()
	var left atomic.Int64
	left.Store(int64(calls))
	var workers sync.WaitGroup
	for range inFlight {
		workers.Go(func() {
			for left.Add(-1) >= 0 {
				s.call(ctx)
			}
		})
	}
	workers.Wait()
	return float64(calls) / time.Since(began).Seconds()
}

// ratio is the median of the rounds' ratios.
func ratio[T time.Duration | float64](a, b []T) float64 {
	r := make([]float64, len(a))
	for i := range a {
		r[i] = float64(a[i]) / float64(b[i])
	}
	return median(r)
}

func median[T time.Duration | float64](all []T) T {
	all = slices.Clone(all)
	slices.Sort(all)
	return all[len(all)/2]
}

// memory is what the process has in memory, in KiB; 0 where the system does not
// say.
func (s *subject) memory() int {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(s.cmd.Process.Pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, _ := strconv.Atoi(strings.Fields(rest)[0])
			return n
		}
	}
	return 0
}
