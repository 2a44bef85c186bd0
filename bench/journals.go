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
// without one.
func journal() Case {
	return Case{Name: "memory journal", Variants: []Variant{
		{Name: Unwatched, New: chargesOf(nil)},
		{Name: Journaled, New: chargesOf(fullJournal), Bounds: []Bound{
			{Beside: Unwatched, More: 1000, Extra: 8},
		}},
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

// chargesOf makes calls of one conversation, no two alike, so that each of them is
// looked up, claimed under a key of its own, run and settled.
func chargesOf(journal func() toolguard.Journal) func() Call {
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
		scope := toolguard.Scope{Principal: "ann", Session: "chat", Turn: "one"}
		return func(ctx context.Context) error {
			args := append(strconv.AppendInt([]byte(`{"n":`), n.Add(1), 10), '}')
			env := g.Do(toolguard.WithScope(ctx, scope), toolguard.Call{ID: "tc_1", Args: args})
			return expectCode(&env, "")
		}
	}
}
