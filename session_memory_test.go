package toolguard_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

var soak = flag.Bool("soak", false, "run the soak test in full: 10^6 calls over 10^4 conversations")

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func inSession(n int, turn string) context.Context {
	return toolguard.WithScope(context.Background(), toolguard.Scope{Session: "s" + strconv.Itoa(n), Turn: turn})
}

// Whatever calls come, memory stays within its bounds. The clock is the bubble's.
func TestSoak(t *testing.T) {
	calls, conversations := 20_000, 500
	if *soak {
		calls, conversations = 1_000_000, 10_000
	}
	synctest.Test(t, func(t *testing.T) {
		s := sessionsOf(t, toolguard.SessionPolicy{Max: conversations * 9 / 10, MaxKept: 4 << 20})
		guards := soakGuards(t, s)
		before := heap()
		var wg sync.WaitGroup
		for worker := range 4 {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(1, uint64(worker)))
				for i := range calls / 4 {
					ctx := inSession(random.IntN(conversations), strconv.Itoa(random.IntN(3)))
					g := guards[random.IntN(len(guards))]
					env := g.Do(ctx, toolguard.Call{Args: json.RawMessage(fmt.Sprintf(`{"n":%d}`, random.IntN(8)))})
					if env.OK == (env.Error != nil) {
						t.Errorf("%+v", env)
					}
					if i%1000 == 999 {
						time.Sleep(time.Minute)
					}
				}
			})
		}
		wg.Wait()
		st := s.Stats()
		grown := int64(heap()) - int64(before)
		runtime.KeepAlive(guards)
		t.Logf("%.1f MB, %+v", float64(grown)/(1<<20), st)
		assert.LessOrEqual(t, st.Conversations, conversations*9/10)
		assert.LessOrEqual(t, st.KeptBytes, 4<<20)
		assert.NotZero(t, st.Evicted+st.Expired)
		assert.Less(t, grown, int64(conversations)*9_000+12<<20)
		require.NotZero(t, st.Reused+st.Replayed)
	})
}

func soakGuards(t *testing.T, s *toolguard.Sessions) []*toolguard.Guard {
	var guards []*toolguard.Guard
	for i, effect := range []toolguard.Effect{toolguard.ReadOnly, toolguard.NonIdempotent, toolguard.Idempotent, toolguard.ReadOnly} {
		tool := countedTool(effect, "fine")
		tool.info.Name = fmt.Sprintf("tool%d", i)
		tool.answer = func(context.Context, int, string) (toolguard.Result, error) {
			switch rand.IntN(10) {
			case 0:
				return toolguard.Result{}, toolguard.Unavailable("down")
			case 1:
				return toolguard.Result{}, fmt.Errorf("odd %d", rand.IntN(3))
			}
			return toolguard.Result{Text: strconv.Itoa(rand.IntN(3))}, nil
		}
		guards = append(guards, guardOf(t, tool, oneTry(s)))
	}
	return guards
}

func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sessionsOf(t, toolguard.SessionPolicy{Max: 3, Idle: time.Minute})
		g := guardOf(t, countedTool(toolguard.ReadOnly, "same"), everyTime(s))
		for i := range 5 {
			do2(inSession(i, "one"), g)
		}
		assert.Equal(t, 3, s.Stats().Conversations)
		assert.EqualValues(t, 2, s.Stats().Evicted)
		time.Sleep(61 * time.Second)
		do2(inSession(9, "one"), g)
		do2(inSession(9, "one"), g)
		assert.EqualValues(t, 2, s.Stats().Expired)
		time.Sleep(59 * time.Second)
		do2(inSession(9, "one"), g)
		time.Sleep(59 * time.Second)
		assert.Equal(t, toolguard.CodeLoopDetected, codeOf(do2(inSession(9, "one"), g)), "a call keeps it")
		time.Sleep(61 * time.Second)
		assert.True(t, do2(inSession(9, "one"), g).OK, "silence does not")
	})
}

func TestSessionPolicyIsChecked(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]toolguard.SessionPolicy{
		"SessionPolicy.Max is -1":     {Max: -1},
		"SessionPolicy.Idle is -1s":   {Idle: -time.Second},
		"SessionPolicy.MaxKept is -1": {MaxKept: -1},
		"SessionPolicy.History is 19": {History: 19},
		"SessionPolicy.History is -1": {History: -1},
		"History is 4097":             {History: 4097},
	} {
		_, err := toolguard.NewSessions(p)
		assert.ErrorContains(t, err, want)
	}
	for want, o := range map[string]toolguard.Options{
		"Loop.Repeats is 1":    {Loop: toolguard.LoopPolicy{Repeats: 1}},
		"Loop.Cycles is -1":    {Loop: toolguard.LoopPolicy{Cycles: -1}},
		"Loop.Volatile[1] is":  {Loop: toolguard.LoopPolicy{Volatile: []string{"at", ""}}},
		"Loop.Tries is 2":      {Loop: toolguard.LoopPolicy{Tries: 2}},
		"Loop.Streak is -1":    {Loop: toolguard.LoopPolicy{Streak: -1}},
		"Dedupe.Reuse is -1s":  {Dedupe: toolguard.DedupePolicy{Reuse: -time.Second}},
		"Dedupe.Reuse is 1s":   {Dedupe: toolguard.DedupePolicy{Reuse: time.Second, NoReuse: true}},
		"Loop.ToolCalls is -1": {Loop: toolguard.LoopPolicy{ToolCalls: -1}},
	} {
		_, err := toolguard.New(countedTool(toolguard.ReadOnly, ""), &o)
		assert.ErrorContains(t, err, want)
	}
	_, err := toolguard.New(&counted{info: toolguard.Info{Name: "t", Poll: toolguard.Poll{Max: -1}}}, nil)
	assert.ErrorContains(t, err, "Info.Poll")
}

// 200 calls of all tools are a turn's share, and the last call is the last even if
// all come at once.
func TestTurnLimitIsHard(t *testing.T) {
	t.Parallel()
	s := sessionsOf(t, toolguard.SessionPolicy{})
	tool := countedTool(toolguard.ReadOnly, "fine")
	opts := oneTry(s)
	opts.Loop = toolguard.LoopPolicy{ToolCalls: 1000, TurnCalls: 50}
	opts.Concurrency.Off = true
	g := guardOf(t, tool, opts)
	var wg sync.WaitGroup
	for i := range 120 {
		wg.Go(func() { send(turn("one"), g, fmt.Sprintf(`{"n":%d}`, i)) })
	}
	wg.Wait()
	assert.Equal(t, 50, tool.ran())
	assert.EqualValues(t, 70, s.Stats().Limits)
	env := do2(turn("one"), g)
	assert.Contains(t, env.Error.Message, "(50)")
	assert.Less(t, len(env.ForModel()), 500, "cheap and small")
	s.NewTurn(toolguard.Scope{Session: "chat", Turn: "one"})
	assert.True(t, do2(turn("one"), g).OK)
}

// What a conversation costs a call: at most four allocations.
func TestSessionAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	measure := func(s *toolguard.Sessions) float64 {
		opts := oneTry(s)
		opts.Loop = toolguard.LoopPolicy{ToolCalls: 1 << 30, TurnCalls: 1 << 30, NoteAfter: 1 << 30}
		g := guardOf(t, countedTool(toolguard.ReadOnly, "fine"), opts)
		ctx, n := turn("one"), 0
		args := make([]json.RawMessage, 3000)
		for i := range args {
			args[i] = json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))
		}
		return testing.AllocsPerRun(1000, func() { g.Do(ctx, toolguard.Call{Args: args[n%len(args)]}); n++ })
	}
	without, with := measure(nil), measure(sessionsOf(t, toolguard.SessionPolicy{}))
	t.Logf("%.0f without, %.0f with a conversation", without, with)
	assert.LessOrEqual(t, with-without, 4.0)
}
