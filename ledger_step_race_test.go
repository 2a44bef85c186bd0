package toolguard_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// What a person lets run again in one step is that step's: another one neither runs
// beside it nor takes its place.
func TestALeaveToRunAgainIsOfOneStep(t *testing.T) {
	t.Parallel()
	b, j := &bank{loses: true}, toolguard.NewMemoryJournal()
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j})
	first := refundOf(inStep("1"), g, "A")
	decide(t, j, toolguard.Ruling{Key: first.Key, Verdict: toolguard.RulingRetry})
	b.set(false, nil)
	assert.Equal(t, "in_doubt/unknown", verdict(refundOf(inStep("2"), g, "A")))
	assertOnce(t, b)
	assert.True(t, g.Resume(t.Context(), first.Key).OK)
	assert.Equal(t, 2, b.count())
}

// A step that did nothing, and is resumed, minds what other steps did meanwhile.
func TestAResumedStepMindsTheOthers(t *testing.T) {
	t.Parallel()
	b, j := &bank{refuses: toolguard.NotStarted(errLost)}, toolguard.NewMemoryJournal()
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Retry: once})
	assert.Equal(t, toolguard.OutcomeNotStarted, refundOf(inStep("1"), g, "A").Error.Outcome)
	b.set(true, nil)
	assert.Equal(t, toolguard.OutcomeUnknown, refundOf(inStep("2"), g, "A").Error.Outcome)
	assert.Equal(t, "in_doubt/unknown", verdict(refundOf(inStep("1"), g, "A")))
	assertOnce(t, b)
}

// interrupted lets something happen before the first write.
type interrupted struct {
	*toolguard.MemoryJournal
	before func()
}

func (i *interrupted) Write(ctx context.Context, was toolguard.Version, e toolguard.Entry, r ...toolguard.Record) (toolguard.Entry, bool, error) {
	if f := i.before; f != nil {
		i.before = nil
		f()
	}
	return i.MemoryJournal.Write(ctx, was, e, r...)
}

// While one step finds that another did nothing, that one is resumed, and runs.
func TestAnotherStepRunsMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, j := &bank{refuses: toolguard.MaybeDone(errLost)}, &interrupted{MemoryJournal: toolguard.NewMemoryJournal()}
		release, done := make(chan struct{}), make(chan toolguard.Envelope, 1)
		guard := func(j toolguard.Journal, wait func()) *toolguard.Guard {
			tool := toolguard.Func(toolguard.Info{Name: "refund"}, func(ctx context.Context, in refundIn) (string, error) {
				wait()
				return b.refund(ctx, in)
			})
			tool.Status = b.status
			return guardOf(t, tool, &toolguard.Options{Journal: j})
		}
		refundOf(inStep("1"), guard(j.MemoryJournal, func() {}), "A")
		time.Sleep(10 * time.Minute)
		b.set(false, nil)
		j.before = func() {
			go func() { done <- refundOf(inStep("1"), guard(j.MemoryJournal, func() { <-release }), "A") }()
			synctest.Wait()
		}
		assert.Equal(t, "in_progress/unknown", verdict(refundOf(inStep("2"), guard(j, func() {}), "A")))
		close(release)
		assert.True(t, (<-done).OK)
		assertOnce(t, b)
	})
}

// A call whose lease is over, and that settles at the last moment, is no doubt.
func TestAnotherStepSettlesAtTheLastMoment(t *testing.T) {
	t.Parallel()
	for name, asks := range map[string]bool{"with a status query": true, "without": false} {
		inBubble(t, name, func(t *testing.T) {
			b, j := new(bank), &interrupted{MemoryJournal: toolguard.NewMemoryJournal()}
			tool := refundTool(b, toolguard.NonIdempotent)
			if asks {
				tool.Status = b.status
			}
			gone := &faulty{Journal: j.MemoryJournal, before: func(n int) error {
				if n > 1 {
					return errDisk
				}
				return nil
			}}
			require.True(t, refundOf(inStep("1"), guardOf(t, tool, &toolguard.Options{Journal: gone}), "A").OK)
			time.Sleep(time.Hour)
			j.before = func() {
				e := entry(t, j.MemoryJournal)
				was := e.Version()
				e.State, e.Due = toolguard.StateSucceeded, 0
				_, ok, err := j.Write(t.Context(), was, e)
				assert.True(t, ok && err == nil)
			}
			env := refundOf(inStep("2"), guardOf(t, tool, &toolguard.Options{Journal: j}), "A")
			assert.Equal(t, "result_unavailable/succeeded", verdict(env))
			assertOnce(t, b)
		})
	}
}

// The model was told that nobody knows. When somebody does, it need not have been
// told so: in its turn, making the same call in another step is no second refund.
func TestWhatIsSettledLaterAnswersOtherSteps(t *testing.T) {
	t.Parallel()
	for name, settle := range map[string]func(*testing.T, *toolguard.MemoryJournal, *bank, func()){
		"by a late answer": func(_ *testing.T, _ *toolguard.MemoryJournal, _ *bank, release func()) { release() },
		"by a recoverer": func(t *testing.T, j *toolguard.MemoryJournal, b *bank, release func()) {
			defer release()
			b.keys = map[string]int{entries(t, j)[0].Key: 1}
			r, err := toolguard.NewRecoverer(j, nil, asked(b, j, t))
			require.NoError(t, err)
			_, err = r.Once(t.Context())
			require.NoError(t, err)
		},
		"by a person": func(t *testing.T, j *toolguard.MemoryJournal, _ *bank, release func()) {
			defer release()
			decide(t, j, toolguard.Ruling{Key: entries(t, j)[0].Key, Verdict: toolguard.RulingSucceeded})
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			b, j := new(bank), toolguard.NewMemoryJournal()
			release := make(chan struct{})
			in := func(turn, step string) context.Context {
				return toolguard.WithScope(t.Context(), toolguard.Scope{Tenant: "t", Principal: "ann", Turn: turn, Run: "r", Step: step})
			}
			slow := toolguard.Func(toolguard.Info{Name: "refund", Irrelevant: []string{"reason"}}, func(ctx context.Context, in refundIn) (string, error) {
				<-release
				return b.refund(ctx, in)
			})
			never := toolguard.Action(toolguard.Info{Name: "refund", Irrelevant: []string{"reason"}}, func(context.Context, refundIn) error { return toolguard.NotStarted(errLost) })
			undone := refundOf(in("1", "0"), guardOf(t, never, &toolguard.Options{Journal: j, Retry: once}), "A")
			assert.Equal(t, "abandoned/unknown", verdict(refundOf(in("1", "1"), guardOf(t, slow, &toolguard.Options{Journal: j}), "A")))
			time.Sleep(time.Minute)
			settle(t, j, b, func() { close(release) })
			synctest.Wait()
			g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j})
			for _, step := range []string{"2", "3"} {
				assert.True(t, hasNote(refundOf(in("1", step), g, "A"), "replayed"))
			}
			assertOnce(t, b)
			assert.True(t, hasNote(g.Resume(t.Context(), undone.Key), "replayed"))
			assertOnce(t, b)
			require.True(t, refundOf(in("2", "4"), g, "A").OK, "the user has spoken")
			require.True(t, refundOf(in("2", "5"), g, "A").OK, "what is known is no doubt")
			assert.Equal(t, 3, b.count())
		})
	}
}

// Where the host tells no turns apart, the model asks again because nobody knew: that is
// no second wish.
func TestWithoutTurnsWhatIsSettledLaterAnswersOtherSteps(t *testing.T) {
	t.Parallel()
	for _, session := range []string{"s", ""} {
		in := func(step string) context.Context {
			return toolguard.WithScope(t.Context(), toolguard.Scope{Principal: "ann", Session: session, Run: "r", Step: step})
		}
		b, j := &bank{loses: true}, toolguard.NewMemoryJournal()
		g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j})
		first := refundOf(in("1"), g, "A")
		decide(t, j, toolguard.Ruling{Key: first.Key, Verdict: toolguard.RulingSucceeded, Result: toolguard.Result{Text: "paid"}})
		b.set(false, nil)
		for _, step := range []string{"2", "3"} {
			assert.True(t, hasNote(refundOf(in(step), g, "A"), "replayed"), "session %q", session)
		}
		assertOnce(t, b)
		refundOf(in("4"), g, "B")
		refundOf(in("5"), g, "B")
		assert.Equal(t, 3, b.count(), "what was known at once is asked for anew")
	}
}

// What a call finds out about one that was lost is settled later, too.
func TestWhatACallFindsOutWasNotKnown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := new(bank)
		tool := refundTool(b, toolguard.NonIdempotent)
		tool.Status = b.status
		j := &faulty{Journal: toolguard.NewMemoryJournal(), before: on(2, errDisk)} // of the first call it is not written what came of it
		g := guardOf(t, tool, &toolguard.Options{Journal: j})
		refundOf(inTurn(""), g, "A")
		time.Sleep(2 * minute)
		assert.True(t, hasNote(refundOf(inTurn(""), g, "A"), "confirmed"))
		assert.True(t, hasNote(refundOf(inTurn(""), g, "A"), "replayed"))
		assertOnce(t, b)
	})
}

// A call that is resumed is of the turn it was made in, and minds what was done there.
func TestAResumedCallIsOfItsTurn(t *testing.T) {
	t.Parallel()
	in := func(step string) context.Context {
		return toolguard.WithScope(t.Context(), toolguard.Scope{Principal: "ann", Session: "s", Turn: "1", Run: "r", Step: step})
	}
	b := &bank{refuses: toolguard.NotStarted(errLost)}
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: toolguard.NewMemoryJournal(), Retry: once})
	undone := refundOf(in("1"), g, "A")
	b.set(false, nil)
	require.True(t, refundOf(in("2"), g, "A").OK)
	assert.True(t, hasNote(g.Resume(t.Context(), undone.Key), "replayed"))
	assertOnce(t, b)
}

// That one identical call did nothing after all says nothing of the next one.
func TestEachOtherStepIsMinded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		in := func(step string) context.Context {
			return toolguard.WithScope(t.Context(), toolguard.Scope{Principal: "ann", Session: "s", Turn: "1", Run: "r", Step: step})
		}
		withoutStep := toolguard.WithScope(t.Context(), toolguard.Scope{Principal: "ann", Session: "s", Turn: "1"})
		b := new(bank)
		tool := refundTool(b, toolguard.NonIdempotent)
		tool.Status = b.status
		g := guardOf(t, tool, &toolguard.Options{Journal: toolguard.NewMemoryJournal()})
		require.True(t, refundOf(in("1"), g, "A").OK)
		b.set(false, toolguard.MaybeDone(errLost))
		assert.Equal(t, toolguard.OutcomeUnknown, refundOf(withoutStep, g, "A").Error.Outcome)
		b.set(false, nil)
		time.Sleep(2 * minute)
		assert.True(t, hasNote(refundOf(in("2"), g, "A"), "replayed"))
		assertOnce(t, b)
	})
}
