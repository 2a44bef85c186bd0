package sqlite_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/internal/storetest"
)

// broken is a journal that does something otherwise than it has to.
type broken struct {
	toolguard.Journal
	write   func(j toolguard.Journal, ctx context.Context, was toolguard.Version, e toolguard.Entry, records []toolguard.Record) (toolguard.Entry, bool, error)
	take    func(j toolguard.Journal, ctx context.Context, n int, hold time.Duration) ([]toolguard.Entry, error)
	scan    func(j toolguard.Journal, ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error)
	records func(j toolguard.Journal, ctx context.Context, q toolguard.RecordQuery) ([]toolguard.Record, error)
	prune   func(j toolguard.Journal, ctx context.Context, age time.Duration) (int, error)
}

func (b *broken) Write(ctx context.Context, was toolguard.Version, e toolguard.Entry, records ...toolguard.Record) (toolguard.Entry, bool, error) {
	if b.write == nil {
		return b.Journal.Write(ctx, was, e, records...)
	}
	return b.write(b.Journal, ctx, was, e, records)
}

func (b *broken) Take(ctx context.Context, n int, hold time.Duration) ([]toolguard.Entry, error) {
	if b.take == nil {
		return b.Journal.Take(ctx, n, hold)
	}
	return b.take(b.Journal, ctx, n, hold)
}

func (b *broken) Scan(ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error) {
	if b.scan == nil {
		return b.Journal.Scan(ctx, q)
	}
	return b.scan(b.Journal, ctx, q)
}

func (b *broken) Records(ctx context.Context, q toolguard.RecordQuery) ([]toolguard.Record, error) {
	if b.records == nil {
		return b.Journal.Records(ctx, q)
	}
	return b.records(b.Journal, ctx, q)
}

func (b *broken) Prune(ctx context.Context, age time.Duration) (int, error) {
	if b.prune == nil {
		return b.Journal.Prune(ctx, age)
	}
	return b.prune(b.Journal, ctx, age)
}

// overwriting writes over versions that it was not told to replace.
func overwriting(which func(was, is toolguard.Version) bool) func() *broken {
	return func() *broken {
		return &broken{write: func(j toolguard.Journal, ctx context.Context, was toolguard.Version, e toolguard.Entry, records []toolguard.Record) (toolguard.Entry, bool, error) {
			now, ok, err := j.Write(ctx, was, e, records...)
			for err == nil && !ok && which(was, now.Version()) {
				now, ok, err = j.Write(ctx, now.Version(), e, records...)
			}
			return now, ok, err
		}}
	}
}

// answering answers otherwise to writes that were, or were not, made.
func answering(answer func(j toolguard.Journal, e *toolguard.Entry, ok *bool, err error, was toolguard.Version, records []toolguard.Record)) func() *broken {
	return func() *broken {
		return &broken{write: func(j toolguard.Journal, ctx context.Context, was toolguard.Version, e toolguard.Entry, records []toolguard.Record) (toolguard.Entry, bool, error) {
			now, ok, err := j.Write(ctx, was, e, records...)
			if err != nil {
				now = e
			}
			answer(j, &now, &ok, err, was, records)
			return now, ok, err
		}}
	}
}

var brokenJournals = map[string]func() *broken{
	"a claim ignores the version":     overwriting(func(toolguard.Version, toolguard.Version) bool { return true }),
	"a settlement ignores the token":  overwriting(func(was, is toolguard.Version) bool { return was.State == is.State }),
	"a settlement ignores the state":  overwriting(func(was, is toolguard.Version) bool { return was.Token == is.Token }),
	"what is there is claimed as new": overwriting(func(was, _ toolguard.Version) bool { return was == toolguard.Version{} }),
	"what is gone is settled":         overwriting(func(_, is toolguard.Version) bool { return is == toolguard.Version{} }),
	"two look, and then both write":   looking,
	"a write that is refused is said to be made": answering(func(_ toolguard.Journal, _ *toolguard.Entry, ok *bool, _ error, _ toolguard.Version, _ []toolguard.Record) {
		*ok = true
	}),
	"a write that is made is said to be refused": answering(func(_ toolguard.Journal, _ *toolguard.Entry, ok *bool, _ error, _ toolguard.Version, _ []toolguard.Record) {
		*ok = false
	}),
	"who is refused is shown another": answering(func(_ toolguard.Journal, now *toolguard.Entry, ok *bool, _ error, _ toolguard.Version, _ []toolguard.Record) {
		if !*ok {
			now.Owner = "nobody"
		}
	}),
	"a write is made after its caller was told that it is not": answering(func(j toolguard.Journal, e *toolguard.Entry, _ *bool, err error, was toolguard.Version, records []toolguard.Record) {
		if err != nil {
			_, _, _ = j.Write(context.Background(), was, *e, records...)
		}
	}),
	"a write that is refused leaves a record": answering(func(j toolguard.Journal, _ *toolguard.Entry, ok *bool, _ error, _ toolguard.Version, records []toolguard.Record) {
		if !*ok {
			_ = j.Append(context.Background(), records...)
		}
	}),
	"a write leaves its record twice": answering(func(j toolguard.Journal, _ *toolguard.Entry, ok *bool, _ error, _ toolguard.Version, records []toolguard.Record) {
		if *ok {
			_ = j.Append(context.Background(), records...)
		}
	}),
	"a write leaves no record": func() *broken {
		return &broken{write: func(j toolguard.Journal, ctx context.Context, was toolguard.Version, e toolguard.Entry, _ []toolguard.Record) (toolguard.Entry, bool, error) {
			return j.Write(ctx, was, e)
		}}
	},
	"a lease that has run out is not given up": taking(func(toolguard.Journal, context.Context, int, time.Duration) ([]toolguard.Entry, error) {
		return nil, nil
	}),
	"what is taken is held for another time": taking(func(j toolguard.Journal, ctx context.Context, n int, hold time.Duration) ([]toolguard.Entry, error) {
		return j.Take(ctx, n, hold+time.Second)
	}),
	"what is taken is handed out to nobody": taking(func(j toolguard.Journal, ctx context.Context, n int, hold time.Duration) ([]toolguard.Entry, error) {
		taken, err := j.Take(ctx, n, hold)
		return taken[min(1, len(taken)):], err
	}),
	"what is taken is handed out again":   handingOutTwice,
	"a lease is taken that has time left": taking(takeAny),
	"a take-over does not fence":          taking(takeWithoutToken),
	"somebody reads what was":             remembering,
	"records come without the last": func() *broken {
		return &broken{records: func(j toolguard.Journal, ctx context.Context, q toolguard.RecordQuery) ([]toolguard.Record, error) {
			found, err := j.Records(ctx, q)
			return found[:max(0, len(found)-1)], err
		}}
	},
	"records come in another order": func() *broken {
		return &broken{records: func(j toolguard.Journal, ctx context.Context, q toolguard.RecordQuery) ([]toolguard.Record, error) {
			found, err := j.Records(ctx, q)
			if n := len(found); n > 1 {
				found[n-2], found[n-1] = found[n-1], found[n-2]
			}
			return found, err
		}}
	},
	"a prune deletes what is young": pruning(func(j toolguard.Journal, ctx context.Context, _ time.Duration) (int, error) { return j.Prune(ctx, 0) }),
	"a prune deletes nothing":       pruning(func(toolguard.Journal, context.Context, time.Duration) (int, error) { return 0, nil }),
	"a prune leaves the records": pruning(func(j toolguard.Journal, ctx context.Context, age time.Duration) (int, error) {
		before, _ := j.Records(ctx, toolguard.RecordQuery{Limit: 100_000})
		n, err := j.Prune(ctx, age)
		for _, r := range before {
			if left, _ := j.Records(ctx, toolguard.RecordQuery{Key: r.Key, Limit: 1}); len(left) == 0 {
				_ = j.Append(ctx, r)
			}
		}
		return n, err
	}),
}

func taking(f func(toolguard.Journal, context.Context, int, time.Duration) ([]toolguard.Entry, error)) func() *broken {
	return func() *broken { return &broken{take: f} }
}

func pruning(f func(toolguard.Journal, context.Context, time.Duration) (int, error)) func() *broken {
	return func() *broken { return &broken{prune: f} }
}

// looking writes over whatever came after it had looked.
func looking() *broken {
	return &broken{write: func(j toolguard.Journal, ctx context.Context, was toolguard.Version, e toolguard.Entry, records []toolguard.Record) (now toolguard.Entry, ok bool, err error) {
		found, err := j.Scan(ctx, toolguard.Query{Key: e.Key})
		found = append(found, toolguard.Entry{})
		if now = found[0]; err != nil || now.Version() != was {
			return now, false, err
		}
		runtime.Gosched()
		for is := was; err == nil && !ok; is = now.Version() {
			now, ok, err = j.Write(ctx, is, e, records...)
		}
		return now, ok, err
	}}
}

// handingOutTwice hands out what somebody has got already to the next one.
func handingOutTwice() *broken {
	var mu sync.Mutex
	var last []toolguard.Entry
	return &broken{take: func(j toolguard.Journal, ctx context.Context, n int, hold time.Duration) ([]toolguard.Entry, error) {
		mu.Lock()
		defer mu.Unlock()
		if again := last; len(again) > 0 {
			last = nil
			return again[:1], nil
		}
		taken, err := j.Take(ctx, n, hold)
		last = taken
		return taken, err
	}}
}

// takeAny takes an entry whether it is due or not.
func takeAny(j toolguard.Journal, ctx context.Context, n int, hold time.Duration) ([]toolguard.Entry, error) {
	found, err := j.Scan(ctx, toolguard.Query{States: []toolguard.State{toolguard.StatePending}, Limit: n})
	var taken []toolguard.Entry
	for _, e := range found {
		was := e.Version()
		e.Token, e.Due = e.Token+1, hold
		if now, ok, _ := j.Write(ctx, was, e); ok {
			taken = append(taken, now)
		}
	}
	return taken, err
}

// takeWithoutToken leaves whoever holds what is taken able to settle it.
func takeWithoutToken(j toolguard.Journal, ctx context.Context, n int, hold time.Duration) ([]toolguard.Entry, error) {
	taken, err := j.Take(ctx, n, hold)
	for i, e := range taken {
		if e.State == toolguard.StatePending {
			e.Token, e.Due = e.Token-1, hold
			taken[i], _, _ = j.Write(ctx, taken[i].Version(), e)
		}
	}
	return taken, err
}

// remembering shows who reads an entry what was there when somebody read it last.
func remembering() *broken {
	var mu sync.Mutex
	seen := map[string][]toolguard.Entry{}
	return &broken{scan: func(j toolguard.Journal, ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error) {
		found, err := j.Scan(ctx, q)
		if q.Group != "" {
			return found, err
		}
		mu.Lock()
		defer mu.Unlock()
		what := fmt.Sprint(q)
		before := seen[what]
		seen[what] = found
		return before, err
	}}
}

// What histories show is no comfort unless they show what is wrong.
func TestHistoriesShowWhatABrokenJournalDoes(t *testing.T) {
	t.Parallel()
	for name, open := range brokenJournals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 50 {
				histories := inMemory(t, storetest.Callers{Steps: 100}, func(j toolguard.Journal) toolguard.Journal {
					b := open()
					b.Journal = j
					return b
				}, nil)
				for _, history := range histories {
					if check(history) == porcupine.Illegal {
						return
					}
				}
			}
			t.Error("the histories look as if it did what it has to")
		})
	}
}
