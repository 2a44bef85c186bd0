package eventstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolguard-go/toolguard"
)

// Options say what a [Recorder] keeps. Nil and the zero value are the documented
// defaults.
type Options struct {
	// Successes is the share of plain successes kept one by one, up to 1: calls
	// that succeeded at the first attempt, with nothing to tell. All are counted.
	// If zero, 0.01.
	Successes float64
	// NoSuccesses keeps none of them.
	NoSuccesses bool
	// Payloads keeps arguments and results, redacted and cut to 4096 characters.
	// The guard's ObservePolicy must ask for them as well.
	Payloads bool
	// Retention is how long records and counts are kept. If zero, 30 days.
	Retention time.Duration
	// MaxBytes bounds the records kept; the oldest go first. If zero, 256 MiB.
	MaxBytes int64
	// Queue is how many events may wait to be written; beyond that they are
	// dropped and counted. If zero, 10,000, of about 1 KiB each.
	Queue int
	// Every is how often what waits is written. If zero, 1 s.
	Every time.Duration
	// Redact is applied to foreign text before the built-in redaction.
	Redact func(text string) string
}

func (o *Options) withDefaults() {
	setDefault(&o.Successes, 0.01)
	setDefault(&o.Retention, 30*24*time.Hour)
	setDefault(&o.MaxBytes, 256<<20)
	setDefault(&o.Queue, 10_000)
	setDefault(&o.Every, time.Second)
	if o.NoSuccesses {
		o.Successes = 0
	}
}

func setDefault[T comparable](v *T, d T) {
	if *v == *new(T) {
		*v = d
	}
}

func (o *Options) check() error {
	var errs []error
	bad := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("eventstore: Options.%s is %v, want %s", field, value, want))
	}
	if !(o.Successes >= 0 && o.Successes <= 1) {
		bad("Successes", o.Successes, "between 0 and 1")
	}
	if o.NoSuccesses && o.Successes != 0 {
		bad("Successes", o.Successes, "zero together with NoSuccesses")
	}
	if o.Retention < 0 || o.Retention > 0 && o.Retention < Period {
		bad("Retention", o.Retention, "at least 1m")
	}
	if o.MaxBytes < 0 {
		bad("MaxBytes", o.MaxBytes, "zero or more")
	}
	if o.Queue < 0 {
		bad("Queue", o.Queue, "zero or more")
	}
	if o.Every < 0 {
		bad("Every", o.Every, "zero or more")
	}
	return errors.Join(errs...)
}

// Recorder is a [toolguard.Observer] that keeps events in a [Store]. It never
// waits for the store: a call hands its event over, and one goroutine writes what
// has come together. What does not fit into the queue, or cannot be written, is
// lost and counted in [Recorder.Stats]. The audit is not here but in the journal.
// It is safe for concurrent use and may serve any number of guards. Make one with
// [NewRecorder], and end it with [Recorder.Close].
type Recorder struct {
	store    Store
	opts     Options
	redactor *toolguard.Redactor

	sampled atomic.Uint64 // most events are only counted, and need no lock for it

	mu      sync.Mutex
	queue   []toolguard.Event
	spare   []toolguard.Event // the one written before, to fill again
	counts  rollups
	closed  bool
	queued  uint64 // so far
	stats   Stats  // but for Seen and Sampled
	lastErr error

	wake chan struct{} // the queue is half full; closed when the recorder ends
	done chan struct{} // the goroutine has ended
}

// Stats count what became of events since the recorder was made.
type Stats struct {
	// Seen counts all, Sampled those of plain successes that were only counted,
	// Written those kept.
	Seen, Sampled, Written uint64
	// Dropped did not fit into the queue, or came after Close; Failed could not
	// be written. Uncounted calls are missing from the counts as well.
	Dropped, Failed, Uncounted uint64
	// Pruned were deleted for their age or for want of room.
	Pruned uint64
	// Err is what the last write failed with; nil if it did not.
	Err error
}

// NewRecorder starts a recorder. It returns an error that names the option that
// makes no sense.
func NewRecorder(store Store, opts *Options) (*Recorder, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if store == nil {
		return nil, errors.New("eventstore: NewRecorder: store is nil")
	}
	o.withDefaults()
	r := &Recorder{
		store: store, opts: o, redactor: toolguard.NewRedactor(o.Redact),
		counts: rollups{byKey: make(map[RollupKey]*Rollup), tools: make(map[string]string)},
		wake:   make(chan struct{}, 1), done: make(chan struct{}),
	}
	go r.run()
	return r, nil
}

// Observe implements [toolguard.Observer].
func (r *Recorder) Observe(_ context.Context, e toolguard.Event) {
	kept := r.keeps(&e)
	if !kept && e.Kind != toolguard.EventCall {
		r.sampled.Add(1)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		r.stats.Dropped++
		return
	}
	if e.Kind == toolguard.EventCall && !r.counts.add(&e, r.redactor) {
		r.stats.Uncounted++
	}
	if kept {
		r.enqueue(&e)
	} else {
		r.sampled.Add(1)
	}
}

// enqueue keeps an event for the goroutine that writes, if there is room.
func (r *Recorder) enqueue(e *toolguard.Event) {
	if len(r.queue) >= r.opts.Queue {
		r.stats.Dropped++
		return
	}
	r.queued++
	r.queue = append(r.queue, *e)
	if len(r.queue) == r.opts.Queue/2 {
		select {
		case r.wake <- struct{}{}: // before it overflows
		default:
		}
	}
}

// keeps says whether an event is kept by itself. All events of a call that is
// sampled are.
func (r *Recorder) keeps(e *toolguard.Event) bool {
	plain := e.Kind != toolguard.EventLate && e.OK && e.Attempts <= 1 && len(e.Transitions) == 0 && e.Approval == nil
	switch e.Decision {
	case toolguard.DecisionAnswer, toolguard.DecisionReuse, toolguard.DecisionJoin:
		return !plain || sampled(e.Ref, r.opts.Successes)
	}
	return true
}

// sampled chooses by the number of the call, which is random.
func sampled(ref uint64, share float64) bool {
	return float64(ref>>11)/(1<<53) < share
}

// Stats returns the counts.
func (r *Recorder) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stats
	s.Sampled, s.Err = r.sampled.Load(), r.lastErr
	s.Seen = s.Sampled + r.queued + s.Dropped
	return s
}

// Close writes what waits and ends the recorder; the store stays open. It returns
// an error if ctx ends first, or if what waited could not be written. Later events
// are dropped and counted. It may be called more than once.
func (r *Recorder) Close(ctx context.Context) error {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.wake)
	}
	r.mu.Unlock()
	select {
	case <-r.done:
		return r.Stats().Err
	case <-ctx.Done():
		return fmt.Errorf("eventstore: Recorder.Close: %w", ctx.Err())
	}
}
