package otelguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/httpguard"
	"github.com/toolguard-go/toolguard/observe/otelguard"
)

// A wait is an event of its own, as long as what the service asked for.
func TestWaitsAreEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, otelguard.Options{})
		k.do(t, reader("weather", fails(toolguard.RateLimited(2*time.Second)), says("sun")), nil)
		for _, s := range k.spans.GetSpans() {
			for _, e := range s.Events {
				if e.Name == "toolguard.wait" {
					assert.Equal(t, "toolguard.wait_ms", string(e.Attributes[0].Key))
					assert.GreaterOrEqual(t, e.Attributes[0].Value.AsInt64(), int64(2000))
					assert.Equal(t, "execute_tool weather", s.Name)
					return
				}
			}
		}
		t.Error("no wait")
	})
}

// Names that a model invents, and tools beyond the limit, share a label each.
func TestMetricsAreOfBoundedCardinality(t *testing.T) {
	t.Parallel()
	k := newKit(t, otelguard.Options{MaxTools: 3})
	for i := range 500 {
		for _, code := range []toolguard.Code{toolguard.CodeUnknownTool, toolguard.CodeServerError, toolguard.Code(fmt.Sprint("own_", i))} {
			k.Observe(t.Context(), toolguard.Event{
				Tool: fmt.Sprint("tool", i, code), Code: code, Category: code.Category(), Decision: toolguard.DecisionRefuse,
			})
		}
	}
	tools, codes := map[string]bool{}, map[string]bool{}
	for _, m := range k.metrics(t) {
		if sum, ok := m.Data.(metricdata.Sum[int64]); ok {
			assert.Less(t, len(sum.DataPoints), 20, m.Name)
			for _, p := range sum.DataPoints {
				tool, _ := p.Attributes.Value("gen_ai.tool.name")
				code, _ := p.Attributes.Value("toolguard.code")
				tools[tool.AsString()], codes[code.AsString()] = true, true
			}
		}
	}
	assert.Len(t, tools, 5)
	assert.Contains(t, tools, "(other)")
	assert.Contains(t, tools, toolguard.UnknownTool)
	assert.Contains(t, codes, "(other)")
}

func TestPayloadsAndErrorsAreOptional(t *testing.T) {
	t.Parallel()
	k := newKit(t, otelguard.Options{HideErrors: true})
	k.do(t, reader("weather", fails(errors.New("odd"))), &toolguard.Options{
		Observe: toolguard.ObservePolicy{Arguments: true, Results: true},
	})
	tree := k.tree(time.Now())
	for _, absent := range []string{"toolguard.error", "call.arguments", "call.result"} {
		assert.NotContains(t, tree, absent)
	}
}

// Without an SDK nothing is made, and nothing is lost.
func TestNoopProviders(t *testing.T) {
	t.Parallel()
	o, err := otelguard.New(&otelguard.Options{TracerProvider: noop.NewTracerProvider()})
	require.NoError(t, err)
	g, err := toolguard.New(reader("weather", says("sun")), &toolguard.Options{Observer: o})
	require.NoError(t, err)
	assert.True(t, g.Do(t.Context(), toolguard.Call{}).OK)
	assert.Zero(t, g.Stats().LostEvents)
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	_, err := otelguard.New(&otelguard.Options{MaxPayload: -1, MaxTools: -2})
	assert.ErrorContains(t, err, "Options.MaxPayload is -1")
	assert.ErrorContains(t, err, "Options.MaxTools is -2")
	o, err := otelguard.New(nil)
	require.NoError(t, err)
	_, err = o.Watch("a string")
	assert.ErrorContains(t, err, "neither")
}

// What the tool sends downstream belongs to the attempt's span.
func TestTraceGoesDownstream(t *testing.T) {
	otel.SetTextMapPropagator(propagation.TraceContext{})
	k := newKit(t, otelguard.Options{})
	var sent string
	transport := &httpguard.Transport{
		Propagate: otelguard.Propagate,
		Base: roundTrip(func(r *http.Request) (*http.Response, error) {
			sent = r.Header.Get("Traceparent")
			return &http.Response{StatusCode: 204, Body: http.NoBody, Request: r}, nil
		}),
	}
	k.do(t, reader("weather", func(ctx context.Context, _ json.RawMessage) (toolguard.Result, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://weather.test/", nil)
		if err == nil {
			_, err = transport.RoundTrip(req)
		}
		return toolguard.Result{Text: "sun"}, err
	}), nil)
	for _, s := range k.spans.GetSpans() {
		if s.Name == "attempt weather" {
			assert.Contains(t, sent, s.SpanContext.TraceID().String()+"-"+s.SpanContext.SpanID().String())
			return
		}
	}
	t.Error("no span of an attempt")
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Hostile names stay in their attribute: one line, bounded.
func TestHostileNamesAreBounded(t *testing.T) {
	t.Parallel()
	k := newKit(t, otelguard.Options{})
	name := "x\"<script>\x1b[31m\n" + strings.Repeat("z", 10<<10)
	_, end := k.Start(t.Context(), toolguard.Event{Tool: name, CallID: strings.Repeat("i", 10<<10)})
	end(toolguard.Event{Tool: name, Code: toolguard.CodeUnknownTool})
	span := k.spans.GetSpans()[0]
	assert.Less(t, len(span.Name), 200)
	assert.NotContains(t, span.Name, "\n")
	assert.NotContains(t, span.Name, "\x1b")
	for _, a := range span.Attributes {
		assert.Less(t, len(a.Value.String()), 1000, a.Key)
	}
}

// stuckExporter never comes back from an export, of spans or of metrics.
type stuckExporter struct{ release chan struct{} }

func (e stuckExporter) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	<-e.release
	return nil
}

func (e stuckExporter) Export(context.Context, *metricdata.ResourceMetrics) error {
	<-e.release
	return nil
}

func (stuckExporter) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return sdkmetric.DefaultTemporalitySelector(k)
}

func (stuckExporter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

func (stuckExporter) ForceFlush(context.Context) error { return nil }
func (stuckExporter) Shutdown(context.Context) error   { return nil }

// An exporter that hangs, even inside of the span's end, costs events and no call
// its time: with a queue nothing, without one the observer's patience, once. Where it
// has a goroutine of its own, as programs set it up, it costs no event either.
func TestAStuckExporterSlowsNoCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		queue  int
		limit  time.Duration
		loses  bool
		traces func(sdktrace.SpanExporter) sdktrace.TracerProviderOption
	}{
		"at once, queued": {100, 0, true, sdktrace.WithSyncer},
		"at once":         {0, time.Second, true, sdktrace.WithSyncer},
		"in batches":      {0, 0, false, func(e sdktrace.SpanExporter) sdktrace.TracerProviderOption { return sdktrace.WithBatcher(e) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				stuck := stuckExporter{make(chan struct{})}
				traces := sdktrace.NewTracerProvider(c.traces(stuck))
				meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(stuck, sdkmetric.WithInterval(time.Second))))
				o, err := otelguard.New(&otelguard.Options{TracerProvider: traces, MeterProvider: meters})
				require.NoError(t, err)
				g, err := toolguard.New(reader("weather", says("sun")), &toolguard.Options{Observer: o, Observe: toolguard.ObservePolicy{Queue: c.queue}})
				require.NoError(t, err)
				time.Sleep(10 * time.Second) // the reader of metrics is stuck by now
				began := time.Now()
				for range 10_000 {
					require.True(t, g.Do(t.Context(), toolguard.Call{}).OK)
				}
				assert.Equal(t, c.limit, time.Since(began))
				assert.Equal(t, c.loses, g.Stats().LostEvents > 0)
				close(stuck.release)
				_ = traces.Shutdown(t.Context()) // their goroutines end with them
				_ = meters.Shutdown(t.Context())
			})
		})
	}
}
