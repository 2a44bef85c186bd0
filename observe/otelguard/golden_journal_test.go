package otelguard_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// later is an approver whose people need time.
type later struct{}

func (later) Approve(context.Context, toolguard.ApprovalRequest) (toolguard.Answer, error) {
	return toolguard.Answer{Verdict: toolguard.ApprovalPending}, nil
}

func inSession(t *testing.T) context.Context {
	return toolguard.WithScope(t.Context(), toolguard.Scope{Session: "s1", Turn: "1", Principal: "ann"})
}

func init() {
	scenes["approval"] = func(t *testing.T, k *kit) {
		j := toolguard.NewMemoryJournal()
		g := k.guard(t, writer("pay", says("paid")), &toolguard.Options{Journal: j, Approver: later{}})
		env := g.Do(inSession(t), toolguard.Call{ID: "c1", Args: json.RawMessage(`{}`)})
		time.Sleep(time.Hour)
		_, err := toolguard.Decide(t.Context(), j, toolguard.Ruling{Key: env.Key, Verdict: toolguard.RulingApprove, By: "ben"})
		require.NoError(t, err)
		assert.True(t, g.Resume(inSession(t), env.Key).OK)
	}
	scenes["replay after restart"] = func(t *testing.T, k *kit) {
		j := toolguard.NewMemoryJournal()
		for _, id := range []string{"before", "after"} { // a guard each, as of two processes
			g := k.guard(t, writer("pay", says("paid")), &toolguard.Options{Journal: j})
			assert.True(t, g.Do(inSession(t), toolguard.Call{ID: id, Args: json.RawMessage(`{}`)}).OK)
			time.Sleep(time.Minute)
		}
	}
	scenes["unknown in the journal"] = func(t *testing.T, k *kit) {
		j := toolguard.NewMemoryJournal()
		k.guard(t, writer("pay", fails(toolguard.MaybeDone(assert.AnError))), &toolguard.Options{Journal: j}).
			Do(inSession(t), toolguard.Call{ID: "c1", Args: json.RawMessage(`{}`)})
		time.Sleep(time.Hour)
		stop, err := k.WatchJournal(j)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, stop()) })
	}
}
