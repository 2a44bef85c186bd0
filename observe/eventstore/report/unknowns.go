package report

import (
	"context"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore"
)

// Fate is what became of an unknown outcome.
type Fate string

const (
	// FateHappened: the effect did happen after all.
	FateHappened Fate = "it happened"
	// FateDidNot: it did not.
	FateDidNot Fate = "it did not happen"
	// FateWaits: a person has to decide.
	FateWaits Fate = "waits for a person"
	// FateClosed: somebody closed it without finding out.
	FateClosed Fate = "closed, nobody found out"
	// FateUnknown: nothing more is known.
	FateUnknown Fate = "still unknown"
)

// fateOf reads a state of the journal.
func fateOf(s toolguard.State) Fate {
	switch s {
	case toolguard.StateSucceeded:
		return FateHappened
	case toolguard.StateFailed, toolguard.StateApproved, toolguard.StateDenied, toolguard.StateExpired:
		return FateDidNot
	case toolguard.StateParked:
		return FateWaits
	case toolguard.StateAborted:
		return FateClosed
	default:
		return FateUnknown
	}
}

// unknowns asks what became of each call with an unknown outcome: the journal if
// there is one, else what came late.
func (b *builder) unknowns(ctx context.Context, records []eventstore.Record) error {
	late := map[uint64]toolguard.Outcome{}
	for i := range records {
		if r := &records[i]; r.Kind == toolguard.EventLate && (r.Attempts == 1 || r.Outcome == toolguard.OutcomeSucceeded) {
			late[r.Ref] = r.Outcome
		}
	}
	b.Unknowns = map[Fate]int{}
	for i := range records {
		r := &records[i]
		if r.Kind != toolguard.EventCall || r.OK || r.Outcome != toolguard.OutcomeUnknown {
			continue
		}
		fate, err := b.fate(ctx, r, late)
		if err != nil {
			return err
		}
		b.Unknowns[fate]++
		if fate == FateUnknown || fate == FateWaits {
			b.tool(r.Tool).UnknownNow++
			b.All.UnknownNow++
		}
	}
	return nil
}

func (b *builder) fate(ctx context.Context, r *eventstore.Record, late map[uint64]toolguard.Outcome) (Fate, error) {
	e, found, err := entryOf(ctx, b.opts.Journal, r.Key)
	if found || err != nil {
		return fateOf(e.State), err
	}
	switch late[r.Ref] {
	case toolguard.OutcomeSucceeded:
		return FateHappened, nil
	case toolguard.OutcomeFailed:
		return FateDidNot, nil
	}
	return FateUnknown, nil
}

// entryOf reads the journal's entry of a key, if there is a journal and it has one.
func entryOf(ctx context.Context, j toolguard.Journal, key string) (e toolguard.Entry, found bool, err error) {
	if j == nil || key == "" {
		return e, false, nil
	}
	entries, err := j.Scan(ctx, toolguard.Query{Key: key, Limit: 1})
	if err != nil || len(entries) == 0 {
		return e, false, err
	}
	return entries[0], true, nil
}
