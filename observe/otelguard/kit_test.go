package otelguard_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/otelguard"
)

var update = flag.Bool("update", false, "write golden files anew")

// kit is an observer whose spans and measurements stay in memory.
type kit struct {
	*otelguard.Observer
	spans  *tracetest.InMemoryExporter
	reader *metric.ManualReader
	tracer trace.Tracer
}

func newKit(t testing.TB, o otelguard.Options) *kit {
	t.Helper()
	k := &kit{spans: tracetest.NewInMemoryExporter(), reader: metric.NewManualReader()}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(k.spans))
	o.TracerProvider, o.MeterProvider = provider, metric.NewMeterProvider(metric.WithReader(k.reader))
	k.tracer = provider.Tracer("test")
	var err error
	k.Observer, err = otelguard.New(&o)
	require.NoError(t, err)
	return k
}

// tree renders the spans as an indented tree, in order of time, without what is
// different each time.
func (k *kit) tree(began time.Time) string {
	spans := k.spans.GetSpans()
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int {
		if c := a.StartTime.Compare(b.StartTime); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	known := map[trace.SpanID]string{}
	for _, s := range spans {
		known[s.SpanContext.SpanID()] = s.Name
	}
	var b strings.Builder
	var walk func(parent trace.SpanID, depth string)
	walk = func(parent trace.SpanID, depth string) {
		for _, s := range spans {
			if p := s.Parent.SpanID(); p == parent || !parent.IsValid() && known[p] == "" {
				render(&b, s, depth, began, known)
				walk(s.SpanContext.SpanID(), depth+"  ")
			}
		}
	}
	walk(trace.SpanID{}, "")
	return b.String()
}

func render(b *strings.Builder, s tracetest.SpanStub, depth string, began time.Time, known map[trace.SpanID]string) {
	fmt.Fprintf(b, "%s%s %s %v..%v %s\n", depth, s.Name, s.SpanKind, s.StartTime.Sub(began), s.EndTime.Sub(began), s.Status.Code)
	for _, l := range s.Links {
		fmt.Fprintf(b, "%s  link to %s%s\n", depth, known[l.SpanContext.SpanID()], facts(l.Attributes))
	}
	for _, a := range sorted(s.Attributes) {
		fmt.Fprintf(b, "%s  %s = %s\n", depth, a.Key, masked(a))
	}
	for _, e := range s.Events {
		fmt.Fprintf(b, "%s  * %v %s%s\n", depth, e.Time.Sub(began), e.Name, facts(e.Attributes))
	}
}

func sorted(attrs []attribute.KeyValue) []attribute.KeyValue {
	attrs = slices.Clone(attrs)
	slices.SortFunc(attrs, func(a, b attribute.KeyValue) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return attrs
}

func facts(attrs []attribute.KeyValue) string {
	var b strings.Builder
	for _, a := range sorted(attrs) {
		fmt.Fprintf(&b, " %s=%s", a.Key, masked(a))
	}
	return b.String()
}

func masked(a attribute.KeyValue) string {
	switch a.Key {
	case "toolguard.incident", "toolguard.key.digest", "toolguard.schema.digest":
		return "…"
	}
	return a.Value.String()
}

// measured renders what was counted.
func (k *kit) measured(t testing.TB) string {
	t.Helper()
	var lines []string
	for _, m := range k.metrics(t) {
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range data.DataPoints {
				lines = append(lines, fmt.Sprintf("%s%s = %d", m.Name, facts(p.Attributes.ToSlice()), p.Value))
			}
		case metricdata.Gauge[int64]:
			for _, p := range data.DataPoints {
				lines = append(lines, fmt.Sprintf("%s%s is %d", m.Name, facts(p.Attributes.ToSlice()), p.Value))
			}
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				lines = append(lines, fmt.Sprintf("%s%s = %d, %.3f in all", m.Name, facts(p.Attributes.ToSlice()), p.Count, p.Sum))
			}
		case metricdata.Histogram[int64]:
			for _, p := range data.DataPoints {
				lines = append(lines, fmt.Sprintf("%s%s = %d", m.Name, facts(p.Attributes.ToSlice()), p.Count))
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

func (k *kit) metrics(t testing.TB) []metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, k.reader.Collect(context.Background(), &all))
	var found []metricdata.Metrics
	for _, s := range all.ScopeMetrics {
		found = append(found, s.Metrics...)
	}
	return found
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "go test -update writes it anew; read what changed")
}

// step is what a tool does in one attempt.
type step func(ctx context.Context, args json.RawMessage) (toolguard.Result, error)

type scripted struct {
	info  toolguard.Info
	mu    sync.Mutex
	steps []step
}

func (s *scripted) Info() toolguard.Info { return s.info }

func (s *scripted) Call(ctx context.Context, args json.RawMessage) (toolguard.Result, error) {
	s.mu.Lock()
	next := s.steps[0]
	if len(s.steps) > 1 {
		s.steps = s.steps[1:]
	}
	s.mu.Unlock()
	return next(ctx, args)
}

func says(text string) step {
	return func(context.Context, json.RawMessage) (toolguard.Result, error) {
		return toolguard.Result{Text: text}, nil
	}
}

func fails(err error) step {
	return func(context.Context, json.RawMessage) (toolguard.Result, error) { return toolguard.Result{}, err }
}

func reader(name string, steps ...step) *scripted {
	return &scripted{info: toolguard.Info{Name: name, Description: "Reads " + name + ".", Effect: toolguard.ReadOnly, Version: "1.2"}, steps: steps}
}

func writer(name string, steps ...step) *scripted {
	s := reader(name, steps...)
	s.info.Effect = toolguard.NonIdempotent
	return s
}

// noJitter makes waits the same each time.
var noJitter = toolguard.RetryPolicy{BaseDelay: 1, MaxDelay: 1}
