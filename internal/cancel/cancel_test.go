package cancel

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func under(parent context.Context) *Context {
	c := new(Context)
	c.Init(parent)
	return c
}

func TestCancelCountsOnce(t *testing.T) {
	t.Parallel()
	c := under(t.Context())
	require.NoError(t, c.Err())
	c.Cancel(context.DeadlineExceeded)
	c.Cancel(context.Canceled)
	assert.Equal(t, context.DeadlineExceeded, c.Err())
	<-c.Done()
	assert.Equal(t, context.DeadlineExceeded, context.Cause(c))
}

func TestDoneIsTheSameChannelBeforeAndAfter(t *testing.T) {
	t.Parallel()
	c := under(t.Context())
	before := c.Done()
	c.Cancel(context.Canceled)
	assert.Equal(t, before, c.Done())
	<-before
}

func TestTheParentIsHeardAtOnce(t *testing.T) {
	t.Parallel()
	parent, cancel := context.WithCancel(t.Context())
	c := under(parent)
	cancel()
	assert.Equal(t, context.Canceled, c.Err(), "nobody had to tell it")
}

func TestValuesAndDeadlineAreTheParents(t *testing.T) {
	t.Parallel()
	type key struct{}
	end := time.Now().Add(time.Hour)
	parent, cancel := context.WithDeadline(context.WithValue(t.Context(), key{}, "v"), end)
	defer cancel()
	c := under(parent)
	got, ok := c.Deadline()
	assert.True(t, ok)
	assert.Equal(t, end, got)
	assert.Equal(t, "v", c.Value(key{}))
}

// A child must not cost a goroutine while it waits, and must end with its parent.
func TestChildrenEndWithIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := under(t.Context())
		child, cancel := context.WithTimeout(c, time.Hour)
		defer cancel()
		ended := false
		stop := context.AfterFunc(c, func() { ended = true })
		unwanted := context.AfterFunc(c, func() { t.Error("was stopped") })
		require.True(t, unwanted())
		require.False(t, unwanted(), "stopped already")

		c.Cancel(context.Canceled)
		synctest.Wait()
		assert.Equal(t, context.Canceled, child.Err())
		assert.True(t, ended)
		assert.False(t, stop())
	})
}

func TestAfterFuncOfAnEndedContextRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := under(t.Context())
		c.Cancel(context.Canceled)
		ran := false
		stop := c.AfterFunc(func() { ran = true })
		synctest.Wait()
		assert.True(t, ran)
		assert.False(t, stop())
	})
}

func TestNothingIsAllocatedUntilAsked(t *testing.T) {
	parent := t.Context()
	c := new(Context)
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		*c = Context{}
		c.Init(parent)
		_ = c.Err()
		c.Cancel(context.Canceled)
	}))
}
