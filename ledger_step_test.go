package toolguard_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// A model that plans anew after a lost answer makes the same call in another step.
func TestAnotherStepDoesNotRunOverADoubt(t *testing.T) {
	t.Parallel()
	for _, effect := range []toolguard.Effect{toolguard.NonIdempotent, toolguard.IdempotentByKey} {
		for name, scope := range map[string]toolguard.Scope{
			"one run":                 {Tenant: "t", Run: "r"},
			"two runs of one session": {Tenant: "t", Run: "r", Session: "s"},
		} {
			inBubble(t, effect.String()+", "+name, func(t *testing.T) {
				b, j := &bank{loses: true}, toolguard.NewMemoryJournal()
				var first toolguard.Envelope
				for n, step := range []string{"1", "2", "3"} {
					scope.Step = step
					if scope.Session != "" {
						scope.Run = "r" + step
					}
					g := guardOf(t, refundTool(b, effect), &toolguard.Options{Journal: j, Retry: toolguard.RetryPolicy{Off: true}}) // a process each
					env := refundOf(toolguard.WithScope(t.Context(), scope), g, "A")
					if n == 0 {
						first = env
						continue
					}
					assert.Equal(t, "in_doubt/unknown", verdict(env))
					assert.Equal(t, first.Key, env.Key, "the key that can be asked about")
				}
				assertOnce(t, b)
				assert.Len(t, entries(t, j), 1)
			})
		}
	}
}

func TestWhatOtherStepsDoNotStop(t *testing.T) {
	t.Parallel()
	b, j := &bank{loses: true}, toolguard.NewMemoryJournal()
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j})
	in := func(s toolguard.Scope) context.Context { return toolguard.WithScope(t.Context(), s) }
	refundOf(in(toolguard.Scope{Tenant: "t", Run: "r", Step: "1"}), g, "A")
	b.loses = false
	assert.True(t, refundOf(in(toolguard.Scope{Tenant: "t", Run: "r", Step: "2"}), g, "B").OK, "other arguments")
	assert.True(t, refundOf(in(toolguard.Scope{Tenant: "t", Run: "q", Step: "1"}), g, "A").OK, "another run")
	assert.True(t, refundOf(in(toolguard.Scope{Tenant: "u", Run: "r", Step: "1"}), g, "A").OK, "another tenant")
	assert.True(t, refundOf(in(toolguard.Scope{Run: "r", Step: "1"}), g, "A").OK, "no tenant is a tenant of its own")
	assert.True(t, refundOf(in(toolguard.Scope{Tenant: "t", Run: "r", Step: "3"}), g, "B").OK, "what is known is no doubt")
}

// What the downstream says of the other step's call answers this one, or lets it run.
func TestADoubtOfAnotherStepIsClearedUp(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(*testing.T, *toolguard.MemoryJournal){
		"it happened": stepHappened, "it did not": stepDidNothing, "its process is gone": stepIsGone,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { play(t, toolguard.NewMemoryJournal()) })
		})
	}
}

func asked(b *bank, j toolguard.Journal, t *testing.T) *toolguard.Guard {
	tool := refundTool(b, toolguard.NonIdempotent)
	tool.Status = b.status
	return guardOf(t, tool, &toolguard.Options{Journal: j})
}

func stepHappened(t *testing.T, j *toolguard.MemoryJournal) {
	b := &bank{loses: true}
	refundOf(inStep("1"), guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j}), "A")
	assert.True(t, refundOf(inStep("2"), asked(b, j, t), "A").OK)
	assertOnce(t, b)
	assert.Equal(t, toolguard.StateSucceeded, entry(t, j).State)
}

func stepDidNothing(t *testing.T, j *toolguard.MemoryJournal) {
	b := &bank{refuses: toolguard.MaybeDone(errLost)}
	g := asked(b, j, t)
	first := refundOf(inStep("1"), g, "A")
	assert.Equal(t, "in_doubt/unknown", verdict(refundOf(inStep("2"), g, "A")), "it may be on its way")
	b.refuses = nil
	time.Sleep(10 * time.Minute)
	second := refundOf(inStep("2"), g, "A")
	assert.True(t, second.OK)
	assert.NotEqual(t, first.Key, second.Key)
	assert.True(t, refundOf(inStep("2"), g, "A").OK, "its own step")
	assertOnce(t, b)
	require.Len(t, entries(t, j), 2, "each step has its entry")
}

func stepIsGone(t *testing.T, j *toolguard.MemoryJournal) {
	b := new(bank)
	gone := &faulty{Journal: j, before: func(n int) error {
		if n > 1 {
			return errDisk // the process ends after its claim
		}
		return nil
	}}
	refundOf(inStep("1"), guardOf(t, refundTool(b, toolguard.IdempotentByKey), &toolguard.Options{Journal: gone}), "A")
	g := guardOf(t, refundTool(b, toolguard.IdempotentByKey), &toolguard.Options{Journal: j})
	assert.Equal(t, "in_progress/unknown", verdict(refundOf(inStep("2"), g, "A")))
	time.Sleep(31 * time.Second)
	assert.Equal(t, "in_doubt/unknown", verdict(refundOf(inStep("2"), g, "A")))
	assertOnce(t, b)
	assert.Equal(t, toolguard.StateUnknown, entry(t, j).State)
}

// Without knowing of the other steps nothing runs.
func TestAJournalThatDoesNotTellOfOtherSteps(t *testing.T) {
	t.Parallel()
	for _, effect := range []toolguard.Effect{toolguard.NonIdempotent, toolguard.IdempotentByKey} {
		b := new(bank)
		j := &mute{MemoryJournal: toolguard.NewMemoryJournal()}
		g := guardOf(t, refundTool(b, effect), &toolguard.Options{Journal: j})
		assert.Equal(t, "journal_unavailable/not_started", verdict(refundOf(inStep("1"), g, "A")))
		assert.Zero(t, b.count())
	}
}

// mute finds entries by their group only.
type mute struct{ *toolguard.MemoryJournal }

func (m *mute) Scan(ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error) {
	if q.Group == "" && q.Key == "" {
		return nil, errDisk
	}
	return m.MemoryJournal.Scan(ctx, q)
}

// What a person has closed in one step is closed for the others.
func TestWhatAPersonClosedStaysClosedInOtherSteps(t *testing.T) {
	t.Parallel()
	b, j := &bank{loses: true}, toolguard.NewMemoryJournal()
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j})
	first := refundOf(inStep("1"), g, "A")
	decide(t, j, toolguard.Ruling{Key: first.Key, Verdict: toolguard.RulingAbort, By: "ben"})
	assert.Equal(t, "aborted/unknown", verdict(refundOf(inStep("2"), g, "A")))
	assertOnce(t, b)
}

// What the downstream says of another step counts once it is written down.
func TestADoubtThatCannotBeSettledRemains(t *testing.T) {
	t.Parallel()
	inBubble(t, "", func(t *testing.T) {
		b, j := &bank{refuses: toolguard.MaybeDone(errLost)}, toolguard.NewMemoryJournal()
		tool := refundTool(b, toolguard.IdempotentByKey)
		tool.Status = b.status
		off := toolguard.RetryPolicy{Off: true}
		refundOf(inStep("1"), guardOf(t, tool, &toolguard.Options{Journal: j, Retry: off}), "A")
		b.refuses = nil
		time.Sleep(10 * time.Minute)
		full := &faulty{Journal: j, before: func(int) error { return errDisk }}
		env := refundOf(inStep("2"), guardOf(t, tool, &toolguard.Options{Journal: full, Retry: off}), "A")
		assert.Equal(t, "journal_unavailable", string(env.Error.Code))
		assert.Zero(t, b.count())
	})
}

// reads counts the entries that a journal is made to read.
type reads struct {
	toolguard.Journal
	n int
}

func (j *reads) Scan(ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error) {
	found, err := j.Journal.Scan(ctx, q)
	j.n += len(found)
	return found, err
}

// What a step costs does not grow with the run, whatever else that has left in doubt.
func TestAStepReadsOnlyWhatItAsksFor(t *testing.T) {
	t.Parallel()
	b, j := &bank{loses: true}, &reads{Journal: toolguard.NewMemoryJournal()}
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{
		Journal: j, Retry: toolguard.RetryPolicy{Off: true}, Breaker: toolguard.BreakerPolicy{Off: true},
	})
	for i := range 50 {
		if i == 25 {
			b.loses = false
		}
		refundOf(toolguard.WithScope(t.Context(), toolguard.Scope{Run: "r", Session: "s", Step: fmt.Sprint(i)}), g, fmt.Sprint("order ", i))
	}
	assert.Zero(t, j.n, "no call was made before")
	for i := range 50 {
		refundOf(toolguard.WithScope(t.Context(), toolguard.Scope{Run: "r", Session: "s", Step: fmt.Sprint("same ", i)}), g, "the same order")
	}
	assert.LessOrEqual(t, j.n, 50*10, "without turns, of what is settled the last ones")
	j.n = 0
	env := refundOf(toolguard.WithScope(t.Context(), toolguard.Scope{Run: "r", Session: "s", Step: "50"}), g, "order 7")
	assert.Equal(t, "in_doubt/unknown", verdict(env))
	assert.Equal(t, 1, j.n)
}

// However much has succeeded since, a doubt is found.
func TestADoubtBehindManySuccesses(t *testing.T) {
	t.Parallel()
	b, j := &bank{loses: true}, toolguard.NewMemoryJournal()
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Retry: toolguard.RetryPolicy{Off: true}})
	refundOf(inStep("1"), g, "A")
	found, err := j.Scan(t.Context(), toolguard.Query{})
	require.NoError(t, err)
	require.Equal(t, toolguard.StateUnknown, found[0].State)
	for i := range 20 { // as by processes that knew nothing of it
		e := found[0]
		e.State, e.Due, e.Code, e.Key, e.Scope.Step = toolguard.StateSucceeded, 0, "", fmt.Sprint("k", i), fmt.Sprint("s", i)
		e.Group = e.Key
		_, ok, err := j.Write(t.Context(), toolguard.Version{}, e)
		require.True(t, ok && err == nil)
	}
	assert.Equal(t, "in_doubt/unknown", verdict(refundOf(inStep("2"), g, "A")))
	assert.Equal(t, 1, b.count())
}

// In a turn of a conversation identical calls are one, whatever the step and the process.
func TestStepsOfATurnAreOne(t *testing.T) {
	t.Parallel()
	in := func(turn, step string) context.Context {
		return toolguard.WithScope(t.Context(), toolguard.Scope{Session: "s", Turn: turn, Run: "r" + step, Step: step, Principal: "ann"})
	}
	b, j := new(bank), toolguard.NewMemoryJournal()
	guard := func() *toolguard.Guard { // a process each
		return guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j})
	}
	first := refundOf(in("1", "1"), guard(), "A")
	again := refundOf(in("1", "2"), guard(), "A")
	assert.True(t, again.OK)
	assert.Equal(t, []toolguard.NoteKind{"replayed"}, noteKinds(again))
	assert.Equal(t, first.Key, again.Key)
	assertOnce(t, b)
	assert.True(t, refundOf(in("1", "3"), guard(), "B").OK, "other arguments")
	assert.True(t, refundOf(in("2", "4"), guard(), "A").OK, "the user has spoken")
	assert.Equal(t, 3, b.count())
}

func TestStepsOfATurnAskOnce(t *testing.T) {
	t.Parallel()
	in := func(step string) context.Context {
		return toolguard.WithScope(t.Context(), toolguard.Scope{Session: "s", Turn: "1", Run: "r", Step: step})
	}
	b, j, d := new(bank), toolguard.NewMemoryJournal(), pendingDesk()
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: d})
	first := refundOf(in("1"), g, "A")
	again := refundOf(in("2"), g, "A")
	assert.Equal(t, "approval_pending/not_started", verdict(again))
	assert.Equal(t, first.Key, again.Key)
	decide(t, j, toolguard.Ruling{Key: first.Key, Verdict: toolguard.RulingApprove, Args: []byte(`{"order":"A","reason":"late"}`)})
	ran := refundOf(in("3"), g, "A")
	assert.True(t, ran.OK, "a model that calls again gets there as well")
	assert.Equal(t, []toolguard.NoteKind{"args_edited"}, noteKinds(ran))
	assert.Equal(t, first.Key, ran.Key)
	assert.True(t, g.Resume(t.Context(), first.Key).OK)
	assert.True(t, refundOf(in("4"), g, "A").OK)
	assertOnce(t, b)
	assert.Equal(t, 1, d.count(), "a person is asked once")
	assert.Equal(t, "1", entry(t, j).Scope.Step, "it stays the one of its step")
	assert.Equal(t, first.Key, entry(t, j).Group, "and of its group")

	denied := refundOf(in("5"), g, "B")
	decide(t, j, toolguard.Ruling{Key: denied.Key, Verdict: toolguard.RulingDeny})
	assert.Equal(t, "approval_denied/not_started", verdict(refundOf(in("6"), g, "B")))
	assertOnce(t, b)
}

// An approval whose call did not begin is of use to the next step.
func TestAnApprovalGivenBackIsUsedByTheNextStep(t *testing.T) {
	t.Parallel()
	in := func(step string) context.Context {
		return toolguard.WithScope(t.Context(), toolguard.Scope{Session: "s", Turn: "1", Run: "r", Step: step})
	}
	b, j := &bank{refuses: toolguard.NotStarted(errLost)}, toolguard.NewMemoryJournal()
	d := &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalGranted, By: "policy"}}
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: d, Retry: once})
	assert.Equal(t, toolguard.OutcomeNotStarted, refundOf(in("1"), g, "A").Error.Outcome)
	b.set(false, nil)
	assert.True(t, refundOf(in("2"), g, "A").OK)
	assert.Equal(t, 1, d.count())
	assert.Len(t, entries(t, j), 1)
	assertOnce(t, b)
}

// Whoever asks for a step again gets its result. Another step's is for its principal.
func TestWhoReadsTheResultOfAStep(t *testing.T) {
	t.Parallel()
	in := func(step, principal string) context.Context {
		return toolguard.WithScope(t.Context(), toolguard.Scope{Session: "s", Turn: "1", Run: "r", Step: step, Principal: principal})
	}
	b, j := new(bank), toolguard.NewMemoryJournal()
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j})
	want := refundOf(in("1", "ann"), g, "A").Result.Text
	assert.Equal(t, want, refundOf(in("1", "eve"), g, "A").Result.Text)
	assert.Equal(t, want, refundOf(in("2", "ann"), g, "A").Result.Text)
	assert.Equal(t, "result_unavailable/succeeded", verdict(refundOf(in("2", "eve"), g, "A")))
	again := toolguard.WithScope(t.Context(), toolguard.Scope{Session: "s", Turn: "1", Run: "another", Step: "1", Principal: "eve"})
	assert.Equal(t, "result_unavailable/succeeded", verdict(refundOf(again, g, "A")))
	assertOnce(t, b)
}
