package toolguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/httpguard"
)

// The README and the papers in docs show the marked regions of this file: the
// lines between "// snippet: name" and "// end snippet". See CONTRIBUTING.md.

// snippet: input
type RefundIn struct {
	OrderID string `json:"order_id" jsonschema:"the order, such as A-17"`
	Cents   int    `json:"cents"`
}

// end snippet

// snippet: enum
type ConvertIn struct {
	Cents    int    `json:"cents"`
	Currency string `json:"currency"`
}

var convertInfo = toolguard.Info{
	Name:   "convert",
	Effect: toolguard.ReadOnly,
	Schema: json.RawMessage(`{
		"type": "object",
		"properties": {
			"cents":    {"type": "integer", "minimum": 1},
			"currency": {"enum": ["CHF", "EUR", "USD"]}
		},
		"required": ["cents", "currency"],
		"additionalProperties": false
	}`),
}

// end snippet

// payService stands for the client of a payment service whose answer is lost.
type payService struct{}

func (payService) Refund(context.Context, RefundIn) (string, error) {
	return "", &url.Error{Op: "Post", URL: "https://pay.internal:8443/refunds", Err: io.EOF}
}

func (payService) Find(context.Context, string) (string, error) { return "refunded", nil }

var pay payService

// show prints what the model reads. The incident, a random id, is left out.
func show(env toolguard.Envelope) {
	if env.Error != nil {
		env.Error.Incident = ""
	}
	fmt.Println(env.ForModel())
}

func Example() {
	ctx := context.Background()
	// snippet: refund
	refund := toolguard.Func(toolguard.Info{
		Name:       "refund",
		Effect:     toolguard.NonIdempotent,
		VerifyWith: []string{"get_order"},
	}, pay.Refund) // func(context.Context, RefundIn) (string, error)

	guard, err := toolguard.New(refund, nil)
	if err != nil {
		log.Fatal(err) // names the field and the value that make no sense
	}
	env := guard.Do(ctx, toolguard.Call{
		ID:   "tc_1",
		Args: json.RawMessage(`{"order_id":"A-17","cents":1200}`),
	})
	// end snippet
	show(env)

	// Output: {"ok":false,"call_id":"tc_1","tool":"refund","error":{"category":"unavailable","code":"connection_lost","retryable":false,"outcome":"unknown","message":"The connection to the service behind refund broke before a complete answer arrived. It may or may not have taken effect."},"suggestion":"Do not send this call again, do not claim that it succeeded, and do not invent a result. Check with get_order whether it took effect, then tell the user what you found."}
}

// The same answers as text, under a label.
func ExampleRenderPolicy() {
	refund := toolguard.Func(toolguard.Info{Name: "refund"}, pay.Refund)
	guard, err := toolguard.New(refund, &toolguard.Options{
		Render: toolguard.RenderPolicy{Format: toolguard.FormatText},
	})
	if err != nil {
		log.Fatal(err)
	}
	show(guard.Do(context.Background(), toolguard.Call{Args: json.RawMessage(`{"orderid":"A-17","cents":"a lot"}`)}))

	// Output:
	// [TOOL ARGUMENTS REFUSED] The arguments for refund do not fit its schema.
	// - order_id is required, but missing. Did you mean it by orderid?
	// - /cents: must be of type integer, got string "a lot".
	// - /orderid: there is no such argument. Did you mean order_id?
	// A minimal valid example: {"cents":1,"order_id":"string"}
	// Next step: Correct exactly what was refused and send one corrected call. If you do not know a value, ask the user; do not invent it.
}

// Authorize and Check refuse a call before the tool runs. Both see the typed
// arguments.
func ExampleTyped() {
	refund := toolguard.Func(toolguard.Info{Name: "refund"}, pay.Refund)
	// snippet: gates
	refund.Authorize = func(ctx context.Context, in RefundIn) error {
		if toolguard.ScopeFrom(ctx).Principal == "" {
			return toolguard.Permission("Nobody is signed in.")
		}
		return nil
	}
	refund.Check = func(ctx context.Context, in RefundIn) error {
		if in.Cents > 50_00 {
			return toolguard.Business("Refunds above 50.00 need a person.")
		}
		return nil
	}
	// end snippet
	guard, err := toolguard.New(refund, nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx := toolguard.WithScope(context.Background(), toolguard.Scope{Principal: "u_7"})
	env := guard.Do(ctx, toolguard.Call{Args: json.RawMessage(`{"order_id":"A-17","cents":990000}`)})
	fmt.Println(env.Error.Code, env.Error.Outcome)
	fmt.Println(env.Error.Message)
	fmt.Println(env.Suggestion)

	// Output:
	// business_rule not_started
	// Refunds above 50.00 need a person. Nothing was done.
	// This refusal is final: do not send the call again, and do not change values to get around it. Explain the reason to the user.
}

// A status query settles what the attempt left unknown.
func ExampleTyped_status() {
	refund := toolguard.Func(toolguard.Info{Name: "refund", Effect: toolguard.NonIdempotent}, pay.Refund)
	// snippet: status
	refund.Status = func(ctx context.Context, key string, in RefundIn) (toolguard.Outcome, toolguard.Result, error) {
		state, err := pay.Find(ctx, key) // by the key that the refund was sent with
		if err != nil || state != "refunded" {
			return toolguard.OutcomeUnknown, toolguard.Result{}, err
		}
		return toolguard.OutcomeSucceeded, toolguard.Result{Text: "refunded"}, nil
	}
	// end snippet
	guard, err := toolguard.New(refund, nil)
	if err != nil {
		log.Fatal(err)
	}
	show(guard.Do(context.Background(), toolguard.Call{ID: "tc_1", Args: json.RawMessage(`{"order_id":"A-17","cents":1200}`)}))

	// Output: {"ok":true,"call_id":"tc_1","tool":"refund","result":"refunded","notes":["The attempt gave no clear answer; a status query confirmed that it took effect."]}
}

// The constructors say what the tool's author knows: the reason, and whether
// anything was done. The guard takes them at their word.
func ExampleNotStarted() {
	errLocked := errors.New("the ledger is locked")
	attempts := 0
	// snippet: constructors
	book := func(ctx context.Context, in RefundIn) (string, error) {
		if attempts++; attempts < 3 {
			return "", toolguard.NotStarted(errLocked) // before anything could happen
		}
		return "booked", nil
	}
	// end snippet
	tool := toolguard.Func(toolguard.Info{Name: "book", Effect: toolguard.NonIdempotent}, book)
	guard, err := toolguard.New(tool, &toolguard.Options{
		Retry: toolguard.RetryPolicy{Rules: map[string]toolguard.RetryRule{
			string(toolguard.CodeUnknownError): {Attempts: 3, Delay: time.Millisecond},
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	env := guard.Do(context.Background(), toolguard.Call{Args: json.RawMessage(`{"order_id":"A-17","cents":1200}`)})
	fmt.Println(env.ForModel(), "after", env.Attempts, "attempts")

	// Output: booked after 3 attempts
}

// A tool that calls a service sends through httpguard, so that the guard knows
// how far each request got, and passes the call's key on.
func ExampleKey() {
	// snippet: http
	client, err := httpguard.NewClient(httpguard.Options{
		IdempotencyHosts: []string{"api.pay.example"}, // a service that honours the header
	})
	if err != nil {
		log.Fatal(err)
	}
	type Refund struct {
		ID string `json:"id"`
	}
	charge := func(ctx context.Context, in RefundIn) (r Refund, err error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.pay.example/refunds/"+url.PathEscape(in.OrderID), nil)
		if err != nil {
			return r, toolguard.NotStarted(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			return r, err
		}
		defer resp.Body.Close()
		if err := httpguard.CheckResponse(resp); err != nil {
			return r, err
		}
		text, err := httpguard.ReadAll(resp.Body, 1<<20)
		if err != nil {
			return r, err
		}
		err = json.Unmarshal(text, &r) // a page of HTML is no refund
		return r, err
	}
	tool := toolguard.Func(toolguard.Info{
		Name: "refund", Effect: toolguard.IdempotentByKey, KeyTTL: 24 * time.Hour,
	}, charge)
	// end snippet
	_, err = toolguard.New(tool, nil)
	fmt.Println(err)

	// Output: <nil>
}

// A guard is a tool: it can stand wherever the bare tool stood.
func ExampleGuard_Call() {
	refund := toolguard.Func(toolguard.Info{Name: "refund"}, pay.Refund)
	guard, err := toolguard.New(refund, nil)
	if err != nil {
		log.Fatal(err)
	}
	var tool toolguard.Tool = guard
	result, err := tool.Call(context.Background(), json.RawMessage(`{"order_id":`))
	fmt.Println(err)
	fmt.Println(json.Valid([]byte(result.Text)))

	// Output:
	// <nil>
	// true
}

// What tags cannot say is said by a schema.
func ExampleFunc_schema() {
	convert := toolguard.Func(convertInfo, func(context.Context, ConvertIn) (string, error) { return "1 CHF", nil })
	guard, err := toolguard.New(convert, nil)
	if err != nil {
		log.Fatal(err)
	}
	show(guard.Do(context.Background(), toolguard.Call{Args: json.RawMessage(`{"cents":5,"currency":"Euro"}`)}))

	// Output: {"ok":false,"tool":"convert","error":{"category":"param","code":"schema_violation","retryable":false,"outcome":"not_started","message":"The arguments for convert do not fit its schema.","violations":["/currency: must be one of \"CHF\", \"EUR\" or \"USD\", got \"Euro\". Did you mean \"EUR\"?"],"example":{"cents":1,"currency":"CHF"}},"suggestion":"Correct exactly what was refused and send one corrected call. If you do not know a value, ask the user; do not invent it."}
}
