package report

import (
	"context"

	"github.com/toolguard-go/toolguard"
)

// waitingStates are those in which somebody has something to do.
var waitingStates = []toolguard.State{toolguard.StateAwaiting, toolguard.StateParked, toolguard.StateUnknown, toolguard.StatePending}

var waitingWords = map[toolguard.State]string{
	toolguard.StateAwaiting: "for an approval", toolguard.StateParked: "for a person to find out",
	toolguard.StateUnknown: "unknown", toolguard.StatePending: "of processes that are gone",
}

// waiting counts the journal's entries that wait: each is one action, by its key.
func waiting(ctx context.Context, j toolguard.Journal, tool string) (map[toolguard.State]int, error) {
	if j == nil {
		return nil, nil
	}
	found := map[toolguard.State]int{}
	for q := (toolguard.Query{Tool: tool, States: waitingStates, Limit: entriesAtOnce}); ; q.Skip += entriesAtOnce {
		entries, err := j.Scan(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range entries {
			if e := &entries[i]; e.State != toolguard.StatePending || e.Due > 0 && e.Read.Sub(e.Updated) >= e.Due {
				found[e.State]++
			}
		}
		if len(entries) < entriesAtOnce {
			return found, nil
		}
	}
}
