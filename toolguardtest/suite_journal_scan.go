package toolguardtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/toolguard-go/toolguard"
)

func (x *journalTest) scanFields() {
	a, b := full("a", toolguard.StateUnknown), full("b", toolguard.StatePending)
	b.Group, b.Tool, b.Digest = "other group", "mail", toolguard.Digest{9}
	b.Scope = toolguard.Scope{Tenant: "other", Session: "s2", Run: "r2"}
	x.insert(a)
	x.insert(b)
	for name, row := range map[string]struct {
		q    toolguard.Query
		want []string
	}{
		"all":          {toolguard.Query{}, []string{"b", "a"}},
		"key":          {toolguard.Query{Key: "a"}, []string{"a"}},
		"group":        {toolguard.Query{Group: "other group"}, []string{"b"}},
		"tenant":       {toolguard.Query{Tenant: "acme"}, []string{"a"}},
		"session":      {toolguard.Query{Session: "s2"}, []string{"b"}},
		"run":          {toolguard.Query{Run: "r1"}, []string{"a"}},
		"tool":         {toolguard.Query{Tool: "mail"}, []string{"b"}},
		"digest":       {toolguard.Query{Digest: toolguard.Digest{9}}, []string{"b"}},
		"states":       {toolguard.Query{States: []toolguard.State{toolguard.StateParked, toolguard.StatePending}}, []string{"b"}},
		"both states":  {toolguard.Query{States: []toolguard.State{toolguard.StateUnknown, toolguard.StatePending}}, []string{"b", "a"}},
		"two fields":   {toolguard.Query{Tool: "mail", Tenant: "acme"}, nil},
		"key and more": {toolguard.Query{Key: "a", Session: "s2"}, nil},
		"nobody":       {toolguard.Query{Tenant: "acm"}, nil},
	} {
		x.wantKeys("Scan by "+name, x.scan(row.q), row.want...)
	}
}

// scanTogether asks for one and several fields, pages included, and holds the answers
// against Query.Matches.
func (x *journalTest) scanTogether() {
	states := []toolguard.State{toolguard.StatePending, toolguard.StateParked, toolguard.StateSucceeded, toolguard.StateAborted, toolguard.StateUnknown}
	doubtful := []toolguard.State{toolguard.StatePending, toolguard.StateUnknown, toolguard.StateParked, toolguard.StateAborted}
	one, other := toolguard.Digest{1}, toolguard.Digest{2}
	var all []toolguard.Entry // newest first
	for i := range 24 {
		pick := func(bit int) string { return string(rune('a' + i>>bit&1)) }
		e := bare(fmt.Sprintf("k%02d", i), states[i%len(states)])
		if e.Digest = one; i>>2&1 == 1 {
			e.Digest = other
		}
		e.Group, e.Generation, e.Tool = "g"+pick(0), i, "t"+pick(1)
		e.Scope = toolguard.Scope{Tenant: "n" + pick(2), Session: "s" + pick(3), Run: "r" + pick(1)}
		x.insert(e)
		all = append([]toolguard.Entry{e}, all...)
	}
	for _, q := range []toolguard.Query{
		{}, {Key: "k05"}, {Key: "none"}, {Group: "ga"}, {Tenant: "nb"}, {Session: "sb"}, {Run: "ra"}, {Tool: "tb"},
		{States: states[1:2]}, {States: states[:2]}, {States: states[1:]}, {States: states[3:4]}, {States: []toolguard.State{toolguard.StateDenied}},
		{Digest: one}, {Digest: toolguard.Digest{3}}, {Digest: one, States: doubtful}, {Digest: one, States: doubtful[1:3]}, {States: doubtful},
		{Run: "ra", Digest: one, States: doubtful}, {Session: "sb", Digest: other, States: doubtful, Limit: 2}, {Group: "ga", Digest: one, States: doubtful},
		{Key: "k05", Group: "gb"}, {Key: "k05", Group: "ga"}, {Key: "k05", States: states[1:2]},
		{Group: "ga", Tenant: "na", Session: "sa", Run: "ra", Tool: "ta", States: states[:2]},
		{Limit: 3}, {Skip: 5, Limit: 3}, {Skip: 23}, {Skip: 24}, {Skip: -1, Limit: -1}, {Tool: "ta", Skip: 2, Limit: 2}, {Group: "gb", Limit: 1},
	} {
		var want []string
		for _, e := range all {
			if q.Matches(&e) {
				want = append(want, e.Key)
			}
		}
		want = want[min(max(q.Skip, 0), len(want)):]
		if q.Limit > 0 {
			want = want[:min(q.Limit, len(want))]
		}
		x.wantKeys(fmt.Sprintf("Scan by %+v", q), x.scan(q), want...)
	}
}

func (x *journalTest) scanPages() {
	const n = 120
	for i := range n {
		x.insert(bare(fmt.Sprintf("k%03d", i), toolguard.StatePending))
	}
	if _, ok, err := x.j.Write(x.ctx(), toolguard.Version{Token: 1, State: toolguard.StatePending}, bare("k000", toolguard.StateUnknown)); !ok || err != nil {
		x.Fatalf("toolguardtest: Write: %t, %v", ok, err)
	}
	x.wantKeys("the first page", x.scan(toolguard.Query{Limit: 3}), "k119", "k118", "k117")
	x.wantKeys("the next page", x.scan(toolguard.Query{Limit: 3, Skip: 3}), "k116", "k115", "k114")
	x.wantKeys("the last page: an entry that was replaced keeps its place", x.scan(toolguard.Query{Limit: 5, Skip: n - 2}), "k001", "k000")
	x.wantKeys("a page behind the last", x.scan(toolguard.Query{Skip: n}))
	if got := len(x.scan(toolguard.Query{})); got != 100 {
		x.Errorf("toolguardtest: Scan without a limit returns %d entries, want 100", got)
	}
}

func (x *journalTest) scanGroup() {
	for i, key := range []string{"first", "second", "third"} {
		e := bare(key, toolguard.StateSucceeded)
		e.Group, e.Generation = "group", i
		x.insert(e)
	}
	for i, key := range []string{"later generation", "made later"} {
		e := bare(key, toolguard.StatePending)
		e.Group, e.Generation = "other", 200-i
		x.insert(e)
	}
	x.wantKeys("the latest generation", x.scan(toolguard.Query{Group: "group", Limit: 1}), "third")
	x.wantKeys("the group", x.scan(toolguard.Query{Group: "group"}), "third", "second", "first")
	x.wantKeys("a group whose highest generation was made first", x.scan(toolguard.Query{Group: "other"}), "later generation", "made later")
	x.wantKeys("its latest generation", x.scan(toolguard.Query{Group: "other", Limit: 1}), "later generation")
	x.wantKeys("a group nobody has", x.scan(toolguard.Query{Group: "nobody", Limit: 1}))
}

// due inserts an entry that is due after a while.
func (x *journalTest) due(key string, state toolguard.State, after time.Duration) toolguard.Entry {
	x.Helper()
	e := bare(key, state)
	e.Due = after
	return x.insert(e)
}

func (x *journalTest) take(n int, hold time.Duration) []toolguard.Entry {
	x.Helper()
	got, err := x.j.Take(x.ctx(), n, hold)
	x.must(err, "Take")
	return got
}

func (x *journalTest) takeDue() {
	x.due("never", toolguard.StatePending, 0)
	x.due("beyond what can be counted", toolguard.StatePending, 1<<63-1)
	x.due("settled", toolguard.StateSucceeded, time.Millisecond)
	x.due("later", toolguard.StatePending, time.Hour)
	made := []toolguard.Entry{
		x.due("third", toolguard.StateUnknown, 60*time.Millisecond),
		x.due("second", toolguard.StateAwaiting, 30*time.Millisecond),
		x.due("first", toolguard.StateParked, time.Millisecond),
	}
	// On a machine that is busy they may not be due in the order of their names.
	slices.SortFunc(made, func(a, b toolguard.Entry) int { return a.Updated.Add(a.Due).Compare(b.Updated.Add(b.Due)) })
	want := keysOf(made)
	time.Sleep(150 * time.Millisecond)
	x.wantKeys("Take of nothing", x.take(0, time.Hour))
	two := x.take(2, time.Hour)
	x.wantKeys("Take of two", two, want[:2]...)
	x.heldFor(two[0], time.Hour)
	x.wantKeys("Take of the rest", x.take(10, time.Hour), want[2])
	x.wantKeys("Take when nothing is due", x.take(10, time.Hour))
	for key, want := range map[string]toolguard.State{"first": toolguard.StateParked, "second": toolguard.StateAwaiting, "third": toolguard.StateUnknown, "later": toolguard.StatePending} {
		if e := x.read(key); e.State != want || e.Token != 1 {
			x.Errorf("toolguardtest: after Take %q is %v with token %d, want %v and 1: only who is pending gets another", key, e.State, e.Token, want)
		}
	}
}

// heldFor expects an entry that was taken to be due after hold, there and where it is
// stored.
func (x *journalTest) heldFor(e toolguard.Entry, hold time.Duration) {
	x.Helper()
	if due := e.Updated.Add(e.Due).Sub(e.Read); due < hold-time.Millisecond || due > hold+time.Second {
		x.Errorf("toolguardtest: an entry that was taken for %v is due %v later: Due counts from Updated on", hold, due)
	}
	if stored := x.read(e.Key); stored.Due != e.Due || !stored.Updated.Equal(e.Updated) {
		x.Errorf("toolguardtest: Take says due %v after %v, stored is %v after %v", e.Due, e.Updated, stored.Due, stored.Updated)
	}
}

func (x *journalTest) takeFences() {
	e := full("k", toolguard.StatePending)
	e.Due = 20 * time.Millisecond
	held := x.insert(e)
	time.Sleep(100 * time.Millisecond)
	got := x.take(1, time.Hour)
	if len(got) != 1 || got[0].Token != held.Token+1 || got[0].State != toolguard.StatePending {
		x.Fatalf("toolguardtest: a pending entry that is due is not taken with the next token: %+v", got)
	}
	if stored := x.read("k"); stored.Token != held.Token+1 {
		x.Errorf("toolguardtest: Take returned token %d, stored is %d", got[0].Token, stored.Token)
	}
	if !got[0].Updated.Equal(held.Updated) || !got[0].Created.Equal(held.Created) {
		x.Errorf("toolguardtest: Take changes Created or Updated, from %v to %v: nothing was written", held.Updated, got[0].Updated)
	}
	want := e
	want.Token, want.Due = got[0].Token, got[0].Due
	x.same("what Take returns, token and Due aside,", got[0], want)
	next := bare("k", toolguard.StateSucceeded)
	if now, ok, err := x.j.Write(x.ctx(), held.Version(), next); ok || err != nil || now.Token != held.Token+1 {
		x.Errorf("toolguardtest: whoever lost the claim can settle it still: %t, %v", ok, err)
	}
	next.Token = got[0].Token
	next.State = toolguard.StateUnknown
	if _, ok, err := x.j.Write(x.ctx(), got[0].Version(), next); !ok || err != nil {
		x.Errorf("toolguardtest: whoever took it cannot settle it: %t, %v", ok, err)
	}
}

func (x *journalTest) takeHolds() {
	x.due("k", toolguard.StateUnknown, time.Millisecond)
	time.Sleep(50 * time.Millisecond)
	x.wantKeys("the first Take", x.take(1, 400*time.Millisecond), "k")
	x.wantKeys("Take while it is held", x.take(1, time.Hour))
	time.Sleep(time.Second)
	x.wantKeys("Take after hold", x.take(1, time.Hour), "k")
}

func (x *journalTest) prunes() {
	settled := []toolguard.State{toolguard.StateDenied, toolguard.StateExpired, toolguard.StateSucceeded, toolguard.StateFailed, toolguard.StateAborted}
	for _, s := range settled {
		x.insert(bare(s.String(), s), line(s.String(), "one"))
	}
	x.must(x.j.Append(x.ctx(), line("", "of no entry"), line("nobody's", "of no entry")), "Append")
	n, err := x.j.Prune(x.ctx(), time.Hour)
	x.must(err, "Prune")
	if left := len(x.scan(toolguard.Query{})); n != 0 || left != len(settled) {
		x.Errorf("toolguardtest: Prune of what is an hour old says that it deleted %d entries that are young; %d are left", n, left)
	}
	time.Sleep(60 * time.Millisecond)
	x.must(x.j.Append(x.ctx(), line("failed", "late")), "Append")
	n, err = x.j.Prune(x.ctx(), 30*time.Millisecond)
	x.must(err, "Prune")
	if left := x.scan(toolguard.Query{}); n != len(settled) || len(left) != 0 {
		x.Errorf("toolguardtest: Prune says that it deleted %d of %d entries; left are %q", n, len(settled), keysOf(left))
	}
	if left := x.audit(toolguard.RecordQuery{}); len(left) != 0 {
		x.Errorf("toolguardtest: after Prune %d records of entries it deleted, or old ones of no entry, are left", len(left))
	}
	if now := x.insert(bare("succeeded", toolguard.StatePending)); now.Key == "" {
		x.Errorf("toolguardtest: a key that was pruned cannot be used again")
	}
}

func (x *journalTest) prunesNothingElse() {
	for _, s := range []toolguard.State{toolguard.StateAwaiting, toolguard.StateApproved, toolguard.StatePending, toolguard.StateUnknown, toolguard.StateParked} {
		x.insert(bare(s.String(), s), line(s.String(), "one"))
	}
	time.Sleep(600 * time.Millisecond)
	x.insert(bare("young", toolguard.StateSucceeded), line("young", "one"))
	n, err := x.j.Prune(x.ctx(), 500*time.Millisecond)
	x.must(err, "Prune")
	left := x.scan(toolguard.Query{})
	if n != 0 || len(left) != 6 {
		x.Errorf("toolguardtest: Prune has deleted %d entries; left are %q: what is not settled, or not old, stays", n, keysOf(left))
	}
	if records := x.audit(toolguard.RecordQuery{}); len(records) != 6 {
		x.Errorf("toolguardtest: Prune has left %d of 6 records of entries that stay", len(records))
	}
}
