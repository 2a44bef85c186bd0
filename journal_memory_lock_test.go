package toolguard

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ownContext is a host's own kind of context, which may do what it likes when it is
// asked.
type ownContext struct {
	context.Context
	j     *MemoryJournal
	asked int
	held  bool
}

func (c *ownContext) Err() error {
	c.asked++
	if c.j.mu.TryLock() {
		c.j.mu.Unlock()
	} else {
		c.held = true
	}
	return nil
}

// A context is the host's code: it may use the journal itself, or take its time.
func TestTheMemoryJournalAsksNoContextUnderItsLock(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(context.Context, *MemoryJournal) error{
		"Write": func(ctx context.Context, j *MemoryJournal) error {
			_, _, err := j.Write(ctx, Version{}, Entry{Key: "k", Token: 1, State: StatePending})
			return err
		},
		"Append":  func(ctx context.Context, j *MemoryJournal) error { return j.Append(ctx, Record{}) },
		"Scan":    func(ctx context.Context, j *MemoryJournal) error { _, err := j.Scan(ctx, Query{}); return err },
		"last":    func(ctx context.Context, j *MemoryJournal) error { return j.last(ctx, "g", new(Entry)) },
		"Take":    func(ctx context.Context, j *MemoryJournal) error { _, err := j.Take(ctx, 1, time.Second); return err },
		"Records": func(ctx context.Context, j *MemoryJournal) error { _, err := j.Records(ctx, RecordQuery{}); return err },
		"Prune":   func(ctx context.Context, j *MemoryJournal) error { _, err := j.Prune(ctx, 0); return err },
	} {
		ctx := &ownContext{Context: t.Context(), j: NewMemoryJournal()}
		require.NoError(t, use(ctx, ctx.j), name)
		assert.Positive(t, ctx.asked, name)
		assert.False(t, ctx.held, name)
	}
}

// A write that has waited for its turn is not older than what was written meanwhile.
func TestTheMemoryJournalsRecordsAreInTheOrderOfTheirInstants(t *testing.T) {
	t.Parallel()
	ctx, j, began := t.Context(), NewMemoryJournal(), time.Now()
	require.NoError(t, j.Append(ctx, Record{}))
	e := Entry{Key: "k", Token: 1, State: StatePending}
	ok, err := j.replace(ctx, began, Version{}, &e, wholeLines(make([]Record, 1)))
	require.NoError(t, err)
	require.True(t, ok)
	records, err := j.Records(ctx, RecordQuery{})
	require.NoError(t, err)
	require.Len(t, records, 2)
	assert.False(t, records[1].At.Before(records[0].At), "%v came before %v", records[0].At, records[1].At)
	assert.Equal(t, records[1].At, e.Updated)
}
