package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore"
)

// Example is one call worth looking at. Name is what Trace finds it by.
type Example struct {
	Name     string         `json:"name"`
	Time     time.Time      `json:"time"`
	Took     time.Duration  `json:"took_ns"`
	Code     toolguard.Code `json:"code,omitempty"`
	Outcome  string         `json:"outcome"`
	Attempts int            `json:"attempts"`
	Error    string         `json:"error,omitempty"`
}

func exampleOf(r *eventstore.Record) Example {
	return Example{
		Name: cmp.Or(r.Incident, r.CallID, r.Key, r.Digest), Time: r.Time, Took: r.Duration, Code: r.Code,
		Outcome: r.Outcome.String(), Attempts: r.Attempts, Error: cmp.Or(r.Error, r.Detail),
	}
}

// examples picks calls to look at. Records come newest first.
func (b *builder) examples(records []eventstore.Record) {
	byTool := map[string][]*eventstore.Record{}
	for i := range records {
		r := &records[i]
		if r.Kind != toolguard.EventCall {
			continue
		}
		name := r.Tool
		if r.Code == toolguard.CodeUnknownTool {
			name = toolguard.UnknownTool
		}
		byTool[name] = append(byTool[name], r)
	}
	for name, all := range byTool {
		t := b.tool(name)
		t.Kept = len(all)
		b.All.Kept += len(all)
		t.Newest = examplesOf(newestFailures(all, b.opts.Examples))
		slices.SortStableFunc(all, func(x, y *eventstore.Record) int { return cmp.Compare(y.Duration, x.Duration) })
		t.Slowest = examplesOf(all[:min(len(all), b.opts.Examples)])
	}
}

func examplesOf(all []*eventstore.Record) (examples []Example) {
	for _, r := range all {
		examples = append(examples, exampleOf(r))
	}
	return examples
}

// newestFailures chooses so that one kind of failure does not hide the others: the
// newest of each code, then whatever else is new. What followed from other failures
// is told only if there is room.
func newestFailures(all []*eventstore.Record, limit int) []*eventstore.Record {
	var first, more, consequences []*eventstore.Record
	seen := map[toolguard.Code]bool{}
	for _, r := range all {
		if !failed(r.OK, r.Category, r.Code) {
			continue
		}
		switch {
		case consequence(r) && !seen[r.Code]:
			consequences = append(consequences, r)
		case consequence(r):
		case !seen[r.Code]:
			first = append(first, r)
		default:
			more = append(more, r)
		}
		seen[r.Code] = true
	}
	first = first[:min(len(first), limit)]
	first = append(first, more[:min(len(more), limit-len(first))]...)
	slices.SortStableFunc(first, func(x, y *eventstore.Record) int { return y.Time.Compare(x.Time) })
	return append(first, consequences[:min(len(consequences), limit-len(first))]...)
}

// consequence says that the guard let nothing run because earlier calls had failed.
func consequence(r *eventstore.Record) bool { return r.Attempts == 0 && follows(r.Code) }

func follows(c toolguard.Code) bool {
	return c == toolguard.CodeBreakerOpen || c == toolguard.CodeToolStuck || c == toolguard.CodeOverloaded
}
