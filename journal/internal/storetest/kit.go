package storetest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/toolguard-go/toolguard"
)

// Entry is one that somebody would write.
func Entry(key string, state toolguard.State) toolguard.Entry {
	return toolguard.Entry{Key: key, Token: 1, State: state, Group: "group of " + key, Tool: "refund", Args: json.RawMessage(`{"amount":1}`)}
}

// Pending is the version of an [Entry] that was claimed.
var Pending = toolguard.Version{Token: 1, State: toolguard.StatePending}

// Made is a write that has to be made.
func Made(now toolguard.Entry, ok bool, err error) error {
	if err == nil && !ok {
		err = fmt.Errorf("the entry is %v with token %d", now.State, now.Token)
	}
	return err
}

// Write writes what has to be written.
func Write(t testing.TB, j toolguard.Journal, was toolguard.Version, e toolguard.Entry, records ...toolguard.Record) toolguard.Entry {
	t.Helper()
	now, ok, err := j.Write(t.Context(), was, e, records...)
	must(t, Made(now, ok, err))
	return now
}

// Scan returns what the query asks for.
func Scan(t testing.TB, j toolguard.Journal, q toolguard.Query) []toolguard.Entry {
	t.Helper()
	found, err := j.Scan(t.Context(), q)
	must(t, err)
	return found
}

// Records returns what the query asks for.
func Records(t testing.TB, j toolguard.Journal, q toolguard.RecordQuery) []toolguard.Record {
	t.Helper()
	found, err := j.Records(t.Context(), q)
	must(t, err)
	return found
}

// Keys are those of the entries, in their order.
func Keys(entries []toolguard.Entry) []string {
	keys := []string{}
	for _, e := range entries {
		keys = append(keys, e.Key)
	}
	return keys
}

// unstamped takes out what the store sets.
func unstamped(e toolguard.Entry) toolguard.Entry {
	e.Created, e.Updated, e.Read = time.Time{}, time.Time{}, time.Time{}
	return e
}
