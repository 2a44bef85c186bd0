package toolguard_test

import (
	"context"
	"encoding/json"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/toolguard-go/toolguard"
)

// A batch against an errgroup that runs the same guard, side by side.
func BenchmarkDoAll(b *testing.B) {
	box := boxOf(b, nil, says("clock"))
	guard := box.Guard("clock")
	calls := batchOf(make([]string, 64)...)
	for i := range calls {
		calls[i].Tool, calls[i].Args = "clock", json.RawMessage(`{}`)
	}
	b.Run("batch", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if !box.DoAll(context.Background(), calls).OK() {
				b.Fatal("a call failed")
			}
		}
	})
	b.Run("errgroup", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			envelopes := make([]toolguard.Envelope, len(calls))
			var group errgroup.Group
			group.SetLimit(8)
			for i, call := range calls {
				group.Go(func() error {
					envelopes[i] = guard.Do(context.Background(), call)
					return nil
				})
			}
			_ = group.Wait()
		}
	})
}
