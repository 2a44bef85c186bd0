package toolguardtest

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/toolguard-go/toolguard"
)

// reads makes a call and expects text that a prompt can hold.
func (x *trial) reads(step Step, never ...string) {
	x.Helper()
	if x.s.Guard.Describe().Render.Off {
		x.Skip("Render.Off is set")
	}
	x.put(step)
	text := x.call(x.s.Args).ForModel()
	if !utf8.ValidString(text) {
		x.bad("the model reads what is not UTF-8: %q", cut(text))
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' }); i >= 0 {
		x.bad("the model reads the control character %q: %q", text[i], cut(text))
	}
	for _, n := range never {
		if strings.Contains(text, n) {
			x.bad("the model reads %q in %q", cut(n), cut(text))
		}
	}
}

var resultCases = []Case{
	{"k02", KindResults, "NUL bytes in a result", "anthropics/claude-code#94055", func(x *trial) { x.reads(OK("a\x00b\x00c")) }},
	{"k03", KindResults, "bytes that are not UTF-8", "crystal-autobot/autobot#78", func(x *trial) { x.reads(OK("caf\xe9 \xff\xfe\x80")) }},
	{"k05", KindResults, "an image as base64 in a text", "open-webui/open-webui#29665", func(x *trial) {
		image := strings.Repeat("iVBORw0KGgoAAAANSUhEUgAA", 40_000)
		x.reads(OK("data:image/png;base64,"+image), image[:100_000])
	}},
	{"k06", KindResults, "a binary body as text", "n8n-io/n8n#11219", func(x *trial) { x.reads(Binary(100_000)) }},
	{"k07", KindResults, "colours and progress bars", "anthropics/claude-code#16294", func(x *trial) {
		x.reads(OK("\x1b[31mred\x1b[0m\r 10%\r 20%\r100% done\x1b[2K\x07"))
	}},
	{"l09 result", KindResults, "a result of megabytes", "steve-goldberg/NocoBot#4", func(x *trial) {
		x.put(Huge(8 << 20))
		most := x.s.Guard.Describe().Render.MaxResult
		r := x.call(x.s.Args).Result
		if n := len(r.Text) + len(r.JSON); most > 0 && n > most+maxFrame {
			x.bad("the model reads %d bytes, MaxResult is %d", n, most)
		}
	}},
}

var leakCases = []Case{
	{"l01", KindLeaks, "the text of any error", "modelcontextprotocol/python-sdk#2386", func(x *trial) {
		for _, f := range []Fault{networkFaults()[0], sqlFaults()[0], rpcFaults()[0], httpFaults()[0]} {
			x.reads(f.Step, f.Secrets...)
		}
	}},
	{"l03", KindLeaks, "secrets in the query of a URL", "hashicorp/go-retryablehttp#206", func(x *trial) {
		for _, err := range []error{
			&url.Error{Op: "Get", URL: secretURL, Err: errReset},
			fmt.Errorf("outer: %w", &url.Error{Op: "Get", URL: secretURL, Err: errReset}),
			fmt.Errorf("get %s: connection reset", secretURL),
		} {
			x.reads(Fail(err), secretToken)
		}
	}},
	{"l05", KindLeaks, "a secret at the edge of what is cut off", "topcheer/ggcode#704", func(x *trial) {
		for n := 180; n < 320; n += 7 {
			x.reads(Fail(errors.New(strings.Repeat("x ", n/2)+"Bearer "+secretToken)), secretToken[:16])
		}
	}},
	{"l09", KindLeaks, "errors without an end", "steve-goldberg/NocoBot#4", func(x *trial) {
		x.put(Fail(errors.New(strings.Repeat("very long ", 1<<16))))
		if text := x.call(x.s.Args).ForModel(); len(text) > maxFailure {
			x.bad("the model reads %d bytes of a failure", len(text))
		}
	}},
}

// stays lets the tool fail n times and expects a call after that to run.
func (x *trial) stays(n int, step Step, what string) {
	x.Helper()
	x.put(step)
	for range n {
		x.in(x.Context(), x.s.Args) // without a conversation: nothing else forbids the call
	}
	tool := x.put(OK("done"))
	env := x.in(x.Context(), x.s.Args)
	if tool.Runs() == 0 {
		x.bad("after %d %s the tool is not run any more: %s", n, what, shown(env))
	}
}

var breakerCases = []Case{
	{"n01", KindBreaker, "callers that give up open the breaker", "tsouza/cerberus#738", func(x *trial) {
		x.put(Obey())
		x.canceled(20)
		tool := x.put(OK("done"))
		env := x.in(toolguard.WithScope(x.Context(), toolguard.Scope{}), x.s.Args)
		if tool.Runs() == 0 {
			x.bad("after 20 calls that their callers gave up the tool is not run any more: %s", shown(env))
		}
	}},
	{"n04", KindBreaker, "refusals open the breaker", "NousResearch/hermes-agent#11113", func(x *trial) {
		x.stays(3, Status("422", toolguard.CodeRequestRejected, 422).Step, "answers with status 422")
	}},
	{"n05", KindBreaker, "not found opens the breaker", "sony/gobreaker#29", func(x *trial) {
		x.stays(3, Fail(RPCStatus(5)), "answers that something was not found")
	}},
	{"n10", KindBreaker, "an open breaker is told as an opaque error", "github/gh-aw-mcpg#10686", func(x *trial) {
		if x.s.Guard.Describe().Breaker.Off {
			x.Skip("Breaker.Off is set")
		}
		x.put(FaultError(toolguard.CodeServiceUnavailable))
		for range 60 {
			env := x.in(x.Context(), x.s.Args) // without a conversation: no loop ends this
			if env.OK || env.Error.Code != toolguard.CodeBreakerOpen {
				continue
			}
			if OutcomeOf(env) != toolguard.OutcomeNotStarted || env.Suggestion == "" || env.Error.RetryAfter == 0 {
				x.bad("an open breaker is told without a wait, a next step or the outcome: %s", shown(env))
			}
			return
		}
		x.bad("after 60 calls to a service that is down the breaker is still closed")
	}},
	{"n03", KindBreaker, "the breaker never closes again", "github/gh-aw-mcpg#10686", func(x *trial) {
		x.put(FaultError(toolguard.CodeServiceUnavailable))
		for range 60 {
			x.in(x.Context(), x.s.Args)
		}
		x.put(Panic("odd"))
		time.Sleep(hour)
		x.in(x.Context(), x.s.Args)
		time.Sleep(hour)
		tool := x.put(OK("done"))
		for range 3 {
			x.in(x.Context(), x.s.Args)
			time.Sleep(hour)
		}
		if tool.Runs() == 0 {
			x.bad("hours after the service has come back the tool is not run any more")
		}
	}},
}
