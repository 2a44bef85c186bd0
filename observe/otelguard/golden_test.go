package otelguard_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/otelguard"
)

// scenes are calls whose spans and measurements are kept in testdata.
var scenes = map[string]func(t *testing.T, k *kit){
	"success": func(t *testing.T, k *kit) {
		k.do(t, reader("weather", says("sun")), nil)
	},
	"retry then success": func(t *testing.T, k *kit) {
		k.do(t, reader("weather", fails(toolguard.Unavailable("down")), says("sun")), &toolguard.Options{Retry: noJitter})
	},
	"abandoned with late answer": func(t *testing.T, k *kit) {
		slow := func(context.Context, json.RawMessage) (toolguard.Result, error) {
			time.Sleep(5 * time.Second)
			return toolguard.Result{Text: "paid"}, nil
		}
		k.do(t, writer("pay", slow), &toolguard.Options{Timeout: toolguard.TimeoutPolicy{Attempt: time.Second}})
		time.Sleep(10 * time.Second)
	},
	"fallback": func(t *testing.T, k *kit) {
		other := reader("almanac", says("probably sun"))
		k.do(t, reader("weather", fails(toolguard.Unavailable("down"))), &toolguard.Options{
			Retry:    toolguard.RetryPolicy{Off: true},
			Fallback: &toolguard.Fallback{Alternatives: []toolguard.Alternative{{Tool: other}}},
		})
	},
	"breaker opens": func(t *testing.T, k *kit) {
		g := k.guard(t, reader("weather", fails(toolguard.Unavailable("down"))), &toolguard.Options{
			Retry: toolguard.RetryPolicy{Off: true}, Breaker: toolguard.BreakerPolicy{Failures: 1},
		})
		g.Do(t.Context(), toolguard.Call{ID: "c1"})
		g.Do(t.Context(), toolguard.Call{ID: "c2"})
		stop, err := k.Watch(g)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, stop()) })
	},
	"refused": func(t *testing.T, k *kit) {
		tool := reader("weather", says("sun"))
		tool.info.Schema = json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)
		k.do(t, tool, nil)
	},
	"answered from memory": func(t *testing.T, k *kit) {
		sessions, err := toolguard.NewSessions(toolguard.SessionPolicy{})
		require.NoError(t, err)
		slow := func(context.Context, json.RawMessage) (toolguard.Result, error) {
			time.Sleep(time.Second)
			return toolguard.Result{Text: "sun"}, nil
		}
		ctx := toolguard.WithScope(t.Context(), toolguard.Scope{Session: "s1", Turn: "1", Tenant: "blue", Run: "r1", Step: "2", Model: "m-1", PromptVersion: "7"})
		read := k.guard(t, reader("weather", slow), &toolguard.Options{Sessions: sessions})
		write := k.guard(t, writer("pay", says("paid")), &toolguard.Options{Sessions: sessions})
		go func() {
			time.Sleep(time.Millisecond)
			read.Do(ctx, toolguard.Call{ID: "joins"})
		}()
		read.Do(ctx, toolguard.Call{ID: "runs"})
		time.Sleep(time.Second)
		read.Do(ctx, toolguard.Call{ID: "reuses"})
		write.Do(ctx, toolguard.Call{ID: "writes"})
		write.Do(ctx, toolguard.Call{ID: "replays"})
	},
	"batch": func(t *testing.T, k *kit) {
		box, err := toolguard.NewToolbox(&toolguard.ToolboxOptions{Options: toolguard.Options{Observer: k.Observer}},
			reader("weather", says("sun")), reader("traffic", fails(toolguard.NotFound("no such road"))))
		require.NoError(t, err)
		ctx, span := k.tracer.Start(t.Context(), "chat")
		defer span.End()
		box.DoAll(ctx, []toolguard.Call{{Tool: "weather", ID: "c1"}, {Tool: "traffic", ID: "c2"}, {Tool: "wether_forecast", ID: "c3"}})
	},
	"payloads": func(t *testing.T, k *kit) {
		k.do(t, reader("weather", says("sun")), &toolguard.Options{Observe: toolguard.ObservePolicy{Arguments: true, Results: true}})
	},
}

func (k *kit) guard(t *testing.T, tool toolguard.Tool, o *toolguard.Options) *toolguard.Guard {
	t.Helper()
	if o == nil {
		o = new(toolguard.Options)
	}
	o.Observer = k.Observer
	g, err := toolguard.New(tool, o)
	require.NoError(t, err)
	return g
}

func (k *kit) do(t *testing.T, tool toolguard.Tool, o *toolguard.Options) toolguard.Envelope {
	return k.guard(t, tool, o).Do(t.Context(), toolguard.Call{ID: "c1", Args: json.RawMessage(`{}`)})
}

func TestGoldenTrees(t *testing.T) {
	t.Parallel()
	for name, play := range scenes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t, otelguard.Options{Arguments: true, Results: true})
				began := time.Now()
				play(t, k)
				synctest.Wait()
				golden(t, name, k.tree(began)+"\n"+k.measured(t))
			})
		})
	}
}
