package toolguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// case h01: the model plans anew after a timeout and sends the same thing again.
func TestUnknownWriteIsNotRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tool := failingTool(toolguard.NonIdempotent, errors.New("it broke"))
		tool.info.VerifyWith = []string{"get_charge"}
		s := sessionsOf(t, toolguard.SessionPolicy{})
		g := guardOf(t, tool, oneTry(s))
		assert.Equal(t, "unknown_error/unknown", verdict(send(turn("one"), g, `{"amount":500,"order":"A1"}`)))
		for _, name := range []string{"one", "two", ""} { // a new turn changes nothing
			env := send(turn(name), g, `{"order":"A1","amount":500}`)
			assert.Equal(t, "in_doubt/unknown", verdict(env))
			assert.False(t, env.Error.Retryable)
			assert.Contains(t, env.Suggestion, "Check with get_charge")
		}
		assert.Equal(t, 1, tool.ran())
		assert.EqualValues(t, 3, s.Stats().Doubts)
		send(turn("two"), g, `{"order":"A2","amount":500}`)
		assert.Equal(t, 2, tool.ran(), "other arguments are another call")
		s.Forget(toolguard.Scope{Session: "chat"})
		send(turn("two"), g, `{"order":"A1","amount":500}`)
		assert.Equal(t, 3, tool.ran(), "it is remembered while the conversation is kept")
	})
}

// Refusals that have nothing to do with it do not end the doubt.
func TestDoubtOutlastsRefusals(t *testing.T) {
	t.Parallel()
	tool := failingTool(toolguard.NonIdempotent, errors.New("it broke"))
	opts := oneTry(sessionsOf(t, toolguard.SessionPolicy{}))
	opts.Loop.ToolCalls = 2
	g := guardOf(t, tool, opts)
	do2(turn("one"), g)
	assert.Equal(t, toolguard.CodeInDoubt, codeOf(do2(turn("one"), g)))
	assert.Equal(t, toolguard.CodeLimitReached, codeOf(do2(turn("one"), g)))
	opts.Authorize = func(ctx context.Context, _ json.RawMessage) error {
		if toolguard.ScopeFrom(ctx).Turn == "denied" {
			return toolguard.Permission("not now")
		}
		return nil
	}
	g = guardOf(t, tool, opts)
	assert.Equal(t, "permission_denied/not_started", verdict(do2(turn("denied"), g)))
	canceled, cancel := context.WithCancel(turn("one"))
	cancel()
	do2(canceled, g)
	assert.Equal(t, toolguard.CodeInDoubt, codeOf(do2(turn("two"), g)))
	assert.Equal(t, 1, tool.ran())
}

func TestRepeatableToolsLeaveNoDoubt(t *testing.T) {
	t.Parallel()
	for _, effect := range []toolguard.Effect{toolguard.ReadOnly, toolguard.Idempotent} {
		tool := failingTool(effect, errors.New("it broke"))
		g := guardOf(t, tool, oneTry(sessionsOf(t, toolguard.SessionPolicy{})))
		do2(turn("one"), g)
		do2(turn("one"), g)
		assert.Equal(t, 2, tool.ran(), effect)
	}
}

// A downstream that honours keys may be asked again, with the key of before; when
// it has forgotten that key, it may not.
func TestKeyIsTakenOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var keys []string
		tool := failingTool(toolguard.IdempotentByKey, nil)
		tool.info.KeyTTL = 30 * time.Minute
		tool.answer = func(ctx context.Context, _ int, _ string) (toolguard.Result, error) {
			keys = append(keys, toolguard.Key(ctx))
			return toolguard.Result{}, errors.New("it broke")
		}
		g := guardOf(t, tool, oneTry(sessionsOf(t, toolguard.SessionPolicy{})))
		do2(turn("one"), g)
		do2(turn("one"), g)
		require.Len(t, keys, 2)
		assert.NotEmpty(t, keys[0])
		assert.Equal(t, keys[0], keys[1])
		time.Sleep(40 * time.Minute)
		assert.Equal(t, "in_doubt/unknown", verdict(do2(turn("two"), g)))
		assert.Len(t, keys, 2)
	})
}

// Without having asked for its key, a tool cannot have sent it.
func TestUnusedKeyProtectsNothing(t *testing.T) {
	t.Parallel()
	tool := failingTool(toolguard.IdempotentByKey, errors.New("it broke"))
	g := guardOf(t, tool, oneTry(sessionsOf(t, toolguard.SessionPolicy{})))
	do2(turn("one"), g)
	assert.Equal(t, toolguard.CodeInDoubt, codeOf(do2(turn("one"), g)))
	assert.Equal(t, 1, tool.ran())
}

type payment struct {
	Order string `json:"order"`
}

// The downstream is asked under the key of the call in doubt, and its word ends
// the doubt: of an effect at once, of none only when nothing is on its way any
// more, and never while the attempt may still run.
func TestDoubtIsConfirmed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		says  toolguard.Outcome
		after time.Duration
		hangs bool
		want  string // "" is that it runs again
	}{
		{"it succeeded", toolguard.OutcomeSucceeded, 0, false, "receipt 7"},
		{"it failed", toolguard.OutcomeFailed, 0, false, ""},
		{"nothing is known of it", toolguard.OutcomeNotStarted, 59 * time.Second, false, "in_doubt/unknown"},
		{"nothing is known of it, a minute later", toolguard.OutcomeNotStarted, time.Minute, false, ""},
		{"nobody knows", toolguard.OutcomeUnknown, time.Hour / 2, false, "in_doubt/unknown"},
		{"it failed, but still runs", toolguard.OutcomeFailed, time.Hour / 2, true, "in_doubt/unknown"},
		{"nothing is known of it, but it still runs", toolguard.OutcomeNotStarted, time.Hour / 2, true, "in_doubt/unknown"},
		{"it succeeded and still runs", toolguard.OutcomeSucceeded, 0, true, "receipt 7"},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			p := &payments{}
			if tc.hangs {
				p.hang = untilReleased(t)
			}
			g := guardOf(t, p.tool(), oneTry(sessionsOf(t, toolguard.SessionPolicy{})))
			again := func() toolguard.Envelope { return send(turn("one"), g, `{"order":"A1"}`) }
			require.Equal(t, toolguard.OutcomeUnknown, again().Error.Outcome)
			p.says = tc.says
			time.Sleep(tc.after)
			env := again()
			p.mu.Lock()
			assert.Len(t, p.keys, 1, "one key for all")
			p.mu.Unlock()
			switch {
			case tc.want == "":
				assert.Equal(t, "paid now", env.Result.Text)
				assert.NotNil(t, noted(again(), "replayed"))
				assert.Equal(t, 2, p.seen(env.Key, 0))
			case env.OK:
				assert.Equal(t, tc.want, env.Result.Text)
				assert.NotNil(t, noted(again(), "replayed"), "what is confirmed is done")
				assert.Equal(t, 1, p.seen(env.Key, 0))
			default:
				assert.Equal(t, tc.want, verdict(env))
				assert.Equal(t, 1, p.seen(env.Key, 0))
			}
		})
	}
}

// payments lose the first payment and can be asked what became of it.
type payments struct {
	says toolguard.Outcome
	hang func() // what the first payment does instead of breaking

	mu   sync.Mutex // an abandoned payment still runs
	runs int
	keys map[string]bool
}

// seen keeps a key, and counts a payment.
func (p *payments) seen(key string, paying int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.keys == nil {
		p.keys = map[string]bool{}
	}
	p.keys[key] = true
	p.runs += paying
	return p.runs
}

func (p *payments) tool() toolguard.Tool {
	pay := toolguard.Func(toolguard.Info{Name: "pay", Effect: toolguard.NonIdempotent}, p.pay)
	pay.Status = func(_ context.Context, key string, _ payment) (toolguard.Outcome, toolguard.Result, error) {
		p.seen(key, 0)
		return p.says, toolguard.Result{Text: "receipt 7"}, nil
	}
	return pay
}

func (p *payments) pay(ctx context.Context, _ payment) (string, error) {
	if p.seen(toolguard.Key(ctx), 1) > 1 {
		return "paid now", nil
	}
	if p.hang != nil {
		p.hang()
	}
	return "", errors.New("it broke")
}

// A person who has looked ends the doubt too.
func TestResolve(t *testing.T) {
	t.Parallel()
	scope := toolguard.Scope{Session: "chat", Turn: "one", Principal: "ann"}
	for _, tc := range []struct {
		says toolguard.Outcome
		want string
		runs int
	}{
		{toolguard.OutcomeFailed, "unknown_error/unknown", 2},
		{toolguard.OutcomeSucceeded, "result_unavailable/succeeded", 1},
	} {
		tool := failingTool(toolguard.NonIdempotent, errors.New("it broke"))
		s := sessionsOf(t, toolguard.SessionPolicy{})
		g := guardOf(t, tool, oneTry(s))
		past := do2(turn("one"), g).Past(nil)
		require.Error(t, s.Resolve(scope, past), "nobody knows yet")
		past.Outcome = tc.says
		require.Error(t, s.Resolve(toolguard.Scope{}, past))
		require.Error(t, s.Resolve(scope, toolguard.PastCall{Outcome: tc.says}))
		require.NoError(t, s.Resolve(scope, past))
		env := do2(turn("one"), g)
		assert.Equal(t, tc.want, verdict(env))
		assert.Equal(t, tc.runs, tool.ran())
	}
}

// A write whose result is too large to keep, or is refused, is done all the same.
func TestDoneWithoutResult(t *testing.T) {
	t.Parallel()
	tool := countedTool(toolguard.NonIdempotent, string(make([]byte, 4096)))
	g := guardOf(t, tool, oneTry(sessionsOf(t, toolguard.SessionPolicy{MaxKept: 16 << 10})))
	assert.True(t, do2(turn("one"), g).OK)
	env := do2(turn("one"), g)
	assert.Equal(t, "result_unavailable/succeeded", verdict(env))
	assert.Contains(t, env.Suggestion, "it did take effect")
	assert.Equal(t, 1, tool.ran())
}

// Many results of reads do not make a conversation forget what it wrote.
func TestReadsDoNotPushOutWrites(t *testing.T) {
	t.Parallel()
	s := sessionsOf(t, toolguard.SessionPolicy{MaxKept: 64 << 10})
	write := countedTool(toolguard.NonIdempotent, "written")
	read := countedTool(toolguard.ReadOnly, string(make([]byte, 2048)))
	read.info.Name = "read"
	opts := oneTry(s)
	opts.Loop.ToolCalls = 1000
	w, r := guardOf(t, write, opts), guardOf(t, read, opts)
	do2(turn("one"), w)
	for i := range 150 {
		send(turn("one"), r, fmt.Sprintf(`{"n":%d}`, i))
	}
	assert.False(t, s.Stats().KeptBytes > 64<<10)
	assert.Equal(t, toolguard.OutcomeSucceeded, do2(turn("one"), w).Error.Outcome)
	assert.Equal(t, 1, write.ran())
}

// Whatever runs at the same time, a write in doubt runs once. A call that looked
// before the doubt arose must not slip past it.
func TestDoubtAndJoinLeaveNoGap(t *testing.T) {
	t.Parallel()
	for range 200 {
		tool := failingTool(toolguard.NonIdempotent, errors.New("it broke"))
		g := guardOf(t, tool, oneTry(sessionsOf(t, toolguard.SessionPolicy{})))
		done := make(chan string, 8)
		for range cap(done) {
			go func() {
				done <- verdict(g.Do(turn("one"), toolguard.Call{Args: json.RawMessage(`{}`)}))
			}()
		}
		for range cap(done) {
			assert.Contains(t, []string{"unknown_error/unknown", "in_doubt/unknown", "loop_detected/not_started"}, <-done)
		}
		require.Equal(t, 1, tool.ran())
	}
}

// That a call under a key that was taken over did nothing proves nothing of the one
// before: the doubt stays, and with it the key.
func TestATakenOverKeyStaysInDoubt(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]error{"no effect": toolguard.NoEffect(errors.New("no")), "not started": toolguard.NotStarted(errors.New("no"))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var keys []string
			tool := failingTool(toolguard.IdempotentByKey, nil)
			tool.answer = func(ctx context.Context, n int, _ string) (toolguard.Result, error) {
				switch keys = append(keys, toolguard.Key(ctx)); n {
				case 1:
					return toolguard.Result{}, errors.New("it broke")
				case 2:
					return toolguard.Result{}, says
				default:
					return toolguard.Result{Text: "paid"}, nil
				}
			}
			g := guardOf(t, tool, oneTry(sessionsOf(t, toolguard.SessionPolicy{})))
			do2(turn("one"), g)
			assert.Equal(t, toolguard.OutcomeUnknown, do2(turn("one"), g).Error.Outcome)
			assert.True(t, do2(turn("one"), g).OK)
			require.Len(t, keys, 3)
			assert.Equal(t, keys[0], keys[2])
		})
	}
}

// The downstream forgets the key a while after it was first used, however often a
// call that took it over has failed since.
func TestATakenOverKeyGetsOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tool := failingTool(toolguard.IdempotentByKey, nil)
		tool.info.KeyTTL = 30 * time.Minute
		tool.answer = func(ctx context.Context, _ int, _ string) (toolguard.Result, error) {
			toolguard.Key(ctx)
			return toolguard.Result{}, errors.New("it broke")
		}
		g := guardOf(t, tool, oneTry(sessionsOf(t, toolguard.SessionPolicy{})))
		do2(turn("one"), g)
		time.Sleep(20 * time.Minute)
		do2(turn("two"), g)
		assert.Equal(t, 2, tool.ran())
		time.Sleep(20 * time.Minute)
		assert.Equal(t, "in_doubt/unknown", verdict(do2(turn("three"), g)))
		assert.Equal(t, 2, tool.ran())
	})
}

// What ran while the journal did not answer, that does not know of: the conversation
// does.
func TestTheConversationKnowsWhatTheJournalDidNotTake(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		says toolguard.Outcome
		want string
		runs int
	}{
		"nobody knows":     {toolguard.OutcomeUnknown, "in_doubt/unknown", 1},
		"it happened":      {toolguard.OutcomeSucceeded, "ok", 1},
		"nothing was done": {toolguard.OutcomeFailed, "ok", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, down := &bank{loses: true}, true
			tool := refundTool(b, toolguard.IdempotentByKey)
			mem := toolguard.NewMemoryJournal()
			j := &faulty{Journal: mem, scan: func() error {
				if down {
					return errDisk
				}
				return nil
			}}
			opts := oneTry(sessionsOf(t, toolguard.SessionPolicy{}))
			opts.Journal = j
			assert.Equal(t, toolguard.OutcomeUnknown, refundOf(inTurn("1"), guardOf(t, tool, opts), "A").Error.Outcome)
			down, b.loses = false, false
			tool.Status = func(_ context.Context, key string, _ refundIn) (toolguard.Outcome, toolguard.Result, error) {
				assert.Equal(t, 1, b.keys[key], "it is asked by the key of the call in doubt")
				return c.says, toolguard.Result{}, nil
			}
			assert.Equal(t, c.want, verdict(refundOf(inTurn("1"), guardOf(t, tool, opts), "A")))
			assert.Equal(t, c.runs, b.count())
		})
	}
}
