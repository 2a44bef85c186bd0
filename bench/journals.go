package bench

import (
	"context"
	"encoding/json"
	"strconv"
	"sync/atomic"

	"github.com/toolguard-go/toolguard"
)

// charge is a tool of the kind that a journal is for.
type charge struct{}

// Info implements [toolguard.Tool].
func (charge) Info() toolguard.Info {
	return toolguard.Info{Name: "charge", Effect: toolguard.NonIdempotent}
}

// Call implements [toolguard.Tool].
func (charge) Call(context.Context, json.RawMessage) (toolguard.Result, error) {
	return toolguard.Result{Text: "a result of some length, as most of them are"}, nil
}

// journal is that of all calls with side effects, in memory, and the same guard
// without one; in a conversation, and where each call is a step of one run.
func journal() Case {
	return Case{Name: "memory journal", Variants: []Variant{
		{Name: Unwatched, New: chargesOf(nil, sameScope)},
		{Name: Journaled, New: chargesOf(fullJournal, sameScope), Bounds: []Bound{
			{Beside: Unwatched, Extra: 8},
			{Beside: Unwatched, More: 1000, Stretch: true},
		}},
		{Name: Stepped, New: chargesOf(fullJournal, nextStep), Bounds: []Bound{{Beside: Journaled}}},
	}}
}

// fullJournal returns one that has grown as large as it gets, as after the first
// minutes: what a call costs then, it costs from then on.
func fullJournal() toolguard.Journal {
	j := toolguard.NewMemoryJournal()
	for i := range 15_000 {
		key := strconv.Itoa(i)
		e := toolguard.Entry{Key: key, Group: key, State: toolguard.StateSucceeded, Tool: "charge"}
		records := make([]toolguard.Record, 3)
		if _, ok, err := j.Write(context.Background(), toolguard.Version{}, e, records...); !ok || err != nil {
			panic(err) // there is room
		}
	}
	return j
}

// sameScope is that of all calls: their arguments tell them apart.
func sameScope(int64) toolguard.Scope {
	return toolguard.Scope{Principal: "ann", Session: "chat", Turn: "one"}
}

// nextStep is the scope of the nth call of a run.
func nextStep(n int64) toolguard.Scope {
	return toolguard.Scope{Principal: "ann", Run: "nightly", Step: strconv.FormatInt(n, 10)}
}

// chargesOf makes calls of which no two are alike, so that each of them is looked up,
// claimed under a key of its own, run and settled.
func chargesOf(journal func() toolguard.Journal, scope func(n int64) toolguard.Scope) func() Call {
	return func() Call {
		opts := quick()
		if journal != nil {
			opts.Journal = journal()
		}
		g, err := toolguard.New(charge{}, &opts)
		if err != nil {
			panic(err) // the tool is a constant
		}
		var n atomic.Int64
		return func(ctx context.Context) error {
			n := n.Add(1)
			args := append(strconv.AppendInt([]byte(`{"n":`), n, 10), '}')
			env := g.Do(toolguard.WithScope(ctx, scope(n)), toolguard.Call{ID: "tc_1", Args: args})
			return expectCode(&env, "")
		}
	}
}
