package toolguard_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// insertMany writes entries, each with two records, in one state.
func insertMany(t *testing.T, j toolguard.Journal, name string, n int, s toolguard.State) {
	t.Helper()
	for i := range n {
		key := fmt.Sprint(name, i)
		e := toolguard.Entry{Key: key, Group: key, Token: 1, State: s, Tool: "refund", Due: time.Minute}
		_, ok, err := j.Write(context.Background(), toolguard.Version{}, e, toolguard.Record{Key: key}, toolguard.Record{Key: key, Attempt: 1})
		require.NoError(t, err)
		require.True(t, ok)
	}
}

// settle ends entries that insertMany has left pending.
func settle(t *testing.T, j toolguard.Journal, name string, n int) {
	t.Helper()
	for i := range n {
		key := fmt.Sprint(name, i)
		e := toolguard.Entry{Key: key, Group: key, Token: 1, State: toolguard.StateSucceeded}
		_, ok, err := j.Write(context.Background(), toolguard.Version{Token: 1, State: toolguard.StatePending}, e)
		require.NoError(t, err)
		require.True(t, ok)
	}
}

// What is settled makes way, the oldest first. What is not stays, however old.
func TestTheMemoryJournalIsBounded(t *testing.T) {
	t.Parallel()
	ctx, j := context.Background(), toolguard.NewMemoryJournal()
	insertMany(t, j, "open", 20, toolguard.StatePending)
	insertMany(t, j, "done", 33_000, toolguard.StateSucceeded)
	all, err := j.Scan(ctx, toolguard.Query{Limit: 100_000})
	require.NoError(t, err)
	assert.LessOrEqual(t, len(all), 10_020)
	require.GreaterOrEqual(t, len(all), 5_020)
	assert.Equal(t, "done32999", all[0].Key)
	assert.Equal(t, "done28000", all[4_999].Key, "none is missing among the last")
	assert.Equal(t, "open0", all[len(all)-1].Key)
	open, err := j.Scan(ctx, toolguard.Query{States: []toolguard.State{toolguard.StatePending}})
	require.NoError(t, err)
	assert.Len(t, open, 20)
	records, err := j.Records(ctx, toolguard.RecordQuery{Limit: 100_000})
	require.NoError(t, err)
	assert.LessOrEqual(t, len(records), 40_000)
	assert.GreaterOrEqual(t, len(records), 39_000)
	assert.EqualValues(t, 2*33_020, records[len(records)-1].Seq)
	settle(t, j, "open", 20) // an old one can be settled still
}

// What was open while thousands of others came is not forgotten once it is settled.
func TestTheMemoryJournalKeepsWhatWasSettledLast(t *testing.T) {
	t.Parallel()
	ctx, j := context.Background(), toolguard.NewMemoryJournal()
	insertMany(t, j, "long", 1, toolguard.StatePending)
	for i := range 4 {
		insertMany(t, j, fmt.Sprint("before", i, "."), 2_499, toolguard.StateSucceeded)
	}
	settle(t, j, "long", 1)
	for i := range 2 {
		insertMany(t, j, fmt.Sprint("after", i, "."), 2_499, toolguard.StateSucceeded)
		found, err := j.Scan(ctx, toolguard.Query{Key: "long0"})
		require.NoError(t, err)
		assert.Len(t, found, 1)
	}
}

// That holds also where thousands are settled long after they were begun.
func TestTheMemoryJournalIsBoundedInWhatIsSettled(t *testing.T) {
	t.Parallel()
	ctx, j := context.Background(), toolguard.NewMemoryJournal()
	for round := range 3 {
		name := fmt.Sprint(round, ".")
		insertMany(t, j, "p"+name, 9_999, toolguard.StatePending)
		insertMany(t, j, "s"+name, 9_999, toolguard.StateSucceeded)
		settle(t, j, "p"+name, 9_999)
		settled, err := j.Scan(ctx, toolguard.Query{States: []toolguard.State{toolguard.StateSucceeded}, Limit: 100_000})
		require.NoError(t, err)
		assert.LessOrEqual(t, len(settled), 10_000)
		kept := map[string]bool{}
		for _, e := range settled {
			kept[e.Key] = true
		}
		for i := range 5_000 {
			assert.True(t, kept[fmt.Sprint("p", name, 9_998-i)], "the last 5,000 are there")
		}
	}
	insertMany(t, j, "open", 10_000, toolguard.StatePending) // none is counted twice, or left out
	_, _, err := j.Write(ctx, toolguard.Version{}, toolguard.Entry{Key: "one", Group: "one", Token: 1, State: toolguard.StatePending})
	assert.ErrorContains(t, err, "full")
}

// What nobody knows the fate of is found however much was settled since, also where a
// person has closed it.
func TestTheMemoryJournalKeepsWhatIsDoubted(t *testing.T) {
	t.Parallel()
	ctx, j := context.Background(), toolguard.NewMemoryJournal()
	insertMany(t, j, "aborted", 1, toolguard.StateAborted)
	insertMany(t, j, "parked", 1, toolguard.StateParked)
	insertMany(t, j, "done", 33_000, toolguard.StateSucceeded)
	for want, s := range map[string]toolguard.State{"aborted0": toolguard.StateAborted, "parked0": toolguard.StateParked} {
		found, err := j.Scan(ctx, toolguard.Query{States: []toolguard.State{s}})
		require.NoError(t, err)
		require.Len(t, found, 1)
		assert.Equal(t, want, found[0].Key)
	}
	n, err := j.Prune(ctx, 0)
	require.NoError(t, err)
	assert.Greater(t, n, 5_000)
	left, err := j.Scan(ctx, toolguard.Query{})
	require.NoError(t, err)
	require.Len(t, left, 1, "an aborted one makes way with the others")
	assert.Equal(t, "parked0", left[0].Key)
}

// The newest of a group that a query asks for need not be the group's newest.
func TestTheMemoryJournalFindsOlderGenerations(t *testing.T) {
	t.Parallel()
	ctx, j := context.Background(), toolguard.NewMemoryJournal()
	for i, s := range []toolguard.State{toolguard.StateFailed, toolguard.StateSucceeded, toolguard.StateSucceeded, toolguard.StatePending} {
		e := toolguard.Entry{Key: []string{"g", "g1", "g2", "g3"}[i], Group: "g", Generation: i, Token: 1, State: s}
		_, _, err := j.Write(ctx, toolguard.Version{}, e)
		require.NoError(t, err)
	}
	one := func(q toolguard.Query) (key string) {
		q.Limit = 1
		found, err := j.Scan(ctx, q)
		require.NoError(t, err)
		for _, e := range found {
			key += e.Key
		}
		return key
	}
	assert.Equal(t, "g3", one(toolguard.Query{Group: "g"}))
	assert.Equal(t, "g2", one(toolguard.Query{Group: "g", States: []toolguard.State{toolguard.StateSucceeded}}))
	assert.Equal(t, "g", one(toolguard.Query{Group: "g", States: []toolguard.State{toolguard.StateFailed}}))
	assert.Empty(t, one(toolguard.Query{Group: "g", Tool: "refund"}))
	assert.Empty(t, one(toolguard.Query{Key: "g", Group: "g", States: []toolguard.State{toolguard.StateSucceeded}}))
	assert.Empty(t, one(toolguard.Query{Group: "none"}))
}

// Where the newest of a group is forgotten, the next is the newest.
func TestTheMemoryJournalForgetsTheNewestOfAGroup(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(t *testing.T, j *toolguard.MemoryJournal){
		"by a prune": func(t *testing.T, j *toolguard.MemoryJournal) {
			_, err := j.Prune(t.Context(), 0)
			require.NoError(t, err)
		},
		"by many others": func(t *testing.T, j *toolguard.MemoryJournal) {
			insertMany(t, j, "other", 10_000, toolguard.StateSucceeded)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, j := t.Context(), toolguard.NewMemoryJournal()
			for i, s := range []toolguard.State{toolguard.StateSucceeded, toolguard.StateParked, toolguard.StateParked, toolguard.StateSucceeded} {
				e := toolguard.Entry{Key: fmt.Sprint("g", i), Group: "g", Generation: i, Token: 1, State: s}
				_, _, err := j.Write(ctx, toolguard.Version{}, e)
				require.NoError(t, err)
			}
			forget(t, j)
			found, err := j.Scan(ctx, toolguard.Query{Group: "g", Limit: 1})
			require.NoError(t, err)
			require.Len(t, found, 1)
			assert.Equal(t, "g2", found[0].Key)
		})
	}
}

// Of one generation the newest is what was made last, also when others are gone.
func TestTheMemoryJournalKeepsTheOrderOfAGeneration(t *testing.T) {
	t.Parallel()
	for range 20 {
		ctx, j := t.Context(), toolguard.NewMemoryJournal()
		for _, key := range []string{"b", "a", "g", "d", "c"} {
			_, _, err := j.Write(ctx, toolguard.Version{}, toolguard.Entry{Key: key, Group: "g", Token: 1, State: toolguard.StatePending})
			require.NoError(t, err)
		}
		_, err := j.Prune(ctx, 0)
		require.NoError(t, err)
		newest, err := j.Scan(ctx, toolguard.Query{Group: "g", Limit: 1})
		require.NoError(t, err)
		require.Equal(t, "c", newest[0].Key)
	}
}

// An intent that there is no room for is an error: nothing runs unrecorded.
func TestTheMemoryJournalRefusesWhatItCannotKeep(t *testing.T) {
	t.Parallel()
	ctx, j := context.Background(), toolguard.NewMemoryJournal()
	insertMany(t, j, "open", 10_000, toolguard.StatePending)
	one := toolguard.Entry{Key: "one", Group: "one", Token: 1, State: toolguard.StatePending}
	_, ok, err := j.Write(ctx, toolguard.Version{}, one)
	assert.False(t, ok)
	assert.ErrorContains(t, err, "full")
	settled := toolguard.Entry{Key: "open7", Group: "open7", Token: 1, State: toolguard.StateFailed}
	_, ok, err = j.Write(ctx, toolguard.Version{Token: 1, State: toolguard.StatePending}, settled)
	require.NoError(t, err)
	require.True(t, ok)
	_, ok, err = j.Write(ctx, toolguard.Version{}, one)
	require.NoError(t, err)
	assert.True(t, ok, "there is room again")
}

// What a prune leaves of the audit takes no more room than any records.
func TestTheMemoryJournalPrunesItsAudit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, j := t.Context(), toolguard.NewMemoryJournal()
		for i := range 41 {
			require.NoError(t, j.Append(ctx, make([]toolguard.Record, 999)...))
			insertMany(t, j, fmt.Sprint("open", i, "."), 1, toolguard.StatePending)
			time.Sleep(time.Hour)
			_, err := j.Prune(ctx, minute)
			require.NoError(t, err)
		}
		records, err := j.Records(ctx, toolguard.RecordQuery{})
		require.NoError(t, err)
		require.Len(t, records, 2*41)
		for i, r := range records {
			assert.Equal(t, fmt.Sprint("open", i/2, ".0"), r.Key)
			assert.EqualValues(t, i/2*1001+i%2+1000, r.Seq)
		}
		require.NoError(t, j.Append(ctx, make([]toolguard.Record, 39_918)...))
		records, err = j.Records(ctx, toolguard.RecordQuery{Limit: 50_000})
		require.NoError(t, err)
		assert.Len(t, records, 40_000)
		_, err = j.Prune(ctx, 0)
		require.NoError(t, err)
		records, err = j.Records(ctx, toolguard.RecordQuery{After: 1000})
		require.NoError(t, err)
		assert.Len(t, records, 2*41-1)
	})
}

// A record goes on saying who made which call, whoever makes the next one under the
// key.
func TestRecordsKeepWhatTheySaid(t *testing.T) {
	t.Parallel()
	b, j := &bank{refuses: toolguard.NoEffect(toolguard.Business("closed"))}, toolguard.NewMemoryJournal()
	g := guardOf(t, refundTool(b, toolguard.NonIdempotent), &toolguard.Options{Journal: j})
	call := func(id, principal string) toolguard.Envelope {
		ctx := toolguard.WithScope(context.Background(), toolguard.Scope{Session: "s", Turn: "1", Principal: principal})
		return g.Do(ctx, toolguard.Call{ID: id, Args: []byte(`{"order":"A"}`)})
	}
	key := call("first", "ann").Key
	require.Equal(t, key, call("second", "bob").Key)
	records, err := j.Records(context.Background(), toolguard.RecordQuery{Key: key})
	require.NoError(t, err)
	var got []string
	for _, r := range records {
		got = append(got, fmt.Sprint(r.CallID, " ", r.Scope.Principal, " ", r.Kind, " ", r.From, " ", r.To, " ", r.Token, " ", r.Actor, " ", r.Tool))
	}
	assert.Equal(t, []string{
		"first ann state none pending 1 guard refund",
		"first ann attempt none none 1 guard refund",
		"first ann state pending failed 1 guard refund",
		"second bob state failed pending 2 guard refund",
		"second bob attempt none none 2 guard refund",
		"second bob state pending failed 2 guard refund",
	}, got)
}

// What is settled is found by its digest however often the shelves have changed.
func TestTheMemoryJournalFindsDigests(t *testing.T) {
	t.Parallel()
	ctx, j := context.Background(), toolguard.NewMemoryJournal()
	digest := func(i int) toolguard.Digest { return toolguard.Digest(sha256.Sum256(fmt.Append(nil, i))) }
	const n, kept = 17_000, 5_000
	for i := range n {
		key := fmt.Sprint("k", i)
		e := toolguard.Entry{Key: key, Group: key, Token: 1, State: toolguard.StateSucceeded, Digest: digest(i / 2)}
		_, ok, err := j.Write(ctx, toolguard.Version{}, e)
		require.NoError(t, err)
		require.True(t, ok)
	}
	for i := (n - kept) / 2; i < n/2; i++ {
		found, err := j.Scan(ctx, toolguard.Query{Digest: digest(i), States: []toolguard.State{toolguard.StateSucceeded}})
		require.NoError(t, err)
		require.Len(t, found, 2, i)
	}
	found, err := j.Scan(ctx, toolguard.Query{Digest: digest(n)})
	require.NoError(t, err)
	assert.Empty(t, found)
}
