package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/journal/internal/storetest"
	"github.com/toolguard-go/toolguard/journal/sqlite"
)

// A call is two durable writes, each an entry and a record: the claim and the
// settlement. Beside the calls per second stands what one sync of a file costs
// here, measured in the same run, and how many commits a call takes: each is one
// sync, as TestCommitsAreSynced counts.
//
//	go test -run '^$' -bench Calls ./journal/sqlite
func BenchmarkCalls(b *testing.B) {
	for _, writers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			j := openAt(b, filepath.Join(b.TempDir(), "journal.db"))
			before := sqlite.Commits(j)
			var next atomic.Int64
			var wg sync.WaitGroup
			b.ResetTimer()
			for range writers {
				wg.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						if err := storetest.ClaimAndSettle(b.Context(), j, fmt.Sprintf("key-%024d", i)); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
			b.ReportMetric(float64(sqlite.Commits(j)-before)/float64(b.N), "commits/call")
			b.ReportMetric(float64(syncCost(b).Nanoseconds())/1e6, "ms/fsync")
		})
	}
}

// syncCost is what appending 8 KiB to a file and syncing it takes, the middle of 200.
func syncCost(tb testing.TB) time.Duration {
	f, err := os.Create(filepath.Join(tb.TempDir(), "sync"))
	require.NoError(tb, err)
	defer f.Close()
	block := []byte(strings.Repeat("x", 8<<10))
	var costs []time.Duration
	for range 200 {
		_, err := f.Write(block)
		require.NoError(tb, err)
		start := time.Now()
		require.NoError(tb, f.Sync())
		costs = append(costs, time.Since(start))
	}
	return middle(costs)
}
