package isolate

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAnAccountIsFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var a Account
		release := make(chan struct{})
		hang := func(context.Context) error { <-release; return nil }
		for range MaxStuck {
			assert.Equal(t, ErrTimeout, a.Run(t.Context(), time.Second, hang))
		}
		began := time.Now()
		err := a.Run(t.Context(), time.Second, hang)
		assert.Equal(t, ErrCrowded, err)
		assert.True(t, Misbehaved(err), "not run is not agreed")
		assert.Zero(t, time.Since(began))
		assert.Equal(t, MaxStuck, a.Stuck())
		close(release)
		synctest.Wait()
		assert.Zero(t, a.Stuck(), "they came back")
	})
}

func TestAnAccountCountsWhatIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var a Account
		for name, f := range map[string]func(context.Context) error{
			"returns": func(context.Context) error { return errOwn },
			"panics":  func(context.Context) error { panic("x") },
			"exits":   func(context.Context) error { runtime.Goexit(); return nil },
			"says so": func(context.Context) error { return ErrTimeout },
		} {
			assert.Error(t, a.Run(t.Context(), time.Second, f), name)
			assert.Zero(t, a.Stuck(), name)
		}
		release := make(chan struct{})
		gone, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_ = a.Run(gone, time.Hour, func(context.Context) error { <-release; return nil })
		assert.Equal(t, 1, a.Stuck(), "whoever gave up first")
		close(release)
		synctest.Wait()
		assert.Zero(t, a.Stuck())
		var none *Account
		assert.Equal(t, errOwn, none.Run(t.Context(), time.Second, func(context.Context) error { return errOwn }))
	})
}
