package isolate

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var errOwn = errors.New("own")

func TestRunTurnsMisbehaviourIntoValues(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		f    func(context.Context) error
		want error
	}{
		"returns":      {func(context.Context) error { return nil }, nil},
		"fails":        {func(context.Context) error { return errOwn }, errOwn},
		"exits":        {func(context.Context) error { runtime.Goexit(); return nil }, ErrExited},
		"obeys":        {func(ctx context.Context) error { <-ctx.Done(); return errOwn }, errOwn},
		"panics nil":   {func(context.Context) error { panic(nil) }, nil},
		"exits in one": {func(context.Context) error { defer runtime.Goexit(); panic("x") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				err := Run(t.Context(), time.Second, tt.f)
				switch name {
				case "panics nil":
					var p *PanicError
					require.ErrorAs(t, err, &p)
				case "exits in one":
					assert.True(t, Misbehaved(err))
				case "obeys":
					assert.Contains(t, []error{errOwn, ErrTimeout}, err)
				default:
					assert.Equal(t, tt.want, err)
				}
			})
		})
	}
}

func TestPanicKeepsValueAndStackOutOfItsText(t *testing.T) {
	t.Parallel()
	err := Run(t.Context(), time.Minute, func(context.Context) error { panic("secret") })
	var p *PanicError
	require.ErrorAs(t, err, &p)
	assert.Equal(t, "secret", p.Value)
	assert.Contains(t, string(p.Stack), "isolate_test.go")
	assert.NotContains(t, err.Error(), "secret")
}

func TestRunWaitsNoLongerThanItsLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		began := time.Now()
		err := Run(t.Context(), 3*time.Second, func(context.Context) error { <-release; return nil })
		assert.Equal(t, ErrTimeout, err)
		assert.Equal(t, 3*time.Second, time.Since(began))
		assert.True(t, Misbehaved(err))
	})
}

func TestRunEndsWithTheCallersContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := Run(ctx, time.Hour, func(context.Context) error { <-release; return nil })
		assert.Equal(t, context.DeadlineExceeded, err)
		assert.False(t, Misbehaved(err), "the code did nothing wrong")
	})
}
