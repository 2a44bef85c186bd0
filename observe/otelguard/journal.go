package otelguard

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/toolguard-go/toolguard"
)

// unsettled are the states somebody should look at if an entry stays in them.
var unsettled = []toolguard.State{
	toolguard.StateAwaiting, toolguard.StatePending, toolguard.StateUnknown, toolguard.StateParked,
}

// maxScan bounds what one collection reads of each state, and readTimeout how long
// it may take.
const (
	maxScan     = 1000
	readTimeout = 5 * time.Second
)

// WatchJournal adds how many entries of a journal are not settled, and how old
// they are. The journal is read at every collection. Where it cannot be read
// there is no measurement, which alerts should take for a finding. The function
// it returns ends it.
func (o *Observer) WatchJournal(j toolguard.Journal) (stop func() error, err error) {
	if j == nil {
		return nil, fmt.Errorf("otelguard: WatchJournal: the journal is nil")
	}
	w := &journalWatch{journal: j}
	of := func(n int) (Instrument, []metric.Int64ObservableGaugeOption) {
		d := journalInstruments[n]
		return d, []metric.Int64ObservableGaugeOption{metric.WithUnit(d.Unit), metric.WithDescription(d.Help)}
	}
	d, with := of(0)
	if w.entries, err = o.meter.Int64ObservableGauge(d.Name, with...); err != nil {
		return nil, fmt.Errorf("otelguard: WatchJournal: %w", err)
	}
	d, with = of(1)
	if w.oldest, err = o.meter.Int64ObservableGauge(d.Name, with...); err != nil {
		return nil, fmt.Errorf("otelguard: WatchJournal: %w", err)
	}
	r, err := o.meter.RegisterCallback(w.observe, w.entries, w.oldest)
	if err != nil {
		return nil, fmt.Errorf("otelguard: WatchJournal: %w", err)
	}
	return sync.OnceValue(r.Unregister), nil
}

type journalWatch struct {
	journal         toolguard.Journal
	entries, oldest metric.Int64ObservableGauge
}

func (w *journalWatch) observe(ctx context.Context, to metric.Observer) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	for _, state := range unsettled {
		found, err := w.journal.Scan(ctx, toolguard.Query{States: []toolguard.State{state}, Limit: maxScan})
		if err != nil {
			return fmt.Errorf("otelguard: the journal: %w", err)
		}
		age := time.Duration(0)
		for i := range found {
			age = max(age, found[i].Read.Sub(found[i].Updated))
		}
		by := metric.WithAttributes(attrState.String(state.String()))
		to.ObserveInt64(w.entries, int64(len(found)), by)
		to.ObserveInt64(w.oldest, int64(age.Seconds()), by)
	}
	return nil
}
