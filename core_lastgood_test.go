package toolguard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/prompts"
)

// kept is a guard that keeps good results of a tool that can be switched off.
func kept(t *testing.T, f toolguard.Fallback, result func(args string) toolguard.Result) (g *toolguard.Guard, down *bool) {
	down, f.LastGood = new(bool), 1<<40
	tool := toolOf(toolguard.ReadOnly, nil)
	tool.call = func(_ context.Context, args json.RawMessage) (toolguard.Result, error) {
		if *down {
			return toolguard.Result{}, toolguard.Unavailable("down")
		}
		return result(string(args)), nil
	}
	return guardOf(t, tool, &toolguard.Options{Fallback: &f, Retry: toolguard.RetryPolicy{Off: true}, Breaker: toolguard.BreakerPolicy{Off: true}}), down
}

func askFor(g *toolguard.Guard, n int) toolguard.Envelope {
	return g.Do(context.Background(), toolguard.Call{Args: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))})
}

// What is kept is what was handed on: cut, and said to be.
func TestLastGoodResultsAreKeptAsTheyWereAnswered(t *testing.T) {
	t.Parallel()
	g, down := kept(t, toolguard.Fallback{}, func(string) toolguard.Result {
		return toolguard.Result{Text: strings.Repeat("many words ", 1<<20)}
	})
	first := askFor(g, 1)
	assert.Equal(t, len(first.Result.Text), g.Stats().CachedBytes)
	assert.Less(t, g.Stats().CachedBytes, 70<<10)
	*down = true
	again := askFor(g, 1)
	require.True(t, again.OK)
	assert.Equal(t, first.Result, again.Result)
	assert.Equal(t, append([]toolguard.NoteKind{prompts.NoteLastKnownGood}, noteKinds(first)...), noteKinds(again))
	assert.Equal(t, first.Notes[0].Text, again.Notes[1].Text)
}

func TestLastGoodResultsAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	g, down := kept(t, toolguard.Fallback{LastGoodBytes: 1000}, func(args string) toolguard.Result {
		size := 300
		if args == `{"n":9}` {
			size = 2000
		}
		return toolguard.Result{Text: strings.Repeat("x ", size/2)}
	})
	for n := range 10 { // the last one is too large to be kept
		askFor(g, n)
		assert.LessOrEqual(t, g.Stats().CachedBytes, 1000)
	}
	*down = true
	for n, ok := range map[int]bool{5: false, 6: true, 7: true, 8: true, 9: false} {
		assert.Equal(t, ok, askFor(g, n).OK, n)
	}
	for n := range 100 { // counted exactly
		*down = false
		askFor(g, n%7)
	}
	for range 5 {
		askFor(g, 1) // in its own place
	}
	assert.Equal(t, 3*300, g.Stats().CachedBytes)
	assert.Equal(t, 3, g.Stats().CachedResults)
}

func TestLastGoodResultsThatMakeWayAreNoLongerCounted(t *testing.T) {
	t.Parallel()
	g, _ := kept(t, toolguard.Fallback{LastGoodMax: 2}, func(string) toolguard.Result { return toolguard.Result{Text: "four"} })
	for n := range 5 {
		askFor(g, n)
	}
	assert.Equal(t, 2, g.Stats().CachedResults)
	assert.Equal(t, 8, g.Stats().CachedBytes)
}

func TestAStandInsControlFlowReachesTheHost(t *testing.T) {
	t.Parallel()
	stop := fmt.Errorf("interrupt the graph")
	pass := func(err error) bool { return err == stop }
	bare := toolOf(toolguard.ReadOnly, fails(stop))
	bare.info.Name = "other"
	for name, alternative := range map[string]toolguard.Tool{
		"a guard": guardOf(t, bare, &toolguard.Options{PassThrough: pass}), "a bare tool": bare,
	} {
		g := guardOf(t, toolOf(toolguard.ReadOnly, fails(toolguard.Unavailable("x"))), &toolguard.Options{
			PassThrough: pass, Retry: toolguard.RetryPolicy{Off: true},
			Fallback: &toolguard.Fallback{Alternatives: []toolguard.Alternative{{Tool: alternative}, {Tool: guardOf(t, func() plain {
				last := toolOf(toolguard.ReadOnly, answers("never asked"))
				last.info.Name = "last"
				return last
			}(), nil)}}},
		})
		assert.Equal(t, stop, do(g).Control(), name)
		_, err := g.Call(t.Context(), json.RawMessage(`{}`))
		assert.Equal(t, stop, err, name)
	}
}

func TestNewRefusesAlternativesThatAreNone(t *testing.T) {
	t.Parallel()
	for name, tool := range map[string]toolguard.Tool{
		"nil": nil, "a nil guard": (*toolguard.Guard)(nil), "an empty guard": new(toolguard.Guard), "a nil pointer": (*plain)(nil),
	} {
		assert.NotPanics(t, func() {
			_, err := toolguard.New(toolOf(toolguard.ReadOnly, answers("x")), &toolguard.Options{Fallback: &toolguard.Fallback{Alternatives: []toolguard.Alternative{{Tool: tool}}}})
			assert.ErrorContains(t, err, "Fallback.Alternatives[0].Tool", name)
		}, name)
	}
}
