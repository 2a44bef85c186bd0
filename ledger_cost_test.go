package toolguard_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
)

// tally is a journal that counts what is written to it.
type tally struct {
	toolguard.Journal
	writes, appends int
}

func (j *tally) Write(ctx context.Context, was toolguard.Version, e toolguard.Entry, r ...toolguard.Record) (toolguard.Entry, bool, error) {
	j.writes++
	return j.Journal.Write(ctx, was, e, r...)
}

func (j *tally) Append(ctx context.Context, r ...toolguard.Record) error {
	j.appends++
	return j.Journal.Append(ctx, r...)
}

// A call is two writes: the intent, and what came of it, with all that the audit has of
// both. What does not run is none, but for what the audit has to say of it.
func TestACallIsTwoWrites(t *testing.T) {
	t.Parallel()
	b, j := new(bank), &tally{Journal: toolguard.NewMemoryJournal()}
	tool := refundTool(b, toolguard.NonIdempotent)
	tool.Authorize = func(_ context.Context, in refundIn) error {
		if in.Order == "theirs" {
			return toolguard.Permission("not yours")
		}
		return nil
	}
	g := guardOf(t, tool, &toolguard.Options{Journal: j, Approver: &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalGranted, By: "ben"}}})
	for _, c := range []struct {
		order           string
		loses           bool
		refuses         error
		writes, appends int
	}{
		{order: "A", writes: 2},
		{order: "A"}, // a replay
		{order: "B", loses: true, writes: 2},
		{order: "B"}, // in doubt
		{order: "C", refuses: toolguard.Business("closed"), writes: 2},
		{order: "C", writes: 2}, // it is claimed anew
		{order: "theirs", appends: 1},
	} {
		b.set(c.loses, c.refuses)
		j.writes, j.appends = 0, 0
		env := refundOf(inTurn("1"), g, c.order)
		assert.Equal(t, []int{c.writes, c.appends}, []int{j.writes, j.appends}, "%s: %s", c.order, verdict(env))
	}
}
