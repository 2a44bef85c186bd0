package postgres_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// filled sets every field that a journal has to keep, so that one which is added
// later is not forgotten. No two strings or numbers are the same.
func filled[T any](seed int) T {
	var v T
	fill(reflect.ValueOf(&v).Elem(), &seed)
	return v
}

func fill(v reflect.Value, n *int) {
	*n++
	if v.Type() == reflect.TypeFor[time.Time]() {
		return // the store's own
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Array: // a digest
		reflect.Copy(v, reflect.ValueOf(slices.Repeat([]byte{byte(*n)}, v.Len())))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d: ä\n<&>' \"\u2028", *n))
	case reflect.Slice:
		v.SetBytes(fmt.Appendf(nil, `{ "n": %d.00, "n":1e2, "b":9007199254740993, "s":"<\u003c&>" }`, *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8: // an enumeration
		v.SetUint(1)
	default:
		if v.CanUint() {
			v.SetUint(1<<40 + uint64(*n))
		} else {
			v.SetInt(1<<30 + int64(*n))
		}
	}
}

func scansByEverything(t *testing.T, j toolguard.Journal) {
	states := []toolguard.State{toolguard.StatePending, toolguard.StateParked, toolguard.StateSucceeded}
	var all []toolguard.Entry
	for i := range 24 {
		pick := func(bit int) string { return string(rune('a' + i>>bit&1)) }
		e := entry(fmt.Sprintf("k%02d", i), states[i%3])
		e.Group, e.Generation, e.Tool = "g"+pick(0), i, "t"+pick(1)
		e.Scope = toolguard.Scope{Tenant: "n" + pick(2), Session: "s" + pick(3), Run: "r" + pick(1)}
		write(t, j, toolguard.Version{}, e)
		all = append([]toolguard.Entry{e}, all...)
	}
	for _, q := range []toolguard.Query{
		{}, {Key: "k05"}, {Key: "none"}, {Group: "ga"}, {Tenant: "nb"}, {Session: "sb"}, {Run: "ra"}, {Tool: "tb"},
		{States: states[1:2]}, {States: states[:2]}, {States: states[1:]}, {States: []toolguard.State{toolguard.StateAborted}},
		{Key: "k05", Group: "gb"}, {Key: "k05", Group: "ga"}, {Key: "k05", States: states[1:2]},
		{Group: "ga", Tenant: "na", Session: "sa", Run: "ra", Tool: "ta", States: states[:2]},
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
		assert.Equal(t, want, keysOf(scan(t, j, q)), "%+v", q)
	}
}

func scansNewestFirst(t *testing.T, j toolguard.Journal) {
	for i := range 120 {
		e := entry(fmt.Sprintf("k%03d", i), toolguard.StatePending)
		e.Group, e.Generation = "g", i
		if i >= 118 {
			e.Group, e.Generation = "h", 200-i // the older one is the later generation
		}
		write(t, j, toolguard.Version{}, e)
	}
	write(t, j, entryVersion, entry("k000", toolguard.StateSucceeded))
	found := scan(t, j, toolguard.Query{})
	assert.Len(t, found, 100, "if no limit is given")
	assert.Equal(t, "k119", found[0].Key, "a change makes nothing newer")
	assert.Equal(t, []string{"k117"}, keysOf(scan(t, j, toolguard.Query{Group: "g", Limit: 1})))
	assert.Equal(t, []string{"k118", "k119"}, keysOf(scan(t, j, toolguard.Query{Group: "h"})))
	assert.Equal(t, []string{"k000"}, keysOf(scan(t, j, toolguard.Query{Skip: 119})))
}

func takesLongestDueFirst(t *testing.T, j toolguard.Journal) {
	put := func(key string, state toolguard.State, due time.Duration) {
		e := entry(key, state)
		e.Due = due
		write(t, j, toolguard.Version{}, e)
	}
	put("second", toolguard.StateUnknown, 2)
	put("later", toolguard.StatePending, time.Hour)
	put("never", toolguard.StatePending, 0)
	put("beyond what can be counted", toolguard.StatePending, 1<<63-1)
	put("settled", toolguard.StateSucceeded, 1)
	put("third", toolguard.StateAwaiting, 1)
	take := func(n int, hold time.Duration) []toolguard.Entry {
		taken, err := j.Take(t.Context(), n, hold)
		require.NoError(t, err)
		return taken
	}
	assert.Empty(t, take(0, time.Hour))
	one := take(1, time.Hour)
	assert.Equal(t, []string{"second"}, keysOf(one))
	assert.Equal(t, toolguard.StateUnknown, one[0].State)
	assert.Equal(t, []string{"third"}, keysOf(take(10, 1)))
	again := take(10, time.Hour)
	require.Equal(t, []string{"third"}, keysOf(again), "due again after hold")
	assert.GreaterOrEqual(t, again[0].Due, time.Hour, "from Updated on")
	assert.Equal(t, again[0].Due, scan(t, j, toolguard.Query{Key: "third"})[0].Due)
	assert.Empty(t, take(10, time.Hour))
}

func takeFences(t *testing.T, j toolguard.Journal) {
	pending, unknown := entry("pending", toolguard.StatePending), entry("unknown", toolguard.StateUnknown)
	pending.Due, unknown.Due = 1, 1
	claimed := write(t, j, toolguard.Version{}, pending)
	write(t, j, toolguard.Version{}, unknown)
	taken, err := j.Take(t.Context(), 2, time.Hour)
	require.NoError(t, err)
	require.Equal(t, []string{"pending", "unknown"}, keysOf(taken))
	assert.Equal(t, []uint64{2, 1}, []uint64{taken[0].Token, taken[1].Token})
	assert.True(t, taken[0].Updated.Equal(claimed.Updated), "taking changes nothing that was written")
	want := unstamped(claimed)
	want.Token, want.Due = 2, taken[0].Due
	assert.Equal(t, want, unstamped(taken[0]))

	now, ok, err := j.Write(t.Context(), claimed.Version(), entry("pending", toolguard.StateSucceeded))
	require.NoError(t, err)
	assert.False(t, ok, "who held it settles it no more")
	assert.EqualValues(t, 2, now.Token)
	write(t, j, taken[0].Version(), entry("pending", toolguard.StateUnknown))
}

func takersGetTheirOwn(t *testing.T, j toolguard.Journal) {
	const n = 60
	for i := range n {
		e := entry(fmt.Sprint(i), toolguard.StatePending)
		e.Due = 1
		write(t, j, toolguard.Version{}, e)
	}
	var got sync.Map
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			for {
				taken, err := j.Take(context.WithoutCancel(t.Context()), 7, time.Hour)
				if !assert.NoError(t, err) || !assert.LessOrEqual(t, len(taken), 7) || len(taken) == 0 {
					return
				}
				for _, e := range taken {
					_, twice := got.LoadOrStore(e.Key, true)
					assert.False(t, twice, "two takers got %q", e.Key)
				}
			}
		})
	}
	all.Wait()
	for i := range n {
		_, taken := got.Load(fmt.Sprint(i))
		assert.True(t, taken, i)
	}
}

func recordsInOrder(t *testing.T, j toolguard.Journal) {
	for i := range 10 {
		require.NoError(t, j.Append(t.Context(),
			toolguard.Record{Key: "a", Attempt: i}, toolguard.Record{Kind: toolguard.RecordRefused, Attempt: i}))
	}
	all := records(t, j, toolguard.RecordQuery{})
	require.Len(t, all, 20)
	for i, r := range all {
		assert.Equal(t, i/2, r.Attempt)
		assert.True(t, i == 0 || r.Seq > all[i-1].Seq)
	}
	assert.Equal(t, []toolguard.Record{all[10], all[12], all[14]}, records(t, j, toolguard.RecordQuery{Key: "a", After: all[9].Seq, Limit: 3}))
	assert.Equal(t, all[:7], records(t, j, toolguard.RecordQuery{Limit: 7}))
	assert.Equal(t, all[7:], records(t, j, toolguard.RecordQuery{After: all[6].Seq, Limit: -1}))
	assert.Empty(t, records(t, j, toolguard.RecordQuery{After: 1<<64 - 1}))
	assert.Empty(t, records(t, j, toolguard.RecordQuery{Key: "a", After: 1<<64 - 1}))
}

func prunesWhatIsSettled(t *testing.T, j toolguard.Journal) {
	stay, prunable := []string{}, 0
	for s := toolguard.StateAwaiting; s <= toolguard.StateAborted; s++ {
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
	assert.Len(t, scan(t, j, toolguard.Query{}), len(stay)+prunable)
	assert.Len(t, records(t, j, toolguard.RecordQuery{}), len(stay)+prunable+2)

	n, err = j.Prune(t.Context(), 0)
	require.NoError(t, err)
	assert.Equal(t, prunable, n)
	assert.Equal(t, stay, keysOf(scan(t, j, toolguard.Query{})))
	var of []string
	for _, r := range records(t, j, toolguard.RecordQuery{}) {
		of = append([]string{r.Key}, of...)
	}
	assert.Equal(t, stay, of)
	write(t, j, toolguard.Version{}, entry("succeeded", toolguard.StatePending))
}
