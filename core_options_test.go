package toolguard_test

import (
	"context"
	"encoding/json"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// Invariant 14: a setting that makes no sense is an error that names the field
// and the value.
func TestBadOptions(t *testing.T) {
	t.Parallel()
	type o = toolguard.Options
	rules := func(name string, r toolguard.RetryRule) o {
		return o{Retry: toolguard.RetryPolicy{Rules: map[string]toolguard.RetryRule{name: r}}}
	}
	fallback := func(f toolguard.Fallback) o { return o{Fallback: &f} }
	for name, tt := range map[string]struct {
		opts o
		info toolguard.Info
		want []string
	}{
		"attempt":            {opts: o{Timeout: toolguard.TimeoutPolicy{Attempt: -time.Second}}, want: []string{"Timeout.Attempt", "-1s"}},
		"budget":             {opts: o{Timeout: toolguard.TimeoutPolicy{Budget: -1}}, want: []string{"Timeout.Budget", "-1ns"}},
		"short budget":       {opts: o{Timeout: toolguard.TimeoutPolicy{Attempt: time.Minute, Budget: 30 * time.Second}}, want: []string{"Timeout.Budget", "30s", "1m0s"}},
		"short for default":  {opts: o{Timeout: toolguard.TimeoutPolicy{Budget: 59 * time.Second}}, want: []string{"Timeout.Budget", "59s"}},
		"grace":              {opts: o{Timeout: toolguard.TimeoutPolicy{Grace: -1}}, want: []string{"Timeout.Grace"}},
		"max abandoned":      {opts: o{Timeout: toolguard.TimeoutPolicy{MaxAbandoned: -3}}, want: []string{"Timeout.MaxAbandoned", "-3"}},
		"class timeout":      {opts: o{Timeout: toolguard.TimeoutPolicy{Classes: map[string]time.Duration{"batch": 0}}}, want: []string{`Timeout.Classes["batch"]`, "0s"}},
		"unknown class":      {info: toolguard.Info{Class: "bach"}, want: []string{"Info.Class", "bach"}},
		"attempts":           {opts: o{Retry: toolguard.RetryPolicy{MaxAttempts: -1}}, want: []string{"Retry.MaxAttempts", "-1"}},
		"base delay":         {opts: o{Retry: toolguard.RetryPolicy{BaseDelay: -1}}, want: []string{"Retry.BaseDelay"}},
		"rate limit delay":   {opts: o{Retry: toolguard.RetryPolicy{RateLimitDelay: -1}}, want: []string{"Retry.RateLimitDelay"}},
		"max delay":          {opts: o{Retry: toolguard.RetryPolicy{MaxDelay: -1}}, want: []string{"Retry.MaxDelay"}},
		"max retry-after":    {opts: o{Retry: toolguard.RetryPolicy{MaxRetryAfter: -1}}, want: []string{"Retry.MaxRetryAfter"}},
		"factor":             {opts: o{Retry: toolguard.RetryPolicy{Factor: 0.5}}, want: []string{"Retry.Factor", "0.5"}},
		"no factor":          {opts: o{Retry: toolguard.RetryPolicy{Factor: math.NaN()}}, want: []string{"Retry.Factor", "NaN"}},
		"endless factor":     {opts: o{Retry: toolguard.RetryPolicy{Factor: math.Inf(1)}}, want: []string{"Retry.Factor", "Inf"}},
		"share":              {opts: o{Retry: toolguard.RetryPolicy{Budget: 1.5}}, want: []string{"Retry.Budget", "1.5"}},
		"no share":           {opts: o{Retry: toolguard.RetryPolicy{Budget: math.NaN()}}, want: []string{"Retry.Budget", "NaN"}},
		"floor":              {opts: o{Retry: toolguard.RetryPolicy{BudgetFloor: -1}}, want: []string{"Retry.BudgetFloor"}},
		"rule of nothing":    {opts: rules("rate_limit", toolguard.RetryRule{Attempts: 2}), want: []string{`Retry.Rules["rate_limit"]`}},
		"rule of canceled":   {opts: rules("canceled", toolguard.RetryRule{Attempts: 2}), want: []string{`Retry.Rules["canceled"]`}},
		"rule of abandoned":  {opts: rules("abandoned", toolguard.RetryRule{Attempts: 2}), want: []string{`Retry.Rules["abandoned"]`}},
		"rule of zero":       {opts: rules("timeout", toolguard.RetryRule{}), want: []string{`Retry.Rules["timeout"].Attempts`, "0"}},
		"rule's delay":       {opts: rules("timeout", toolguard.RetryRule{Attempts: 2, Delay: -1}), want: []string{`Retry.Rules["timeout"].Delay`}},
		"rule's factor":      {opts: rules("timeout", toolguard.RetryRule{Attempts: 2, Factor: 1000}), want: []string{`Retry.Rules["timeout"].Factor`, "1000"}},
		"failures":           {opts: o{Breaker: toolguard.BreakerPolicy{Failures: -1}}, want: []string{"Breaker.Failures", "-1"}},
		"too many failures":  {opts: o{Breaker: toolguard.BreakerPolicy{Failures: 1<<30 + 1}}, want: []string{"Breaker.Failures", "1073741825"}},
		"rate":               {opts: o{Breaker: toolguard.BreakerPolicy{Rate: 2}}, want: []string{"Breaker.Rate", "2"}},
		"no rate":            {opts: o{Breaker: toolguard.BreakerPolicy{Rate: math.NaN()}}, want: []string{"Breaker.Rate", "NaN"}},
		"short window":       {opts: o{Breaker: toolguard.BreakerPolicy{Rate: 0.5, Window: time.Minute}}, want: []string{"Breaker.Window", "1m0s", "2m0s"}},
		"min calls":          {opts: o{Breaker: toolguard.BreakerPolicy{MinCalls: -1}}, want: []string{"Breaker.MinCalls"}},
		"open for":           {opts: o{Breaker: toolguard.BreakerPolicy{OpenFor: -1}}, want: []string{"Breaker.OpenFor"}},
		"breaker keys":       {opts: o{Breaker: toolguard.BreakerPolicy{MaxKeys: -1}}, want: []string{"Breaker.MaxKeys"}},
		"shared breaker":     {opts: o{Breaker: toolguard.BreakerPolicy{Failures: 3}, Dependencies: &toolguard.Dependencies{}}, info: toolguard.Info{Dependency: "db"}, want: []string{"Breaker", "db"}},
		"dependency limit":   {opts: o{Dependencies: &toolguard.Dependencies{Max: map[string]int{"db": 0}}}, want: []string{`Dependencies.Max["db"]`, "0"}},
		"limit of nothing":   {opts: o{Dependencies: &toolguard.Dependencies{Max: map[string]int{"": 3}}}, want: []string{`Dependencies.Max[""]`, "3"}},
		"concurrency":        {opts: o{Concurrency: toolguard.ConcurrencyPolicy{Max: -1}}, want: []string{"Concurrency.Max", "-1"}},
		"wait":               {opts: o{Concurrency: toolguard.ConcurrencyPolicy{Wait: -1}}, want: []string{"Concurrency.Wait"}},
		"serialise by none":  {opts: o{Concurrency: toolguard.ConcurrencyPolicy{SerializeBy: []string{"a", ""}}}, want: []string{"Concurrency.SerializeBy[1]"}},
		"queue":              {opts: o{Observe: toolguard.ObservePolicy{Queue: -1}}, want: []string{"Observe.Queue", "-1"}},
		"long queue":         {opts: o{Observe: toolguard.ObservePolicy{Queue: 1 << 21}}, want: []string{"Observe.Queue", "2097152"}},
		"patience":           {opts: o{Observe: toolguard.ObservePolicy{Patience: -1}}, want: []string{"Observe.Patience"}},
		"max result":         {opts: o{Render: toolguard.RenderPolicy{MaxResult: 255}}, want: []string{"Render.MaxResult", "255"}},
		"max parts":          {opts: o{Render: toolguard.RenderPolicy{MaxParts: -1}}, want: []string{"Render.MaxParts"}},
		"hide and quote":     {opts: o{Render: toolguard.RenderPolicy{HideCauses: true, QuoteCauses: true}}, want: []string{"Render.QuoteCauses"}},
		"format":             {opts: o{Render: toolguard.RenderPolicy{Format: 9}}, want: []string{"Render.Format", "9"}},
		"locale":             {opts: o{Render: toolguard.RenderPolicy{Locale: "fr-CH"}}, want: []string{"Render.Locale", "fr-CH"}},
		"contact":            {opts: o{Render: toolguard.RenderPolicy{Contact: strings.Repeat("x", 129)}}, want: []string{"Render.Contact", "xxx"}},
		"schema mode":        {opts: o{Arguments: toolguard.ArgumentPolicy{Schema: 7}}, want: []string{"Arguments.Schema", "7"}},
		"max bytes":          {opts: o{Arguments: toolguard.ArgumentPolicy{MaxBytes: -1}}, want: []string{"Arguments.MaxBytes", "-1"}},
		"max depth":          {opts: o{Arguments: toolguard.ArgumentPolicy{MaxDepth: 1 << 20}}, want: []string{"Arguments.MaxDepth", "1048576"}},
		"no fallback":        {opts: fallback(toolguard.Fallback{}), want: []string{"Fallback"}},
		"nobody falls back":  {opts: fallback(toolguard.Fallback{Alternatives: []toolguard.Alternative{{}}}), want: []string{"Fallback.Alternatives[0].Tool"}},
		"last good write":    {opts: fallback(toolguard.Fallback{LastGood: time.Hour}), want: []string{"Fallback.LastGood", "1h0m0s"}},
		"last good negative": {opts: fallback(toolguard.Fallback{LastGood: -1}), info: toolguard.Info{Effect: toolguard.ReadOnly}, want: []string{"Fallback.LastGood", "-1ns"}},
		"kept for nothing":   {opts: fallback(toolguard.Fallback{LastGoodMax: 7, Alternatives: []toolguard.Alternative{{Tool: toolOf(toolguard.ReadOnly, answers(""))}}}), info: toolguard.Info{Effect: toolguard.ReadOnly}, want: []string{"Fallback.LastGoodMax", "7"}},
		"bytes for nothing":  {opts: fallback(toolguard.Fallback{LastGoodBytes: 9, Alternatives: []toolguard.Alternative{{Tool: toolOf(toolguard.ReadOnly, answers(""))}}}), info: toolguard.Info{Effect: toolguard.ReadOnly}, want: []string{"Fallback.LastGoodBytes", "9"}},
		"another effect":     {opts: fallback(toolguard.Fallback{Alternatives: []toolguard.Alternative{{Tool: toolOf(toolguard.NonIdempotent, answers(""))}}}), want: []string{"SameEffect", "false"}},
		"writes for a read":  {opts: fallback(toolguard.Fallback{Alternatives: []toolguard.Alternative{{Tool: toolOf(toolguard.NonIdempotent, answers(""))}}}), info: toolguard.Info{Effect: toolguard.ReadOnly}, want: []string{"Fallback.Alternatives[0].Tool", "read_only"}},
		"effect":             {info: toolguard.Info{Effect: 42}, want: []string{"Info.Effect", "42"}},
		"key ttl":            {info: toolguard.Info{KeyTTL: time.Hour}, want: []string{"Info.KeyTTL", "1h0m0s"}},
		"negative key ttl":   {info: toolguard.Info{Effect: toolguard.IdempotentByKey, KeyTTL: -1}, want: []string{"Info.KeyTTL", "-1ns"}},
		"its own stand-in":   {info: toolguard.Info{Alternatives: []string{"tool"}}, want: []string{"Info.Alternatives", "tool"}},
		"verified by itself": {info: toolguard.Info{VerifyWith: []string{"look", "tool"}}, want: []string{"Info.VerifyWith", "tool"}},
		"risk":               {info: toolguard.Info{Risk: 42}, want: []string{"Info.Risk", "42"}},
		"long name":          {info: toolguard.Info{Name: strings.Repeat("n", 257)}, want: []string{"Info.Name", "nnn"}},
		"schema":             {info: toolguard.Info{Schema: json.RawMessage(`{"type":"strng"}`)}, want: []string{"Info.Schema", "/type"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := plain{info: tt.info, call: toolOf(0, answers("")).call}
			if tool.info.Name == "" {
				tool.info.Name = "tool"
			}
			_, err := toolguard.New(tool, &tt.opts)
			require.Error(t, err)
			assert.ErrorContains(t, err, "toolguard: ")
			for _, part := range tt.want {
				assert.ErrorContains(t, err, part)
			}
			assert.Less(t, len(err.Error()), 400)
		})
	}
}

func TestNewNamesEverythingWrong(t *testing.T) {
	t.Parallel()
	_, err := toolguard.New(nil, nil)
	assert.ErrorContains(t, err, "tool is nil")
	_, err = toolguard.New(plain{}, nil)
	assert.ErrorContains(t, err, "Info.Name")
	_, err = toolguard.New(toolOf(0, answers("")), &toolguard.Options{
		Timeout: toolguard.TimeoutPolicy{Grace: -1}, Retry: toolguard.RetryPolicy{Factor: 0.1}, Concurrency: toolguard.ConcurrencyPolicy{Max: -1},
	})
	for _, field := range []string{"Timeout.Grace", "Retry.Factor", "Concurrency.Max"} {
		assert.ErrorContains(t, err, field)
	}
	_, err = toolguard.New(toolguard.Func[struct{}, string](toolguard.Info{Name: "pay"}, nil), nil)
	assert.ErrorContains(t, err, `"pay"`)
	_, err = toolguard.New(toolguard.Func(toolguard.Info{Name: "pay"}, func(context.Context, int) (string, error) { return "", nil }), nil)
	assert.ErrorContains(t, err, "int")
}

// What was not set is not complained of, and what was is named as the host knows it.
func TestErrorsAreOfWhatWasSet(t *testing.T) {
	t.Parallel()
	_, err := toolguard.New(toolOf(0, answers("")), &toolguard.Options{Timeout: toolguard.TimeoutPolicy{Attempt: -time.Second}})
	require.EqualError(t, err, `toolguard: Options.Timeout.Attempt is -1s, want zero or more (tool "tool")`)
	box, err := toolguard.NewToolbox(nil, toolOf(0, answers("")))
	require.NoError(t, err)
	_, err = box.Recoverer(nil)
	require.EqualError(t, err, "toolguard: Toolbox.Recoverer: Options.Journal is nil: there is nothing to look after")
}

// Nil, the zero value and the defaults written out are one and the same; and
// Describe says what they are.
func TestDefaults(t *testing.T) {
	t.Parallel()
	tool := toolOf(toolguard.Idempotent, answers("fine"))
	d := guardOf(t, tool, nil).Describe()
	assert.Equal(t, d, guardOf(t, tool, &toolguard.Options{}).Describe())
	assert.Equal(t, toolguard.TimeoutPolicy{Attempt: time.Minute, Budget: 2 * time.Minute, Grace: time.Second, MaxAbandoned: 8}, d.Timeout)
	assert.Equal(t, toolguard.RetryPolicy{
		MaxAttempts: 3, BaseDelay: 200 * time.Millisecond, RateLimitDelay: time.Second, Factor: 2, MaxDelay: 20 * time.Second,
		MaxRetryAfter: 30 * time.Second, Budget: 0.2, BudgetFloor: 3,
	}, d.Retry)
	assert.Equal(t, toolguard.BreakerPolicy{Failures: 5, Window: 4 * time.Minute, MinCalls: 10, OpenFor: 30 * time.Second, MaxKeys: 1024}, d.Breaker)
	assert.Equal(t, toolguard.ConcurrencyPolicy{Max: 64, Wait: 5 * time.Second}, d.Concurrency)
	assert.Equal(t, toolguard.LoopPolicy{
		Repeats: 3, Tries: 10, Cycles: 3, Streak: 3, Pause: 5 * time.Minute, ToolCalls: 25, NoteAfter: 3, TurnCalls: 200,
	}, d.Loop)
	assert.Equal(t, toolguard.DedupePolicy{Reuse: 10 * time.Second}, d.Dedupe)
	assert.Equal(t, toolguard.ObservePolicy{Patience: time.Second}, d.Observe)
	assert.Equal(t, toolguard.RenderPolicy{MaxResult: 64 << 10, MaxParts: 8 << 20}, d.Render)
	assert.Equal(t, 3, d.MaxAttempts)
	again := guardOf(t, tool, &toolguard.Options{Arguments: d.Arguments, Timeout: d.Timeout, Retry: d.Retry, Breaker: d.Breaker, Concurrency: d.Concurrency, Observe: d.Observe, Render: d.Render})
	assert.Equal(t, d, again.Describe())

	unsafe := guardOf(t, toolOf(0, answers("")), nil).Describe()
	assert.Equal(t, toolguard.NonIdempotent, unsafe.Effect)
	assert.Equal(t, 1, unsafe.MaxAttempts)
	assert.Equal(t, "nothing after the call", unsafe.Remembers)
	assert.Equal(t, 5*time.Minute, guardOf(t, plain{info: toolguard.Info{Name: "film", Class: "media"}}, nil).Describe().Timeout.Attempt)
	_, err := json.Marshal(d)
	assert.NoError(t, err)
}

// New copies the options: what the host does to them later changes nothing.
func TestOptionsAreCopied(t *testing.T) {
	t.Parallel()
	opts := &toolguard.Options{Retry: once}
	body := inOrder(fails(codeErr(toolguard.CodeServerError)))
	g := guardOf(t, toolOf(toolguard.ReadOnly, body.call), opts)
	opts.Retry = toolguard.RetryPolicy{MaxAttempts: 9}
	opts.Check = func(context.Context, json.RawMessage) error { return toolguard.Business("no") }
	assert.Equal(t, "server_error/failed", verdict(do(g)))
	assert.Equal(t, 1, body.count())
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	inBubble(t, "waits, then refuses", func(t *testing.T) {
		body := inOrder(func(context.Context) (toolguard.Result, error) {
			time.Sleep(5 * time.Second)
			return toolguard.Result{Text: "fine"}, nil
		})
		g := guardOf(t, toolOf(toolguard.ReadOnly, body.call), nil)
		var inside toolguard.Envelope
		go func() { inside = do(g) }()
		synctest.Wait()
		assert.Equal(t, 1, g.Stats().InProgress)
		assert.Equal(t, 5*time.Second, took(func() { assert.NoError(t, g.Shutdown(t.Context())) }))
		synctest.Wait()
		assert.True(t, inside.OK, "a call in progress ends as it would")
		assert.Equal(t, "shutting_down/not_started", verdict(do(g)))
		assert.Equal(t, 1, body.count())
		assert.NoError(t, g.Shutdown(t.Context()), "a second time")
	})
	inBubble(t, "in time", func(t *testing.T) {
		g := guardOf(t, toolOf(toolguard.ReadOnly, hangs(t)), &toolguard.Options{Timeout: shortTime})
		go do(g)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.ErrorIs(t, g.Shutdown(ctx), context.DeadlineExceeded)
		assert.Equal(t, "shutting_down/not_started", verdict(do(g)))
		time.Sleep(time.Hour)
		assert.ErrorContains(t, g.Shutdown(t.Context()), "1 abandoned attempts still run")
	})
	inBubble(t, "many at once", func(t *testing.T) {
		g := guardOf(t, toolOf(toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) {
			time.Sleep(time.Second)
			return toolguard.Result{}, nil
		}), nil)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { do(g) })
			wg.Go(func() { assert.NoError(t, g.Shutdown(t.Context())) })
		}
		wg.Wait()
		assert.Zero(t, g.Stats().InProgress)
	})
}

func TestStats(t *testing.T) {
	t.Parallel()
	inBubble(t, "counts", func(t *testing.T) {
		body := inOrder(
			answers("fine"), // 1
			fails(codeErr(toolguard.CodeServerError)), fails(codeErr(toolguard.CodeServerError)), answers("fine"), // 2
			fails(toolguard.Business("no")),                     // 3
			fails(toolguard.Unavailable("no")), answers("fine"), // 4
		)
		g := guardOf(t, toolOf(toolguard.Idempotent, body.call), nil)
		for range 4 {
			do(g)
		}
		g.Do(t.Context(), toolguard.Call{Args: []byte(`[]`)})
		s := g.Stats()
		assert.EqualValues(t, 5, s.Calls)
		assert.EqualValues(t, 3, s.Succeeded)
		assert.EqualValues(t, 2, s.Failed)
		assert.EqualValues(t, 1, s.Refused)
		assert.EqualValues(t, 7, s.Attempts)
		assert.EqualValues(t, 3, s.Retries)
		assert.Zero(t, s.Unknown)
		assert.Zero(t, s.InProgress)
	})
}

// Invariant 9: no lock is held while the host's code runs: it may ask the guard
// anything, and call it.
func TestNoLockIsHeldWhileHostCodeRuns(t *testing.T) {
	t.Parallel()
	inBubble(t, "everywhere", func(t *testing.T) {
		var g *toolguard.Guard
		asked := map[string]int{}
		var mu sync.Mutex
		ask := func(who string) {
			mu.Lock()
			asked[who]++
			mu.Unlock()
			g.Stats()
			g.Describe()
			g.ForceBreaker(toolguard.BreakerClosed)
			g.ReleaseBreaker()
		}
		shared := &toolguard.Dependencies{Max: map[string]int{"db": 5}}
		tool := plain{info: toolguard.Info{Name: "tool", Effect: toolguard.ReadOnly, Dependency: "db"}, call: func(context.Context, json.RawMessage) (toolguard.Result, error) {
			ask("tool")
			return toolguard.Result{}, toolguard.NotStarted(codeErr(toolguard.CodeAuthExpired))
		}}
		g = guardOf(t, tool, &toolguard.Options{
			Dependencies: shared,
			Concurrency:  toolguard.ConcurrencyPolicy{SerializeBy: []string{"a"}},
			Authorize:    func(context.Context, json.RawMessage) error { ask("authorize"); return nil },
			Check:        func(context.Context, json.RawMessage) error { ask("check"); return nil },
			Refresh:      func(context.Context) error { ask("refresh"); return nil },
			PassThrough:  func(error) bool { ask("pass through"); return false },
			Redact:       func(s string) string { ask("redact"); return s },
			Classifier: func(context.Context, error) (toolguard.Verdict, bool) {
				ask("classifier")
				return toolguard.Verdict{Message: "Sign in."}, true
			},
			Observer: observe(func(context.Context, toolguard.Event) { ask("observer") }),
		})
		assert.Zero(t, took(func() { do(g) }), "nothing had to wait for a lock")
		for _, who := range []string{"tool", "authorize", "check", "refresh", "pass through", "redact", "classifier", "observer"} {
			assert.Positive(t, asked[who], who)
		}
	})
}

// Invariant 10: memory is bounded. A hundred thousand calls leave nothing behind,
// eight abandoned ones eight goroutines.
func TestMemoryStaysFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second")
	}
	events := observe(func(context.Context, toolguard.Event) {})
	tool := plain{info: toolguard.Info{Name: "tool", Effect: toolguard.ReadOnly}, call: func(_ context.Context, args json.RawMessage) (toolguard.Result, error) {
		if args[len(args)-2] == '7' {
			return toolguard.Result{}, toolguard.NotFound("no such thing")
		}
		return toolguard.Result{Text: "fine"}, nil
	}}
	g := guardOf(t, tool, &toolguard.Options{Observer: events, Fallback: &toolguard.Fallback{LastGood: time.Hour}, Concurrency: toolguard.ConcurrencyPolicy{SerializeBy: []string{"n"}}})
	calls := func(from, to int) {
		for i := from; i < to; i++ {
			ctx := toolguard.WithScope(t.Context(), toolguard.Scope{Tenant: string(rune('a' + i%2000))})
			args, _ := json.Marshal(map[string]int{"n": i})
			g.Do(ctx, toolguard.Call{Args: args})
		}
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	many := 100_000
	if raceEnabled {
		many = 30_000
	}
	calls(0, 10_000)
	before, goroutines := heap(), runtime.NumGoroutine()
	calls(10_000, many)
	assert.Less(t, heap(), before+4<<20)
	assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines+2)
	s := g.Stats()
	assert.LessOrEqual(t, len(s.Breakers), 1024)
	assert.LessOrEqual(t, s.CachedResults, 64)
}

func TestAbandonedToolsStayEight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		before := runtime.NumGoroutine()
		g := guardOf(t, toolOf(toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) { <-release; return toolguard.Result{}, nil }), &toolguard.Options{
			Breaker: noBreaker, Timeout: toolguard.TimeoutPolicy{Attempt: time.Millisecond, Grace: time.Millisecond},
		})
		for range 1000 {
			do(g)
		}
		synctest.Wait() // for a timer that rings
		assert.LessOrEqual(t, runtime.NumGoroutine(), before+8)
		assert.Equal(t, 8, g.Stats().Abandoned)
		close(release)
	})
}

// What a plain success costs.
func TestAllocationsOfASuccess(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	type in struct {
		Order string `json:"order"`
	}
	args := json.RawMessage(`{"order":"A1"}`)
	for name, tt := range map[string]struct {
		tool toolguard.Tool
		most float64
	}{
		"plain": {toolOf(toolguard.ReadOnly, answers("fine")), 11},
		"typed": {toolguard.Func(toolguard.Info{Name: "find"}, func(context.Context, in) (string, error) { return "fine", nil }), 18},
	} {
		g := guardOf(t, tt.tool, nil)
		ctx := context.Background()
		got := testing.AllocsPerRun(500, func() {
			if env := g.Do(ctx, toolguard.Call{ID: "c1", Args: args}); !env.OK {
				t.Fatal(env)
			}
		})
		t.Logf("%s: %v allocations", name, got)
		assert.LessOrEqual(t, got, tt.most, name)
	}
}
