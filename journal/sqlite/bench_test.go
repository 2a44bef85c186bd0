package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/internal/storetest"
	"github.com/toolguard-go/toolguard/journal/sqlite"
)

// A call is two durable writes, each an entry and a record: the claim and the
// settlement; alone, and as a guard makes them around a tool. Beside the calls per
// second stand what one sync of a file costs here, measured in turns with them, how many
// commits a call takes (each is one sync, as TestCommitsAreSynced counts), and how many
// times its syncs a call takes (x_fsync). All are of the middle turn.
//
//	go test -run '^$' -bench Calls ./journal/sqlite
func BenchmarkCalls(b *testing.B) {
	b.Run("writes", func(b *testing.B) { benchmark(b, storetest.ClaimAndSettle) })
	b.Run("guarded", func(b *testing.B) {
		guards := map[toolguard.Journal]*toolguard.Guard{}
		benchmark(b, func(ctx context.Context, j toolguard.Journal, key string) error {
			return guarded(ctx, guards[j], key)
		}, func(j toolguard.Journal) { guards[j] = newGuard(b, j) })
	})
}

// newGuard is of a tool that costs nothing.
func newGuard(b *testing.B, j toolguard.Journal) *toolguard.Guard {
	tool := toolguard.Func(toolguard.Info{Name: "refund_order", Effect: toolguard.NonIdempotent, Durability: toolguard.DurabilityDisk},
		func(context.Context, struct{ Order string }) (string, error) { return "rf_8812", nil })
	g, err := toolguard.New(tool, &toolguard.Options{Journal: j})
	require.NoError(b, err)
	return g
}

// guarded is a call from the model's text to the answer: a read and the two writes.
func guarded(ctx context.Context, g *toolguard.Guard, key string) error {
	ctx = toolguard.WithScope(ctx, toolguard.Scope{Tenant: "acme", Principal: "ann", Run: key, Step: "1"})
	return g.Do(ctx, toolguard.Call{ID: "c", Args: []byte(`{"Order":"A-2024-0017"}`)}).Err()
}

func benchmark(b *testing.B, call func(context.Context, toolguard.Journal, string) error, before ...func(toolguard.Journal)) {
	for _, writers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			j := openNew(b)
			for _, f := range before {
				f(j)
			}
			commits := sqlite.Commits(j)
			var next atomic.Int64
			turn := func(n int64) time.Duration {
				var wg sync.WaitGroup
				end, began := next.Load()+n, time.Now()
				for range writers {
					wg.Go(func() {
						for i := next.Add(1); i <= end; i = next.Add(1) {
							if err := call(b.Context(), j, fmt.Sprintf("key-%024d", i)); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				next.Store(end)
				return time.Since(began) / time.Duration(n)
			}
			const turns = 15
			var calls, syncs []time.Duration
			n := max(int64(b.N/turns), int64(2*writers))
			for range turns {
				calls, syncs = append(calls, turn(n)), append(syncs, syncCost(b))
			}
			perCall := float64(sqlite.Commits(j)-commits) / float64(turns*n)
			took, sync := middle(calls), middle(syncs)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(1/took.Seconds(), "calls/s")
			b.ReportMetric(perCall, "commits/call")
			b.ReportMetric(float64(sync.Nanoseconds())/1e6, "ms/fsync")
			b.ReportMetric(float64(took)/(float64(sync)*perCall), "x_fsync")
		})
	}
}

// syncCost is what appending 8 KiB to a file and syncing it takes, the middle of 40.
func syncCost(tb testing.TB) time.Duration {
	f, err := os.Create(filepath.Join(tb.TempDir(), "sync"))
	require.NoError(tb, err)
	defer f.Close()
	block := []byte(strings.Repeat("x", 8<<10))
	var costs []time.Duration
	for range 40 {
		_, err := f.Write(block)
		require.NoError(tb, err)
		start := time.Now()
		require.NoError(tb, f.Sync())
		costs = append(costs, time.Since(start))
	}
	return middle(costs)
}
