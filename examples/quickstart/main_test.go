package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolguard-go/toolguard"
)

// codes are how the conversation goes, step by step; an empty one is a success.
var codes = []toolguard.Code{
	"", "", "schema_violation", "", "server_error", "breaker_open", "attempt_timeout", "abandoned", "",
	"connection_lost", "", "business_rule", "permission_denied", "result_rejected", "bad_response", "panic", "",
}

func TestTheConversationGoesAsItShould(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		render   toolguard.RenderPolicy
		failures string // what every failure begins with
		says     string // what the model is told after the lost answer
	}{
		"en json": {toolguard.RenderPolicy{Locale: "en"}, `{"ok":false,`, "Check with list_refunds"},
		"zh text": {toolguard.RenderPolicy{Locale: "zh", Format: toolguard.FormatText}, "【工具", "请用 list_refunds 查询"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			r, err := run(&out, test.render)
			if err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			checkAnswers(t, r, test.failures)
			checkPrinted(t, out.String(), r)
			checkLedger(t, r)
			if lost := r.reads[slices.Index(codes, "connection_lost")]; !strings.Contains(lost, test.says) {
				t.Errorf("after the lost answer the model reads %q, want %q in it", lost, test.says)
			}
			if strings.Contains(out.String(), "\x1b") {
				t.Error("the output has escape codes")
			}
		})
	}
}

func checkAnswers(t *testing.T, r result, failures string) {
	t.Helper()
	var got []toolguard.Code
	for i, env := range r.envelopes {
		code := toolguard.Code("")
		if !env.OK {
			code = env.Error.Code
			if !strings.HasPrefix(r.reads[i], failures) {
				t.Errorf("step %d: the model reads %q, want it to begin with %q", i+1, r.reads[i], failures)
			}
		}
		got = append(got, code)
	}
	if !slices.Equal(got, codes) {
		t.Errorf("codes are\n%v, want\n%v", got, codes)
	}
	if r.took > 10*time.Second {
		t.Errorf("it took %v, want less than 10 s", r.took)
	}
}

// really is what the conversation is there to show: each way to misbehave is played,
// and what the guard did about it stands beside it.
var really = []string{
	`GET /orders/A-17 -> 503, Retry-After: 1`,
	`attempt 1 ended in service_unavailable, the next in 1(\.\d+)?s`, // not before the service has asked for it
	`GET /parcels/A-17 -> 500`,
	`attempt 3 ended in server_error, the last one \(attempts_used\)`,
	`the breaker goes from closed to open`,
	`GET /help\S+ -> no answer`,
	`attempt 1 ended in abandoned, the last one`,
	`attempt 1 ended in connection_refused, the next in`,
	`ledger: refund R-1 of 8000 cents`,
	`POST /refunds -> done, but the connection broke before the answer`,
	`attempt 1 ended in connection_lost, the last one \(outcome_unknown\)`,
	`PUT /orders/A-17/address -> 200`,
	`GET /reviews/L-1 -> 200, an HTML page`,
	`attempt 1 ended in panic, the last one`,
	`GET /prices/L-1 -> 503`,
}

// checkPrinted wants each call printed with what happened and what the model reads.
func checkPrinted(t *testing.T, out string, r result) {
	t.Helper()
	for i, s := range conversation {
		_, part, _ := strings.Cut(out, fmt.Sprintf("\n%d. %s\n", i+1, s.title))
		part, _, _ = strings.Cut(part, "\n\n")
		for label, text := range map[string]string{"call": s.tool + " " + s.args, "reads": r.reads[i]} {
			if want := strings.Join(fold(text), "\n          "); !strings.Contains(part, "  "+fmt.Sprintf("%-7s ", label)+want) {
				t.Errorf("step %d does not print %q under %q:\n%s", i+1, want, label, part)
			}
		}
		if nothing := strings.Contains(part, "no request reached the shop"); nothing != (s.want.attempts == 0) {
			t.Errorf("step %d: that no request was made is printed: %t\n%s", i+1, nothing, part)
		}
	}
	for _, line := range really {
		if !regexp.MustCompile(`(?m) ms  (guard: )?` + line).MatchString(out) {
			t.Errorf("nothing printed says %s", line)
		}
	}
}

func checkLedger(t *testing.T, r result) {
	t.Helper()
	if want := []refund{{ID: "R-1", OrderID: "A-17", Cents: 8000}}; !slices.Equal(r.ledger.refunds, want) {
		t.Errorf("refunds are %v, want %v", r.ledger.refunds, want)
	}
	if len(r.ledger.mails) != 1 || r.ledger.mails[0].To != "ann@example.com" {
		t.Errorf("mails are %v, want one to ann@example.com", r.ledger.mails)
	}
}

func TestWhatGoesWrongIsReported(t *testing.T) {
	t.Parallel()
	if _, err := run(io.Discard, toolguard.RenderPolicy{Locale: "xx"}); err == nil {
		t.Error("a locale that does not exist is accepted")
	}
	unknown := toolguard.Envelope{Attempts: 2, Error: &toolguard.Failure{Code: toolguard.CodePanic}}
	err := want{code: toolguard.CodeConnectionLost, outcome: toolguard.OutcomeFailed, attempts: 1, requests: 1}.check(unknown, 2)
	for _, part := range []string{"code is panic", "outcome is unknown", "no suggestion", "2 attempts", "2 requests"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error is %v, want %q in it", err, part)
		}
	}
	if (ledger{refunds: make([]refund, 2), mails: make([]mailIn, 1)}).check() == nil {
		t.Error("a second refund goes unnoticed")
	}
	if unfit("dial tcp db-7.internal", &shop{url: "http://[::1]:80"}) == nil {
		t.Error("a leaked host goes unnoticed")
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "short", "two\nlines",
		strings.Repeat("word and ", 40), strings.Repeat("x", 300), strings.Repeat("下一步，", 60),
	} {
		lines := fold(text)
		for _, line := range lines {
			columns := 0
			for _, r := range line {
				columns += columnsOf(r)
			}
			if columns > width+2 { // one mark may hang over
				t.Errorf("%q has %d columns", line, columns)
			}
		}
		strip := strings.NewReplacer(" ", "", "\n", "")
		if got := strings.Join(lines, ""); strip.Replace(got) != strip.Replace(text) {
			t.Errorf("%q became %q", text, got)
		}
	}
}
