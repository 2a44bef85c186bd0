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

// slowFirst returns a business rule that takes a second on its nth run: what it
// was asked about is decided by others meanwhile.
func slowFirst[In any](n int) func(context.Context, In) error {
	runs := make(chan int, 1)
	runs <- 0
	return func(context.Context, In) error {
		i := <-runs + 1
		runs <- i
		if i == n {
			time.Sleep(time.Second)
		}
		return nil
	}
}

// Of two that resume an approved call, the slower one finds it done.
func TestAResumedCallHasNoOtherKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, j := new(bank), toolguard.NewMemoryJournal()
		tool := refundTool(b, toolguard.NonIdempotent)
		tool.Check = slowFirst[refundIn](2)
		g := guardOf(t, tool, &toolguard.Options{Journal: j, Approver: pendingDesk()})
		key := refundOf(inTurn("1"), g, "A").Key
		decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove})
		slow := make(chan toolguard.Envelope, 1)
		go func() { slow <- g.Resume(context.Background(), key) }()
		synctest.Wait()
		assert.False(t, hasNote(g.Resume(context.Background(), key), "replayed"))
		assert.True(t, hasNote(<-slow, "replayed"))
		assertOnce(t, b)
		assert.Len(t, entries(t, j), 1)
	})
}

// A no that comes before the claim is one, whoever asks and in whatever turn.
func TestANoBeforeTheClaimCounts(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(*toolguard.Guard, string) toolguard.Envelope{
		"resumed":      func(g *toolguard.Guard, key string) toolguard.Envelope { return g.Resume(context.Background(), key) },
		"same turn":    func(g *toolguard.Guard, _ string) toolguard.Envelope { return refundOf(inTurn("1"), g, "A") },
		"another turn": func(g *toolguard.Guard, _ string) toolguard.Envelope { return refundOf(inTurn("2"), g, "A") },
		"no turn":      func(g *toolguard.Guard, _ string) toolguard.Envelope { return refundOf(inTurn(""), g, "A") },
	} {
		inBubble(t, name, func(t *testing.T) {
			b, j, revoke := new(bank), toolguard.NewMemoryJournal(), ""
			tool := refundTool(b, toolguard.NonIdempotent)
			tool.Check = func(context.Context, refundIn) error {
				if key := revoke; key != "" {
					revoke = ""
					decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingDeny})
				}
				return nil
			}
			g := guardOf(t, tool, &toolguard.Options{Journal: j, Approver: pendingDesk()})
			key := refundOf(inTurn("1"), g, "A").Key
			decide(t, j, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove})
			revoke = key
			env := take(g, key)
			require.False(t, env.OK)
			assert.Equal(t, toolguard.OutcomeNotStarted, env.Error.Outcome)
			assert.Zero(t, b.count())
		})
	}
}

// Whoever is overtaken takes the next key, and hands it on as the argument too.
func TestTheNextKeyIsTheArgument(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got []payIn
		info := toolguard.Info{Name: "coffee", KeyField: "idempotency_key", RepeatsNormal: true}
		tool := toolguard.Action(info, func(ctx context.Context, in payIn) error {
			assert.Equal(t, toolguard.Key(ctx), in.Key)
			got = append(got, in)
			return nil
		})
		tool.Check = slowFirst[payIn](1)
		g := guardOf(t, tool, &toolguard.Options{Journal: toolguard.NewMemoryJournal()})
		order := func() toolguard.Envelope { return g.Do(inTurn("1"), toolguard.Call{Args: []byte(`{"order":"A"}`)}) }
		slow := make(chan toolguard.Envelope, 1)
		go func() { slow <- order() }()
		synctest.Wait()
		order()
		assert.False(t, hasNote(<-slow, "key_overwritten"), "the model wrote none")
		require.Len(t, got, 2)
		assert.NotEqual(t, got[0].Key, got[1].Key)
	})
}

// payIn has the key among its arguments.
type payIn struct {
	Order string `json:"order"`
	Key   string `json:"idempotency_key"`
}
