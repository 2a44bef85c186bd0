package cause

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/toolguard-go/toolguard/internal/isolate"
)

// Patience is how long an error may take to answer.
const Patience = 250 * time.Millisecond

// maxStuck is how many errors may hang at once in the whole process. Beyond it
// foreign errors are not asked any more, so that goroutines do not pile up.
const maxStuck = 64

var stuck atomic.Int64

// Within runs f on a goroutine of its own and reports whether it ended properly
// within [Patience]. After false f may still run: read nothing it writes.
func Within(f func()) bool {
	if stuck.Load() >= maxStuck {
		return false
	}
	var parted atomic.Bool // set by whichever of the two leaves first
	err := isolate.Run(context.Background(), Patience, func(context.Context) error {
		defer func() {
			if parted.Swap(true) {
				stuck.Add(-1)
			}
		}()
		f()
		return nil
	})
	if errors.Is(err, isolate.ErrTimeout) && !parted.Swap(true) {
		stuck.Add(1)
	}
	return err == nil
}
