package otelguard

import (
	"context"
	"fmt"
	"sync"

	"go.opentelemetry.io/otel/metric"

	"github.com/toolguard-go/toolguard"
)

// Watch adds what a *[toolguard.Toolbox], or a *[toolguard.Guard], knows of itself
// at every collection: the state of breakers, abandoned attempts that still run,
// lost events, host code that hangs. It may be called for any number of them. The
// function it returns ends it.
func (o *Observer) Watch(source any) (stop func() error, err error) {
	read, err := reader(source)
	if err != nil {
		return nil, err
	}
	w := &watch{observer: o, read: read}
	if err := w.make(o.meter); err != nil {
		return nil, err
	}
	r, err := o.meter.RegisterCallback(w.observe, w.breaker, w.running, w.lost, w.stuck)
	if err != nil {
		return nil, fmt.Errorf("otelguard: Watch: %w", err)
	}
	return sync.OnceValue(r.Unregister), nil
}

// reader returns the counts of each tool.
func reader(source any) (func() map[string]toolguard.Stats, error) {
	switch s := source.(type) {
	case *toolguard.Toolbox:
		return func() map[string]toolguard.Stats {
			stats := s.Stats()
			stats.Tools[toolguard.UnknownTool] = stats.Unknown
			return stats.Tools
		}, nil
	case *toolguard.Guard:
		name := s.Info().Name
		return func() map[string]toolguard.Stats { return map[string]toolguard.Stats{name: s.Stats()} }, nil
	default:
		return nil, fmt.Errorf("otelguard: Watch: %T is neither a *toolguard.Toolbox nor a *toolguard.Guard", source)
	}
}

type watch struct {
	observer                *Observer
	read                    func() map[string]toolguard.Stats
	breaker, running, stuck metric.Int64ObservableGauge
	lost                    metric.Int64ObservableCounter
}

func (w *watch) make(m metric.Meter) (err error) {
	for n, g := range []*metric.Int64ObservableGauge{&w.breaker, &w.running, nil, &w.stuck} {
		d := watchedInstruments[n]
		if g == nil {
			w.lost, err = m.Int64ObservableCounter(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Help))
		} else {
			*g, err = m.Int64ObservableGauge(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Help))
		}
		if err != nil {
			return fmt.Errorf("otelguard: Watch: %w", err)
		}
	}
	return nil
}

func (w *watch) observe(_ context.Context, to metric.Observer) error {
	worst := map[string]toolguard.BreakerState{}
	for name, s := range w.read() {
		by := metric.WithAttributes(attrTool.String(w.observer.redactor.Text(name, maxName)))
		to.ObserveInt64(w.running, int64(s.Abandoned), by)
		to.ObserveInt64(w.lost, int64(s.LostEvents), by)
		to.ObserveInt64(w.stuck, int64(s.StuckCallbacks), by)
		for _, b := range s.Breakers {
			worst[b.Target] = max(worst[b.Target], b.State)
		}
	}
	for target, state := range worst {
		to.ObserveInt64(w.breaker, int64(state), metric.WithAttributes(attrTool.String(w.observer.redactor.Text(target, maxName))))
	}
	return nil
}
