package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/toolguard-go/toolguard/observe/otelguard"
)

// spanShare is the share of traces that is written out: a minute has thousands.
const spanShare = 0.001

// telemetry is OpenTelemetry as a program sets it up: spans to a writer, metrics
// for Prometheus to fetch.
type telemetry struct {
	observer *otelguard.Observer
	traces   *sdktrace.TracerProvider
	meters   *metric.MeterProvider
	server   *http.Server
	url      string
}

func newTelemetry(listen string, spans io.Writer) (*telemetry, error) {
	exporter, err := stdouttrace.New(stdouttrace.WithWriter(spans))
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	reader, err := otelprom.New(otelprom.WithRegisterer(registry))
	if err != nil {
		return nil, err
	}
	t := &telemetry{
		traces: sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(spanShare)))),
		meters: metric.NewMeterProvider(metric.WithReader(reader)),
	}
	if t.observer, err = otelguard.New(&otelguard.Options{TracerProvider: t.traces, MeterProvider: t.meters}); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	t.url = "http://" + l.Addr().String() + "/metrics"
	t.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go t.server.Serve(l) // returns when stop closes it
	return t, nil
}

func (t *telemetry) stop(ctx context.Context) error {
	return errors.Join(t.server.Close(), t.traces.Shutdown(ctx), t.meters.Shutdown(ctx))
}
