package bench

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore"
)

// exportNowhere is an exporter that takes its spans and forgets them.
type exportNowhere struct{}

func (exportNowhere) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (exportNowhere) Shutdown(context.Context) error                             { return nil }

// sinks are all places events go to.
func sinks(t *testing.T) map[string]toolguard.Observer {
	monitor, err := toolguard.NewMonitor(nil)
	require.NoError(t, err)
	recorder, err := eventstore.NewRecorder(nowhere{}, &eventstore.Options{Queue: 1000, Every: 10 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { _ = recorder.Close(context.Background()) })
	traces := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exportNowhere{}))
	t.Cleanup(func() { _ = traces.Shutdown(context.Background()) })
	otel := otelObserver(traces, sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())))
	log := toolguard.LogObserver(infoLogger())
	return map[string]toolguard.Observer{
		"log": log, "monitor": monitor, "store": recorder, "OpenTelemetry": otel, "all of them": toolguard.Observers(log, monitor, recorder, otel),
	}
}

// As many events as a busy second has, one second after the other, none of a tool,
// a session or a call that was there before: no sink keeps more and more.
func TestMemoryStaysFlatInEverySink(t *testing.T) {
	skipUnderRace(t)
	const second = 100_000
	for name, sink := range sinks(t) {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			flood(sink, 0, second) // fills what is capped
			rate := second / time.Since(began).Seconds()
			before, goroutines := heap(), runtime.NumGoroutine()
			flood(sink, second, 3*second)
			grown := int64(heap()) - int64(before)
			t.Logf("%.0f calls a second, heap %d KiB, grown by %d KiB", rate, before>>10, grown>>10)
			assert.Less(t, grown, int64(2<<20), "bytes kept of 200,000 calls")
			assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines+1)
		})
	}
}

// flood tells of the calls with the numbers from and up to end: mostly successes,
// every tenth failed, was refused or had a name that a model invented.
func flood(o toolguard.Observer, from, end int) {
	ctx := context.Background()
	spans, _ := o.(toolguard.SpanObserver)
	for i := from; i < end; i++ {
		e := toolguard.Event{
			Kind: toolguard.EventCall, Time: time.Now(), Duration: time.Duration(i%1000) * time.Millisecond, Ref: uint64(i+1) * 0x9e3779b97f4a7c15,
			Tool: fmt.Sprint("tool", i), CallID: fmt.Sprint("call", i), Scope: toolguard.Scope{Tenant: fmt.Sprint(i), Session: fmt.Sprint(i)},
			OK: i%10 > 0, Attempts: 1, Outcome: toolguard.OutcomeSucceeded,
		}
		if !e.OK {
			e.Code = []toolguard.Code{toolguard.CodeServerError, toolguard.CodeUnknownTool, toolguard.Code(fmt.Sprint("own", i))}[i/10%3]
			e.Category, e.Outcome = e.Code.Category(), toolguard.OutcomeFailed
		}
		var close func(toolguard.Event)
		if spans != nil {
			_, close = spans.Start(ctx, e)
		}
		if o.Observe(ctx, e); close != nil {
			close(e)
		}
	}
}
