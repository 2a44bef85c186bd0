package storetest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolguard-go/toolguard"
)

// Filled sets every field that a journal has to keep, so that one which is added
// later is not forgotten. No two strings or numbers are the same.
func Filled[T any](seed int) T {
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
			if v.Type().Field(i).Tag.Get("json") != "-" { // what is of a reading only
				fill(v.Field(i), n)
			}
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

// StrangeTexts are keys, some of which databases do not like.
var StrangeTexts = []string{
	"a", "A", "ä", "á", " a", "a ", "a%", "a_", "a'b", `a"b`, `a\b`, `a\u0000b`, "a;--", "日本語", "k\n\t", "🔒", "\x00", "\xff", "\xf0\x9f",
	"␛00", "␛", "␛e2␛90␛9b", "$1", "?1", "%'\"",
	strings.Repeat("x", 512), strings.Repeat("é", 256), strings.Repeat("\x00", 512), strings.Repeat("␛", 170), strings.Repeat("\xff", 512),
}

// Exact checks what these stores keep beyond what every journal has to: all values of
// every field, those that are not text or JSON too, and what is empty apart from what
// is not there.
func Exact(t *testing.T, open func(t testing.TB) toolguard.Journal) {
	for name, check := range map[string]func(*testing.T, toolguard.Journal){
		"entries": exactEntries, "records": exactRecords, "text": exactText,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t))
		})
	}
}

func exactEntries(t *testing.T, j toolguard.Journal) {
	first := Filled[toolguard.Entry](1)
	first.Token, first.State = 1<<63+5, toolguard.StateUnknown
	same(t, unstamped(Write(t, j, toolguard.Version{}, first, Filled[toolguard.Record](2))), first)
	same(t, unstamped(theOne(t, j, first.Key)), first)

	next := Filled[toolguard.Entry](500)
	next.Key, next.State, next.Approval, next.Args, next.Result = first.Key, toolguard.StateParked, nil, json.RawMessage{}, nil
	Write(t, j, first.Version(), next)
	same(t, unstamped(theOne(t, j, first.Key)), next)
	back := first
	back.Token, back.State, back.Approval = next.Token, toolguard.StateFailed, &toolguard.Approval{By: "bob"}
	Write(t, j, next.Version(), back)
	same(t, unstamped(theOne(t, j, first.Key)), back)
}

func exactRecords(t *testing.T, j toolguard.Journal) {
	want := []toolguard.Record{Filled[toolguard.Record](1), {Actor: "guard", Args: json.RawMessage{}}}
	must(t, j.Append(t.Context(), want...))
	got := Records(t, j, toolguard.RecordQuery{})
	for i := range got {
		got[i].Seq, got[i].At = 0, time.Time{}
	}
	want[0].Seq = 0
	same(t, got, want)
}

// exactText is longer than what an index holds. In what is stored as JSON, text is
// UTF-8.
func exactText(t *testing.T, j toolguard.Journal) {
	var long string
	for range 300 {
		long += rand.Text()
	}
	for i, s := range StrangeTexts {
		e := Entry(s, toolguard.StatePending)
		valid := strings.ToValidUTF8(s, "?")
		e.Group, e.Tool, e.CallID, e.ToolVersion, e.Result = s+long, s, valid, valid, json.RawMessage(s)
		e.Scope = toolguard.Scope{Tenant: s, Session: s + long, Run: s + long, Step: s}
		e.Approval = &toolguard.Approval{By: valid, Why: valid}
		Write(t, j, toolguard.Version{}, e, toolguard.Record{Key: s + long, Why: s, Incident: valid, Attempt: i})
		if e.Approval.By != valid {
			t.Errorf("the caller's own approval was changed to %q", e.Approval.By)
		}
		for _, q := range []toolguard.Query{{Key: s}, {Group: e.Group}, {Tenant: s}, {Session: e.Scope.Session}, {Run: e.Scope.Run}, {Tool: s}} {
			if found := Scan(t, j, q); len(found) != 1 || !reflect.DeepEqual(unstamped(found[0]), e) {
				t.Errorf("%.40q: asked for by %.200s comes %.400s", s, fmt.Sprint(q), fmt.Sprint(found))
			}
		}
		of := Records(t, j, toolguard.RecordQuery{Key: s + long})
		if len(of) != 1 || of[0].Why != s || of[0].Incident != valid || of[0].Attempt != i {
			t.Errorf("the records of %.40q are %.400s", s, fmt.Sprint(of))
		}
	}
}

// theOne is the entry with a key.
func theOne(t testing.TB, j toolguard.Journal, key string) toolguard.Entry {
	t.Helper()
	found := Scan(t, j, toolguard.Query{Key: key})
	if len(found) != 1 {
		t.Fatalf("%d entries with key %q", len(found), key)
	}
	return found[0]
}

func same(t testing.TB, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("what comes back is not what was written:\n got %+v\nwant %+v", got, want)
	}
}
