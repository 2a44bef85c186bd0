package toolguard_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
)

// careless is a journal that writes what it is given and answers something else.
type careless struct {
	toolguard.Journal
	write func(now toolguard.Entry, ok bool) (toolguard.Entry, bool)
	scan  func([]toolguard.Entry) []toolguard.Entry
}

func (j *careless) Write(ctx context.Context, was toolguard.Version, e toolguard.Entry, r ...toolguard.Record) (toolguard.Entry, bool, error) {
	now, ok, err := j.Journal.Write(ctx, was, e, r...)
	if err == nil && j.write != nil {
		now, ok = j.write(now, ok)
	}
	return now, ok, err
}

func (j *careless) Scan(ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error) {
	found, err := j.Journal.Scan(ctx, q)
	if j.scan != nil {
		found = j.scan(found)
	}
	return found, err
}

// What a journal says of another entry is believed of none: no success becomes a
// failure by it, nobody gets an answer that is not theirs, and nothing runs twice.
func TestAJournalThatAnswersWithAnotherEntry(t *testing.T) {
	t.Parallel()
	entryOf := func(change func(*toolguard.Entry)) func(toolguard.Entry, bool) (toolguard.Entry, bool) {
		return func(e toolguard.Entry, ok bool) (toolguard.Entry, bool) { change(&e); return e, ok }
	}
	foreign := toolguard.Entry{Key: "x", Group: "y", State: toolguard.StateSucceeded, Result: []byte(`{"text":"theirs"}`)}
	for name, c := range map[string]struct {
		careless
		want string
	}{
		"nothing":       {careless{write: entryOf(func(e *toolguard.Entry) { *e = toolguard.Entry{} })}, "ok ok "},
		"another key":   {careless{write: entryOf(func(e *toolguard.Entry) { e.Key = "x" })}, "ok ok "},
		"another state": {careless{write: entryOf(func(e *toolguard.Entry) { e.State = 77 })}, "ok ok "},
		"always yes":    {careless{write: func(e toolguard.Entry, _ bool) (toolguard.Entry, bool) { return e, true }}, "ok ok "},
		"always no":     {careless{write: func(e toolguard.Entry, _ bool) (toolguard.Entry, bool) { return e, false }}, "in_progress/unknown in_progress/unknown "},
		"another one":   {careless{scan: func(e []toolguard.Entry) []toolguard.Entry { return append([]toolguard.Entry{foreign}, e...) }}, "journal_unavailable/not_started journal_unavailable/not_started "},
	} {
		inBubble(t, name, func(t *testing.T) {
			b, got := new(bank), ""
			c.Journal = toolguard.NewMemoryJournal()
			g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: &c.careless})
			for range 2 {
				got += verdict(refundOf(inTurn("1"), g, "A")) + " "
			}
			assert.Equal(t, c.want, got)
			assert.LessOrEqual(t, b.count(), 1)
		})
	}
}

// A journal that hangs once the tool has hung through the whole budget adds two
// grace periods: one to write what is known, one to look whether that is there.
func TestAHangingJournalHoldsNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wait := untilReleased(t)
		var hangs atomic.Bool
		j := &faulty{Journal: toolguard.NewMemoryJournal(), before: func(n int) error {
			if n > 1 {
				hangs.Store(true)
				wait()
			}
			return nil
		}, scan: func() error {
			if hangs.Load() {
				wait()
			}
			return nil
		}}
		deaf := toolOf(toolguard.NonIdempotent, func(context.Context) (toolguard.Result, error) { wait(); return toolguard.Result{}, nil })
		g := guardOf(t, deaf, &toolguard.Options{Journal: j, Timeout: toolguard.TimeoutPolicy{Attempt: 9 * time.Second, Budget: 9 * time.Second}})
		began := time.Now()
		assert.Equal(t, "abandoned/unknown", verdict(doIn(inTurn("1"), g)))
		assert.LessOrEqual(t, time.Since(began), 12*time.Second)
	})
}
