package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/toolguard-go/toolguard"
)

const schemaText = `{"type":"object","properties":{
	"order":{"type":"string","minLength":1},"amount":{"type":"integer","minimum":1},
	"currency":{"type":"string","enum":["EUR","USD"]},"urgent":{"type":"boolean"}},
	"required":["order","amount"],"additionalProperties":false}`

var (
	noArgs   = []byte("{}")
	fourArgs = []byte(`{"order":"A-1001","amount":4200,"currency":"EUR","urgent":true}`)
)

// toolFunc is a tool as guards and peers both run it.
type toolFunc func(context.Context, []byte) (string, error)

var errDown = errors.New("down")

func noop(context.Context, []byte) (string, error) { return "ok", nil }

// slow steps aside so often that nobody would do so for it.
func slow(context.Context, []byte) (string, error) {
	for range 8 {
		runtime.Gosched()
	}
	return "ok", nil
}

func down(context.Context, []byte) (string, error) { return "", errDown }

// jsonTool decodes and encodes, as most tools do. It takes about 2 µs.
func jsonTool(_ context.Context, args []byte) (string, error) {
	var in struct {
		Order    string `json:"order"`
		Amount   int    `json:"amount"`
		Currency string `json:"currency"`
		Urgent   bool   `json:"urgent"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return "", err
	}
	out, err := json.Marshal(map[string]any{
		"order": in.Order, "left": in.Amount / 2, "currency": in.Currency, "urgent": in.Urgent, "state": "refunded",
	})
	return string(out), err
}

// tool is a tool without decoding of its own: what is measured is the guard.
type tool struct {
	schema json.RawMessage
	f      toolFunc
}

// Info implements [toolguard.Tool].
func (t tool) Info() toolguard.Info {
	return toolguard.Info{Name: "refund", Effect: toolguard.Idempotent, Schema: t.schema}
}

// Call implements [toolguard.Tool].
func (t tool) Call(ctx context.Context, args json.RawMessage) (toolguard.Result, error) {
	text, err := t.f(ctx, args)
	return toolguard.Result{Text: text}, err
}

// observer counts, so that events are made and delivered.
type observer struct{ n atomic.Uint64 }

// Observe implements [toolguard.Observer].
func (o *observer) Observe(context.Context, toolguard.Event) { o.n.Add(1) }

// quick makes three attempts without delay, and never runs out of retries or
// permits.
func quick() toolguard.Options {
	return toolguard.Options{
		Retry: toolguard.RetryPolicy{
			BaseDelay: 1, Factor: 1, Budget: 1, BudgetFloor: 1 << 30,
			Rules: map[string]toolguard.RetryRule{"unknown_error": {Attempts: 3}},
		},
		Breaker: toolguard.BreakerPolicy{Failures: 1 << 30},
	}
}

// observed is quick with the one mechanism that is off by default.
func observed() toolguard.Options {
	opts := quick()
	opts.Observer = new(observer)
	return opts
}

func guard(schema string, f toolFunc, opts toolguard.Options) *toolguard.Guard {
	g, err := toolguard.New(tool{json.RawMessage(schema), f}, &opts)
	if err != nil {
		panic(err) // the workloads are constants
	}
	return g
}

func guardOf(schema string, f toolFunc, options func() toolguard.Options, args []byte, want toolguard.Code) func() Call {
	return func() Call {
		g := guard(schema, f, options())
		return func(ctx context.Context) error {
			env := g.Do(ctx, toolguard.Call{ID: "tc_1", Args: args})
			return expectCode(&env, want)
		}
	}
}

// refusalOf makes calls that an open breaker refuses. The envelope has its
// words either way; render makes the text for the model of it as well.
func refusalOf(o toolguard.Observer, render bool) func() Call {
	return func() Call {
		g := openGuard(o)
		return func(ctx context.Context) error {
			env := g.Do(ctx, toolguard.Call{ID: "tc_1", Args: noArgs})
			if render && env.ForModel() == "" {
				return errors.New("no text for the model")
			}
			return expectCode(&env, toolguard.CodeBreakerOpen)
		}
	}
}

// openGuard returns a guard whose breaker stays open for longer than any run, and
// still for a time that a model is asked to wait.
func openGuard(o toolguard.Observer) *toolguard.Guard {
	opts := toolguard.Options{
		Retry:    toolguard.RetryPolicy{Off: true},
		Breaker:  toolguard.BreakerPolicy{Failures: 1, OpenFor: 4 * time.Minute},
		Observer: o,
	}
	g := guard("", func(context.Context, []byte) (string, error) { return "", toolguard.Unavailable("down") }, opts)
	g.Do(context.Background(), toolguard.Call{Args: noArgs})
	return g
}

// expectCode reports a failure other than want, "" for none.
func expectCode(env *toolguard.Envelope, want toolguard.Code) error {
	switch {
	case env.OK == (want == "") && (env.OK || env.Error.Code == want):
		return nil
	case env.OK:
		return fmt.Errorf("got a success, want %s", want)
	default:
		return fmt.Errorf("got %s, want %q", env.Error.Code, want)
	}
}
