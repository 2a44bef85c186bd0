// Package otelguard turns the events of guarded calls into OpenTelemetry spans
// and metrics. It needs the API only; the program chooses the SDK and exporters.
//
//	observer, err := otelguard.New(nil) // the global providers
//	…
//	box, err := toolguard.NewToolbox(&toolguard.ToolboxOptions{Options: toolguard.Options{Observer: observer}}, tools...)
//	stop, err := observer.Watch(box)
//
// Each call is a span execute_tool {tool} by the semantic conventions for
// generative AI, each attempt a child of it, and what was decided between them is
// an event of the call's span. Names of their own begin with "toolguard.". See
// docs/observability.md for all of them.
package otelguard

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolguard-go/toolguard"
)

// Scope is the name of the instrumentation.
const Scope = "github.com/toolguard-go/toolguard/observe/otelguard"

// Options say what is recorded. Nil and the zero value are the documented defaults.
type Options struct {
	// TracerProvider makes spans. If nil, the global one.
	TracerProvider trace.TracerProvider
	// MeterProvider makes instruments. If nil, the global one.
	MeterProvider metric.MeterProvider
	// Arguments and Results record those of calls in spans, redacted and cut to
	// MaxPayload. The guard's ObservePolicy must ask for them as well.
	Arguments, Results bool
	// MaxPayload bounds each, in characters. If zero, 2048.
	MaxPayload int
	// HideErrors leaves out what tools say went wrong. It is redacted anyway.
	HideErrors bool
	// MaxTools is how many tools metrics tell apart; those that come later are
	// counted as "(other)". If zero, 200.
	MaxTools int
	// Redact is applied to foreign text before the built-in redaction.
	Redact func(text string) string
}

// Observer is a [toolguard.LateSpanObserver]. It is safe for concurrent use and may
// serve any number of guards. Make one with [New].
type Observer struct {
	opts     Options
	tracer   trace.Tracer
	names    names
	redactor *toolguard.Redactor
	metrics  instruments
	meter    metric.Meter
}

var _ toolguard.LateSpanObserver = (*Observer)(nil)

// Longest texts in attributes, in characters.
const (
	maxName        = 128
	maxDescription = 512
	maxError       = 300
)

// New returns an observer, or an error that names the option that makes no sense.
func New(opts *Options) (*Observer, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if err := errors.Join(atLeast("MaxPayload", o.MaxPayload), atLeast("MaxTools", o.MaxTools)); err != nil {
		return nil, err
	}
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	if o.MaxPayload == 0 {
		o.MaxPayload = 2048
	}
	if o.MaxTools == 0 {
		o.MaxTools = 200
	}
	n := &Observer{
		opts: o, tracer: o.TracerProvider.Tracer(Scope), meter: o.MeterProvider.Meter(Scope),
		redactor: toolguard.NewRedactor(o.Redact),
	}
	n.names.limit, n.names.redactor = o.MaxTools, n.redactor
	var err error
	n.metrics, err = newInstruments(n.meter)
	return n, err
}

func atLeast(field string, n int) error {
	if n < 0 {
		return fmt.Errorf("otelguard: Options.%s is %d, want zero or more", field, n)
	}
	return nil
}

// Observe implements [toolguard.Observer]: it counts, and makes the span of a late
// answer, whose attempt's has ended.
func (o *Observer) Observe(ctx context.Context, e toolguard.Event) {
	t := o.names.of(&e)
	switch e.Kind {
	case toolguard.EventCall:
		o.countCall(ctx, t, &e)
	case toolguard.EventAttempt:
		o.countAttempt(ctx, t, &e)
	case toolguard.EventLate:
		o.countLate(ctx, t, &e)
		o.lateSpan(ctx, t, &e)
	}
}
