package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore"
	"github.com/toolguard-go/toolguard/observe/eventstore/dial"
)

type config struct {
	listen, store string
	spans         io.Writer
	alert         func(toolguard.Alert)
}

// observed is a toolbox with everything that watches it.
type observed struct {
	*telemetry
	service  *service
	box      *toolguard.Toolbox
	store    *eventstore.DB
	recorder *eventstore.Recorder
	journal  toolguard.Journal
	unwatch  []func() error
}

// start sets it all up: one observer for the guard, three behind it.
func start(ctx context.Context, c config) (*observed, error) {
	t, err := newTelemetry(c.listen, c.spans)
	if err != nil {
		return nil, err
	}
	o := &observed{telemetry: t, service: newService(), journal: toolguard.NewMemoryJournal()}
	if o.store, err = dial.Open(ctx, c.store); err != nil {
		return nil, err
	}
	if o.recorder, err = eventstore.NewRecorder(o.store, nil); err != nil {
		return nil, err
	}
	// snippet: observers
	monitor, err := toolguard.NewMonitor(&toolguard.MonitorOptions{Window: 10 * time.Second, Alert: c.alert})
	if err != nil {
		return nil, err
	}
	options := toolguard.Options{
		Observer: toolguard.Observers(t.observer, o.recorder, monitor),
		Observe:  toolguard.ObservePolicy{Queue: 10_000},
		Timeout:  toolguard.TimeoutPolicy{Attempt: 500 * time.Millisecond, Budget: 3 * time.Second, Grace: 100 * time.Millisecond},
	}
	// end snippet
	options.Journal = o.journal
	options.Retry = toolguard.RetryPolicy{BaseDelay: 5 * time.Millisecond, RateLimitDelay: 5 * time.Millisecond}
	options.Breaker = toolguard.BreakerPolicy{OpenFor: time.Second}
	tools, err := o.service.tools()
	if err != nil {
		return nil, err
	}
	if o.box, err = toolguard.NewToolbox(&toolguard.ToolboxOptions{Options: options}, tools...); err != nil {
		return nil, err
	}
	return o, o.watch()
}

// watch adds to the metrics what is not an event: the state things are in.
func (o *observed) watch() error {
	ofBox, err := o.observer.Watch(o.box)
	if err != nil {
		return err
	}
	ofJournal, err := o.observer.WatchJournal(o.journal)
	o.unwatch = append(o.unwatch, ofBox, ofJournal)
	return err
}

// workers is how many agents there seem to be.
const workers = 6

// load calls the tools until ctx ends.
func (o *observed) load(ctx context.Context) {
	var wg sync.WaitGroup
	for n := range workers {
		wg.Go(func() { o.agent(ctx, n) })
	}
	wg.Wait()
}

// agent is one conversation after the other, each of ten calls. Now and then its
// model gets a name or an argument wrong.
func (o *observed) agent(ctx context.Context, n int) {
	names := []string{"search_orders", "get_weather", "send_email", "refund", "search_orders", "get_wether"}
	for i := 0; ctx.Err() == nil; i++ {
		scoped := toolguard.WithScope(context.WithoutCancel(ctx), toolguard.Scope{
			Session: fmt.Sprintf("s%d-%d", n, i/10), Turn: "1", Model: "example-model", PromptVersion: "1",
		})
		args := fmt.Sprintf(`{"id":"%d-%d"}`, n, i)
		if rand.Float64() < .03 {
			args = `{"ident":7}`
		}
		tool := names[rand.IntN(len(names)-1)]
		if rand.Float64() < .01 {
			tool = names[len(names)-1]
		}
		o.box.Do(scoped, toolguard.Call{Tool: tool, ID: fmt.Sprintf("call_%d_%d", n, i), Args: []byte(args)})
		pause(ctx, time.Duration(rand.ExpFloat64()*float64(20*time.Millisecond)))
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// stop ends everything, the sources before what they flow into.
func (o *observed) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	err := errors.Join(o.box.Shutdown(ctx), o.recorder.Close(ctx), o.store.Close())
	for _, stop := range o.unwatch {
		err = errors.Join(err, stop())
	}
	err = errors.Join(err, o.telemetry.stop(ctx))
	o.service.Close()
	return err
}
