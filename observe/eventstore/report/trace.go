package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore"
)

// Trace is what happened in one action: a call, or all calls that meant the same
// by their key. It marshals to JSON.
type Trace struct {
	Tool   string `json:"tool"`
	CallID string `json:"call_id,omitempty"`
	Key    string `json:"key,omitempty"`
	Lines  []Line `json:"timeline"`
	// The three questions.
	Layer  string `json:"where_it_failed"`
	Reason string `json:"why_it_was_retried_or_stopped"`
	Effect string `json:"whether_the_effect_happened"`

	refs    []uint64            // of its own calls, not of those made in them
	asked   []uint64            // those of them that the name is of alone; nil if it is of all
	records []eventstore.Record // oldest first
	entry   *toolguard.Entry
	audit   []toolguard.Record
}

// Line is one thing that happened.
type Line struct {
	Time time.Time `json:"time"`
	Who  string    `json:"who"`
	What string    `json:"what"`
	rank int
}

// ErrNotFound says that neither the store nor the journal knows the name.
var ErrNotFound = errors.New("there is no such call")

// maxTraces is how many actions of one name are shown, the newest.
const maxTraces = 5

// Find traces the actions that name stands for: a call ID, a key, the incident of
// an envelope, a digest, or run/step, or the beginning of a key or a call ID that
// no other has; as tables show it, too. The newest comes first. The journal may be
// nil: then there are no states and no people.
func Find(ctx context.Context, store eventstore.Store, j toolguard.Journal, name string) ([]Trace, error) {
	if name == "" {
		return nil, fmt.Errorf("%w: the name is empty", ErrNotFound)
	}
	hits, err := store.Records(ctx, eventstore.Query{Any: name})
	if err != nil {
		return nil, err
	}
	var traces []Trace
	for _, group := range groups(hits) {
		t := Trace{Key: group.key, asked: askedAbout(hits, name)}
		if err := t.gather(ctx, store, group); err != nil {
			return nil, err
		}
		if err := t.consult(ctx, j); err != nil {
			return nil, err
		}
		t.tell()
		traces = append(traces, t)
	}
	if len(traces) > 0 {
		return traces, nil
	}
	if traces, err = fromJournal(ctx, j, name); !errors.Is(err, ErrNotFound) {
		return traces, err
	}
	whole, other := completed(ctx, store, j, name)
	switch {
	case other != nil:
		return nil, other
	case whole == name:
		return nil, err
	}
	return Find(ctx, store, j, whole)
}

func notFound(name string) error {
	return fmt.Errorf("%w: %q. Plain successes are kept by a sample only", ErrNotFound, shown(name, 80))
}

// group is the calls of one action.
type group struct {
	key  string
	refs []uint64
}

// askedAbout are the calls that a name is of which is not that of an action: a call
// ID or an incident. Of several calls under one key it is them the answers are about.
func askedAbout(hits []eventstore.Record, name string) (refs []uint64) {
	for i := range hits {
		if r := &hits[i]; r.CallID == name || r.Incident == name {
			refs = append(refs, r.Ref)
		}
	}
	return refs
}

// groups puts calls of one key together. Calls made in another one that was found are
// part of its story.
func groups(hits []eventstore.Record) []group {
	refs := make(map[uint64]bool, len(hits))
	for i := range hits {
		refs[hits[i].Ref] = true
	}
	var all []group
	for i := range hits {
		r := &hits[i]
		if refs[r.Within] {
			continue
		}
		at := slices.IndexFunc(all, func(g group) bool {
			return g.key != "" && g.key == r.Key || slices.Contains(g.refs, r.Ref)
		})
		if at < 0 {
			if len(all) == maxTraces {
				continue
			}
			all, at = append(all, group{}), len(all)
		}
		g := &all[at]
		g.key = cmp.Or(g.key, r.Key)
		if !slices.Contains(g.refs, r.Ref) {
			g.refs = append(g.refs, r.Ref)
		}
	}
	return all
}

// gather reads all events of the calls, and of those their attempts made.
func (t *Trace) gather(ctx context.Context, store eventstore.Store, g group) error {
	if g.key != "" {
		more, err := store.Records(ctx, eventstore.Query{Any: g.key})
		if err != nil {
			return err
		}
		for i := range more {
			if more[i].Key == g.key && !slices.Contains(g.refs, more[i].Ref) {
				g.refs = append(g.refs, more[i].Ref)
			}
		}
	}
	t.refs = g.refs
	for _, ref := range g.refs {
		for _, q := range []eventstore.Query{{Ref: ref}, {Within: ref}} {
			found, err := store.Records(ctx, q)
			if err != nil {
				return err
			}
			t.records = append(t.records, found...)
		}
	}
	slices.SortStableFunc(t.records, func(a, b eventstore.Record) int { return a.Time.Compare(b.Time) })
	for i := range t.records {
		if r := &t.records[i]; t.meant(r) {
			t.Tool, t.CallID = r.Tool, cmp.Or(t.CallID, r.CallID)
		}
	}
	return nil
}

// consult asks the journal.
func (t *Trace) consult(ctx context.Context, j toolguard.Journal) error {
	e, found, err := entryOf(ctx, j, t.Key)
	if err != nil || !found {
		return err
	}
	t.entry = &e
	t.audit, err = j.Records(ctx, toolguard.RecordQuery{Key: t.Key})
	return err
}

// fromJournal traces an action of which no event is kept.
func fromJournal(ctx context.Context, j toolguard.Journal, name string) ([]Trace, error) {
	t := Trace{Key: name}
	if err := t.consult(ctx, j); err != nil {
		return nil, err
	}
	if t.entry == nil {
		return nil, notFound(name)
	}
	t.Tool, t.CallID = t.entry.Tool, t.entry.CallID
	t.tell()
	return []Trace{t}, nil
}

// tell puts it all into words.
func (t *Trace) tell() {
	for i := range t.records {
		t.Lines = append(t.Lines, linesOf(&t.records[i])...)
	}
	for i := range t.audit {
		t.Lines = append(t.Lines, auditLine(&t.audit[i]))
	}
	slices.SortStableFunc(t.Lines, func(a, b Line) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.rank, b.rank)) })
	t.Layer, t.Reason, t.Effect = t.layer(), t.reason(), t.effect()
}

// own says that a record is of the action itself, not of a call made in it.
func (t *Trace) own(r *eventstore.Record) bool { return slices.Contains(t.refs, r.Ref) }

// meant says that a record is of the call that was asked about.
func (t *Trace) meant(r *eventstore.Record) bool {
	return t.own(r) && (len(t.asked) == 0 || slices.Contains(t.asked, r.Ref))
}

// last is the newest record of the call that was asked about, nil if none is kept.
func (t *Trace) last() *eventstore.Record {
	for i := len(t.records) - 1; i >= 0; i-- {
		if r := &t.records[i]; r.Kind == toolguard.EventCall && t.meant(r) {
			return r
		}
	}
	return nil
}
