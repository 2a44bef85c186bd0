package bench

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// What is measured beside otelguard records what otelguard does, no more and no less.
func TestByHandRecordsTheSameFacts(t *testing.T) {
	t.Parallel()
	hand := recorded(t, func(traces trace.TracerProvider, meters metric.MeterProvider) Call {
		return otelByHandTo(looks, traces, meters)()
	})
	observer := recorded(t, func(traces trace.TracerProvider, meters metric.MeterProvider) Call {
		return guardOf("", looks, watchedBy(otelObserver(traces, meters)), noArgs, "")()
	})
	assert.Len(t, hand, 6, "two spans and four metrics")
	assert.Equal(t, observer, hand)
}

// recorded are the spans and metrics of one call, with their attributes.
func recorded(t *testing.T, observed func(trace.TracerProvider, metric.MeterProvider) Call) []string {
	spans, reader := tracetest.NewSpanRecorder(), sdkmetric.NewManualReader()
	call := observed(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)), sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	require.NoError(t, call(t.Context()))
	var all []string
	for _, s := range spans.Ended() {
		all = append(all, fmt.Sprintf("span %s, a child %t: %v", s.Name(), s.Parent().IsValid(), facts(s.Attributes())))
	}
	var metrics metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(context.Background(), &metrics))
	for _, m := range metrics.ScopeMetrics[0].Metrics {
		for _, set := range attributes(m.Data) {
			all = append(all, fmt.Sprintf("metric %s: %v", m.Name, facts(set.ToSlice())))
		}
	}
	slices.Sort(all)
	return all
}

// facts are attributes; of digests only that they are there, and how long.
func facts(attrs []attribute.KeyValue) []string {
	var all []string
	for _, a := range attrs {
		value := a.Value.String()
		if len(value) == 64 {
			value = "a digest"
		}
		all = append(all, string(a.Key)+"="+value)
	}
	slices.Sort(all)
	return all
}

func attributes(data metricdata.Aggregation) []attribute.Set {
	var sets []attribute.Set
	switch data := data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			sets = append(sets, p.Attributes)
		}
	case metricdata.Histogram[int64]:
		for _, p := range data.DataPoints {
			sets = append(sets, p.Attributes)
		}
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			sets = append(sets, p.Attributes)
		}
	}
	return sets
}
