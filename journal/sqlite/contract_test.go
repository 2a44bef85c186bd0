package sqlite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// contract holds a journal against what [toolguard.Journal] says, one bullet or
// sentence a subtest. open returns an empty journal, which the test closes.
func contract(t *testing.T, open func(t *testing.T) toolguard.Journal) {
	for name, test := range map[string]func(*testing.T, toolguard.Journal){
		"an entry comes back as it was written":           roundTrip,
		"a record comes back as it was written":           recordRoundTrip,
		"a write replaces the version it names":           compareAndSwap,
		"of two that replace one version, one does":       oneWins,
		"an entry and its records together":               together,
		"keys that no store can keep":                     badKeys,
		"one clock stamps":                                stamps,
		"copies, which the caller may change":             copies,
		"after ctx has ended, an error":                   endedContext,
		"scan asks for all of what is set":                scanFilters,
		"scan returns the newest first":                   scanOrder,
		"take returns what is due, the longest due first": takeOrder,
		"take fences who held a pending entry":            takeFences,
		"of several takers each gets its own":             takersShare,
		"records in the order they were added":            recordOrder,
		"prune deletes what is settled and old":           prune,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// filled sets every field of a struct that a journal has to keep, so that one that
// is added later is not forgotten.
func filled[T any](seed int64) T {
	var v T
	fill(reflect.ValueOf(&v).Elem(), &seed)
	return v
}

func fill(v reflect.Value, n *int64) {
	*n++
	if d, ok := v.Addr().Interface().(*toolguard.Digest); ok {
		for i := range d {
			d[i] = byte(*n) + byte(i)
		}
		return
	}
	if _, ok := v.Interface().(time.Time); ok {
		return // the store's
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d: ä\n<&>' \"", *n))
	case reflect.Slice:
		v.SetBytes(fmt.Appendf(nil, "{ \"n\": %d.0, \"s\":\"<\\u003c&>\"}", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8: // an enumeration: its values are few
		v.SetUint(1)
	default:
		if v.CanUint() {
			v.SetUint(1<<40 + uint64(*n))
		} else {
			v.SetInt(1<<30 + *n)
		}
	}
}

// entry is one that somebody would write.
func entry(key string, state toolguard.State) toolguard.Entry {
	return toolguard.Entry{Key: key, Token: 1, State: state, Group: "group of " + key, Tool: "refund", Args: json.RawMessage(`{"amount":1}`)}
}

func write(t *testing.T, j toolguard.Journal, was toolguard.Version, e toolguard.Entry, records ...toolguard.Record) toolguard.Entry {
	t.Helper()
	now, ok, err := j.Write(t.Context(), was, e, records...)
	require.NoError(t, err)
	require.True(t, ok)
	return now
}

func scan(t *testing.T, j toolguard.Journal, q toolguard.Query) []toolguard.Entry {
	t.Helper()
	found, err := j.Scan(t.Context(), q)
	require.NoError(t, err)
	return found
}

func keys(entries []toolguard.Entry) []string {
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Key)
	}
	return names
}

// unstamped takes out what the store sets.
func unstamped(e toolguard.Entry) toolguard.Entry {
	e.Created, e.Updated, e.Read = time.Time{}, time.Time{}, time.Time{}
	return e
}

func roundTrip(t *testing.T, j toolguard.Journal) {
	e := filled[toolguard.Entry](0)
	e.Token, e.State = 1<<63+5, toolguard.StatePending
	e.Key = strings.Repeat("k", 512)
	now := write(t, j, toolguard.Version{}, e)
	assert.Equal(t, e, unstamped(now))
	found := scan(t, j, toolguard.Query{Key: e.Key})
	require.Len(t, found, 1)
	assert.Equal(t, e, unstamped(found[0]))

	other := filled[toolguard.Entry](1000)
	other.Key, other.State, other.Approval = e.Key, toolguard.StateUnknown, nil
	other.Args, other.Result = json.RawMessage{}, nil
	write(t, j, e.Version(), other)
	found = scan(t, j, toolguard.Query{Key: e.Key})
	require.Len(t, found, 1)
	assert.Equal(t, other, unstamped(found[0]))

	strange := entry("\x00\xff%'\"", toolguard.StatePending)
	strange.Args, strange.Scope.Turn = json.RawMessage("\x00no JSON\xff"), "\xfe\x00"
	write(t, j, toolguard.Version{}, strange)
	found = scan(t, j, toolguard.Query{Key: strange.Key})
	require.Len(t, found, 1)
	assert.Equal(t, strange, unstamped(found[0]))
}

func recordRoundTrip(t *testing.T, j toolguard.Journal) {
	want := filled[toolguard.Record](0)
	require.NoError(t, j.Append(t.Context(), want, toolguard.Record{Actor: "guard"}))
	found, err := j.Records(t.Context(), toolguard.RecordQuery{})
	require.NoError(t, err)
	require.Len(t, found, 2)
	got := found[0]
	assert.NotZero(t, got.Seq)
	assert.WithinDuration(t, time.Now(), got.At, time.Minute)
	got.Seq, got.At = want.Seq, want.At
	assert.Equal(t, want, got)
	assert.Greater(t, found[1].Seq, found[0].Seq)
}

func compareAndSwap(t *testing.T, j toolguard.Journal) {
	pending := entry("a", toolguard.StatePending)
	first := write(t, j, toolguard.Version{}, pending)

	for name, was := range map[string]toolguard.Version{
		"none":          {},
		"another token": {Token: 2, State: toolguard.StatePending},
		"another state": {Token: 1, State: toolguard.StateUnknown},
	} {
		e := entry("a", toolguard.StateSucceeded)
		now, ok, err := j.Write(t.Context(), was, e)
		require.NoError(t, err, name)
		assert.False(t, ok, name)
		assert.Equal(t, unstamped(first), unstamped(now), "the entry as it is, not what was asked for: %s", name)
		assert.True(t, now.Created.Equal(first.Created) && now.Updated.Equal(first.Updated), name)
	}
	now, ok, err := j.Write(t.Context(), pending.Version(), entry("b", toolguard.StateSucceeded))
	require.NoError(t, err)
	assert.False(t, ok, "there is no entry to replace")
	assert.Zero(t, now)

	done := entry("a", toolguard.StateSucceeded)
	done.Result = json.RawMessage(`"ok"`)
	now = write(t, j, pending.Version(), done)
	assert.Equal(t, done, unstamped(now))
	assert.Equal(t, []string{"a"}, keys(scan(t, j, toolguard.Query{})))
}

func oneWins(t *testing.T, j toolguard.Journal) {
	write(t, j, toolguard.Version{}, entry("settled by one", toolguard.StatePending))
	for _, was := range []toolguard.Version{{}, {Token: 1, State: toolguard.StatePending}} {
		key := "settled by one"
		if was == (toolguard.Version{}) {
			key = "claimed by one"
		}
		var won atomic.Int64
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				e := entry(key, toolguard.StateSucceeded)
				e.Owner = fmt.Sprint(i)
				now, ok, err := j.Write(t.Context(), was, e)
				if assert.NoError(t, err); ok {
					won.Add(1)
				}
				assert.Equal(t, key, now.Key)
			})
		}
		wg.Wait()
		assert.EqualValues(t, 1, won.Load(), key)
	}
}

func together(t *testing.T, j toolguard.Journal) {
	records := func() int {
		found, err := j.Records(t.Context(), toolguard.RecordQuery{Key: "a"})
		require.NoError(t, err)
		return len(found)
	}
	r := toolguard.Record{Key: "a", To: toolguard.StatePending, Actor: "guard"}
	write(t, j, toolguard.Version{}, entry("a", toolguard.StatePending), r, r)
	assert.Equal(t, 2, records())
	_, ok, err := j.Write(t.Context(), toolguard.Version{}, entry("a", toolguard.StatePending), r)
	require.NoError(t, err)
	require.False(t, ok)
	assert.Equal(t, 2, records(), "a conflict writes no record")
	require.NoError(t, j.Append(t.Context(), r))
	require.NoError(t, j.Append(t.Context()))
	assert.Equal(t, 3, records())
}

func badKeys(t *testing.T, j toolguard.Journal) {
	for _, key := range []string{"", strings.Repeat("k", 513)} {
		_, ok, err := j.Write(t.Context(), toolguard.Version{}, entry(key, toolguard.StatePending), toolguard.Record{})
		assert.ErrorContains(t, err, "the key has")
		assert.False(t, ok)
	}
	found, err := j.Records(t.Context(), toolguard.RecordQuery{})
	require.NoError(t, err)
	assert.Empty(t, found)
	assert.Empty(t, scan(t, j, toolguard.Query{}))
}

func stamps(t *testing.T, j toolguard.Journal) {
	e := entry("a", toolguard.StatePending)
	e.Created, e.Updated, e.Read = time.Unix(1, 0), time.Unix(2, 0), time.Unix(3, 0)
	first := write(t, j, toolguard.Version{}, e, toolguard.Record{Key: "a", At: time.Unix(4, 0), Seq: 77})
	assert.WithinDuration(t, time.Now(), first.Created, time.Minute)
	assert.True(t, first.Updated.Equal(first.Created) && first.Read.Equal(first.Created))

	second := write(t, j, e.Version(), entry("a", toolguard.StateUnknown))
	assert.True(t, second.Updated.Equal(second.Read) && !second.Updated.Before(first.Updated))
	assert.True(t, second.Created.Equal(first.Created), "Created is the first write's")
	read := scan(t, j, toolguard.Query{Key: "a"})[0]
	assert.True(t, read.Created.Equal(first.Created))
	assert.True(t, read.Updated.Equal(second.Updated))
	assert.False(t, read.Read.Before(read.Updated))
	records, err := j.Records(t.Context(), toolguard.RecordQuery{})
	require.NoError(t, err)
	assert.True(t, records[0].At.Equal(first.Created))
}

func copies(t *testing.T, j toolguard.Journal) {
	e := entry("a", toolguard.StatePending)
	e.Args, e.Approval = json.RawMessage(`[1]`), &toolguard.Approval{By: "ann"}
	record := toolguard.Record{Key: "a", Args: json.RawMessage(`[1]`)}
	write(t, j, toolguard.Version{}, e, record)
	e.Args[1], record.Args[1] = '2', '2'
	for range 2 {
		read := scan(t, j, toolguard.Query{})[0]
		records, err := j.Records(t.Context(), toolguard.RecordQuery{})
		require.NoError(t, err)
		assert.Equal(t, "[1]", string(read.Args))
		assert.Equal(t, "[1]", string(records[0].Args))
		assert.Equal(t, "ann", read.Approval.By)
		read.Args[1], records[0].Args[1], read.Approval.By = '3', '3', "bob"
	}
}

func endedContext(t *testing.T, j toolguard.Journal) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, writeErr := j.Write(ctx, toolguard.Version{}, entry("a", toolguard.StatePending))
	_, scanErr := j.Scan(ctx, toolguard.Query{})
	_, takeErr := j.Take(ctx, 1, time.Second)
	_, recordsErr := j.Records(ctx, toolguard.RecordQuery{})
	_, pruneErr := j.Prune(ctx, 0)
	for _, err := range []error{writeErr, scanErr, takeErr, recordsErr, pruneErr, j.Append(ctx, toolguard.Record{})} {
		assert.ErrorIs(t, err, context.Canceled)
	}
	assert.Empty(t, scan(t, j, toolguard.Query{}))
}

func scanFilters(t *testing.T, j toolguard.Journal) {
	var all []toolguard.Entry
	for i := range 24 {
		pick := func(bit int) string { return string(rune('a' + i>>bit&1)) }
		e := entry(fmt.Sprintf("k%02d", i), []toolguard.State{toolguard.StatePending, toolguard.StateParked, toolguard.StateSucceeded}[i%3])
		e.Group, e.Generation, e.Tool = "g"+pick(0), i, "t"+pick(1)
		e.Scope = toolguard.Scope{Tenant: "n" + pick(2), Session: "s" + pick(3), Run: "r" + pick(1)}
		write(t, j, toolguard.Version{}, e)
		all = append([]toolguard.Entry{e}, all...)
	}
	parked, open := []toolguard.State{toolguard.StateParked}, []toolguard.State{toolguard.StateParked, toolguard.StatePending}
	for _, q := range []toolguard.Query{
		{}, {Key: "k05"}, {Key: "none"}, {Group: "ga"}, {Tenant: "nb"}, {Session: "sb"}, {Run: "ra"}, {Tool: "tb"},
		{States: parked}, {States: open}, {States: []toolguard.State{toolguard.StateSucceeded, toolguard.StateParked}}, {States: []toolguard.State{toolguard.StateAborted}},
		{Key: "k05", Group: "gb"}, {Key: "k05", Group: "ga"}, {Key: "k05", States: parked},
		{Group: "ga", Tenant: "na", Session: "sa", Run: "ra", Tool: "ta", States: open},
		{Limit: 3}, {Skip: 5, Limit: 3}, {Skip: 23}, {Skip: 24}, {Skip: -1, Limit: -1}, {Tool: "ta", Skip: 2, Limit: 2}, {Group: "gb", Limit: 1},
	} {
		want := []string{}
		for _, e := range all {
			if q.Matches(&e) {
				want = append(want, e.Key)
			}
		}
		want = want[min(max(q.Skip, 0), len(want)):]
		if q.Limit > 0 {
			want = want[:min(q.Limit, len(want))]
		}
		assert.Equal(t, want, keys(scan(t, j, q)), "%+v", q)
	}
}

func scanOrder(t *testing.T, j toolguard.Journal) {
	for i := range 120 {
		e := entry(fmt.Sprintf("k%03d", i), toolguard.StatePending)
		e.Group, e.Generation = "g", i
		write(t, j, toolguard.Version{}, e)
	}
	write(t, j, toolguard.Version{Token: 1, State: toolguard.StatePending}, entry("k000", toolguard.StateSucceeded))
	found := scan(t, j, toolguard.Query{})
	assert.Len(t, found, 100, "the limit, if none is given")
	assert.Equal(t, "k119", found[0].Key, "a change makes nothing newer")
	found = scan(t, j, toolguard.Query{Group: "g", Limit: 1})
	assert.Equal(t, []string{"k119"}, keys(found))
}

func takeOrder(t *testing.T, j toolguard.Journal) {
	put := func(key string, state toolguard.State, due time.Duration) {
		e := entry(key, state)
		e.Due = due
		write(t, j, toolguard.Version{}, e)
	}
	put("second", toolguard.StateUnknown, 2)
	put("later", toolguard.StatePending, time.Hour)
	put("never", toolguard.StatePending, 0)
	put("far beyond what can be counted", toolguard.StatePending, 1<<63-1)
	put("settled", toolguard.StateSucceeded, 1)
	put("third", toolguard.StateAwaiting, 1)

	none, err := j.Take(t.Context(), 0, time.Hour)
	require.NoError(t, err)
	assert.Empty(t, none)
	one, err := j.Take(t.Context(), 1, time.Hour)
	require.NoError(t, err)
	assert.Equal(t, []string{"second"}, keys(one))
	assert.Equal(t, toolguard.StateUnknown, one[0].State)
	rest, err := j.Take(t.Context(), 10, 1)
	require.NoError(t, err)
	assert.Equal(t, []string{"third"}, keys(rest))
	again, err := j.Take(t.Context(), 10, time.Hour)
	require.NoError(t, err)
	assert.Equal(t, []string{"third"}, keys(again), "due again after hold")
	assert.GreaterOrEqual(t, again[0].Due, time.Hour, "from Updated on")
	none, err = j.Take(t.Context(), 10, time.Hour)
	require.NoError(t, err)
	assert.Empty(t, none)
}

func takeFences(t *testing.T, j toolguard.Journal) {
	pending, unknown := entry("pending", toolguard.StatePending), entry("unknown", toolguard.StateUnknown)
	pending.Due, unknown.Due = 1, 1
	claimed := write(t, j, toolguard.Version{}, pending)
	write(t, j, toolguard.Version{}, unknown)
	taken, err := j.Take(t.Context(), 2, time.Hour)
	require.NoError(t, err)
	require.Equal(t, []string{"pending", "unknown"}, keys(taken))
	assert.EqualValues(t, 2, taken[0].Token)
	assert.EqualValues(t, 1, taken[1].Token)
	assert.True(t, taken[0].Updated.Equal(claimed.Updated))

	now, ok, err := j.Write(t.Context(), claimed.Version(), entry("pending", toolguard.StateSucceeded))
	require.NoError(t, err)
	assert.False(t, ok, "who held it settles it no more")
	assert.EqualValues(t, 2, now.Token)
	write(t, j, taken[0].Version(), entry("pending", toolguard.StateUnknown))
}

func takersShare(t *testing.T, j toolguard.Journal) {
	const n = 60
	for i := range n {
		e := entry(fmt.Sprint(i), toolguard.StatePending)
		e.Due = 1
		write(t, j, toolguard.Version{}, e)
	}
	var got sync.Map
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for {
				taken, err := j.Take(context.WithoutCancel(t.Context()), 7, time.Hour)
				if !assert.NoError(t, err) || len(taken) == 0 {
					return
				}
				for _, e := range taken {
					_, twice := got.LoadOrStore(e.Key, true)
					assert.False(t, twice, "two takers got %q", e.Key)
				}
			}
		})
	}
	wg.Wait()
	for i := range n {
		_, taken := got.Load(fmt.Sprint(i))
		assert.True(t, taken, i)
	}
}

func recordOrder(t *testing.T, j toolguard.Journal) {
	for i := range 10 {
		require.NoError(t, j.Append(t.Context(),
			toolguard.Record{Key: "a", Attempt: i}, toolguard.Record{Key: "", Kind: toolguard.RecordRefused, Attempt: i}))
	}
	all, err := j.Records(t.Context(), toolguard.RecordQuery{})
	require.NoError(t, err)
	require.Len(t, all, 20)
	for i, r := range all {
		assert.Equal(t, i/2, r.Attempt)
		assert.True(t, i == 0 || r.Seq > all[i-1].Seq)
	}
	of, err := j.Records(t.Context(), toolguard.RecordQuery{Key: "a", After: all[9].Seq, Limit: 3})
	require.NoError(t, err)
	assert.Equal(t, []toolguard.Record{all[10], all[12], all[14]}, of)
	none, err := j.Records(t.Context(), toolguard.RecordQuery{After: 1<<64 - 1})
	require.NoError(t, err)
	assert.Empty(t, none)
}

func prune(t *testing.T, j toolguard.Journal) {
	states := []toolguard.State{
		toolguard.StateAwaiting, toolguard.StateApproved, toolguard.StateDenied, toolguard.StateExpired, toolguard.StatePending,
		toolguard.StateSucceeded, toolguard.StateFailed, toolguard.StateUnknown, toolguard.StateParked, toolguard.StateAborted,
	}
	stay, prunable := []string{}, 0
	for _, s := range states {
		write(t, j, toolguard.Version{}, entry(s.String(), s), toolguard.Record{Key: s.String(), To: s})
		if s.Prunable() {
			prunable++
		} else {
			stay = append([]string{s.String()}, stay...)
		}
	}
	require.NoError(t, j.Append(t.Context(), toolguard.Record{Kind: toolguard.RecordRefused}, toolguard.Record{Key: "of no entry"}))
	n, err := j.Prune(t.Context(), time.Hour)
	require.NoError(t, err)
	assert.Zero(t, n)
	assert.Len(t, scan(t, j, toolguard.Query{}), len(states))

	n, err = j.Prune(t.Context(), 0)
	require.NoError(t, err)
	assert.Equal(t, prunable, n)
	assert.Equal(t, stay, keys(scan(t, j, toolguard.Query{})))
	records, err := j.Records(t.Context(), toolguard.RecordQuery{})
	require.NoError(t, err)
	var of []string
	for _, r := range records {
		of = append([]string{r.Key}, of...)
	}
	assert.Equal(t, stay, of)
}
