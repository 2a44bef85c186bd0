package postgres_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

func TestContract(t *testing.T) {
	t.Parallel()
	contract(t, func(t *testing.T) toolguard.Journal { return open(t) })
}

// contract holds a journal against what [toolguard.Journal] says, a sentence or two
// in each subtest. open returns an empty journal, which ends with the test.
func contract(t *testing.T, open func(t *testing.T) toolguard.Journal) {
	for name, test := range map[string]func(*testing.T, toolguard.Journal){
		"Write stores e, every field to the byte":              keepsEntries,
		"records come back as they were added":                 keepsRecords,
		"text that a database may not like":                    keepsStrangeText,
		"Write replaces only the version it names":             replacesOneVersion,
		"of two that replace one version, one does":            oneReplaces,
		"an entry and its records together or not at all":      allOrNothing,
		"a key is 1 to 512 bytes":                              refusesKeys,
		"Created, Updated, Read and At are of one clock":       stampsByOneClock,
		"it returns copies":                                    returnsCopies,
		"it returns soon after ctx has ended":                  endsWithItsContext,
		"Scan returns the entries the query asks for":          scansByEverything,
		"Scan returns the newest first":                        scansNewestFirst,
		"Take returns what is due, the longest due first":      takesLongestDueFirst,
		"Take gives what is pending the next token":            takeFences,
		"of several takers each gets its own":                  takersGetTheirOwn,
		"Records returns records in the order they were added": recordsInOrder,
		"Prune deletes what is settled and old":                prunesWhatIsSettled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func keepsEntries(t *testing.T, j toolguard.Journal) {
	want := filled[toolguard.Entry](1)
	want.Token, want.State = 1<<63+5, toolguard.StateUnknown
	now := write(t, j, toolguard.Version{}, want, filled[toolguard.Record](2))
	assert.Equal(t, want, unstamped(now))
	found := scan(t, j, toolguard.Query{Key: want.Key})
	require.Len(t, found, 1)
	assert.Equal(t, want, unstamped(found[0]))

	next := filled[toolguard.Entry](500)
	next.Key, next.State, next.Approval, next.Args, next.Result = want.Key, toolguard.StateParked, nil, json.RawMessage{}, nil
	write(t, j, want.Version(), next)
	assert.Equal(t, next, unstamped(scan(t, j, toolguard.Query{Key: want.Key})[0]), "nothing of the old version is left")
	back := want
	back.Token, back.State, back.Approval = next.Token, toolguard.StateFailed, &toolguard.Approval{By: "bob"}
	write(t, j, next.Version(), back)
	assert.Equal(t, back, unstamped(scan(t, j, toolguard.Query{Key: want.Key})[0]))
}

func keepsRecords(t *testing.T, j toolguard.Journal) {
	want := filled[toolguard.Record](1)
	require.NoError(t, j.Append(t.Context(), want, toolguard.Record{Actor: "guard", Args: json.RawMessage{}}))
	for _, q := range []toolguard.RecordQuery{{}, {Key: want.Key}} {
		got := records(t, j, q)
		require.NotEmpty(t, got)
		got[0].Seq, got[0].At = want.Seq, want.At
		assert.Equal(t, want, got[0])
	}
	all := records(t, j, toolguard.RecordQuery{})
	require.Len(t, all, 2)
	all[1].Seq, all[1].At = 0, time.Time{}
	assert.Equal(t, toolguard.Record{Actor: "guard", Args: json.RawMessage{}}, all[1])
}

var strangeTexts = []string{
	"a", "A", "ä", "á", " a", "a ", "a%", "a_", "a'b", `a"b`, `a\b`, `a\u0000b`, "a;--", "日本語", "k\n\t", "🔒", "\x00", "\xff", "\xf0\x9f", "␛00", "␛", "␛e2␛90␛9b", "$1",
	strings.Repeat("x", 512), strings.Repeat("é", 256), strings.Repeat("\x00", 512), strings.Repeat("␛", 170), strings.Repeat("\xff", 512),
}

func keepsStrangeText(t *testing.T, j toolguard.Journal) {
	var long string // more than an index holds
	for range 300 {
		long += rand.Text()
	}
	for i, s := range strangeTexts {
		e := entry(s, toolguard.StatePending)
		e.Group, e.Tool, e.CallID, e.ToolVersion, e.Result = s+long, s, s, s, json.RawMessage(s)
		e.Scope = toolguard.Scope{Tenant: s, Session: s + long, Run: s + long, Step: s}
		e.Approval = &toolguard.Approval{By: s, Why: s}
		write(t, j, toolguard.Version{}, e, toolguard.Record{Key: s + long, Why: s, Incident: s, Attempt: i})
		for _, q := range []toolguard.Query{{Key: s}, {Group: e.Group}, {Tenant: s}, {Session: e.Scope.Session}, {Run: e.Scope.Run}, {Tool: s}} {
			found := scan(t, j, q)
			if assert.Len(t, found, 1, "%.20q", s) {
				assert.Equal(t, e, unstamped(found[0]))
			}
		}
		of := records(t, j, toolguard.RecordQuery{Key: s + long})
		if assert.Len(t, of, 1, "%.20q", s) {
			assert.Equal(t, []string{s, s}, []string{of[0].Why, of[0].Incident})
		}
	}
	assert.Len(t, scan(t, j, toolguard.Query{}), len(strangeTexts))
}

func replacesOneVersion(t *testing.T, j toolguard.Journal) {
	pending := entry("a", toolguard.StatePending)
	first := write(t, j, toolguard.Version{}, pending)
	for name, was := range map[string]toolguard.Version{
		"none":          {},
		"another token": {Token: 2, State: toolguard.StatePending},
		"another state": {Token: 1, State: toolguard.StateUnknown},
	} {
		now, ok, err := j.Write(t.Context(), was, entry("a", toolguard.StateSucceeded))
		require.NoError(t, err, name)
		assert.False(t, ok, name)
		assert.Equal(t, unstamped(first), unstamped(now), "what is there, not what was asked for: %s", name)
		assert.True(t, now.Created.Equal(first.Created) && now.Updated.Equal(first.Updated) && now.Read.After(first.Read), name)
	}
	now, ok, err := j.Write(t.Context(), pending.Version(), entry("b", toolguard.StateSucceeded))
	require.NoError(t, err)
	assert.False(t, ok, "there is nothing to replace")
	assert.Zero(t, now)

	done := entry("a", toolguard.StateSucceeded)
	done.Result = json.RawMessage(`"ok"`)
	assert.Equal(t, done, unstamped(write(t, j, pending.Version(), done)))
	assert.Equal(t, []string{"a"}, keysOf(scan(t, j, toolguard.Query{})))
}

func oneReplaces(t *testing.T, j toolguard.Journal) {
	const racers = 16
	write(t, j, toolguard.Version{}, entry("settle", toolguard.StatePending))
	for key, was := range map[string]toolguard.Version{"claim": {}, "settle": {Token: 1, State: toolguard.StatePending}} {
		var won, saw atomic.Value
		var wins atomic.Int64
		var all sync.WaitGroup
		for i := range racers {
			all.Go(func() {
				e := entry(key, toolguard.StateSucceeded)
				e.Owner = fmt.Sprint(i)
				now, ok, err := j.Write(t.Context(), was, e, toolguard.Record{Key: key})
				if !assert.NoError(t, err) {
					return
				}
				if ok {
					wins.Add(1)
					won.Store(e.Owner)
				} else {
					saw.Store(now.Owner)
				}
			})
		}
		all.Wait()
		assert.EqualValues(t, 1, wins.Load(), key)
		assert.Equal(t, won.Load(), saw.Load(), key)
		assert.Len(t, records(t, j, toolguard.RecordQuery{Key: key}), 1)
	}
}

func allOrNothing(t *testing.T, j toolguard.Journal) {
	r := toolguard.Record{Key: "a", To: toolguard.StatePending, Actor: "guard"}
	count := func() int { return len(records(t, j, toolguard.RecordQuery{Key: "a"})) }
	write(t, j, toolguard.Version{}, entry("a", toolguard.StatePending), r, r)
	assert.Equal(t, 2, count())
	for _, was := range []toolguard.Version{{}, {Token: 1, State: toolguard.StateParked}} {
		_, ok, err := j.Write(t.Context(), was, entry("a", toolguard.StatePending), r)
		require.NoError(t, err)
		require.False(t, ok)
	}
	assert.Equal(t, 2, count(), "what is not replaced has no record")
	write(t, j, entryVersion, entry("a", toolguard.StateUnknown), r)
	require.NoError(t, j.Append(t.Context(), r))
	require.NoError(t, j.Append(t.Context()))
	assert.Equal(t, 4, count())
	for i := range 40 { // interrupted anywhere
		key := fmt.Sprint("k", i)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*i)*2*time.Microsecond)
		_, ok, err := j.Write(ctx, toolguard.Version{}, entry(key, toolguard.StatePending), toolguard.Record{Key: key}, toolguard.Record{Key: key})
		cancel()
		there, n := len(scan(t, j, toolguard.Query{Key: key})), len(records(t, j, toolguard.RecordQuery{Key: key}))
		assert.Equal(t, 2*there, n, "an interrupted write has left %d entries, %d records", there, n)
		assert.True(t, err != nil || ok && there == 1, "a write that succeeds is there")
	}
}

var entryVersion = toolguard.Version{Token: 1, State: toolguard.StatePending}

func refusesKeys(t *testing.T, j toolguard.Journal) {
	for _, key := range []string{"", strings.Repeat("k", 513), strings.Repeat("é", 257)} {
		_, ok, err := j.Write(t.Context(), toolguard.Version{}, entry(key, toolguard.StatePending), toolguard.Record{})
		assert.ErrorContains(t, err, "the key has")
		assert.False(t, ok)
	}
	assert.Empty(t, records(t, j, toolguard.RecordQuery{}))
	assert.Empty(t, scan(t, j, toolguard.Query{}))
}

func stampsByOneClock(t *testing.T, j toolguard.Journal) {
	e := entry("a", toolguard.StatePending)
	e.Created, e.Updated, e.Read = time.Unix(1, 0), time.Unix(2, 0), time.Unix(3, 0)
	first := write(t, j, toolguard.Version{}, e, toolguard.Record{Key: "a", At: time.Unix(4, 0), Seq: 77})
	assert.WithinDuration(t, time.Now(), first.Created, time.Minute)
	assert.True(t, first.Updated.Equal(first.Created) && first.Read.Equal(first.Created))
	second := write(t, j, e.Version(), entry("a", toolguard.StateUnknown), toolguard.Record{Key: "a"})
	assert.True(t, second.Created.Equal(first.Created), "Created is that of the first write")
	assert.True(t, second.Updated.Equal(second.Read) && second.Updated.After(first.Updated))
	read := scan(t, j, toolguard.Query{Key: "a"})[0]
	assert.True(t, read.Created.Equal(first.Created) && read.Updated.Equal(second.Updated) && read.Read.After(read.Updated))
	audit := records(t, j, toolguard.RecordQuery{})
	assert.True(t, audit[0].At.Equal(first.Created) && audit[1].At.Equal(second.Updated))
}

func returnsCopies(t *testing.T, j toolguard.Journal) {
	e := entry("a", toolguard.StatePending)
	e.Args, e.Approval = json.RawMessage(`[1]`), &toolguard.Approval{By: "ann ␛"}
	r := toolguard.Record{Key: "a", Args: json.RawMessage(`[1]`)}
	now := write(t, j, toolguard.Version{}, e, r)
	assert.Equal(t, "ann ␛", e.Approval.By, "the caller's own is as it was")
	now.Args[1], r.Args[1] = '2', '2'
	for range 2 {
		read, audit := scan(t, j, toolguard.Query{})[0], records(t, j, toolguard.RecordQuery{})
		assert.Equal(t, "[1]", string(read.Args))
		assert.Equal(t, "[1]", string(audit[0].Args))
		assert.Equal(t, "ann ␛", read.Approval.By)
		read.Args[1], audit[0].Args[1], read.Approval.By = '3', '3', "bob"
	}
}

func endsWithItsContext(t *testing.T, j toolguard.Journal) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, writeErr := j.Write(ctx, toolguard.Version{}, entry("a", toolguard.StatePending))
	_, scanErr := j.Scan(ctx, toolguard.Query{})
	_, takeErr := j.Take(ctx, 1, time.Second)
	_, noneErr := j.Take(ctx, 0, time.Second)
	_, recordsErr := j.Records(ctx, toolguard.RecordQuery{})
	_, pruneErr := j.Prune(ctx, 0)
	for i, err := range []error{writeErr, scanErr, takeErr, noneErr, recordsErr, pruneErr, j.Append(ctx, toolguard.Record{}), j.Append(ctx)} {
		assert.ErrorIs(t, err, context.Canceled, i)
	}
	assert.Empty(t, scan(t, j, toolguard.Query{}))
}
