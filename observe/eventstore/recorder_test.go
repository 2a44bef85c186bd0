package eventstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore"
)

// fake is a store in memory that can fail and hang.
type fake struct {
	eventstore.Store
	mu      sync.Mutex
	records []eventstore.Record
	calls   int64
	writes  int
	pruned  int
	fail    error
	hang    chan struct{}
}

func (s *fake) Write(_ context.Context, records []eventstore.Record, counts []*eventstore.Rollup) error {
	if s.hang != nil {
		<-s.hang
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	if s.fail != nil {
		return s.fail
	}
	s.records = append(s.records, records...)
	for _, c := range counts {
		s.calls += c.Calls
	}
	return nil
}

func (s *fake) Prune(context.Context, time.Time, int64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pruned++
	return 3, nil
}

func (s *fake) seen() (records int, calls int64, writes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.records), s.calls, s.writes
}

func (s *fake) failWith(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

func TestWhatIsKept(t *testing.T) {
	t.Parallel()
	plain := call(noon, "t", "", 1<<63)
	late := plain
	late.Kind, late.Code = toolguard.EventLate, ""
	retried := plain
	retried.Attempts = 2
	approved := plain
	approved.Approval = &toolguard.Approval{By: "ben"}
	opened := plain
	opened.Transitions = make([]toolguard.Transition, 1)
	fallback, replay, reuse, lucky := plain, plain, plain, plain
	fallback.Decision, replay.Decision, reuse.Decision = toolguard.DecisionFallback, toolguard.DecisionReplay, toolguard.DecisionReuse
	lucky.Ref = 1
	refused := call(noon, "t", toolguard.CodePermissionDenied, 5)
	for name, c := range map[string]struct {
		event toolguard.Event
		kept  int
	}{
		"plain": {plain, 0}, "late": {late, 1}, "retried": {retried, 1}, "breaker": {opened, 1}, "approved": {approved, 1}, "fallback": {fallback, 1},
		"replay": {replay, 1}, "reuse": {reuse, 0}, "sampled": {lucky, 1}, "refused": {refused, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &fake{}
			r := recorder(t, s, eventstore.Options{Successes: .01})
			r.Observe(t.Context(), c.event)
			require.NoError(t, r.Close(t.Context()))
			records, calls, _ := s.seen()
			assert.Equal(t, c.kept, records)
			if c.event.Kind == toolguard.EventCall {
				assert.EqualValues(t, 1, calls, "all are counted")
			}
		})
	}
}

// Sampling keeps all events of a call or none, and about as many as asked for.
func TestSampling(t *testing.T) {
	t.Parallel()
	s := &fake{}
	r := recorder(t, s, eventstore.Options{Successes: .1})
	for i := range uint64(5000) {
		e := call(noon, "t", "", (i*0x9E3779B97F4A7C15)|1)
		r.Observe(t.Context(), e)
		e.Kind = toolguard.EventAttempt
		r.Observe(t.Context(), e)
	}
	require.NoError(t, r.Close(t.Context()))
	refs := map[uint64]int{}
	for _, record := range s.records {
		refs[record.Ref]++
	}
	assert.InDelta(t, 500, len(refs), 50)
	for _, n := range refs {
		assert.Equal(t, 2, n)
	}
	assert.EqualValues(t, 5000, s.calls)
}

// A store that hangs delays nobody: events are dropped and counted.
func TestAStuckStoreDelaysNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fake{hang: make(chan struct{})}
		r := recorder(t, s, eventstore.Options{Queue: 10})
		g, err := toolguard.New(toolguard.Text(toolguard.Info{Name: "t", Effect: toolguard.ReadOnly}, func(context.Context, string) (string, error) {
			return "", toolguard.NotFound("nothing")
		}), &toolguard.Options{Observer: r})
		require.NoError(t, err)
		began := time.Now()
		for range 100 {
			g.Do(t.Context(), toolguard.Call{Args: []byte(`{"text":"x"}`)})
			time.Sleep(1100 * time.Millisecond)
		}
		assert.Equal(t, 110*time.Second, time.Since(began))
		assert.Zero(t, g.Stats().LostEvents, "the guard lost nothing")
		stats := r.Stats()
		assert.EqualValues(t, stats.Seen, stats.Written+stats.Sampled+stats.Dropped+stats.Failed+10+1, "%+v", stats)
		assert.Positive(t, stats.Dropped)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.ErrorIs(t, r.Close(ctx), context.DeadlineExceeded)
		close(s.hang)
		assert.NoError(t, r.Close(t.Context()))
	})
}

// A full disk costs records, counted, and no counts.
func TestAFailingStoreKeepsCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fake{fail: errors.New("disk full")}
		r := recorder(t, s, eventstore.Options{})
		for range 100 {
			r.Observe(t.Context(), call(time.Now(), "t", toolguard.CodeServerError, 1))
			time.Sleep(time.Second)
		}
		stats := r.Stats()
		assert.ErrorContains(t, stats.Err, "disk full")
		assert.Positive(t, stats.Failed)
		_, _, writes := s.seen()
		assert.Less(t, writes, 15, "it tries less and less often")
		s.failWith(nil)
		time.Sleep(time.Minute)
		require.NoError(t, r.Close(t.Context()))
		records, calls, _ := s.seen()
		stats = r.Stats()
		assert.EqualValues(t, 100, calls)
		assert.EqualValues(t, 100, uint64(records)+stats.Failed+stats.Dropped)
		assert.Zero(t, stats.Uncounted)
		assert.NoError(t, stats.Err)
	})
}

// A database that is full, really: SQLite gets no further page. Calls go on at their
// pace, and what is lost is counted.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "full.db")
	open(t, name).Close()
	db, err := sql.Open("sqlite", "file:"+name+"?_pragma=max_page_count(40)")
	require.NoError(t, err)
	s, err := eventstore.New(t.Context(), db, eventstore.SQLite)
	require.NoError(t, err)
	defer s.Close()
	r := recorder(t, s, eventstore.Options{Every: time.Millisecond, Queue: 100})
	require.Eventually(t, func() bool {
		for range 100 {
			r.Observe(t.Context(), call(noon, "pay", toolguard.CodeServerError, 1))
		}
		stats := r.Stats()
		return stats.Failed > 0 && stats.Err != nil
	}, 30*time.Second, time.Millisecond)
	assert.ErrorContains(t, r.Stats().Err, "full")
	began := time.Now()
	for range 100_000 {
		r.Observe(t.Context(), call(noon, "pay", toolguard.CodeServerError, 1))
	}
	assert.Less(t, time.Since(began), 10*time.Second, "10^4 events a second at the very least")
	_ = r.Close(t.Context()) // what waited last may be little enough to fit
	stats := r.Stats()
	assert.Equal(t, stats.Seen, stats.Written+stats.Dropped+stats.Failed, "%+v", stats)
	assert.Positive(t, stats.Dropped)
}

func TestPruningGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fake{}
		r := recorder(t, s, eventstore.Options{})
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.InDelta(t, 12, s.pruned, 1)
		assert.Positive(t, r.Stats().Pruned)
		require.NoError(t, r.Close(t.Context()))
		r.Observe(t.Context(), call(time.Now(), "t", "", 1))
		assert.EqualValues(t, 1, r.Stats().Dropped, "after Close")
	})
}

// What waits is bounded, whatever tools and codes there are.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fake{fail: errors.New("down")}
		r := recorder(t, s, eventstore.Options{Queue: 100})
		for i := range 30_000 {
			e := call(noon.Add(time.Duration(i)*time.Minute), fmt.Sprint("tool", i), toolguard.CodeServerError, 1)
			r.Observe(t.Context(), e)
		}
		stats := r.Stats()
		assert.EqualValues(t, 10_000, stats.Uncounted)
		assert.GreaterOrEqual(t, stats.Dropped, uint64(29_000))
		s.failWith(nil)
		require.NoError(t, r.Close(t.Context()))
	})
}

// A flood of events does not grow memory.
func TestAFloodDoesNotGrowMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a while")
	}
	s := &discard{}
	r := recorder(t, s, eventstore.Options{NoSuccesses: true, Every: 10 * time.Millisecond})
	flood := func() uint64 {
		for range 100_000 {
			r.Observe(t.Context(), call(noon, "t", toolguard.CodeServerError, 1))
			r.Observe(t.Context(), call(noon, "t", "", 1))
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse
	}
	first := flood()
	for range 3 {
		assert.Less(t, flood(), first+40<<20)
	}
	require.NoError(t, r.Close(t.Context()))
	stats := r.Stats()
	assert.Equal(t, stats.Seen, stats.Sampled+stats.Written+stats.Dropped)
	assert.EqualValues(t, stats.Written, s.n.Load())
}

type discard struct {
	eventstore.Store
	n atomic.Int64
}

func (s *discard) Write(_ context.Context, records []eventstore.Record, _ []*eventstore.Rollup) error {
	s.n.Add(int64(len(records)))
	return nil
}

func (s *discard) Prune(context.Context, time.Time, int64) (int, error) { return 0, nil }

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for field, o := range map[string]eventstore.Options{
		"Successes": {Successes: 2}, "Retention": {Retention: time.Second}, "MaxBytes": {MaxBytes: -1},
		"Queue": {Queue: -1}, "Every": {Every: -1},
	} {
		_, err := eventstore.NewRecorder(&fake{}, &o)
		assert.ErrorContains(t, err, "Options."+field)
	}
	_, err := eventstore.NewRecorder(nil, nil)
	assert.Error(t, err)
	_, err = eventstore.NewRecorder(&fake{}, &eventstore.Options{Successes: .5, NoSuccesses: true})
	assert.ErrorContains(t, err, "NoSuccesses")
}
