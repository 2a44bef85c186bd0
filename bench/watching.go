package bench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore"
	"github.com/toolguard-go/toolguard/observe/otelguard"
)

// What watching adds to a call that succeeds is held against the same facts
// recorded by hand, around a guard that nobody watches.

func watchedBy(o toolguard.Observer) func() toolguard.Options {
	return func() toolguard.Options {
		opts := quick()
		opts.Observer = o
		return opts
	}
}

// byHand wraps calls, and attempts, of a guard without an observer.
func byHand(f toolFunc, around func(ctx context.Context, do func(context.Context) toolguard.Envelope) toolguard.Envelope, attempt func(toolFunc) toolFunc) func() Call {
	return func() Call {
		g := guard("", attempt(f), quick())
		return func(ctx context.Context) error {
			env := around(ctx, func(ctx context.Context) toolguard.Envelope {
				return g.Do(ctx, toolguard.Call{ID: "tc_1", Args: noArgs})
			})
			return expectCode(&env, "")
		}
	}
}

// infoLogger writes nothing of a success.
func infoLogger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

// logByHand logs attempts and calls as LogObserver does.
func logByHand(f toolFunc) func() Call {
	logger := infoLogger()
	write := func(ctx context.Context, kind string, began time.Time, ok bool, id string) {
		level := slog.LevelDebug
		if !ok {
			level = slog.LevelWarn
		}
		if logger.Enabled(ctx, level) {
			logger.LogAttrs(ctx, level, "tool "+kind, slog.String("tool", "refund"), slog.Bool("ok", ok),
				slog.Duration("duration", time.Since(began)), slog.String("call_id", id))
		}
	}
	return byHand(f, func(ctx context.Context, do func(context.Context) toolguard.Envelope) toolguard.Envelope {
		began := time.Now()
		env := do(ctx)
		write(ctx, "call", began, env.OK, env.CallID)
		return env
	}, func(f toolFunc) toolFunc {
		return func(ctx context.Context, args []byte) (string, error) {
			began := time.Now()
			text, err := f(ctx, args)
			write(ctx, "attempt", began, err == nil, "")
			return text, err
		}
	})
}

// discard is a span processor whose exporter does nothing.
type discard struct{}

func (discard) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (discard) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (discard) Shutdown(context.Context) error                  { return nil }
func (discard) ForceFlush(context.Context) error                { return nil }

func providers() (trace.TracerProvider, metric.MeterProvider) {
	return sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(discard{})),
		sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
}

func otelObserver(traces trace.TracerProvider, meters metric.MeterProvider) toolguard.Observer {
	o, err := otelguard.New(&otelguard.Options{TracerProvider: traces, MeterProvider: meters})
	if err != nil {
		panic(err) // the options are constants
	}
	return o
}

// otelByHand makes the same spans, attributes and measurements as otelguard.
func otelByHand(f toolFunc) func() Call {
	traces, meters := providers()
	return otelByHandTo(f, traces, meters)
}

func otelByHandTo(f toolFunc, traces trace.TracerProvider, meters metric.MeterProvider) func() Call {
	tracer, meter := traces.Tracer("by hand"), meters.Meter("by hand")
	calls, _ := meter.Int64Counter("toolguard.calls")
	attempts, _ := meter.Int64Counter("toolguard.attempts")
	took, _ := meter.Float64Histogram("toolguard.call.duration")
	size, _ := meter.Int64Histogram("toolguard.envelope.size")
	byTool := metric.WithAttributeSet(attribute.NewSet(attribute.String("gen_ai.tool.name", "refund")))
	byAll := metric.WithAttributeSet(attribute.NewSet(attribute.String("gen_ai.tool.name", "refund"), attribute.String("toolguard.outcome", "succeeded"), attribute.String("toolguard.decision", "answer")))
	addTool, addAll, recordTool := []metric.AddOption{byTool}, []metric.AddOption{byAll}, []metric.RecordOption{byTool}
	const schemaDigest = "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b" // made once
	return byHand(f, func(ctx context.Context, do func(context.Context) toolguard.Envelope) toolguard.Envelope {
		began := time.Now()
		ctx, span := tracer.Start(ctx, "execute_tool refund", trace.WithAttributes(
			attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", "refund"),
			attribute.String("gen_ai.tool.type", "function"), attribute.String("toolguard.effect", "idempotent"), attribute.String("gen_ai.tool.call.id", "tc_1")))
		env := do(ctx)
		key := sha256.Sum256(append([]byte("refund\x00"), noArgs...))
		span.SetAttributes(attribute.String("toolguard.outcome", "succeeded"), attribute.String("toolguard.stage", "confirm"),
			attribute.String("toolguard.decision", "answer"), attribute.Int("toolguard.attempts", env.Attempts), attribute.Int("toolguard.envelope.size", len(env.Result.Text)),
			attribute.String("toolguard.key.digest", hex.EncodeToString(key[:])), attribute.String("toolguard.schema.digest", schemaDigest))
		span.End()
		calls.Add(ctx, 1, addAll...)
		took.Record(ctx, time.Since(began).Seconds(), recordTool...)
		size.Record(ctx, int64(len(env.Result.Text)), recordTool...)
		return env
	}, func(f toolFunc) toolFunc {
		return func(ctx context.Context, args []byte) (string, error) {
			ctx, span := tracer.Start(ctx, "attempt refund", trace.WithAttributes(attribute.String("gen_ai.tool.name", "refund")))
			text, err := f(ctx, args)
			span.SetAttributes(attribute.Int("toolguard.attempt", 1), attribute.String("toolguard.outcome", "succeeded"), attribute.String("toolguard.decision", "answer"))
			span.End()
			attempts.Add(ctx, 1, addTool...)
			return text, err
		}
	})
}

// nowhere is a store that takes everything.
type nowhere struct{ eventstore.Store }

func (nowhere) Write(context.Context, []eventstore.Record, []*eventstore.Rollup) error { return nil }
func (nowhere) Prune(context.Context, time.Time, int64) (int, error)                   { return 0, nil }

func recorder() toolguard.Observer {
	r, err := eventstore.NewRecorder(nowhere{}, nil)
	if err != nil {
		panic(err) // the options are constants
	}
	return r
}

// keptByHand counts calls by minute, tool and what they came to, and keeps one in a
// hundred with its attempt for a goroutine that writes.
func keptByHand(f toolFunc) func() Call {
	type key struct {
		minute              int64
		tool, outcome, code string
		category            toolguard.Category
	}
	type row struct {
		began time.Time
		took  time.Duration
		body  json.RawMessage
	}
	var mu sync.Mutex
	counts, queue, n := map[key]*[200]uint32{}, make(chan row, 1000), 0
	go func() {
		for range queue { // for as long as the benchmark's process lives
		}
	}()
	keep := func(kind string, began time.Time, failure *toolguard.Failure, ok bool) {
		took := time.Since(began)
		mu.Lock()
		if kind == "call" {
			k := key{minute: began.Unix() / 60, tool: "refund", outcome: "succeeded"}
			if failure != nil {
				k.outcome, k.code, k.category = failure.Outcome.String(), string(failure.Code), failure.Category
			}
			c := counts[k]
			if c == nil {
				c = new([200]uint32)
				counts[k] = c
			}
			c[min(int(took/(10*time.Microsecond)), 199)]++
		}
		n++
		sampled := n%100 < 2 || !ok
		mu.Unlock()
		if sampled {
			select {
			case queue <- row{began, took, json.RawMessage(`{"kind":` + strconv.Quote(kind) + `}`)}:
			default:
			}
		}
	}
	return byHand(f, func(ctx context.Context, do func(context.Context) toolguard.Envelope) toolguard.Envelope {
		began := time.Now()
		env := do(ctx)
		keep("call", began, env.Error, env.OK)
		return env
	}, func(f toolFunc) toolFunc {
		return func(ctx context.Context, args []byte) (string, error) {
			began := time.Now()
			text, err := f(ctx, args)
			keep("attempt", began, nil, err == nil)
			return text, err
		}
	})
}

// looks is a tool that reads the span it runs under, as one that sends a request does.
func looks(ctx context.Context, _ []byte) (string, error) {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return "", errNoSpan
	}
	return "ok", nil
}

var errNoSpan = errors.New("no span")

// watching are the cases of what observers add.
func watching() []Case {
	of := func(name string, f toolFunc, hand func(toolFunc) func() Call, o toolguard.Observer) Case {
		unwatched := f
		if name == lookedFor {
			unwatched = noop
		}
		return Case{Name: name, Variants: []Variant{
			{Name: Unwatched, New: guardOf("", unwatched, quick, noArgs, "")},
			{Name: Counted, New: guardOf("", unwatched, observed, noArgs, ""), Bounds: []Bound{{Beside: Unwatched}}},
			{Name: ByHand, New: hand(f), Bounds: []Bound{{Beside: Unwatched}}},
			{Name: Watched, New: guardOf("", f, watchedBy(o), noArgs, ""), Bounds: []Bound{{Beside: ByHand, Over: Unwatched, Time: 1.5, Share: 1.5}}},
		}}
	}
	return []Case{
		of("slog at Info", noop, logByHand, toolguard.LogObserver(infoLogger())),
		of("OpenTelemetry", noop, otelByHand, otelObserver(providers())),
		of(lookedFor, looks, otelByHand, otelObserver(providers())),
		of("event store", noop, keptByHand, recorder()),
	}
}

const lookedFor = "OpenTelemetry, span looked for"
