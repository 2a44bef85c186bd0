package bench

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/toolguard-go/toolguard"
)

const schemaText = `{"type":"object","properties":{
	"order":{"type":"string","minLength":1},"amount":{"type":"integer","minimum":1},
	"currency":{"type":"string","enum":["EUR","USD"]},"urgent":{"type":"boolean"}},
	"required":["order","amount"],"additionalProperties":false}`

var args = []byte(`{"order":"A-1001","amount":4200,"currency":"EUR","urgent":true}`)

// tool is a raw tool, so that what is measured is the guard.
type tool struct {
	schema json.RawMessage
	f      toolFunc
}

func (t tool) Info() toolguard.Info {
	return toolguard.Info{Name: "refund", Effect: toolguard.Idempotent, Schema: t.schema}
}

func (t tool) Call(ctx context.Context, args json.RawMessage) (toolguard.Result, error) {
	text, err := t.f(ctx, args)
	return toolguard.Result{Text: text}, err
}

// observer counts, so that events are made and delivered.
type observer struct{ n int }

func (o *observer) Observe(context.Context, toolguard.Event) { o.n++ }

func noop(context.Context, []byte) (string, error) { return "ok", nil }

func down(context.Context, []byte) (string, error) { return "", toolguard.NotStarted(errDown) }

// jsonTool decodes and encodes, as most tools do.
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
	out, err := json.Marshal(map[string]any{"order": in.Order, "left": in.Amount / 2})
	return string(out), err
}

// quick retries without delay, and never runs out of retries or permits.
func quick() toolguard.Options {
	return toolguard.Options{
		Retry: toolguard.RetryPolicy{
			BaseDelay: 1, Budget: 1, BudgetFloor: 1 << 30,
			Rules: map[string]toolguard.RetryRule{"unknown_error": {Attempts: 3}},
		},
		Breaker: toolguard.BreakerPolicy{Failures: 1 << 30},
	}
}

func guard(b testing.TB, schema string, f toolFunc, opts toolguard.Options) *toolguard.Guard {
	g, err := toolguard.New(tool{json.RawMessage(schema), f}, &opts)
	if err != nil {
		b.Fatal(err)
	}
	return g
}

func observed(o toolguard.Options) toolguard.Options {
	o.Observer = &observer{}
	return o
}

func runGuard(b *testing.B, g *toolguard.Guard, args []byte, ok bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		if env := g.Do(ctx, toolguard.Call{ID: "tc_1", Args: args}); env.OK != ok {
			b.Fatal(env)
		}
	}
}

func runPeer(b *testing.B, call func(context.Context) error, ok bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		if err := call(ctx); (err == nil) != ok {
			b.Fatal(err)
		}
	}
}

var empty = []byte("{}")

func BenchmarkPlain(b *testing.B) {
	p := newPeer()
	b.Run("failsafe", func(b *testing.B) {
		runPeer(b, func(ctx context.Context) error { _, err := p.call(ctx, noop, empty); return err }, true)
	})
	b.Run("failsafe+goroutine", func(b *testing.B) {
		runPeer(b, func(ctx context.Context) error { _, err := p.callAbandoning(ctx, noop, empty); return err }, true)
	})
	b.Run("guard", func(b *testing.B) { runGuard(b, guard(b, "", noop, quick()), empty, true) })
	b.Run("guard+event", func(b *testing.B) { runGuard(b, guard(b, "", noop, observed(quick())), empty, true) })
	b.Run("guard+queued", func(b *testing.B) {
		o := observed(quick())
		o.Observe.Queue = 1024
		runGuard(b, guard(b, "", noop, o), empty, true)
	})
}

func BenchmarkSchema(b *testing.B) {
	p, s := newPeer(), jsonschema.MustCompileString("s.json", schemaText)
	b.Run("peers", func(b *testing.B) {
		runPeer(b, func(ctx context.Context) error {
			if err := decodeAndValidate(s, args); err != nil {
				return err
			}
			_, err := p.callAbandoning(ctx, noop, args)
			return err
		}, true)
	})
	b.Run("guard", func(b *testing.B) { runGuard(b, guard(b, schemaText, noop, quick()), args, true) })
	b.Run("guard+event", func(b *testing.B) { runGuard(b, guard(b, schemaText, noop, observed(quick())), args, true) })
}

func BenchmarkJSONTool(b *testing.B) {
	p := newPeer()
	b.Run("failsafe", func(b *testing.B) {
		runPeer(b, func(ctx context.Context) error { _, err := p.call(ctx, jsonTool, args); return err }, true)
	})
	b.Run("failsafe+goroutine", func(b *testing.B) {
		runPeer(b, func(ctx context.Context) error { _, err := p.callAbandoning(ctx, jsonTool, args); return err }, true)
	})
	b.Run("guard", func(b *testing.B) { runGuard(b, guard(b, schemaText, jsonTool, quick()), args, true) })
}

func BenchmarkThreeFailures(b *testing.B) {
	p := newPeer()
	b.Run("failsafe", func(b *testing.B) {
		runPeer(b, func(ctx context.Context) error { _, err := p.call(ctx, down, empty); return err }, false)
	})
	b.Run("guard", func(b *testing.B) { runGuard(b, guard(b, "", down, quick()), empty, false) })
}

func BenchmarkOpenBreaker(b *testing.B) {
	p := newOpenPeer()
	b.Run("failsafe", func(b *testing.B) {
		runPeer(b, func(ctx context.Context) error { _, err := p.call(ctx, noop, empty); return err }, false)
	})
	b.Run("guard", func(b *testing.B) {
		g := openGuard(b)
		runGuard(b, g, empty, false)
	})
	b.Run("guard+render", func(b *testing.B) {
		g := openGuard(b)
		b.ReportAllocs()
		for b.Loop() {
			env := g.Do(context.Background(), toolguard.Call{ID: "tc_1", Args: empty})
			if len(env.ForModel()) < 100 {
				b.Fatal(env)
			}
		}
	})
}

func openGuard(b testing.TB) *toolguard.Guard {
	g := guard(b, "", func(context.Context, []byte) (string, error) { return "", toolguard.Unavailable("down") },
		toolguard.Options{Retry: toolguard.RetryPolicy{Off: true}, Breaker: toolguard.BreakerPolicy{Failures: 1, OpenFor: time.Hour}})
	g.Do(context.Background(), toolguard.Call{Args: empty})
	return g
}

func BenchmarkParallel(b *testing.B) {
	p := newPeer()
	b.Run("failsafe+goroutine", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				_, _ = p.callAbandoning(context.Background(), noop, empty)
			}
		})
	})
	b.Run("guard", func(b *testing.B) {
		g := guard(b, "", noop, quick())
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				g.Do(context.Background(), toolguard.Call{Args: empty})
			}
		})
	})
}
