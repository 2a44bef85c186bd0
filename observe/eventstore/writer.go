package eventstore

import (
	"context"
	"time"

	"github.com/toolguard-go/toolguard"
)

const (
	// batchSize is how many records, and counts, one transaction holds.
	batchSize = 500
	// writeTimeout bounds one transaction, pruneEvery the time between prunings.
	writeTimeout = 10 * time.Second
	pruneEvery   = 5 * time.Minute
	// countEvery is how often counts are written: they change the same rows.
	countEvery = 5
	// maxBackoff bounds the wait after writes that failed.
	maxBackoff = 30 * time.Second
)

// run writes until Close, and once more then.
func (r *Recorder) run() {
	defer close(r.done)
	var pruned time.Time
	wait := r.opts.Every
	for round := 1; ; round++ {
		closing := r.pause(wait, wait > r.opts.Every)
		err := r.write(closing || round%countEvery == 0)
		if err == nil && !closing && time.Since(pruned) >= pruneEvery {
			pruned = time.Now()
			err = r.prune()
		}
		r.remember(err)
		switch {
		case closing:
			return
		case err != nil:
			wait = min(2*wait, max(maxBackoff, r.opts.Every))
		default:
			wait = r.opts.Every
		}
	}
}

// pause waits, and reports whether the recorder is closing. After a write that
// failed a full queue is no reason to hurry.
func (r *Recorder) pause(d time.Duration, failing bool) (closing bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return false
		case _, open := <-r.wake:
			if !open || !failing {
				return !open
			}
		}
	}
}

func (r *Recorder) remember(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastErr = err
}

// write writes what waits, in batches. Redaction happens here, on nobody's time.
func (r *Recorder) write(counts bool) error {
	events, all := r.take(counts)
	defer r.release(events)
	for len(events) > 0 || len(all) > 0 {
		n, m := min(len(events), batchSize), min(len(all), batchSize)
		records := make([]Record, n)
		for i := range records {
			records[i] = r.opts.record(&events[i], r.redactor)
		}
		if err := r.commit(records, all[:m]); err != nil {
			r.failed(len(events), all)
			return err
		}
		r.wrote(n)
		events, all = events[n:], all[m:]
	}
	return nil
}

func (r *Recorder) commit(records []Record, all []*Rollup) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	return r.store.Write(ctx, records, all)
}

func (r *Recorder) take(counts bool) (events []toolguard.Event, all []*Rollup) {
	r.mu.Lock()
	defer r.mu.Unlock()
	events, r.queue, r.spare = r.queue, r.spare, nil
	if counts {
		all = r.counts.take()
	}
	return events, all
}

// release lets go of what events refer to, and keeps their room.
func (r *Recorder) release(events []toolguard.Event) {
	clear(events)
	r.mu.Lock()
	defer r.mu.Unlock()
	if cap(events) <= 4*batchSize {
		r.spare = events[:0]
	}
}

func (r *Recorder) wrote(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Written += uint64(n)
}

// failed gives counts another chance; records are lost, lest they pile up.
func (r *Recorder) failed(records int, all []*Rollup) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Failed += uint64(records)
	r.stats.Uncounted += uint64(r.counts.giveBack(all))
}

func (r *Recorder) prune() error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	n, err := r.store.Prune(ctx, time.Now().Add(-r.opts.Retention), r.opts.MaxBytes)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Pruned += uint64(n)
	return err
}
