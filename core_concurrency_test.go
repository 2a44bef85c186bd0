package toolguard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
)

// gauge counts who is inside a tool.
type gauge struct {
	mu         sync.Mutex
	live, most int
	order      []string
}

func (g *gauge) enter(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.live++
	g.most = max(g.most, g.live)
	g.order = append(g.order, name)
}

func (g *gauge) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.live--
}

// takes is a tool that is inside for d.
func (g *gauge) takes(info toolguard.Info, d time.Duration) plain {
	info.Name = "tool"
	return plain{info: info, call: func(_ context.Context, args json.RawMessage) (toolguard.Result, error) {
		g.enter(string(args))
		defer g.leave()
		time.Sleep(d)
		return toolguard.Result{Text: "fine"}, nil
	}}
}

// all makes the calls at once and counts the answers.
func all(g *toolguard.Guard, args ...string) map[string]int {
	var mu sync.Mutex
	var wg sync.WaitGroup
	got := map[string]int{}
	for _, a := range args {
		wg.Go(func() {
			env := g.Do(context.Background(), toolguard.Call{Args: json.RawMessage(a)})
			mu.Lock()
			defer mu.Unlock()
			got[verdict(env)]++
		})
	}
	wg.Wait()
	return got
}

func times(n int, arg string) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = arg
	}
	return list
}

func TestConcurrencyCap(t *testing.T) {
	t.Parallel()
	inBubble(t, "a bounded wait", func(t *testing.T) {
		var in gauge
		g := guardOf(t, in.takes(toolguard.Info{}, 3*time.Second), &toolguard.Options{Concurrency: toolguard.ConcurrencyPolicy{Max: 2}})
		var got map[string]int
		// Two at 0 s and two at 3 s; the others have waited for 5 s before 6 s.
		assert.Equal(t, 6*time.Second, took(func() { got = all(g, times(7, `{}`)...) }))
		assert.Equal(t, map[string]int{"ok": 4, "overloaded/not_started": 3}, got)
		assert.Equal(t, 2, in.most)
	})
	inBubble(t, "64 by default", func(t *testing.T) {
		var in gauge
		all(guardOf(t, in.takes(toolguard.Info{}, time.Second), nil), times(100, `{}`)...)
		assert.Equal(t, 64, in.most)
	})
	inBubble(t, "off", func(t *testing.T) {
		var in gauge
		all(guardOf(t, in.takes(toolguard.Info{}, time.Second), &toolguard.Options{Concurrency: toolguard.ConcurrencyPolicy{Off: true}}), times(100, `{}`)...)
		assert.Equal(t, 100, in.most)
	})
	inBubble(t, "a caller who leaves the queue", func(t *testing.T) { // case e08
		var in gauge
		g := guardOf(t, in.takes(toolguard.Info{}, 3*time.Second), &toolguard.Options{Concurrency: toolguard.ConcurrencyPolicy{Max: 1}})
		go do(g)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.Equal(t, "caller_deadline/not_started", verdict(doIn(ctx, g)))
		time.Sleep(time.Minute)
		assert.Len(t, in.order, 1)
	})
	inBubble(t, "places are given back on every path", func(t *testing.T) {
		for _, way := range []string{"panic", "goexit", "hang"} {
			body := inOrder(dies(t, way), answers("fine"))
			g := guardOf(t, toolOf(toolguard.ReadOnly, body.call), &toolguard.Options{
				Timeout: shortTime, Concurrency: toolguard.ConcurrencyPolicy{Max: 1}, Breaker: noBreaker,
			})
			do(g)
			assert.True(t, do(g).OK, way)
		}
	})
	inBubble(t, "also by a breaker that refuses", func(t *testing.T) {
		g := guardOf(t, toolOf(toolguard.ReadOnly, answers("fine")), &toolguard.Options{Concurrency: toolguard.ConcurrencyPolicy{Max: 1}})
		g.ForceBreaker(toolguard.BreakerOpen)
		for range 5 {
			do(g)
		}
		g.ReleaseBreaker()
		assert.True(t, do(g).OK)
	})
}

func TestSerializeBy(t *testing.T) {
	t.Parallel()
	policy := toolguard.ConcurrencyPolicy{SerializeBy: []string{"order"}, Wait: time.Minute}
	inBubble(t, "one after the other, per value", func(t *testing.T) {
		var in gauge
		g := guardOf(t, in.takes(toolguard.Info{}, time.Second), &toolguard.Options{Concurrency: policy})
		assert.Equal(t, 3*time.Second, took(func() {
			all(g, `{"order":"A","n":1}`, `{"order":"A","n":2}`, `{"n":3,"order":"\u0041"}`, `{"order":"B"}`, `{"order":1}`, `{"order":"1"}`)
		}))
		assert.Equal(t, 4, in.most, "A, B, the number and the text are four")
	})
	inBubble(t, "numbers by value", func(t *testing.T) {
		var in gauge
		g := guardOf(t, in.takes(toolguard.Info{}, time.Second), &toolguard.Options{Concurrency: policy})
		assert.Equal(t, 3*time.Second, took(func() { all(g, `{"order":10}`, `{"order":1e1}`, `{"order":10.0}`) }))
	})
	inBubble(t, "several names", func(t *testing.T) {
		var in gauge
		p := toolguard.ConcurrencyPolicy{SerializeBy: []string{"a", "b"}}
		g := guardOf(t, in.takes(toolguard.Info{}, time.Second), &toolguard.Options{Concurrency: p})
		assert.Equal(t, time.Second, took(func() {
			all(g, `{"a":"x","b":"y"}`, `{"a":"xy"}`, `{"b":"xy"}`, `{"a":"x,","b":"y"}`, `{"a":null}`, `{}`)
		}))
	})
	inBubble(t, "an abandoned holder keeps its turn", func(t *testing.T) {
		var in gauge
		g := guardOf(t, in.takes(toolguard.Info{}, 100*time.Second), &toolguard.Options{Timeout: shortTime, Concurrency: toolguard.ConcurrencyPolicy{SerializeBy: []string{"order"}}})
		first := g.Do(t.Context(), toolguard.Call{Args: json.RawMessage(`{"order":"A"}`)})
		assert.Equal(t, "abandoned/unknown", verdict(first))
		second := g.Do(t.Context(), toolguard.Call{Args: json.RawMessage(`{"order":"A"}`)})
		assert.Equal(t, "overloaded/not_started", verdict(second))
		other := g.Do(t.Context(), toolguard.Call{Args: json.RawMessage(`{"order":"B"}`)})
		assert.Equal(t, "abandoned/unknown", verdict(other))
		time.Sleep(time.Hour)
		synctest.Wait()
		again := g.Do(t.Context(), toolguard.Call{Args: json.RawMessage(`{"order":"A"}`)})
		assert.Equal(t, "abandoned/unknown", verdict(again), "its turn has come")
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Equal(t, 2, in.most, "A and B at once, never A twice")
	})
	inBubble(t, "waits for a turn only as long as the caller", func(t *testing.T) {
		var in gauge
		g := guardOf(t, in.takes(toolguard.Info{}, 10*time.Second), &toolguard.Options{Concurrency: policy})
		go g.Do(context.Background(), toolguard.Call{Args: json.RawMessage(`{"order":"A"}`)})
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		env := g.Do(ctx, toolguard.Call{Args: json.RawMessage(`{"order":"A"}`)})
		assert.Equal(t, "canceled/not_started", verdict(env))
		assert.Equal(t, 9*time.Second, took(func() { all(g, `{"order":"A"}`) })-10*time.Second)
	})
}

func TestDependencyCap(t *testing.T) {
	t.Parallel()
	inBubble(t, "shared by tools", func(t *testing.T) {
		var in gauge
		shared := &toolguard.Dependencies{Max: map[string]int{"db": 3}}
		var wg sync.WaitGroup
		for i := range 4 {
			tool := in.takes(toolguard.Info{Dependency: "db"}, time.Second)
			tool.info.Name = fmt.Sprintf("tool%d", i)
			g := guardOf(t, tool, &toolguard.Options{Dependencies: shared, Concurrency: toolguard.ConcurrencyPolicy{Max: 2}})
			wg.Go(func() { all(g, times(5, `{}`)...) })
		}
		wg.Wait()
		assert.Equal(t, 3, in.most)
		assert.GreaterOrEqual(t, len(in.order), 15, "of 20 calls, those within the wait of 5 s")
	})
	inBubble(t, "one that is not named has none", func(t *testing.T) {
		var in gauge
		g := guardOf(t, in.takes(toolguard.Info{Dependency: "mail"}, time.Second), &toolguard.Options{Dependencies: &toolguard.Dependencies{Max: map[string]int{"db": 1}}})
		all(g, times(10, `{}`)...)
		assert.Equal(t, 10, in.most)
	})
}
