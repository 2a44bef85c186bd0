package toolguard_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// selective is an observer that is asked whether it wants successes.
type selective struct {
	eventLog
	wants func() bool
}

func (s *selective) WantsSuccess(context.Context) bool { return s.wants() }

func no() bool  { return false }
func yes() bool { return true }

func TestSuccessesThatNobodyWants(t *testing.T) {
	t.Parallel()
	down := fails(toolguard.Unavailable("down"))
	for name, tt := range map[string]struct {
		tool    run
		opts    toolguard.Options
		observe func(toolguard.Observer) toolguard.Observer
		events  int
	}{
		"a success":             {answers("fine"), toolguard.Options{}, nil, 0},
		"one of two attempts":   {inOrder(down, answers("fine")).call, toolguard.Options{}, nil, 3},
		"a failure":             {fails(toolguard.NotFound("no")), toolguard.Options{}, nil, 2},
		"with something to say": {answers(""), toolguard.Options{}, nil, 2},
		"a queue":               {answers("fine"), toolguard.Options{Observe: toolguard.ObservePolicy{Queue: 8}}, nil, 2},
		"results":               {answers("fine"), toolguard.Options{Observe: toolguard.ObservePolicy{Results: true}}, nil, 2},
		"beside one that wants": {answers("fine"), toolguard.Options{}, func(o toolguard.Observer) toolguard.Observer {
			return toolguard.Observers(o, &selective{wants: yes})
		}, 2},
		"beside one that says nothing": {answers("fine"), toolguard.Options{}, func(o toolguard.Observer) toolguard.Observer {
			return toolguard.Observers(o, &eventLog{})
		}, 2},
		"beside another": {answers("fine"), toolguard.Options{}, func(o toolguard.Observer) toolguard.Observer {
			return toolguard.Observers(o, &selective{wants: no})
		}, 0},
	} {
		inBubble(t, name, func(t *testing.T) {
			o := &selective{wants: no}
			tt.opts.Observer = o
			if tt.observe != nil {
				tt.opts.Observer = tt.observe(o)
			}
			g := guardOf(t, toolOf(toolguard.ReadOnly, tt.tool), &tt.opts)
			do(g)
			synctest.Wait()
			assert.Len(t, o.events, tt.events)
			for _, e := range o.events {
				assert.Equal(t, "tool", e.Tool)
			}
			assert.Zero(t, g.Stats().LostEvents)
		})
	}
}

// An observer that does not say whether it wants them hears of them.
func TestWantsSuccessMisbehaves(t *testing.T) {
	t.Parallel()
	for name, wants := range map[string]func() bool{
		"panics": func() bool { panic("no") },
		"exits":  func() bool { runtime.Goexit(); return false },
		"wants":  yes,
	} {
		inBubble(t, name, func(t *testing.T) {
			o := &selective{wants: wants}
			g := guardOf(t, toolOf(toolguard.ReadOnly, answers("fine")), &toolguard.Options{Observer: o})
			require.True(t, do(g).OK)
			synctest.Wait()
			require.Len(t, o.events, 2)
			assert.Equal(t, []toolguard.EventKind{toolguard.EventAttempt, toolguard.EventCall}, []toolguard.EventKind{o.events[0].Kind, o.events[1].Kind})
			assert.Equal(t, len("fine"), o.events[1].Bytes)
			assert.Zero(t, g.Stats().LostEvents)
		})
	}
	inBubble(t, "hangs", func(t *testing.T) {
		release := make(chan struct{})
		g := guardOf(t, toolOf(toolguard.ReadOnly, answers("fine")), &toolguard.Options{Observer: &selective{wants: func() bool { <-release; return false }}})
		assert.Equal(t, time.Second, took(func() { assert.True(t, do(g).OK) }), "its patience")
		assert.EqualValues(t, 2, g.Stats().LostEvents)
		close(release)
		synctest.Wait()
		assert.Zero(t, g.Stats().LostEvents, "it did not want them")
	})
}
