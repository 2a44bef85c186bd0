package toolguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/toolguard-go/toolguard"
)

// takes is a body that is done after a time, unless it is told to stop.
func takes(d time.Duration, text string) run {
	return func(ctx context.Context) (toolguard.Result, error) {
		select {
		case <-time.After(d):
			return toolguard.Result{Text: text}, nil
		case <-ctx.Done():
			return toolguard.Result{}, ctx.Err()
		}
	}
}

// after waits before it does what f does.
func after(d time.Duration, f run) run {
	return func(ctx context.Context) (toolguard.Result, error) {
		<-time.After(d)
		return f(ctx)
	}
}

// diary writes down when calls of its tools began and ended.
type diary struct {
	mu      sync.Mutex
	began   time.Time
	entries []string
}

func (d *diary) write(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, fmt.Sprintf("%s at %v", what, time.Since(d.began)))
}

func (d *diary) of(f run, name string) run {
	return func(ctx context.Context) (toolguard.Result, error) {
		d.write(name + " begins")
		defer d.write(name + " ends")
		return f(ctx)
	}
}

func batchOf(names ...string) (calls []toolguard.Call) {
	for i, name := range names {
		calls = append(calls, toolguard.Call{ID: fmt.Sprint("c", i), Tool: name, Args: json.RawMessage(`{}`)})
	}
	return calls
}

func verdicts(batch toolguard.Batch) (all []string) {
	for _, env := range batch.Envelopes {
		all = append(all, verdict(env))
	}
	return all
}

// hurried is a policy of one short attempt.
func hurried(d time.Duration) *toolguard.Options {
	return &toolguard.Options{Timeout: toolguard.TimeoutPolicy{Attempt: d}, Retry: toolguard.RetryPolicy{Off: true}}
}

func TestBatchAnswersEveryCallInOrder(t *testing.T) {
	t.Parallel()
	inBubble(t, "independent", func(t *testing.T) {
		box := boxOf(t, nil, says("ok"), toolNamed("slow", toolguard.ReadOnly, takes(time.Second, "slow")),
			toolNamed("fails", toolguard.ReadOnly, fails(toolguard.NotFound("none"))),
			toolNamed("panics", toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) { panic("x") }))
		calls := batchOf("slow", "fails", "ok", "panics", "nowhere", "ok")
		batch := box.DoAll(t.Context(), calls)
		assert.Equal(t, []string{"ok", "not_found/failed", "ok", "panic/failed", "unknown_tool/not_started", "ok"}, verdicts(batch))
		for i, env := range batch.Envelopes {
			requireEnvelope(t, env)
			assert.Equal(t, calls[i].ID, env.CallID)
		}
		assert.Equal(t, "slow", batch.Envelopes[0].Result.Text)
		assert.False(t, batch.OK())
	})
	box := boxOf(t, nil, says("ok"))
	assert.Empty(t, box.DoAll(t.Context(), nil).Envelopes)
	assert.Empty(t, box.DoAll(t.Context(), nil).Summary())
	//nolint:staticcheck // a host's slip
	//lint:ignore SA1012 the slip is the point
	assert.True(t, box.DoAll(nil, batchOf("ok")).OK())
}

// Read-only calls run side by side, all others alone and in their place.
func TestBatchOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &diary{began: time.Now()}
		var tools []toolguard.Tool
		for name, effect := range map[string]toolguard.Effect{"r1": toolguard.ReadOnly, "r2": toolguard.ReadOnly, "r3": toolguard.ReadOnly, "w1": toolguard.Idempotent, "w2": 0} {
			tools = append(tools, toolNamed(name, effect, d.of(takes(time.Second, name), name)))
		}
		batch := boxOf(t, nil, tools...).DoAll(t.Context(), batchOf("r1", "r2", "w1", "w2", "r3"))
		assert.True(t, batch.OK())
		slices.Sort(d.entries[:2]) // the order of what happens at one time is open
		slices.Sort(d.entries[2:4])
		assert.Equal(t, []string{
			"r1 begins at 0s", "r2 begins at 0s", "r1 ends at 1s", "r2 ends at 1s",
			"w1 begins at 1s", "w1 ends at 2s", "w2 begins at 2s", "w2 ends at 3s", "r3 begins at 3s", "r3 ends at 4s",
		}, d.entries)
	})
}

// A write that fails does not keep the next one from its turn.
func TestBatchGoesOnAfterAFailedWrite(t *testing.T) {
	t.Parallel()
	box := boxOf(t, nil, toolNamed("bad", toolguard.NonIdempotent, fails(errors.New("x"))), toolNamed("good", toolguard.NonIdempotent, answers("ok")))
	assert.Equal(t, []string{"unknown_error/unknown", "ok"}, verdicts(box.DoAll(t.Context(), batchOf("bad", "good"))))
}

func TestBatchBoundsParallelCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy toolguard.BatchPolicy
		most   int32
	}{
		{toolguard.BatchPolicy{}, 8}, {toolguard.BatchPolicy{Parallel: 1}, 1}, {toolguard.BatchPolicy{Off: true}, 20},
	} {
		inBubble(t, fmt.Sprint(c.most), func(t *testing.T) {
			var now, most atomic.Int32
			box := boxOf(t, &toolguard.ToolboxOptions{Batch: c.policy}, toolNamed("slow", toolguard.ReadOnly, func(ctx context.Context) (toolguard.Result, error) {
				most.Store(max(most.Load(), now.Add(1)))
				defer now.Add(-1)
				return takes(time.Second, "")(ctx)
			}))
			assert.True(t, box.DoAll(t.Context(), batchOf(slices.Repeat([]string{"slow"}, 20)...)).OK())
			assert.Equal(t, c.most, most.Load())
		})
	}
}

func TestBatchDeadline(t *testing.T) {
	t.Parallel()
	inBubble(t, "answers all within it and one grace period", func(t *testing.T) {
		box := boxOf(t, nil, says("ok"), toolNamed("hangs", toolguard.ReadOnly, hangs(t)), toolNamed("obeys", toolguard.ReadOnly, obeys),
			toolNamed("writes", toolguard.NonIdempotent, answers("written")))
		var batch toolguard.Batch
		assert.Equal(t, 31*time.Second, took(func() { batch = box.DoAll(t.Context(), batchOf("hangs", "obeys", "ok", "writes", "writes")) }))
		assert.Equal(t, []string{"abandoned/failed", "attempt_timeout/failed", "ok", "budget_exhausted/not_started", "budget_exhausted/not_started"}, verdicts(batch))
		assert.Contains(t, batch.Envelopes[1].Error.Message, "within 30 s", "the time it had, not the policy's")
		assert.Equal(t, toolguard.CategoryTimeout, batch.Envelopes[3].Error.Category)
		time.Sleep(time.Hour)
	})
	inBubble(t, "holds where a tool has no timeout", func(t *testing.T) {
		box := boxOf(t, &toolguard.ToolboxOptions{Options: toolguard.Options{Timeout: toolguard.TimeoutPolicy{Off: true}}},
			toolNamed("obeys", toolguard.ReadOnly, func(ctx context.Context) (toolguard.Result, error) {
				end, ok := ctx.Deadline()
				assert.True(t, ok)
				assert.Equal(t, 30*time.Second, time.Until(end))
				return obeys(ctx)
			}))
		assert.Equal(t, 30*time.Second, took(func() {
			assert.Equal(t, []string{"attempt_timeout/failed"}, verdicts(box.DoAll(t.Context(), batchOf("obeys"))))
		}))
	})
	inBubble(t, "can be set and switched off", func(t *testing.T) {
		slow := toolNamed("slow", toolguard.ReadOnly, takes(40*time.Second, ""))
		for policy, want := range map[time.Duration]string{time.Second: "attempt_timeout/failed", time.Minute: "ok"} {
			box := boxOf(t, &toolguard.ToolboxOptions{Batch: toolguard.BatchPolicy{Timeout: policy}}, slow)
			assert.Equal(t, []string{want}, verdicts(box.DoAll(t.Context(), batchOf("slow"))))
		}
		box := boxOf(t, &toolguard.ToolboxOptions{Batch: toolguard.BatchPolicy{Off: true}}, slow)
		assert.True(t, box.DoAll(t.Context(), batchOf("slow")).OK())
	})
	inBubble(t, "leaves time for a fallback", func(t *testing.T) {
		tool := toolguard.With(toolNamed("obeys", toolguard.ReadOnly, obeys), &toolguard.Options{
			Fallback: &toolguard.Fallback{Alternatives: []toolguard.Alternative{{Tool: says("other")}}},
		})
		var batch toolguard.Batch
		assert.Equal(t, 22500*time.Millisecond, took(func() { batch = boxOf(t, nil, tool).DoAll(t.Context(), batchOf("obeys")) }))
		assert.True(t, batch.OK())
		assert.Equal(t, "other", batch.Envelopes[0].Degraded.Source)
	})
	inBubble(t, "is told as such whatever the host checks", func(t *testing.T) {
		box := boxOf(t, &toolguard.ToolboxOptions{
			Options: toolguard.Options{Authorize: func(context.Context, json.RawMessage) error { return nil }}, Visible: hides(),
		}, toolNamed("obeys", toolguard.ReadOnly, obeys), toolNamed("write", 0, answers("")))
		assert.Equal(t, []string{"attempt_timeout/failed", "budget_exhausted/not_started", "budget_exhausted/not_started"}, verdicts(box.DoAll(t.Context(), batchOf("obeys", "write", "nowhere"))))
	})
	inBubble(t, "is not the caller's", func(t *testing.T) {
		box := boxOf(t, nil, toolNamed("obeys", toolguard.ReadOnly, obeys))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.Equal(t, []string{"caller_deadline/failed"}, verdicts(box.DoAll(ctx, batchOf("obeys"))))
	})
}

// The breaker counts what a batch's deadline cuts off only if the attempt had
// half the time that it usually has.
func TestBatchDeadlineAndTheBreaker(t *testing.T) {
	t.Parallel()
	for timeout, open := range map[time.Duration]bool{29 * time.Second: false, 30 * time.Second: true} {
		inBubble(t, timeout.String(), func(t *testing.T) {
			box := boxOf(t, &toolguard.ToolboxOptions{
				Options: toolguard.Options{Breaker: toolguard.BreakerPolicy{Failures: 1}}, Batch: toolguard.BatchPolicy{Timeout: timeout},
			}, toolNamed("obeys", toolguard.ReadOnly, obeys))
			box.DoAll(t.Context(), batchOf("obeys"))
			require.NoError(t, box.Replace("obeys", says("")))
			assert.Equal(t, open, codeOf(ask(box, "obeys")) == toolguard.CodeBreakerOpen)
		})
	}
}

func TestBatchCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		events := &eventLog{}
		box := boxOf(t, &toolguard.ToolboxOptions{Options: toolguard.Options{Observer: events}},
			says("ok"), toolNamed("obeys", toolguard.ReadOnly, obeys), toolNamed("writes", toolguard.NonIdempotent, answers("")))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		var batch toolguard.Batch
		assert.Equal(t, time.Second, took(func() { batch = box.DoAll(ctx, batchOf("ok", "obeys", "writes", "ok", "nowhere")) }))
		assert.Equal(t, []string{"ok", "canceled/failed", "canceled/not_started", "canceled/not_started", "canceled/not_started"}, verdicts(batch))
		assert.Len(t, events.of(toolguard.EventCall), 5)
	})
}

func TestBatchLimits(t *testing.T) {
	t.Parallel()
	ran := inOrder(answers("ok"))
	box := boxOf(t, &toolguard.ToolboxOptions{Batch: toolguard.BatchPolicy{MaxCalls: 3}}, toolNamed("r", toolguard.ReadOnly, ran.call))
	batch := box.DoAll(t.Context(), batchOf("r", "r", "r", "r", "nowhere"))
	assert.Equal(t, []string{"ok", "ok", "ok", "limit_reached/not_started", "limit_reached/not_started"}, verdicts(batch))
	assert.Equal(t, 3, ran.count())
	assert.Contains(t, batch.Envelopes[3].Error.Message, "(3)")
	assert.Equal(t, "nowhere", batch.Envelopes[4].Tool)

	many := batchOf(slices.Repeat([]string{"r"}, 300)...)
	box = boxOf(t, nil, says("r"))
	refused := 0
	for _, env := range box.DoAll(t.Context(), many).Envelopes {
		if codeOf(env) == toolguard.CodeLimitReached {
			refused++
		}
	}
	assert.Equal(t, 44, refused)
	box = boxOf(t, &toolguard.ToolboxOptions{Batch: toolguard.BatchPolicy{Off: true}}, says("r"))
	assert.True(t, box.DoAll(t.Context(), many).OK())
}

// What is beyond a limit is refused before anything runs.
func TestBatchLimitsComeFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box := boxOf(t, &toolguard.ToolboxOptions{Batch: toolguard.BatchPolicy{MaxCalls: 1}}, toolNamed("slow", 0, takes(time.Second, "")))
		began := time.Now()
		for i := range box.DoEach(t.Context(), batchOf("slow", "slow")) {
			assert.Equal(t, time.Duration(1-i)*time.Second, time.Since(began))
		}
	})
}

func TestBatchDuplicateIDs(t *testing.T) {
	t.Parallel()
	ran := inOrder(answers("ok"))
	box := boxOf(t, nil, toolNamed("pay", toolguard.NonIdempotent, ran.call), says("clock"))
	calls := batchOf("pay", "pay", "clock", "clock", "clock")
	calls[1].ID, calls[2].ID, calls[3].ID = calls[0].ID, "", ""
	calls[4].ID = calls[0].ID
	batch := box.DoAll(t.Context(), calls)
	assert.Equal(t, []string{"ok", "duplicate_call_id/not_started", "ok", "ok", "duplicate_call_id/not_started"}, verdicts(batch))
	assert.Equal(t, 1, ran.count())
	env := batch.Envelopes[1]
	requireEnvelope(t, env)
	assert.Contains(t, env.Error.Message, "has the id c0")
	assert.False(t, env.Error.Retryable)
	assert.Equal(t, toolguard.CategoryParam, env.Error.Category)

	calls[0].ID = strings.Repeat("x", 1<<20)
	calls[1].ID = calls[0].ID
	assert.LessOrEqual(t, len(box.DoAll(t.Context(), calls).Envelopes[1].Error.Message), 256)
}

func TestBatchStops(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		policy toolguard.BatchPolicy
		want   []string
	}{
		"never by itself": {want: []string{"business_rule/failed", "ok", "ok", "ok"}},
		"for a tool":      {toolguard.BatchPolicy{StopTools: []string{"begin"}}, []string{"business_rule/failed", "batch_stopped/not_started", "batch_stopped/not_started", "batch_stopped/not_started"}},
		"for a code":      {toolguard.BatchPolicy{StopCodes: []string{"business_rule"}}, []string{"business_rule/failed", "batch_stopped/not_started", "batch_stopped/not_started", "batch_stopped/not_started"}},
		"for a category":  {toolguard.BatchPolicy{StopCodes: []string{"business"}}, []string{"business_rule/failed", "batch_stopped/not_started", "batch_stopped/not_started", "batch_stopped/not_started"}},
		"not for others":  {toolguard.BatchPolicy{StopTools: []string{"write"}, StopCodes: []string{"timeout"}}, []string{"business_rule/failed", "ok", "ok", "ok"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box := boxOf(t, &toolguard.ToolboxOptions{Batch: tc.policy},
				toolNamed("begin", toolguard.NonIdempotent, fails(toolguard.Business("no"))), toolNamed("write", toolguard.NonIdempotent, answers("")), says("clock"))
			batch := box.DoAll(t.Context(), batchOf("begin", "write", "clock", "clock"))
			assert.Equal(t, tc.want, verdicts(batch))
			if env := batch.Envelopes[1]; !env.OK {
				requireEnvelope(t, env)
				assert.True(t, env.Error.Retryable)
			}
		})
	}
	inBubble(t, "awaits what has begun", func(t *testing.T) {
		box := boxOf(t, &toolguard.ToolboxOptions{Batch: toolguard.BatchPolicy{Parallel: 2, StopCodes: []string{"not_found"}}},
			toolNamed("bad", toolguard.ReadOnly, after(time.Millisecond, fails(toolguard.NotFound("none")))), toolNamed("slow", toolguard.ReadOnly, takes(time.Second, "")))
		batch := box.DoAll(t.Context(), batchOf("slow", "bad", "slow", "slow"))
		assert.Equal(t, []string{"ok", "not_found/failed", "batch_stopped/not_started", "batch_stopped/not_started"}, verdicts(batch))
	})
}

// One call that hangs holds no other's answer back.
func TestDoEachYieldsAnswersAsTheyCome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box := boxOf(t, nil, toolNamed("hangs", toolguard.ReadOnly, hangs(t)), toolNamed("slow", toolguard.ReadOnly, takes(2*time.Second, "")), says("ok"))
		began := time.Now()
		var got []string
		for i, env := range box.DoEach(t.Context(), batchOf("hangs", "slow", "ok")) {
			got = append(got, fmt.Sprint(i, " ", verdict(env), " ", time.Since(began)))
		}
		assert.Equal(t, []string{"2 ok 0s", "1 ok 2s", "0 abandoned/failed 31s"}, got)
	})
}

// A loop that is slow keeps nobody waiting.
func TestDoEachDoesNotWaitForTheLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box := boxOf(t, nil, toolNamed("write", 0, takes(time.Second, "")))
		assert.Equal(t, 10*time.Second, took(func() {
			for range box.DoEach(t.Context(), batchOf("write", "write", "write")) {
				time.Sleep(3 * time.Second)
			}
		}))
	})
}

// Leaving early lets no more calls begin, awaits those in progress and loses no
// event; the bubble would notice a goroutine that stays.
func TestDoEachLeftEarly(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(){"break": nil, "panic": func() { panic("the loop's own") }} {
		inBubble(t, name, func(t *testing.T) {
			events, wrote := &eventLog{}, inOrder(takes(time.Second, "written"))
			box := boxOf(t, &toolguard.ToolboxOptions{Options: toolguard.Options{Observer: events}},
				says("ok"), toolNamed("write", toolguard.NonIdempotent, wrote.call))
			assert.Equal(t, time.Second, took(func() {
				defer func() { assert.Equal(t, leave != nil, recover() != nil) }()
				for range box.DoEach(t.Context(), batchOf("ok", "write", "write", "write")) {
					time.Sleep(time.Millisecond) // until the first write has begun
					if leave != nil {
						leave()
					}
					break
				}
			}))
			assert.Equal(t, 1, wrote.count())
			var codes []toolguard.Code
			for _, e := range events.of(toolguard.EventCall) {
				codes = append(codes, e.Code)
			}
			assert.Equal(t, []toolguard.Code{"", "", toolguard.CodeCanceled, toolguard.CodeCanceled}, codes)
			assert.Zero(t, box.Stats().Tools["write"].InProgress)
		})
	}
}

// A host may reuse its slice while the loop runs.
func TestDoEachKeepsTheCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := batchOf("write", "write", "write")
		for i, env := range boxOf(t, nil, toolNamed("write", 0, takes(time.Second, ""))).DoEach(t.Context(), calls) {
			assert.Equal(t, fmt.Sprint("c", i), env.CallID)
			clear(calls)
		}
	})
}

func TestDoEachRunsAgainEachTime(t *testing.T) {
	t.Parallel()
	ran := inOrder(answers("ok"))
	each := boxOf(t, nil, toolNamed("r", toolguard.ReadOnly, ran.call)).DoEach(t.Context(), batchOf("r"))
	assert.Zero(t, ran.count(), "nothing runs before the loop")
	for range 2 {
		for _, env := range each {
			assert.True(t, env.OK)
		}
	}
	assert.Equal(t, 2, ran.count())
}

// Whatever tools do: one answer for each call, in order, one event for each, in
// bounded time, and never two mutating calls at once or out of order.
func TestBatchProperties(t *testing.T) {
	t.Parallel()
	type plan struct {
		tools []string
		ids   []string
		each  bool
		cut   time.Duration
	}
	names := []string{"ok", "slow", "fails", "panics", "goexits", "hangs", "w_ok", "w_slow", "w_fails", "w_hangs", "nowhere", ""}
	rapid.Check(t, func(rt *rapid.T) {
		p := plan{
			tools: rapid.SliceOfN(rapid.SampledFrom(names), 0, 14).Draw(rt, "tools"),
			each:  rapid.Bool().Draw(rt, "each"),
			cut:   rapid.SampledFrom([]time.Duration{0, 0, 500 * time.Millisecond, 3 * time.Second}).Draw(rt, "cut"),
		}
		for range p.tools {
			p.ids = append(p.ids, rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e", "f"}).Draw(rt, "id"))
		}
		var wrong []string
		synctest.Test(t, func(t *testing.T) {
			check := func(ok bool, format string, args ...any) {
				if !ok {
					wrong = append(wrong, fmt.Sprintf(format, args...))
				}
			}
			release := make(chan struct{})
			var writing atomic.Int32
			var order []string // written by one write at a time, or the test has failed
			write := func(name string, f run) plain {
				tool := toolNamed(name, toolguard.NonIdempotent, f)
				tool.call = func(ctx context.Context, args json.RawMessage) (toolguard.Result, error) {
					order = append(order, string(args))
					check(writing.Add(1) == 1, "two writes at once")
					defer writing.Add(-1)
					return f(ctx)
				}
				return tool
			}
			bad := func(way func()) run {
				return func(context.Context) (toolguard.Result, error) { way(); return toolguard.Result{}, nil }
			}
			stuck := func(context.Context) (toolguard.Result, error) { <-release; return toolguard.Result{}, nil }
			events := &eventLog{}
			box := boxOf(t, &toolguard.ToolboxOptions{Options: toolguard.Options{
				Observer: events, Breaker: toolguard.BreakerPolicy{Off: true},
				Timeout: toolguard.TimeoutPolicy{MaxAbandoned: 100},
			}},
				says("ok"), toolNamed("slow", toolguard.ReadOnly, takes(time.Second, "")), toolNamed("fails", toolguard.ReadOnly, fails(toolguard.Business("no"))),
				toolNamed("panics", toolguard.ReadOnly, bad(badWays(t)["panic"])), toolNamed("goexits", toolguard.ReadOnly, bad(badWays(t)["goexit"])),
				toolNamed("hangs", toolguard.ReadOnly, stuck),
				write("w_ok", answers("")), write("w_slow", takes(time.Second, "")), write("w_fails", fails(errors.New("x"))),
				toolNamed("w_hangs", 0, stuck))
			ctx := t.Context()
			if p.cut > 0 {
				c, cancel := context.WithTimeout(ctx, p.cut)
				defer cancel()
				ctx = c
			}
			var calls []toolguard.Call
			for i, name := range p.tools {
				calls = append(calls, toolguard.Call{ID: p.ids[i], Tool: name, Args: json.RawMessage(fmt.Sprintf(`{"n":"%02d"}`, i))})
			}
			got := make([]int, len(calls))
			hear := func(i int, env toolguard.Envelope) {
				got[i]++
				check(env.CallID == p.ids[i], "answer %d has id %q", i, env.CallID)
				check(env.OK == (env.Error == nil), "answer %d", i)
			}
			elapsed := took(func() {
				if p.each {
					for i, env := range box.DoEach(ctx, calls) {
						hear(i, env)
					}
					return
				}
				for i, env := range box.DoAll(ctx, calls).Envelopes {
					hear(i, env)
				}
			})
			check(elapsed <= 31*time.Second, "took %v", elapsed)
			for i, n := range got {
				check(n == 1, "call %d has %d answers", i, n)
			}
			check(slices.IsSorted(order), "writes ran in the order %v", order)
			check(len(events.of(toolguard.EventCall)) == len(calls), "%d events", len(events.of(toolguard.EventCall)))
			close(release)
		})
		assert.Empty(rt, wrong)
	})
}

func TestSummary(t *testing.T) {
	t.Parallel()
	box := boxOf(t, nil, says("clock"), says("watch"),
		toolNamed("order", toolguard.ReadOnly, fails(toolguard.NotFound("There is no order A-17."))),
		toolNamed("pay", toolguard.NonIdempotent, fails(errors.New("lost"))))
	calls := batchOf("clock", "order", "pay", "nowhere", "watch")
	calls[4].ID = ""
	assert.Equal(t, strings.Join([]string{
		"Calls: 5; succeeded: 2; failed: 1; not started: 1; outcome unknown: 1.",
		"Succeeded: clock (c0), watch.",
		"- order (c1): There is no order A-17.",
		"- pay (c2): The call to pay failed for an unknown reason. It may or may not have taken effect.",
		"- nowhere (c3): There is no tool named nowhere.",
		"Do first what the suggestions of the failed calls say. Then answer from the calls that succeeded, say what is missing and why, and do not invent it.",
	}, "\n"), box.DoAll(t.Context(), calls).Summary())

	for i := range calls {
		calls[i].Locale = "zh"
	}
	assert.Equal(t, strings.Join([]string{
		"共 5 个调用：成功 2 个，失败 1 个，未执行 1 个，结果未知 1 个。",
		"成功的调用：clock (c0)、watch。",
		"- order（c1）：There is no order A-17.",
		"- pay（c2）：对 pay 的这次调用失败，原因不明。操作可能已经生效，也可能没有。",
		"- nowhere（c3）：没有名为 nowhere 的工具。",
		"请先按照失败调用的建议去做。然后根据成功的调用回答，说明缺少什么以及原因，不要编造。",
	}, "\n"), box.DoAll(t.Context(), calls).Summary())

	assert.Empty(t, box.DoAll(t.Context(), batchOf("clock", "watch")).Summary())
	none := box.DoAll(t.Context(), batchOf("order")).Summary()
	assert.True(t, strings.HasSuffix(none, "Then tell the user what could not be done and why, and do not invent a result."), none)
	assert.NotContains(t, none, "Succeeded:")
}

func TestSummaryIsBounded(t *testing.T) {
	t.Parallel()
	box := boxOf(t, nil, says("clock"), toolNamed("order", toolguard.ReadOnly, fails(toolguard.NotFound("%s", strings.Repeat("x", 5000)))))
	calls := batchOf(slices.Repeat([]string{"clock", "order"}, 120)...)
	for i := range calls {
		calls[i].ID += strings.Repeat("é", 100)
	}
	text := box.DoAll(t.Context(), calls).Summary()
	assert.LessOrEqual(t, len(text), 2048+512)
	assert.Contains(t, text, "more\n")
	assert.True(t, strings.HasPrefix(text, "Calls: 240; succeeded: 120"), text)
	assert.Empty(t, toolguard.Batch{}.Summary())
	assert.NotEmpty(t, toolguard.Batch{Envelopes: []toolguard.Envelope{{Error: &toolguard.Failure{}}}}.Summary())
}

// Two refunds in one message are two steps of a run: the keys differ, and each
// is the same whenever the run is resumed.
func TestCallsOfABatchHaveStepsOfTheirOwn(t *testing.T) {
	t.Parallel()
	var seen sync.Map
	tool := toolguard.Action(toolguard.Info{Name: "refund"}, func(ctx context.Context, in struct{ ID string }) error {
		seen.Store(in.ID, toolguard.Key(ctx)+" "+toolguard.ScopeFrom(ctx).Step)
		return nil
	})
	box, err := toolguard.NewToolbox(nil, tool)
	require.NoError(t, err)
	ctx := toolguard.WithScope(t.Context(), toolguard.Scope{Run: "r", Step: "outer"})
	calls := []toolguard.Call{
		{Tool: "refund", Args: []byte(`{"ID":"a"}`), Step: "1.0"}, {Tool: "refund", Args: []byte(`{"ID":"b"}`), Step: "1.1"},
		{Tool: "refund", Args: []byte(`{"ID":"c"}`)},
	}
	run := func() (all [3]any) {
		require.True(t, box.DoAll(ctx, calls).OK())
		for i, id := range []string{"a", "b", "c"} {
			all[i], _ = seen.Load(id)
		}
		return all
	}
	first := run()
	assert.Equal(t, first, run())
	for i, step := range []string{"1.0", "1.1", "outer.2"} {
		key, got, _ := strings.Cut(first[i].(string), " ")
		assert.Equal(t, step, got)
		assert.Len(t, key, 64)
	}
	assert.NotEqual(t, first[0].(string)[:64], first[1].(string)[:64])
}

// Nine identical calls in one message have one run, and each has its answer: reads
// join it or use its result; writes are told that it is done.
func TestIdenticalCallsOfABatchRunOnce(t *testing.T) {
	t.Parallel()
	nine := batchOf(slices.Repeat([]string{"tool"}, 9)...)
	for _, effect := range []toolguard.Effect{toolguard.ReadOnly, toolguard.Idempotent, toolguard.NonIdempotent} {
		inBubble(t, effect.String(), func(t *testing.T) {
			tool := bookingTool(effect)
			box := boxOf(t, nil, tool)
			batch := box.DoAll(turn("one"), nine)
			assert.Equal(t, 1, tool.ran())
			assertOneRun(t, batch.Envelopes)
			again := box.Do(turn("one"), nine[0])
			assert.Equal(t, "loop_detected/not_started", verdict(again), "in a message of its own it is a repeat")
		})
	}
	inBubble(t, "without turns", func(t *testing.T) {
		tool := bookingTool(toolguard.ReadOnly)
		box := boxOf(t, nil, tool)
		for n := range 2 {
			assertOneRun(t, box.DoAll(turn(""), nine[:2]).Envelopes)
			assert.Equal(t, n+1, tool.ran(), "another message may be of another turn")
		}
		assertOneRun(t, boxOf(t, nil, tool).DoAll(turn(""), nine).Envelopes)
		assert.Equal(t, 3, tool.ran())
	})
	for name, j := range map[string]toolguard.Journal{"writes without turns": nil, "and with a journal": toolguard.NewMemoryJournal()} {
		inBubble(t, name, func(t *testing.T) {
			tool := bookingTool(toolguard.NonIdempotent)
			box := boxOf(t, &toolguard.ToolboxOptions{Options: toolguard.Options{Journal: j}}, tool)
			for n := range 2 {
				assertOneRun(t, box.DoAll(turn(""), nine[:2]).Envelopes)
				assert.Equal(t, n+1, tool.ran(), "another message may be of another turn")
			}
		})
	}
}

// bookingTool takes a second to book.
func bookingTool(effect toolguard.Effect) *counted {
	tool := countedTool(effect, "")
	tool.answer = func(context.Context, int, string) (toolguard.Result, error) {
		time.Sleep(time.Second)
		return toolguard.Result{Text: "booked"}, nil
	}
	return tool
}

// assertOneRun: of reads that begin together any may be the one that runs.
func assertOneRun(t *testing.T, envelopes []toolguard.Envelope) {
	copies := 0
	for i, env := range envelopes {
		assert.Equal(t, fmt.Sprint("c", i), env.CallID)
		assert.Equal(t, "ok", verdict(env))
		assert.Equal(t, "booked", env.Result.Text)
		if noted(env, "joined") != nil || noted(env, "reused") != nil || noted(env, "replayed") != nil {
			copies++
		}
	}
	assert.Equal(t, len(envelopes)-1, copies, "all but one say where they come from")
}
