package toolguard_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// What a call costs the journal in memory: a read and two writes, full as it is after
// 10,000 of them.
//
//	go test -run '^$' -bench MemoryJournal .
func BenchmarkMemoryJournal(b *testing.B) {
	b.Run("alone", benchmarkMemoryJournal)
	b.Run("guarded", benchmarkGuardedMemory)
}

// benchmarkMemoryJournal reports the least of many turns: others use the machine too.
func benchmarkMemoryJournal(b *testing.B) {
	j, ctx, made := toolguard.NewMemoryJournal(), context.Background(), 0
	use := func(key string) error {
		e := toolguard.Entry{Key: key, Token: 1, State: toolguard.StatePending, Group: key, Tool: "refund", Args: []byte(`{"order":"A-17"}`), Due: time.Minute}
		r := toolguard.Record{Key: key, Token: 1, To: e.State, Tool: e.Tool}
		_, readErr := j.Scan(ctx, toolguard.Query{Key: key, Limit: 1})
		_, _, claimErr := j.Write(ctx, toolguard.Version{}, e, r)
		was := e.Version()
		e.State, e.Due, e.Result, r.From, r.To = toolguard.StateSucceeded, 0, []byte(`{"text":"done"}`), e.State, toolguard.StateSucceeded
		_, _, settleErr := j.Write(ctx, was, e, r)
		return errors.Join(readErr, claimErr, settleErr)
	}
	least, n := time.Duration(1<<62), 1000
	for range max(b.N/n, 20) {
		keys := make([]string, n)
		for i := range keys {
			made++
			keys[i] = fmt.Sprintf("key-%024d", made)
		}
		began := time.Now()
		for _, key := range keys {
			if err := use(key); err != nil {
				b.Fatal(err)
			}
		}
		if made > 10_000 { // it is full
			least = min(least, time.Since(began))
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(least.Nanoseconds())/float64(n), "ns/call")
}

// benchmarkGuardedMemory measures what the journal, and the guard's use of it, add to
// the same calls without one. They run in turns.
func benchmarkGuardedMemory(b *testing.B) {
	tool := toolguard.Func(toolguard.Info{Name: "refund", Effect: toolguard.NonIdempotent},
		func(context.Context, refundIn) (string, error) { return "done", nil })
	with, err := toolguard.New(tool, &toolguard.Options{Journal: toolguard.NewMemoryJournal()})
	require.NoError(b, err)
	without, err := toolguard.New(tool, nil)
	require.NoError(b, err)
	made := 0
	calls := func(g *toolguard.Guard, n int) time.Duration {
		steps := make([]context.Context, n)
		for i := range steps {
			made++
			steps[i] = inStep(fmt.Sprint(made))
		}
		began := time.Now()
		for _, ctx := range steps {
			if env := g.Do(ctx, toolguard.Call{Args: []byte(`{"order":"A-17"}`)}); !env.OK {
				b.Fatal(env.ForModel())
			}
		}
		return time.Since(began)
	}
	least, n := [2]time.Duration{1 << 62, 1 << 62}, 500
	for range max(b.N/n, 20) {
		least[0] = min(least[0], calls(with, n))
		least[1] = min(least[1], calls(without, n))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(least[0].Nanoseconds())/float64(n), "ns/call")
	b.ReportMetric(float64((least[0]-least[1]).Nanoseconds())/float64(n), "ns_of_the_journal/call")
}
