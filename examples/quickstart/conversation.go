package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/prompts"
)

// step is one call of the scripted model, and how it should go.
type step struct {
	title      string
	as         string // the user on whose behalf; support if empty
	tool, args string
	faults     []fault     // of the requests this call makes, in order
	meanwhile  func(*shop) // what changes while the guard waits to try again
	want       want
}

func (s step) principal() string {
	if s.as == "" {
		return "support"
	}
	return s.as
}

// conversation is played from top to bottom.
var conversation = []step{
	{
		title: "Success: the model reads the tool's own result",
		tool:  "get_price", args: `{"sku":"L-1"}`,
		want: want{attempts: 1, requests: 1},
	},
	{
		title: "A number written as text: put right, and said so",
		tool:  "list_products", args: `{"query":"lamp","limit":"2"}`,
		want: want{attempts: 1, requests: 1, note: prompts.NoteNumberFromString},
	},
	{
		title: "A misspelt argument: all that is wrong, and a valid example",
		tool:  "get_order", args: `{"orderid":"A-17"}`,
		want: want{code: toolguard.CodeSchemaViolation, outcome: toolguard.OutcomeNotStarted, says: "order_id"},
	},
	{
		title: "The corrected call; the service is busy and names a wait, the guard keeps to it",
		tool:  "get_order", args: `{"order_id":"A-17"}`,
		faults: []fault{busy},
		want:   want{attempts: 2, requests: 2},
	},
	{
		title: "The service fails three times: the guard gives up, and the breaker opens",
		tool:  "track_parcel", args: `{"order_id":"A-17"}`,
		faults: []fault{broken, broken, broken},
		want:   want{code: toolguard.CodeServerError, outcome: toolguard.OutcomeFailed, attempts: 3, requests: 3},
	},
	{
		title: "Again at once: the open breaker answers, with the wait; the service is left alone",
		tool:  "track_parcel", args: `{"order_id":"A-17"}`,
		want: want{code: toolguard.CodeBreakerOpen, outcome: toolguard.OutcomeNotStarted},
	},
	{
		title: "The service hangs: each attempt is stopped at its deadline",
		tool:  "search_help", args: `{"input":"may I return a lamp?"}`,
		faults: []fault{hang, hang},
		want:   want{code: toolguard.CodeAttemptTimeout, outcome: toolguard.OutcomeFailed, attempts: 2, requests: 2},
	},
	{
		title: "A function that ignores its context: abandoned, and not started again over itself",
		tool:  "export_orders", args: `{}`,
		faults: []fault{hang},
		want:   want{code: toolguard.CodeAbandoned, outcome: toolguard.OutcomeFailed, attempts: 1, requests: 1},
	},
	{
		title: "Connection refused: provably nothing was sent, so even a mail may be tried again",
		tool:  "send_mail", args: `{"to":"ann@example.com","text":"Your lamp is on its way."}`,
		meanwhile: (*shop).openMailDesk,
		want:      want{attempts: 2, requests: 1, note: prompts.NoteEmptySuccess},
	},
	{
		title: "Refunded, but the answer is lost: not repeated, not claimed, to be checked",
		tool:  "refund_order", args: `{"order_id":"A-17","cents":8000}`,
		faults: []fault{loseAnswer},
		want: want{
			code: toolguard.CodeConnectionLost, outcome: toolguard.OutcomeUnknown, attempts: 1, requests: 1,
			says: "list_refunds",
		},
	},
	{
		title: "The model does as it was told and checks: there is one refund",
		tool:  "list_refunds", args: `{"order_id":"A-17"}`,
		want: want{attempts: 1, requests: 1, says: "R-1"},
	},
	{
		title: "A business rule says no, before the tool runs",
		tool:  "refund_order", args: `{"order_id":"A-17","cents":99000}`,
		want: want{code: toolguard.CodeBusinessRule, outcome: toolguard.OutcomeNotStarted},
	},
	{
		title: "Another user has no permission",
		as:    "customer", tool: "refund_order", args: `{"order_id":"A-17","cents":100}`,
		want: want{code: toolguard.CodePermissionDenied, outcome: toolguard.OutcomeNotStarted},
	},
	{
		title: "A failure that looks like a success",
		tool:  "change_address", args: `{"order_id":"A-17","address":"1 Elm Street"}`,
		faults: []fault{decline},
		want:   want{code: toolguard.CodeResultRejected, outcome: toolguard.OutcomeFailed, attempts: 1, requests: 1},
	},
	{
		title: "An answer that cannot be read, three times",
		tool:  "get_reviews", args: `{"sku":"L-1"}`,
		faults: []fault{garble, garble, garble},
		want:   want{code: toolguard.CodeBadResponse, outcome: toolguard.OutcomeFailed, attempts: 3, requests: 3},
	},
	{
		title: "A panic in the tool: one answer, and the program goes on",
		tool:  "estimate_delivery", args: `{"zone":7}`,
		want: want{code: toolguard.CodePanic, outcome: toolguard.OutcomeFailed, attempts: 1},
	},
	{
		title: "The service is down: the last good answer, marked as old",
		tool:  "get_price", args: `{"sku":"L-1"}`,
		faults: []fault{down, down, down},
		want:   want{attempts: 3, requests: 3, note: prompts.NoteLastKnownGood},
	},
}

// want is how a call should go. A zero code means that it succeeds.
type want struct {
	code     toolguard.Code
	outcome  toolguard.Outcome
	attempts int
	requests int // that reached the shop
	note     toolguard.NoteKind
	says     string // what the model must be able to read
}

func (w want) check(env toolguard.Envelope, requests int) error {
	var errs []error
	expect := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	expect(env.OK == (w.code == ""), "ok is %t", env.OK)
	if !env.OK {
		expect(env.Error.Code == w.code, "code is %s, want %s", env.Error.Code, w.code)
		expect(env.Error.Outcome == w.outcome, "outcome is %s, want %s", env.Error.Outcome, w.outcome)
		expect(env.Suggestion != "", "there is no suggestion")
	}
	expect(env.Attempts == w.attempts, "%d attempts, want %d", env.Attempts, w.attempts)
	expect(requests == w.requests, "%d requests reached the shop, want %d", requests, w.requests)
	expect(w.note == "" || slices.ContainsFunc(env.Notes, func(n toolguard.Note) bool { return n.Kind == w.note }), "the note %s is missing", w.note)
	expect(strings.Contains(env.ForModel(), w.says), "the model does not read %q", w.says)
	return errors.Join(errs...)
}
