package otelguard

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
)

// Propagate carries the trace of ctx downstream by the global propagator. It is
// for the field of that name in httpguard's Transport and Options:
//
//	client, err := httpguard.NewClient(httpguard.Options{Propagate: otelguard.Propagate})
func Propagate(ctx context.Context, header http.Header) {
	otel.GetTextMapPropagator().Inject(ctx, propagation.HeaderCarrier(header))
}
