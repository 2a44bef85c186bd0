package toolguard_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// A guard around a guard that has a journal takes that away from nothing, whatever
// the outer one remembers.
func TestAnInnerJournalIsWritten(t *testing.T) {
	t.Parallel()
	ignore := unseeing{}
	for name, opts := range map[string]*toolguard.Options{
		"nothing":         nil,
		"an observer":     {Observer: ignore},
		"another journal": {Journal: toolguard.NewMemoryJournal(), Observer: ignore},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, j := &bank{loses: true}, toolguard.NewMemoryJournal()
			inner := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j})
			refundOf(inTurn("1"), guardOf(t, inner, opts), "A")
			assert.Equal(t, toolguard.StateUnknown, entry(t, j).State)
			assert.Equal(t, 1, b.keys[entry(t, j).Key])
			assert.Equal(t, "in_doubt/unknown", verdict(refundOf(inTurn("2"), inner, "A")))
			assertOnce(t, b)
		})
	}
}

// The downstream gets the key of the entry also through a guard that has no
// journal: a status query would not find another one.
func TestAnInnerGuardHasTheKeyOfTheEntry(t *testing.T) {
	t.Parallel()
	b, j := new(bank), toolguard.NewMemoryJournal()
	inner := guardOf(t, guardOf(t, refundTool(b, toolguard.NonIdempotent), nil), nil)
	env := refundOf(inTurn("1"), guardOf(t, inner, &toolguard.Options{Journal: j}), "A")
	require.True(t, env.OK)
	assert.Equal(t, 1, b.keys[env.Key])
	assert.Equal(t, env.Key, entry(t, j).Key)
}

// What was edited is what runs: the inner guard's call is about that.
func TestAnInnerGuardHasTheKeyOfWhatWasEdited(t *testing.T) {
	t.Parallel()
	b, j := new(bank), toolguard.NewMemoryJournal()
	edits := &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalEdited, By: "ben", Args: []byte(`{"order":"B"}`)}}
	inner := guardOf(t, refundTool(b, toolguard.NonIdempotent), nil)
	env := refundOf(inTurn("1"), guardOf(t, inner, &toolguard.Options{Journal: j, Approver: edits}), "A")
	require.True(t, env.OK)
	assert.Equal(t, 1, b.keys[env.Key])
	assert.Equal(t, env.Key, entry(t, j).Key)
}

// An approval that the inner guard wants is asked for, unless the outer one has it.
func TestAnInnerApprovalIsAskedFor(t *testing.T) {
	t.Parallel()
	ignore := unseeing{}
	j := toolguard.NewMemoryJournal()
	granted := toolguard.Answer{Verdict: toolguard.ApprovalGranted, By: "ben"}
	nobody := func(context.Context, json.RawMessage) (bool, error) { return false, nil }
	for name, c := range map[string]struct {
		outer  *toolguard.Options
		asked  int // of the inner one, which says no
		effect int
	}{
		"no journal":         {outer: &toolguard.Options{Observer: ignore}, asked: 1},
		"the same journal":   {outer: &toolguard.Options{Journal: j}, asked: 1},
		"another journal":    {outer: &toolguard.Options{Journal: toolguard.NewMemoryJournal()}, asked: 1},
		"the outer one asks": {outer: &toolguard.Options{Journal: j, Approver: &desk{answer: granted}}, effect: 1},
		"by another policy":  {outer: &toolguard.Options{Journal: j, Approver: &desk{answer: granted}, Approval: toolguard.ApprovalPolicy{Version: "2"}}},
		"it need not ask":    {outer: &toolguard.Options{Journal: j, Approver: &desk{answer: granted}, NeedsApproval: nobody}},
	} {
		inBubble(t, name, func(t *testing.T) {
			b, no := new(bank), new(desk)
			inner := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: no})
			outer := guardOf(t, inner, c.outer)
			ctx := toolguard.WithScope(context.Background(), toolguard.Scope{Session: name, Turn: "1"})
			assert.Equal(t, c.effect == 1, refundOf(ctx, outer, "A").OK)
			assert.Equal(t, c.asked, no.count())
			assert.Equal(t, c.effect, b.count())
		})
	}
}

// A tool that calls the guard inside it again does not thereby repeat an effect.
func TestAKeyIsLentOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		says    error
		effects int
		want    string
	}{
		"unknown":     {toolguard.MaybeDone(errLost), 1, "unknown_error/unknown in_doubt/unknown in_doubt/unknown"},
		"done":        {nil, 1, "ok in_doubt/unknown in_doubt/unknown"},
		"not started": {toolguard.NotStarted(errLost), 3, "unknown_error/not_started unknown_error/not_started unknown_error/not_started"},
		"no effect":   {toolguard.NoEffect(errLost), 3, "unknown_error/failed unknown_error/failed unknown_error/failed"},
	} {
		for kind, opts := range map[string]*toolguard.Options{"journal": {Retry: once, Journal: toolguard.NewMemoryJournal()}, "none": {Retry: once}} {
			inBubble(t, name+", "+kind, func(t *testing.T) {
				runs, got := 0, ""
				info := toolguard.Info{Name: "refund"}
				inner := guardOf(t, toolguard.Action(info, func(context.Context, refundIn) error { runs++; return c.says }), opts)
				outer := guardOf(t, toolguard.Action(info, func(ctx context.Context, in refundIn) error {
					for range 3 {
						got += verdict(refundOf(ctx, inner, in.Order)) + " "
					}
					return nil
				}), opts)
				ctx := toolguard.WithScope(context.Background(), toolguard.Scope{Session: name, Turn: "1"})
				refundOf(ctx, outer, "A")
				assert.Equal(t, c.want+" ", got)
				assert.Equal(t, c.effects, runs)
			})
		}
	}
}

// Where nothing is written down, nothing is gone on with, and nothing approved.
func TestWithoutAJournalNothingIsResumed(t *testing.T) {
	t.Parallel()
	b, j := new(bank), toolguard.NewMemoryJournal()
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: pendingDesk()})
	key := refundOf(inTurn("1"), g, "A").Key
	off := toolguard.JournalPolicy{Off: true}
	deaf := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j, Journaling: off})
	assert.Equal(t, "no_entry/unknown", verdict(deaf.Resume(context.Background(), key)))
	for _, own := range []*toolguard.Options{{Journaling: off}, {Journal: toolguard.NewMemoryJournal()}} {
		box, err := toolguard.NewToolbox(&toolguard.ToolboxOptions{Options: toolguard.Options{Journal: j}}, guardOf(t, refundTool(b, toolguard.NonIdempotent), own))
		require.NoError(t, err)
		assert.Equal(t, "journal_unavailable/not_started", verdict(box.Resume(context.Background(), key)), "the box knows the entry, the guard does not")
	}
	assert.Zero(t, b.count())
	_, err := toolguard.New(refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Approver: new(desk), Journaling: off})
	assert.ErrorContains(t, err, "Options.Journaling.Off is true")
	_, err = toolguard.New(refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Approver: new(desk), Journaling: off, Approval: toolguard.ApprovalPolicy{Off: true}})
	assert.NoError(t, err)
}

// A host's slip must not cost it the process.
func TestResumingWithoutAContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, j := new(bank), toolguard.NewMemoryJournal()
		box, err := toolguard.NewToolbox(&toolguard.ToolboxOptions{Options: toolguard.Options{Journal: j}}, refundTool(b, toolguard.NonIdempotent))
		require.NoError(t, err)
		key := box.Do(inTurn("1"), toolguard.Call{Tool: "refund", Args: []byte(`{"order":"A"}`)}).Key
		var none context.Context
		assert.True(t, box.Resume(none, key).OK)
		assert.True(t, guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j}).Resume(none, key).OK)
		assertOnce(t, b)
	})
}

// unseeing observes nothing; it makes a guard tell its calls apart.
type unseeing struct{}

func (unseeing) Observe(context.Context, toolguard.Event) {}

// Where the journal does not answer the outer guard, and then answers the inner one,
// that has the key that the outer one will find.
func TestAnInnerGuardTakesTheOuterOnesPlace(t *testing.T) {
	t.Parallel()
	b, scans := new(bank), 0
	j := &faulty{Journal: toolguard.NewMemoryJournal(), scan: func() error {
		if scans++; scans == 1 {
			return errDisk
		}
		return nil
	}}
	g := guardOf(t, guardOf(t, refundTool(b, toolguard.IdempotentByKey), &toolguard.Options{Journal: j}), &toolguard.Options{Journal: j})
	require.True(t, refundOf(inStep("1"), g, "A").OK)
	require.True(t, refundOf(inStep("1"), g, "A").OK)
	assert.Len(t, b.keys, 1, "and one key")
	assertOnce(t, b)
}
