package toolguardtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/toolguard-go/toolguard"
)

// lost makes a call, in a conversation of its own, of a tool that acts and whose
// server then goes away with this error.
func (x *trial) lost(n int, err error) {
	x.Helper()
	tool := x.put(Commit(Fail(err)))
	ctx := toolguard.WithScope(x.Context(), toolguard.Scope{Session: fmt.Sprint("cases ", n), Turn: "1", Principal: "cases"})
	env := x.in(ctx, x.s.Args)
	x.unsure(tool, &env, err.Error())
	time.Sleep(hour) // until a breaker has closed again
}

// unsure expects the answer to a call that acted and whose answer was lost.
func (x *trial) unsure(tool *Tool, env *toolguard.Envelope, how string) {
	x.Helper()
	switch outcome := OutcomeOf(*env); {
	case env.OK && env.Degraded == nil:
		x.bad("%s is told as a success: %s", how, shown(*env))
	case tool.Ledger().Effects() > 1:
		x.bad("after %s the tool has acted %d times", how, tool.Ledger().Effects())
	case x.s.Guard.Info().Effect != toolguard.ReadOnly && tool.Runs() > 0 && outcome != toolguard.OutcomeUnknown:
		x.bad("the tool has acted before %s, but the outcome is %v", how, outcome)
	}
}

var mcpCases = []Case{
	{"m03", KindMCP, "a server dies in the middle of a call", "PrefectHQ/fastmcp#499", func(x *trial) {
		for i, err := range []error{io.EOF, io.ErrUnexpectedEOF, &os.PathError{Op: "write", Path: secretPath, Err: syscall.EPIPE}, os.ErrClosed} {
			x.lost(i, err)
		}
	}},
	{"m05", KindMCP, "an error of a tool ends the run", "openai/openai-agents-python#879", func(x *trial) {
		tool := x.put(Status("422", toolguard.CodeRequestRejected, 422).Step)
		env := x.call(x.s.Args)
		if env.OK || tool.Runs() != 1 || env.Error.Category != toolguard.CategoryBusiness && env.Error.Category != toolguard.CategoryParam {
			x.bad("a refusal by the service ran %d times and is answered with %s", tool.Runs(), shown(env))
		}
		x.put(Fail(errors.New("")))
		env = x.in(scope(x.Context(), "2"), x.s.Args)
		if !env.OK && (env.Error.Message == "" || env.Suggestion == "") {
			x.bad("an error without a text is answered without a message or a next step: %s", shown(env))
		}
	}},
	{"m06", KindMCP, "a failure inside of a success", "browser-use/browser-use#5252", func(x *trial) {
		tool := x.put(OK(`{"ok":false,"error":"no such layer"}`))
		env := x.call(x.s.Args)
		switch outcome := OutcomeOf(env); {
		case tool.Runs() != 1:
			x.bad("a result that speaks of a failure ran %d times: %s", tool.Runs(), shown(env))
		case env.OK && !strings.Contains(env.ForModel(), "no such layer"):
			x.bad("the model does not read what the tool says: %s", shown(env))
		case !env.OK && outcome == toolguard.OutcomeNotStarted:
			x.bad("the tool ran, but the answer says that it did not begin: %s", shown(env))
		}
	}},
}

// streamed acts and then reads what a server sends, to its end.
func (x *trial) streamed(send func(w io.Writer, ctx context.Context)) Step {
	server := NewServer(x.TB, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		flushed := flushing{w, http.NewResponseController(w)}
		_, _ = flushed.Write(nil)
		send(flushed, r.Context())
	}))
	return Commit(func(r *Run) (toolguard.Result, error) {
		req, err := http.NewRequestWithContext(r.Ctx, http.MethodGet, "http://stream.example/", http.NoBody)
		if err != nil {
			return toolguard.Result{}, err
		}
		resp, err := server.Client().Do(req)
		if err != nil {
			return toolguard.Result{}, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return toolguard.Result{Text: string(body)}, err
	})
}

// flushing sends what is written at once.
type flushing struct {
	http.ResponseWriter
	*http.ResponseController
}

func (f flushing) Write(b []byte) (int, error) {
	n, err := f.ResponseWriter.Write(b)
	return n, errors.Join(err, f.Flush())
}

const delta = "data: part-one\n\n"

// silence sends nothing more.
func silence(_ io.Writer, ctx context.Context) { <-ctx.Done() }

// stalls expects the answer of a tool whose stream stalls: in time, and with nothing
// of what had come.
func (x *trial) stalls(send func(w io.Writer, ctx context.Context)) {
	x.Helper()
	tool := x.put(x.streamed(send))
	env := x.inTime()
	x.unsure(tool, &env, "a stream that stalls")
	if !env.OK && strings.Contains(env.ForModel(), "part-one") {
		x.bad("a failure hands on part of a result: %s", shown(env))
	}
}

var streamCases = []Case{
	{"p01", KindStreams, "a stream falls silent", "esengine/DeepSeek-Reasonix#3374", func(x *trial) {
		x.stalls(func(w io.Writer, ctx context.Context) {
			_, _ = io.WriteString(w, delta)
			silence(w, ctx)
		})
	}},
	{"p02", KindStreams, "keep-alives hide that a stream stalls", "aaif-goose/goose#11679", func(x *trial) {
		x.stalls(func(w io.Writer, ctx context.Context) {
			tick := time.NewTicker(5 * time.Second)
			defer tick.Stop()
			for ctx.Err() == nil {
				_, _ = io.WriteString(w, ": ping\n\n")
				select {
				case <-tick.C:
				case <-ctx.Done():
				}
			}
		})
	}},
	{"p03", KindStreams, "arguments that end where the stream did", "esengine/DeepSeek-Reasonix#3957", func(x *trial) {
		tool := x.put(OK("done"))
		env := x.cutOff()
		if tool.Runs() > 0 || env.OK || env.Error.Category != toolguard.CategoryParam || OutcomeOf(env) != toolguard.OutcomeNotStarted {
			x.bad("arguments that were cut off, as Call.Truncated says, ran %d times and are answered with %s", tool.Runs(), shown(env))
		}
	}},
	{"p05", KindStreams, "headers, and then nothing", "digitallyinduced/haskell-agent#617", func(x *trial) { x.stalls(silence) }},
	{"p06", KindStreams, "a stream that stalls is played from the start again", "moonbitlang/openseek#343", func(x *trial) {
		handed := 0
		x.put(func(r *Run) (toolguard.Result, error) {
			handed++
			r.Commit()
			return Obey()(r)
		})
		x.inTime()
		if handed > 1 && !x.repeatable() {
			x.bad("what was handed on before the stream stalled was handed on %d times", handed)
		}
	}},
	{"p07", KindStreams, "a stream that breaks off is taken for complete", "BerriAI/litellm#32159", func(x *trial) {
		tool := x.put(x.streamed(func(w io.Writer, _ context.Context) {
			_, _ = io.WriteString(w, delta)
			panic(http.ErrAbortHandler)
		}))
		env := x.inTime()
		x.unsure(tool, &env, "a stream that breaks off")
	}},
}
