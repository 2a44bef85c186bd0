package isolate

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// MaxStuck is how many runs on one [Account] may hang at once.
const MaxStuck = 64

// ErrCrowded says that the code was not run: too many runs of it hang already.
var ErrCrowded = errors.New("too many runs hang already")

// Account counts the runs of one owner's code that were given up on and have not
// come back. Beyond [MaxStuck] no more begin, so that goroutines do not pile up;
// those under way by then may add to them. The zero Account is ready, a nil one
// counts nothing.
type Account struct{ stuck atomic.Int64 }

// Run is [Run] on the account: it returns [ErrCrowded] where that is full.
func (a *Account) Run(outer context.Context, limit time.Duration, f func(context.Context) error) error {
	if a == nil {
		return Run(outer, limit, f)
	}
	if a.stuck.Load() >= MaxStuck {
		return ErrCrowded
	}
	var parted atomic.Bool // set by whichever of the two leaves first
	err := Run(outer, limit, func(ctx context.Context) error {
		defer func() {
			if parted.Swap(true) {
				a.stuck.Add(-1)
			}
		}()
		return f(ctx)
	})
	if !parted.Swap(true) {
		a.stuck.Add(1)
	}
	return err
}

// Stuck returns how many runs hang now.
func (a *Account) Stuck() int { return int(a.stuck.Load()) }
