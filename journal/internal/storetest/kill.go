package storetest

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/toolguard-go/toolguard"
)

var kills = flag.Int("kills", 16, "how many writing processes TestNoAcknowledgedWriteIsLost kills")

const (
	writer  = "writer"
	writers = 8 // goroutines of each process

	atOnce   = 2 // processes
	longest  = 100 * time.Millisecond
	pageSize = 1000
)

// ack is a write that was acknowledged.
type ack struct {
	Key   string
	State toolguard.State
}

// writeForever claims and settles one key after the other.
func writeForever(j Journal) error {
	errs := make(chan error)
	for g := range writers {
		go func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("%d/%d/%d", os.Getpid(), g, i)
				if err := Call(context.Background(), j, key, func(s toolguard.State) { Say(ack{key, s}) }); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	return <-errs
}

// Call claims a key and settles it, and tells each state that was acknowledged.
func Call(ctx context.Context, j toolguard.Journal, key string, tell func(toolguard.State)) error {
	e := Entry(key, toolguard.StatePending)
	was := toolguard.Version{}
	for _, state := range []toolguard.State{toolguard.StatePending, toolguard.StateSucceeded} {
		e.State = state
		if err := Made(j.Write(ctx, was, e, toolguard.Record{Key: key, From: was.State, To: state})); err != nil {
			return err
		}
		tell(state)
		was = e.Version()
	}
	return nil
}

// KillWriters kills processes that write to a store, at any moment. What was
// acknowledged is there then; of what was not, all of a write or nothing. open opens
// the journal anew, as the next process does.
func KillWriters(t *testing.T, store string, open func() Journal) {
	acknowledged, killed := map[string]toolguard.State{}, 0
	for killed < *kills && !t.Failed() {
		var all []*Child
		for range atOnce {
			all = append(all, Begin(t, writer, store))
		}
		fresh := map[string]toolguard.State{}
		for i, c := range all {
			for _, a := range c.kill(t, rand.N(longest), i == 0) {
				fresh[a.Key] = max(fresh[a.Key], a.State)
			}
			killed++
		}
		j := open()
		AreThere(t, j, fresh)
		must(t, j.Close())
		maps.Copy(acknowledged, fresh)
	}
	j := open()
	AreThere(t, j, acknowledged)
	areWhole(t, j)
	must(t, j.Close())
	if len(acknowledged) == 0 {
		t.Error("no write was acknowledged: nothing is shown")
	}
	t.Logf("%d processes killed, %d keys acknowledged, none lost", killed, len(acknowledged))
}

// AreThere looks for what was acknowledged.
func AreThere(t testing.TB, j toolguard.Journal, acknowledged map[string]toolguard.State) {
	t.Helper()
	for key, state := range acknowledged {
		if found := Scan(t, j, toolguard.Query{Key: key}); len(found) != 1 || found[0].State < state {
			t.Errorf("key %q was acknowledged as %v, and there is %+v", key, state, found)
		}
	}
}

// areWhole looks for an entry whose last change has no record, for a record of a
// change that the entry does not have, and for a record too many or too few.
func areWhole(t testing.TB, j toolguard.Journal) {
	t.Helper()
	audited := map[string]toolguard.State{}
	for after, more := uint64(0), true; more; {
		page := Records(t, j, toolguard.RecordQuery{After: after, Limit: pageSize})
		for _, r := range page {
			if audited[r.Key] != r.From {
				t.Fatalf("the records of %q lead to %v, and then from %v to %v", r.Key, audited[r.Key], r.From, r.To)
			}
			audited[r.Key], after = r.To, r.Seq
		}
		more = len(page) > 0
	}
	stored := map[string]toolguard.State{}
	for skip, more := 0, true; more; skip += pageSize {
		page := Scan(t, j, toolguard.Query{Skip: skip, Limit: pageSize})
		for _, e := range page {
			stored[e.Key] = e.State
		}
		more = len(page) == pageSize
	}
	if !maps.Equal(audited, stored) {
		t.Errorf("the records tell of %d entries, and there are %d, or in other states", len(audited), len(stored))
	}
}
