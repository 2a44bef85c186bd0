package toolguard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/httpguard"
)

// scene is one row of the matrix: a tool in trouble, and what the model reads.
type scene struct {
	tool func(t *testing.T) plain
	opts toolguard.Options
	args string
	// talks puts the calls into one turn of a conversation.
	talks bool
	// calls is how often the model sends the call; the last answer is judged.
	calls int
	want  string
	took  time.Duration // at most
	ran   int           // how often the tool ran in all
	// says and never are parts of what the model reads, or must not.
	says, never []string
}

// technical is what no user may be told, and so no model may read.
var technical = []string{
	"goroutine", ".go:", "panic:", "0xc000", "runtime error", "SELECT", "INSERT", "orders.internal", "10.0.0.5", "5432",
	"connection reset by peer", "http://", "https://", "/srv/", "hunter2", "status code", "stack", "nil pointer",
}

// TestBehaviourMatrix pins what an agent meets when its tools fail, and that the
// three ways in which models go wrong without guidance are headed off: inventing
// data after an error, repeating the same bad arguments, and passing technical
// detail on to the user.
func TestBehaviourMatrix(t *testing.T) {
	t.Parallel()
	refused := &url.Error{Op: "Post", URL: "http://orders.internal:5432/mcp", Err: &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 5), Port: 5432}, Err: syscall.ECONNREFUSED}}
	schema := json.RawMessage(`{"type":"object","properties":{"order_id":{"type":"string","pattern":"^A[0-9]+$"}},"required":["order_id"],"additionalProperties":false}`)
	orders := func(effect toolguard.Effect, f run) func(*testing.T) plain {
		return func(*testing.T) plain {
			tool := toolOf(effect, f)
			tool.info.Name, tool.info.Schema = "find_order", schema
			return tool
		}
	}
	for name, s := range map[string]scene{
		"MCP backend down": {
			tool: orders(toolguard.ReadOnly, fails(refused)), calls: 1, ran: 3,
			want: "connection_refused/failed", took: time.Second,
			says: []string{"refused the connection", "does not mean the record is absent", "Do not invent"}, never: []string{"dial tcp", "refused: "},
		},
		"MCP backend stays down": {
			tool: orders(toolguard.ReadOnly, fails(refused)), calls: 3, ran: 5,
			want: "breaker_open/not_started", took: time.Second,
			says: []string{`"retry_after_ms":`, "paused after repeated failures", "Do not call find_order for the next", "Do not invent"},
		},
		"tool hangs": {
			tool: func(t *testing.T) plain { return orders(toolguard.ReadOnly, hangs(t))(t) }, calls: 1, ran: 1,
			opts: toolguard.Options{Timeout: shortTime},
			want: "abandoned/failed", took: 22 * time.Second,
			says: []string{"no answer from find_order within 20 s", "may still be running", "do not invent"},
		},
		"tool hangs, with an effect": {
			tool: func(t *testing.T) plain { return orders(toolguard.NonIdempotent, hangs(t))(t) }, calls: 1, ran: 1,
			opts: toolguard.Options{Timeout: shortTime},
			want: "abandoned/unknown", took: 22 * time.Second,
			says:  []string{`"retryable":false`, "may or may not have taken effect", "Do not send this call again", "do not claim that it succeeded"},
			never: []string{"was stopped"},
		},
		"malformed arguments": {
			tool: orders(toolguard.ReadOnly, answers("fine")), args: `{'order_id': 'A1'`, calls: 1, ran: 0,
			want: "invalid_json/not_started",
			says: []string{"not one valid JSON object", "Single quote at byte 1", "Send the call again with arguments that are one complete JSON object"},
		},
		"cut-off arguments": {
			tool: orders(toolguard.ReadOnly, answers("fine")), args: `{"order_id":"A1`, calls: 1, ran: 0,
			want: "truncated/not_started",
			says: []string{"cut off", "Send the whole call again"},
		},
		"duplicate call": {
			tool: orders(toolguard.NonIdempotent, answers("refunded")), talks: true, calls: 2, ran: 1,
			want: "ok", says: []string{"refunded", "already took effect", "nothing was run this time"},
		},
		"duplicate call after an unknown outcome": {
			tool: orders(toolguard.NonIdempotent, fails(syscall.ECONNRESET)), talks: true, calls: 2, ran: 1,
			want: "in_doubt/unknown",
			says: []string{`"retryable":false`, "ended without a known outcome, so this one was not run", "Do not send this call again"},
		},
		"LLM gateway stream stalls": {
			tool: func(t *testing.T) plain {
				s := serve(t, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "text/event-stream")
					io.WriteString(w, "data: {\"half\":\"an ans\"}\n\n")
					http.NewResponseController(w).Flush()
					<-r.Context().Done()
				})
				return orders(toolguard.ReadOnly, func(ctx context.Context) (toolguard.Result, error) {
					req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://gateway/v1/chat", nil)
					if err != nil {
						return toolguard.Result{}, err
					}
					resp, err := s.client.Do(req)
					if err != nil {
						return toolguard.Result{}, err
					}
					defer resp.Body.Close()
					text, err := httpguard.ReadAll(resp.Body, 1<<20)
					return toolguard.Result{Text: string(text)}, err
				})(t)
			}, calls: 1, ran: 1, opts: toolguard.Options{Retry: once},
			want: "downstream_timeout/failed", took: 31 * time.Second,
			says:  []string{"did not answer in time", "do not invent"},
			never: []string{"an ans"},
		},

		// Inventing data: a 500 says nothing about the record, and the words say so.
		"inventing data after a 500": {
			tool: orders(toolguard.ReadOnly, fails(&httpguard.StatusError{StatusCode: 500, Body: []byte("SELECT * FROM orders: hunter2")})), calls: 1, ran: 3,
			want: "server_error/failed", took: time.Second,
			says: []string{"failed internally (status 500)", "does not mean the record is absent", "o not invent"},
		},
		"inventing data after a panic": {
			tool: orders(toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) {
				var m map[string]int
				//lint:ignore SA5000 the panic is the point
				m["x"]++
				return toolguard.Result{}, nil
			}), calls: 1, ran: 1,
			want: "panic/failed",
			says: []string{"internal fault", "does not mean the record is absent", "Do not invent"},
		},
		"claiming success after a 500": {
			tool: orders(toolguard.NonIdempotent, fails(&httpguard.StatusError{StatusCode: 500})), calls: 1, ran: 1,
			want: "server_error/unknown",
			says: []string{"may or may not have taken effect", "do not claim that it succeeded", "do not invent"},
		},

		// Repeating bad arguments: what is wrong and what would be right is said,
		// and nothing says that trying again as it is would help.
		"repeating bad arguments": {
			tool: orders(toolguard.ReadOnly, answers("fine")), args: `{"order":"A1"}`, calls: 3, ran: 0,
			want: "schema_violation/not_started",
			says: []string{`"retryable":false`, "order_id is required", "Did you mean", "there is no such argument", `"example":{"order_id":"A`, "Correct exactly what was refused"},
		},
		"guessing what is missing": { // case a03
			tool: orders(toolguard.ReadOnly, answers("fine")), args: ``, calls: 3, ran: 0,
			want: "schema_violation/not_started",
			says: []string{`"retryable":false`, "order_id is required", "ask the user"},
		},
		"repeating a refused call": {
			tool: orders(toolguard.NonIdempotent, fails(toolguard.Business("Order A1 is older than 30 days"))), calls: 3, ran: 3,
			want: "business_rule/failed",
			says: []string{`"retryable":false`, "Order A1 is older than 30 days", "This refusal is final"},
		},

		// Technical detail: none of it, in any form the cause may come in.
		"passing on a stack":     {tool: orders(toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) { panic(fmt.Errorf("goroutine 1 [running]: main.go:7")) }), calls: 1, ran: 1, want: "panic/failed"},
		"passing on a query":     {tool: orders(toolguard.ReadOnly, fails(fmt.Errorf("INSERT INTO orders VALUES ('hunter2'): %w", io.ErrUnexpectedEOF))), calls: 1, ran: 3, want: "bad_response/failed", took: time.Second},
		"passing on a host":      {tool: orders(toolguard.ReadOnly, fails(fmt.Errorf("dial tcp 10.0.0.5:5432: no route"))), calls: 1, ran: 1, want: "unknown_error/failed"},
		"passing on a reference": {tool: orders(toolguard.ReadOnly, fails(io.ErrClosedPipe)), opts: toolguard.Options{Retry: once}, calls: 1, ran: 1, want: "connection_lost/failed", says: []string{`"incident":"`}},
	} {
		inBubble(t, name, func(t *testing.T) {
			body := s.tool(t)
			var ran atomic.Int32
			call := body.call
			body.call = func(ctx context.Context, args json.RawMessage) (toolguard.Result, error) {
				ran.Add(1)
				return call(ctx, args)
			}
			ctx := t.Context()
			if s.talks {
				s.opts.Sessions, ctx = sessionsOf(t, toolguard.SessionPolicy{}), turn("one")
			}
			g := guardOf(t, body, &s.opts)
			if s.args == "" && !strings.HasPrefix(name, "guessing") {
				s.args = `{"order_id":"A1"}`
			}
			var env toolguard.Envelope
			spent := took(func() {
				for range s.calls {
					env = g.Do(ctx, toolguard.Call{ID: "c1", Args: []byte(s.args)})
				}
			})
			requireEnvelope(t, env)
			assert.Equal(t, s.want, verdict(env))
			assert.LessOrEqual(t, spent, s.took)
			assert.EqualValues(t, s.ran, ran.Load())
			asJSON, err := json.Marshal(env)
			require.NoError(t, err)
			for _, part := range s.says {
				assert.Contains(t, string(asJSON), part)
			}
			for _, part := range append(s.never, technical...) {
				assert.NotContains(t, string(asJSON), part)
				assert.NotContains(t, env.String(), part)
			}
			synctest.Wait()
		})
	}
}
