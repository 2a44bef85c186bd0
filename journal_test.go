package toolguard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/toolguard-go/toolguard"
)

func flip(b []byte) ([]byte, error) {
	out := bytes.Clone(b)
	for i := range out {
		out[i] ^= 0x5a
	}
	return out, nil
}

func TestASealedJournal(t *testing.T) {
	t.Parallel()
	b, j := new(bank), toolguard.NewMemoryJournal()
	hidden, err := toolguard.Sealed(j, flip, flip)
	require.NoError(t, err)
	opts := &toolguard.Options{Journal: hidden, Approver: pendingDesk()}
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), opts)
	key := refundOf(inTurn("1"), g, "SECRET-A").Key
	decide(t, hidden, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove})
	require.True(t, g.Resume(context.Background(), key).OK)
	again := refundOf(inTurn("1"), g, "SECRET-A")
	assert.Equal(t, "refunded SECRET-A", again.Result.Text)
	e := entry(t, j)
	for _, stored := range []json.RawMessage{e.Args, e.Result} {
		assert.True(t, json.Valid(stored), "a store may keep it as JSON")
		assert.NotContains(t, string(stored), "SECRET")
	}

	broken, err := toolguard.Sealed(j, func([]byte) ([]byte, error) { return nil, errDisk }, flip)
	require.NoError(t, err)
	g = guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: broken})
	assert.Equal(t, "journal_unavailable/not_started", verdict(refundOf(inTurn("2"), g, "B")))
	unreadable, err := toolguard.Sealed(j, flip, func([]byte) ([]byte, error) { return nil, errDisk })
	require.NoError(t, err)
	g = guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: unreadable})
	assert.Equal(t, "journal_unavailable/not_started", verdict(refundOf(inTurn("1"), g, "SECRET-A")))
	assertOnce(t, b)
	_, err = toolguard.Sealed(j, flip, nil)
	assert.Error(t, err)
}

// An entry that cannot be unsealed stays as it is, and keeps nobody from the others.
func TestWhatCannotBeUnsealedHoldsNothingUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, j := new(bank), toolguard.NewMemoryJournal()
		lost := []byte(`{"order":"LOST"}`)
		hidden := func(fails bool) toolguard.Journal {
			s, err := toolguard.Sealed(j, flip, func(text []byte) ([]byte, error) {
				open, err := flip(text)
				if fails && bytes.Equal(open, lost) {
					panic("the key is gone")
				}
				return open, err
			})
			require.NoError(t, err)
			return s
		}
		b.loses = true
		tool := refundTool(b, toolguard.NonIdempotent)
		g := guardOf(t, tool, &toolguard.Options{Journal: hidden(true)})
		key := refundOf(inTurn("1"), g, "LOST").Key
		refundOf(inTurn("1"), g, "B")
		stored, err := j.Scan(context.Background(), toolguard.Query{Key: key})
		require.NoError(t, err)

		asking := refundTool(b, toolguard.NonIdempotent)
		asking.Status = b.status
		recoverer := func(fails bool) *toolguard.Recoverer {
			r, err := toolguard.NewRecoverer(hidden(fails), &toolguard.RecoverPolicy{Batch: 1}, guardOf(t, asking, &toolguard.Options{Journal: hidden(fails)}))
			require.NoError(t, err)
			return r
		}
		time.Sleep(minute)
		n, err := recoverer(true).Once(context.Background())
		assert.ErrorContains(t, err, key)
		assert.Equal(t, 1, n.Succeeded, "the other one")
		assert.Equal(t, 1, n.Parked)
		all, err := hidden(true).Scan(context.Background(), toolguard.Query{})
		require.NoError(t, err, "people see what there is")
		require.Len(t, all, 2)
		assert.Equal(t, toolguard.StateParked, all[1].State)
		assert.True(t, all[1].Sealed)
		assert.False(t, all[0].Sealed)
		assert.Equal(t, string(stored[0].Args), string(all[1].Args), "nothing is lost")
		assert.Equal(t, "journal_unavailable/not_started", verdict(refundOf(inTurn("1"), g, "LOST")), "what it was is not known")

		time.Sleep(10 * time.Minute)
		assert.Equal(t, 1, once1(t, recoverer(false)).Succeeded, "the key is there again")
		again, err := hidden(false).Scan(context.Background(), toolguard.Query{Key: key})
		require.NoError(t, err)
		assert.Equal(t, string(lost), string(again[0].Args))
	})
}

// storm is a store of which every operation may fail before or after it is done.
type storm struct {
	toolguard.Journal
	next func() int // 0: works, 1: fails before, 2: fails after
}

func (s *storm) Write(ctx context.Context, was toolguard.Version, e toolguard.Entry, r ...toolguard.Record) (toolguard.Entry, bool, error) {
	mood := s.next()
	if mood == 1 {
		return toolguard.Entry{}, false, errDisk
	}
	now, ok, err := s.Journal.Write(ctx, was, e, r...)
	if mood == 2 {
		err = errors.New("connection cut")
	}
	return now, ok, err
}

func (s *storm) Scan(ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error) {
	if s.next() == 1 {
		return nil, errDisk
	}
	return s.Journal.Scan(ctx, q)
}

// Whatever the store, the downstream and the clock do, and however often the model
// asks: without a person's decision there is one effect, a success that is written
// down is never answered as anything else, and in the end nothing is pending.
// case h08
func TestOneEffectWhateverHappens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		effect := rapid.SampledFrom([]toolguard.Effect{toolguard.NonIdempotent, toolguard.EffectUnknown}).Draw(rt, "effect")
		asks := rapid.Bool().Draw(rt, "has status")
		moods := rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 0, 1, 2}), 1, 40).Draw(rt, "store")
		acts := rapid.SliceOfN(rapid.IntRange(0, 4), 1, 12).Draw(rt, "downstream")
		waits := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 20, 40, 120}), 1, 12).Draw(rt, "seconds between")
		var failed string
		synctest.Test(t, func(t *testing.T) { failed = oneEffect(effect, asks, moods, acts, waits) })
		if failed != "" {
			rt.Fatal(failed)
		}
	})
}

func oneEffect(effect toolguard.Effect, asks bool, moods, acts, waits []int) string {
	i := 0
	store := toolguard.NewMemoryJournal()
	j := &storm{Journal: store, next: func() int { i++; return moods[i%len(moods)] }}
	b, n := new(bank), 0
	tool := toolguard.Func(toolguard.Info{Name: "refund", Effect: effect}, func(ctx context.Context, in refundIn) (string, error) {
		act := acts[n%len(acts)]
		n++
		switch act {
		case 0:
			return b.refund(ctx, in)
		case 1:
			_, _ = b.refund(ctx, in)
			return "", toolguard.MaybeDone(errLost)
		case 2:
			return "", toolguard.MaybeDone(errLost)
		case 3:
			return "", toolguard.NotStarted(toolguard.Unavailable("down"))
		default:
			return "", toolguard.NoEffect(toolguard.Business("closed"))
		}
	})
	if asks {
		tool.Status = b.status
	}
	g, err := toolguard.New(tool, &toolguard.Options{Journal: j, Retry: once})
	if err != nil {
		return err.Error()
	}
	r, err := toolguard.NewRecoverer(store, nil, g)
	if err != nil {
		return err.Error()
	}
	for k, wait := range waits {
		before, _ := store.Scan(context.Background(), toolguard.Query{})
		env := refundOf(inTurn("1"), g, "A")
		if env.OK != (env.Error == nil) {
			return "an envelope that is neither"
		}
		if len(before) == 1 && before[0].State == toolguard.StateSucceeded && !env.OK && env.Error.Outcome != toolguard.OutcomeSucceeded && env.Error.Code != toolguard.CodeJournalUnavailable {
			return fmt.Sprintf("call %d: a recorded success was answered with %s", k, verdict(env))
		}
		if env.OK && b.count() == 0 {
			return fmt.Sprintf("call %d: a success without an effect", k)
		}
		time.Sleep(time.Duration(wait) * time.Second)
		if k%3 == 2 {
			_, _ = r.Once(context.Background())
		}
	}
	time.Sleep(time.Hour)
	for range 20 {
		_, _ = r.Once(context.Background())
		time.Sleep(10 * time.Minute)
	}
	if b.count() > 1 {
		return fmt.Sprintf("%d effects", b.count())
	}
	found, _ := store.Scan(context.Background(), toolguard.Query{})
	for _, e := range found {
		if e.State == toolguard.StatePending {
			return "an entry is still pending"
		}
		if e.State == toolguard.StateFailed && b.count() > 0 {
			return "the journal denies the effect"
		}
	}
	return ""
}
