package report

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore"
)

// leastPrefix is how much of a key or a call ID has to be given, in bytes.
const leastPrefix = 4

// entriesAtOnce is how many entries of a journal are read at a time.
const entriesAtOnce = 500

// completed returns the only key, or else the only call ID, that is the name or
// begins so, in the store or the journal; the name itself if there is none. It is an
// error if there are several.
func completed(ctx context.Context, s eventstore.Store, j toolguard.Journal, name string) (string, error) {
	short := strings.TrimSuffix(name, "…") // as tables cut it
	if len(short) < leastPrefix {
		return name, nil
	}
	all := make(names)
	records, err := s.Records(ctx, eventstore.Query{Prefix: short})
	if err != nil {
		return "", err
	}
	for i := range records {
		all.add(short, records[i].Key, records[i].CallID)
	}
	for q := (toolguard.Query{Limit: entriesAtOnce}); j != nil; q.Skip += entriesAtOnce {
		entries, err := j.Scan(ctx, q)
		if err != nil {
			return "", err
		}
		for i := range entries {
			all.add(short, entries[i].Key, entries[i].CallID)
		}
		if len(entries) < entriesAtOnce {
			break
		}
	}
	switch len(all) {
	case 0:
		return name, nil
	case 1:
		for whole := range all {
			return whole, nil
		}
	}
	return "", fmt.Errorf("%d calls begin with %q: want more of the name", len(all), shown(short, 80))
}

// names are those of actions: keys, and call IDs of calls that have none.
type names map[string]bool

func (n names) add(prefix, key, callID string) {
	switch {
	case strings.HasPrefix(key, prefix), key != "" && strings.HasPrefix(callID, prefix):
		n[key] = true
	case strings.HasPrefix(callID, prefix):
		n[callID] = true
	}
}
