package otelguard

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolguard-go/toolguard"
)

// StartsLate implements [toolguard.LateSpanObserver]: spans that nothing looks for
// are made when they end, with the time they began.
func (*Observer) StartsLate() bool { return true }

// Start implements [toolguard.SpanObserver].
func (o *Observer) Start(ctx context.Context, e toolguard.Event) (context.Context, func(toolguard.Event)) {
	t := o.names.beginning(&e)
	if e.Kind == toolguard.EventAttempt {
		return o.startAttempt(ctx, t, e.Time)
	}
	ctx, span := o.tracer.Start(ctx, t.callSpan, trace.WithTimestamp(e.Time), trace.WithAttributes(o.begin(t, &e)...))
	if !span.IsRecording() {
		return ctx, endOnly(span)
	}
	return ctx, func(e toolguard.Event) { o.endCall(span, &e) }
}

func (o *Observer) startAttempt(ctx context.Context, t *tool, began time.Time) (context.Context, func(toolguard.Event)) {
	call := trace.SpanFromContext(ctx)
	ctx, span := o.tracer.Start(ctx, t.attemptSpan, trace.WithTimestamp(began), trace.WithAttributes(attrTool.String(t.name)))
	if !span.IsRecording() {
		return ctx, endOnly(span)
	}
	return ctx, func(e toolguard.Event) { o.endAttempt(call, span, &e) }
}

// endOnly ends a span that nobody records; without one, there is nothing to do.
func endOnly(span trace.Span) func(toolguard.Event) {
	if !span.SpanContext().IsValid() {
		return nil
	}
	return func(toolguard.Event) { span.End() }
}

func (o *Observer) endCall(span trace.Span, e *toolguard.Event) {
	o.callDecision(span, e)
	span.SetAttributes(o.ended(e)...)
	finish(span, e)
}

// endAttempt ends the attempt's span. What was decided after it belongs to the
// call.
func (o *Observer) endAttempt(call, span trace.Span, e *toolguard.Event) {
	span.SetAttributes(o.attempted(e)...)
	finish(span, e)
	o.attemptDecision(call, e)
}

func finish(span trace.Span, e *toolguard.Event) {
	if !e.OK {
		span.SetStatus(codes.Error, e.Category.String())
	}
	if time.Since(e.Time) < atOnce {
		span.End()
		return
	}
	span.End(trace.WithTimestamp(e.Time))
}

// atOnce is how soon an event must come for its span to end now: an instant given
// as an option costs as much as a few attributes.
const atOnce = 100 * time.Microsecond

// lateSpan is one of its own: the attempt's has ended, and is linked.
func (o *Observer) lateSpan(ctx context.Context, t *tool, e *toolguard.Event) {
	attrs := append(o.attempted(e),
		attrOperation.String(operation), attrTool.String(t.name), attrDuration.Int64(e.Duration.Milliseconds()))
	attrs = text(attrs, attrCallID, e.CallID)
	opts := []trace.SpanStartOption{
		trace.WithNewRoot(), trace.WithTimestamp(e.Time), trace.WithAttributes(attrs...),
	}
	if of := trace.SpanContextFromContext(ctx); of.IsValid() {
		opts = append(opts, trace.WithLinks(trace.Link{SpanContext: of, Attributes: []attribute.KeyValue{attrAttempt.Int(e.Attempt)}}))
	}
	_, span := o.tracer.Start(ctx, t.lateSpan, opts...)
	finish(span, e)
}
