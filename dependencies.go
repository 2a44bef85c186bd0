package toolguard

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// Dependencies are what several tools stand or fall with together. Guards that
// name the same Info.Dependency and were given the same Dependencies share its
// breaker, one for each tenant, and its limit. Safe for concurrent use; the
// fields must not be changed once a guard uses them. The zero value has default
// breakers and no limits.
type Dependencies struct {
	// Breaker is the policy of the shared breakers, in place of the guards' own.
	// Its Window, if zero, is 20 minutes.
	Breaker BreakerPolicy
	// Max is how many attempts on a dependency run at once, by its name. One
	// that is not named here has no limit of its own.
	Max map[string]int

	mu       sync.Mutex
	slots    map[string]*semaphore.Weighted
	breakers *breakers
}

// sharedBudget stands for the call budgets of guards not known yet.
const sharedBudget = 2 * mediaTimeout

func (d *Dependencies) check(budget time.Duration) error {
	if d == nil {
		return nil
	}
	shared := d.Breaker.withDefaults(sharedBudget)
	errs := []error{d.Breaker.check(0), shared.check(budget)}
	for name, n := range d.Max {
		switch {
		case name == "":
			errs = append(errs, badOption(`Dependencies.Max[""]`, n, "the name of a dependency"))
		case n < 1:
			errs = append(errs, badOption(fmt.Sprintf("Dependencies.Max[%q]", name), n, "1 or more"))
		}
	}
	return errors.Join(errs...)
}

// limit returns the shared slots of a dependency, or nil for no limit.
func (d *Dependencies) limit(name string) *semaphore.Weighted {
	if d == nil || d.Max[name] == 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.slots == nil {
		d.slots = make(map[string]*semaphore.Weighted)
	}
	if d.slots[name] == nil {
		d.slots[name] = semaphore.NewWeighted(int64(d.Max[name]))
	}
	return d.slots[name]
}

// shared returns the breakers of all dependencies, or nil if they are off.
func (d *Dependencies) shared() *breakers {
	if d.Breaker.Off {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.breakers == nil {
		d.breakers = newBreakers(d.Breaker.withDefaults(sharedBudget))
	}
	return d.breakers
}
