package toolguard_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
)

// A call needs a turn on its resource, a place of the tool and one of the dependency.
// One that gets some of them and not the rest keeps nothing.
func TestACallWithoutAPlaceKeepsNone(t *testing.T) {
	t.Parallel()
	soon := toolguard.ConcurrencyPolicy{Max: 1, Wait: time.Second}
	inBubble(t, "no place of the dependency", func(t *testing.T) {
		var in gauge
		shared := &toolguard.Dependencies{Max: map[string]int{"db": 1}}
		long := guardOf(t, in.takes(toolguard.Info{Dependency: "db"}, 10*time.Second), &toolguard.Options{Dependencies: shared})
		g := guardOf(t, in.takes(toolguard.Info{Dependency: "db"}, time.Millisecond), &toolguard.Options{Dependencies: shared, Concurrency: soon})
		go all(long, `{}`)
		synctest.Wait()
		assert.Equal(t, map[string]int{"overloaded/not_started": 3}, all(g, times(3, `{}`)...))
		time.Sleep(10 * time.Second)
		assert.Equal(t, map[string]int{"ok": 3}, all(g, times(3, `{}`)...))
	})
	inBubble(t, "no place of the tool", func(t *testing.T) {
		var in gauge
		policy := soon
		policy.SerializeBy = []string{"order"}
		g := guardOf(t, in.takes(toolguard.Info{}, 5*time.Second), &toolguard.Options{Concurrency: policy})
		go all(g, `{"order":"A"}`)
		synctest.Wait()
		assert.Equal(t, "overloaded/not_started", verdict(g.Do(t.Context(), toolguard.Call{Args: json.RawMessage(`{"order":"B"}`)})))
		time.Sleep(5 * time.Second)
		assert.Equal(t, "ok", verdict(g.Do(t.Context(), toolguard.Call{Args: json.RawMessage(`{"order":"B"}`)})))
	})
	inBubble(t, "refused by the breaker behind a place", func(t *testing.T) {
		var in gauge
		policy := soon
		policy.SerializeBy = []string{"order"}
		g := guardOf(t, in.takes(toolguard.Info{}, time.Millisecond), &toolguard.Options{Concurrency: policy})
		go func() {
			time.Sleep(time.Microsecond)
			g.ForceBreaker(toolguard.BreakerOpen)
		}()
		all(g, times(3, `{"order":"A"}`)...)
		g.ReleaseBreaker()
		assert.Equal(t, map[string]int{"ok": 3}, all(g, times(3, `{"order":"A"}`)...))
	})
	inBubble(t, "gone while it waits", func(t *testing.T) {
		var in gauge
		g := guardOf(t, in.takes(toolguard.Info{}, 2*time.Second), &toolguard.Options{Concurrency: toolguard.ConcurrencyPolicy{Max: 1}})
		go all(g, `{}`)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.Equal(t, "caller_deadline/not_started", verdict(doIn(ctx, g)))
		time.Sleep(time.Second)
		assert.Equal(t, "ok", verdict(do(g)))
	})
}
