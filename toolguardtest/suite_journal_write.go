package toolguardtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/toolguard-go/toolguard"
)

func (x *journalTest) inserts() {
	e := full("k", toolguard.StatePending)
	e.Created, e.Updated, e.Read = time.Unix(1, 0), time.Unix(2, 0), time.Unix(3, 0) // the caller's do not count
	r := line("k", "one")
	r.At, r.Seq = time.Unix(4, 0), 77
	now := x.insert(e, r)
	x.same("what Write returns", now, e)
	if before := now.Updated.Add(-time.Hour); now.Created.Before(before) || now.Created.Unix() < 10 || now.Read.Unix() < 10 {
		x.Errorf("toolguardtest: Created %v, Updated %v and Read %v are the caller's: the store sets them", now.Created, now.Updated, now.Read)
	}
	if at := x.audit(toolguard.RecordQuery{Key: "k"})[0]; at.At.Before(now.Created) || at.At.After(now.Read) || at.Seq == 77 {
		x.Errorf("toolguardtest: a record is of %v with Seq %d, the entry that was written with it of %v: the store stamps both by one clock", at.At, at.Seq, now.Created)
	}
	if now.Created.IsZero() || now.Updated.IsZero() || now.Read.IsZero() {
		x.Errorf("toolguardtest: Write has not stamped Created %v, Updated %v, Read %v", now.Created, now.Updated, now.Read)
	}
	if now.Updated.Before(now.Created) || now.Read.Before(now.Updated) {
		x.Errorf("toolguardtest: Created %v, Updated %v and Read %v are not in order: they are by one clock", now.Created, now.Updated, now.Read)
	}
	found := x.read("k")
	x.same("what Scan returns", found, e)
	if !found.Created.Equal(now.Created) || !found.Updated.Equal(now.Updated) {
		x.Errorf("toolguardtest: Scan says created %v, updated %v; Write said %v, %v", found.Created, found.Updated, now.Created, now.Updated)
	}
}

func (x *journalTest) everyField() {
	for s := toolguard.StateAwaiting; s <= toolguard.StateAborted; s++ {
		e := full(fmt.Sprint("state ", s), s)
		x.insert(e)
		x.same("an entry in state "+s.String(), x.read(e.Key), e)
	}
	least := bare("least", toolguard.StatePending)
	x.insert(least)
	x.same("an entry with little in it", x.read("least"), least)
	large := bare("large", toolguard.StateSucceeded)
	large.Args = json.RawMessage(`{"a":"` + strings.Repeat("é\\u00e9 ", 1<<17) + `"}`)
	large.Result = json.RawMessage(`["` + strings.Repeat("0123456789", 1<<15) + `"]`)
	x.insert(large)
	x.same("an entry with 1 MiB of arguments", x.read("large"), large)
	high := bare("high token", toolguard.StatePending)
	high.Token, high.Due = 1<<62, 10*365*24*time.Hour
	x.insert(high)
	x.same("an entry with a high token", x.read("high token"), high)
}

func (x *journalTest) replaces() {
	first := x.insert(full("k", toolguard.StatePending))
	next := full("k", toolguard.StateSucceeded)
	next.Result, next.Approval, next.Due = json.RawMessage(`"R-1"`), nil, 0
	for _, wrong := range []toolguard.Version{{}, {Token: 2, State: toolguard.StatePending}, {Token: 1, State: toolguard.StateUnknown}, {Token: 0, State: toolguard.StatePending}} {
		now, ok, err := x.j.Write(x.ctx(), wrong, next)
		x.must(err, "Write")
		if ok {
			x.Fatalf("toolguardtest: Write replaces version %+v, but names %+v", first.Version(), wrong)
		}
		x.same("the entry that Write returns in place of another version", now, first)
	}
	x.same("the entry after writes that named another version", x.read("k"), first)

	now, ok, err := x.j.Write(x.ctx(), first.Version(), next)
	x.must(err, "Write")
	if !ok {
		x.Fatalf("toolguardtest: Write does not replace the version it names")
	}
	x.same("what Write returns", now, next)
	found := x.read("k")
	x.same("the entry that was replaced", found, next)
	if !found.Created.Equal(first.Created) {
		x.Errorf("toolguardtest: Created was %v and is %v after the entry was replaced", first.Created, found.Created)
	}
	if found.Updated.Before(first.Updated) {
		x.Errorf("toolguardtest: Updated goes back from %v to %v", first.Updated, found.Updated)
	}
	now, ok, err = x.j.Write(x.ctx(), toolguard.Version{Token: 1, State: toolguard.StatePending}, bare("absent", toolguard.StateUnknown))
	x.must(err, "Write")
	if ok || now.Key != "" || x.read("absent").Key != "" {
		x.Errorf("toolguardtest: Write replaces a version of an entry that does not exist (%t, %q)", ok, now.Key)
	}
}

func line(key, why string) toolguard.Record {
	return toolguard.Record{
		Kind: toolguard.RecordAttempt, Key: key, Token: 1, From: toolguard.StatePending, To: toolguard.StateUnknown, Actor: "guard", Why: why,
		Tool: "refund", Source: "mcp:pay", ToolVersion: "1", SchemaDigest: "d", CallID: "c",
		Scope:  toolguard.Scope{Tenant: "acme", Principal: "ann", Session: "s", Turn: "t", Run: "r", Step: "st", Model: "m", PromptVersion: "p"},
		Digest: toolguard.Digest{9}, Args: json.RawMessage(`{"a": 1}`), Attempt: 2, Duration: time.Second, Code: "panic", Outcome: toolguard.OutcomeFailed, Incident: "abc",
	}
}

func (x *journalTest) together() {
	first := x.insert(bare("k", toolguard.StatePending), line("k", "one"), line("k", "two"))
	if n := len(x.audit(toolguard.RecordQuery{Key: "k"})); n != 2 {
		x.Errorf("toolguardtest: an insert with 2 records left %d", n)
	}
	for _, was := range []toolguard.Version{{}, {Token: 7, State: toolguard.StatePending}} {
		_, ok, err := x.j.Write(x.ctx(), was, bare("k", toolguard.StateFailed), line("k", "refused"))
		x.must(err, "Write")
		if n := len(x.audit(toolguard.RecordQuery{Key: "k"})); ok || n != 2 {
			x.Errorf("toolguardtest: a write that was refused (%t) left %d records, want 2", !ok, n)
		}
	}
	if _, _, err := x.j.Write(x.ctx(), first.Version(), bare("k", toolguard.StateFailed), line("k", "three")); err != nil {
		x.must(err, "Write")
	}
	if n := len(x.audit(toolguard.RecordQuery{Key: "k"})); n != 3 {
		x.Errorf("toolguardtest: a write with a record more left %d records, want 3", n)
	}
}

// settledWrite returns what is there of a write that may be on its way still: the
// entry, and how many records, at one moment between two looks that agree.
func (x *journalTest) settledWrite(key string) (there bool, records int) {
	for {
		there = x.read(key).Key != ""
		records = len(x.audit(toolguard.RecordQuery{Key: key}))
		if there == (x.read(key).Key != "") {
			return there, records
		}
	}
}

// interrupted ends the context at another moment each time.
func (x *journalTest) interrupted() {
	const rounds = 60
	for i := range rounds {
		key := fmt.Sprint("k", i)
		ctx, cancel := context.WithTimeout(x.Context(), time.Duration(i*i)*time.Microsecond)
		_, ok, err := x.j.Write(ctx, toolguard.Version{}, bare(key, toolguard.StatePending), line(key, "one"), line(key, "two"))
		cancel()
		there, n := x.settledWrite(key)
		if there && n != 2 || !there && n != 0 {
			x.Fatalf("toolguardtest: after a write that was interrupted the entry is there: %t, with %d of 2 records", there, n)
		}
		if err == nil && ok != there {
			x.Fatalf("toolguardtest: Write says %t and nil, but the entry is there: %t", ok, there)
		}
	}
}

func (x *journalTest) keys() {
	keys := []string{
		"a", "A", "á", " a", "a ", "a%", "a_", "a'b", `a"b`, `a\b`, "a;--", "日本語", "k\n\t", "\U0001f512", strings.Repeat("x", 512), strings.Repeat("é", 256),
	}
	for i, key := range keys {
		e := bare(key, toolguard.StatePending)
		e.CallID = fmt.Sprint(i)
		x.insert(e)
	}
	for i, key := range keys {
		if got := x.read(key); got.Key != key || got.CallID != fmt.Sprint(i) {
			x.Errorf("toolguardtest: key %q reads back entry %q of call %q, want call %d: keys differ by every byte", key, got.Key, got.CallID, i)
		}
	}
	for _, key := range []string{"", strings.Repeat("x", 513), strings.Repeat("é", 257)} {
		if _, ok, err := x.j.Write(x.ctx(), toolguard.Version{}, bare(key, toolguard.StatePending), line("refused", "one")); err == nil || ok {
			x.Errorf("toolguardtest: Write takes a key of %d bytes (%t), want an error, as Entry.Check says", len(key), ok)
		}
	}
	if n := len(x.audit(toolguard.RecordQuery{})) + len(x.scan(toolguard.Query{})); n != len(keys) {
		x.Errorf("toolguardtest: writes with keys that are refused have left something: there are %d entries and records, want %d", n, len(keys))
	}
}

func (x *journalTest) records() {
	x.must(x.j.Append(x.ctx()), "Append of nothing")
	for i := range 5 {
		x.must(x.j.Append(x.ctx(), line("a", fmt.Sprint(2*i)), line("b", fmt.Sprint(2*i+1))), "Append")
	}
	all := x.audit(toolguard.RecordQuery{})
	if len(all) != 10 {
		x.Fatalf("toolguardtest: there are %d records, want 10", len(all))
	}
	for i, r := range all {
		if r.Why != fmt.Sprint(i) {
			x.Errorf("toolguardtest: record %d is %q: they come in the order they were added", i, r.Why)
		}
		if i > 0 && (r.Seq <= all[i-1].Seq || r.At.Before(all[i-1].At)) || r.At.IsZero() {
			x.Errorf("toolguardtest: record %d has Seq %d at %v after Seq %d", i, r.Seq, r.At, all[max(i-1, 0)].Seq)
		}
	}
	want := line("a", "0")
	want.Seq, want.At = all[0].Seq, all[0].At
	if !reflect.DeepEqual(all[0], want) {
		x.Errorf("toolguardtest: a record is not what was added:\n%s", diff(fieldLines(want), fieldLines(all[0])))
	}
	for name, row := range map[string]struct {
		q    toolguard.RecordQuery
		want string
	}{
		"by key":         {toolguard.RecordQuery{Key: "b"}, "1 3 5 7 9"},
		"after":          {toolguard.RecordQuery{After: all[6].Seq}, "7 8 9"},
		"limit":          {toolguard.RecordQuery{Limit: 3}, "0 1 2"},
		"all together":   {toolguard.RecordQuery{Key: "a", After: all[2].Seq, Limit: 2}, "4 6"},
		"of nobody":      {toolguard.RecordQuery{Key: "c"}, ""},
		"after the last": {toolguard.RecordQuery{After: all[9].Seq}, ""},
		"after any":      {toolguard.RecordQuery{Key: "a", After: 1<<64 - 1}, ""},
		"as many as may": {toolguard.RecordQuery{After: all[6].Seq, Limit: -1}, "7 8 9"},
	} {
		var got []string
		for _, r := range x.audit(row.q) {
			got = append(got, r.Why)
		}
		if strings.Join(got, " ") != row.want {
			x.Errorf("toolguardtest: Records %s: got %q, want %q", name, got, row.want)
		}
	}
}

func (x *journalTest) copies() {
	e := full("k", toolguard.StatePending)
	record := line("k", "one")
	now := x.insert(e, record)
	record.Args[2] = 'X'
	spoil := func(e *toolguard.Entry) {
		e.Args[2], e.Result[2] = 'X', 'X'
		e.Approval.By = "somebody else"
	}
	want := full("k", toolguard.StatePending)
	spoil(&e)
	x.same("after the caller has changed what it wrote, the entry", x.read("k"), want)
	spoil(&now)
	x.same("after the caller has changed what Write returned, the entry", x.read("k"), want)
	found := x.read("k")
	spoil(&found)
	x.same("after the caller has changed what Scan returned, the entry", x.read("k"), want)
	for _, changed := range []string{"wrote", "got"} {
		r := x.audit(toolguard.RecordQuery{Key: "k"})
		if string(r[0].Args) != `{"a": 1}` {
			x.Errorf("toolguardtest: after the caller has changed a record it %s, Args of the record are %s", changed, r[0].Args)
		}
		r[0].Args[2] = 'X'
	}
}

func (x *journalTest) ended() {
	x.insert(bare("k", toolguard.StatePending))
	ctx, cancel := context.WithCancel(x.Context())
	cancel()
	for name, f := range map[string]func() error{
		"Write": func() error {
			_, _, err := x.j.Write(ctx, toolguard.Version{}, bare("k2", toolguard.StatePending))
			return err
		},
		"Append":  func() error { return x.j.Append(ctx, line("k", "one")) },
		"Scan":    func() error { _, err := x.j.Scan(ctx, toolguard.Query{}); return err },
		"Take":    func() error { _, err := x.j.Take(ctx, 1, time.Second); return err },
		"Records": func() error { _, err := x.j.Records(ctx, toolguard.RecordQuery{}); return err },
		"Prune":   func() error { _, err := x.j.Prune(ctx, time.Second); return err },
	} {
		var err error
		within(x, name+" with a context that has ended", func() { err = f() })
		if !errors.Is(err, context.Canceled) {
			x.Errorf("toolguardtest: %s with a context that has ended returns the error %v, want one that wraps the context's", name, err)
		}
	}
	if n := len(x.audit(toolguard.RecordQuery{})) + len(x.scan(toolguard.Query{})); n != 1 {
		x.Errorf("toolguardtest: something was written with a context that had ended: there are %d entries and records, want 1", n)
	}
}
