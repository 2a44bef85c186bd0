package bench

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

var long = flag.Bool("long", false, "make a million calls where memory is watched")

// Whatever a guard remembers has a cap: arguments, tenants and sessions that
// are never seen again must not stay.
func TestMemoryStaysFlat(t *testing.T) {
	calls := 100_000
	if *long {
		calls = 1_000_000
	}
	g := guard("", mixed, observed())
	run(g, 0, calls/10) // fills what is capped
	before, goroutines := heap(), runtime.NumGoroutine()
	run(g, calls/10, calls)
	grown := int64(heap()) - int64(before)
	t.Logf("%d calls, heap %d KiB, grown by %d B", calls, before>>10, grown)
	// Less than six bytes for each call of the short form; the maps that hold what
	// is capped may grow once more under steady change.
	assert.Less(t, grown, int64(512<<10), "bytes kept by %d calls", calls)
	assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	runtime.KeepAlive(g)
}

// mixed succeeds, fails or panics, depending on its arguments.
func mixed(_ context.Context, args []byte) (string, error) {
	switch args[len(args)-2] {
	case '1':
		return "", errDown
	case '2':
		return "", toolguard.RateLimited(time.Minute)
	case '3':
		panic("no")
	}
	return "ok", nil
}

// run makes the calls with the numbers from and up to end, no two alike.
func run(g *toolguard.Guard, from, end int) {
	for i := from; i < end; i++ {
		id := fmt.Sprint(i)
		ctx := toolguard.WithScope(context.Background(), toolguard.Scope{Tenant: id, Session: id, Turn: id})
		args := fmt.Sprintf(`{"n":%d}`, i)
		if i%10 == 4 {
			args = args[1:] // refused
		}
		g.Do(ctx, toolguard.Call{ID: id, Args: []byte(args)})
	}
}

// 10,000 conversations of 64 calls each stay under 100 MB, results included; the
// short form has a tenth of both.
func TestMemoryOfConversations(t *testing.T) {
	conversations, budget := 1000, 10<<20
	if *long {
		conversations, budget = 10*conversations, 10*budget
	}
	s, err := toolguard.NewSessions(toolguard.SessionPolicy{MaxKept: budget / 3}) // as by default
	require.NoError(t, err)
	g := talkative(s)
	before := heap()
	for i := range conversations {
		ctx := toolguard.WithScope(context.Background(), toolguard.Scope{Session: fmt.Sprint(i), Turn: "one"})
		for n := range 64 {
			env := g.Do(ctx, toolguard.Call{Args: fmt.Appendf(nil, `{"n":%d}`, n)})
			require.True(t, env.OK)
		}
	}
	used := heap() - before
	t.Logf("%d conversations, %.1f MB, %+v", conversations, float64(used)/(1<<20), s.Stats())
	assert.Less(t, used, uint64(budget))
	assert.Equal(t, conversations, s.Stats().Conversations)
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // the first one may only move what pools hold
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestAbandonedToolsAreCapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := bubbled()
		release := make(chan struct{})
		g := guard("", func(context.Context, []byte) (string, error) { <-release; return "late", nil }, toolguard.Options{
			Breaker: toolguard.BreakerPolicy{Off: true},
		})
		for range 20 {
			g.Do(context.Background(), toolguard.Call{Args: noArgs})
		}
		env := g.Do(context.Background(), toolguard.Call{Args: noArgs})
		synctest.Wait()
		require.NotNil(t, env.Error)
		assert.Equal(t, toolguard.CodeToolStuck, env.Error.Code)
		assert.Equal(t, before+8, bubbled())

		close(release)
		synctest.Wait()
		assert.Equal(t, before, bubbled())
	})
}

// bubbled counts the goroutines of the bubble: unlike those of the process,
// no other test's last goroutine ends among them.
func bubbled() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return bytes.Count(stacks, []byte(", synctest bubble "))
}
