package toolguardtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
	tgt "github.com/toolguard-go/toolguard/toolguardtest"
)

func openMemory(testing.TB) toolguard.Journal { return toolguard.NewMemoryJournal() }

func sameJournal(_ testing.TB, j toolguard.Journal) toolguard.Journal { return j }

func TestMemoryJournal(t *testing.T) {
	t.Parallel()
	t.Run("fake time", func(t *testing.T) {
		tgt.TestJournal(t, tgt.JournalSuite{Open: openMemory, Again: sameJournal, Bubble: true})
	})
	t.Run("real time", func(t *testing.T) {
		tgt.TestJournal(t, tgt.JournalSuite{Open: openMemory})
	})
}

// brokenJournal is a sound journal of which one method is replaced.
type brokenJournal struct {
	toolguard.Journal
	write   func(ctx context.Context, was toolguard.Version, e toolguard.Entry, r ...toolguard.Record) (toolguard.Entry, bool, error)
	append  func(ctx context.Context, r ...toolguard.Record) error
	scan    func(ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error)
	take    func(ctx context.Context, n int, hold time.Duration) ([]toolguard.Entry, error)
	records func(ctx context.Context, q toolguard.RecordQuery) ([]toolguard.Record, error)
	prune   func(ctx context.Context, age time.Duration) (int, error)
}

func (j *brokenJournal) Write(ctx context.Context, was toolguard.Version, e toolguard.Entry, r ...toolguard.Record) (toolguard.Entry, bool, error) {
	if j.write != nil {
		return j.write(ctx, was, e, r...)
	}
	return j.Journal.Write(ctx, was, e, r...)
}

func (j *brokenJournal) Append(ctx context.Context, r ...toolguard.Record) error {
	if j.append != nil {
		return j.append(ctx, r...)
	}
	return j.Journal.Append(ctx, r...)
}

func (j *brokenJournal) Scan(ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error) {
	if j.scan != nil {
		return j.scan(ctx, q)
	}
	return j.Journal.Scan(ctx, q)
}

func (j *brokenJournal) Take(ctx context.Context, n int, hold time.Duration) ([]toolguard.Entry, error) {
	if j.take != nil {
		return j.take(ctx, n, hold)
	}
	return j.Journal.Take(ctx, n, hold)
}

func (j *brokenJournal) Records(ctx context.Context, q toolguard.RecordQuery) ([]toolguard.Record, error) {
	if j.records != nil {
		return j.records(ctx, q)
	}
	return j.Journal.Records(ctx, q)
}

func (j *brokenJournal) Prune(ctx context.Context, age time.Duration) (int, error) {
	if j.prune != nil {
		return j.prune(ctx, age)
	}
	return j.Journal.Prune(ctx, age)
}

// force writes whatever is there.
func force(ctx context.Context, j toolguard.Journal, e toolguard.Entry, r ...toolguard.Record) (toolguard.Entry, bool, error) {
	found, err := j.Scan(ctx, toolguard.Query{Key: e.Key})
	if err != nil {
		return toolguard.Entry{}, false, err
	}
	was := toolguard.Version{}
	if len(found) > 0 {
		was = found[0].Version()
	}
	return j.Write(ctx, was, e, r...)
}

// journalMutants break a journal, each in one way, named by what it then fails.
var journalMutants = map[string]func(j *brokenJournal){
	"Write inserts and stamps": func(j *brokenJournal) {
		j.scan = func(ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error) {
			found, err := j.Journal.Scan(ctx, q)
			for i := range found {
				found[i].Created = found[i].Created.Add(time.Hour)
			}
			return found, err
		}
	},
	"every field comes back as it went in": func(j *brokenJournal) { // a JSON column
		j.write = func(ctx context.Context, was toolguard.Version, e toolguard.Entry, r ...toolguard.Record) (toolguard.Entry, bool, error) {
			var v any
			if json.Unmarshal(e.Args, &v) == nil {
				e.Args, _ = json.Marshal(v)
			}
			return j.Journal.Write(ctx, was, e, r...)
		}
	},
	"Write replaces only the version it names": func(j *brokenJournal) {
		j.write = func(ctx context.Context, _ toolguard.Version, e toolguard.Entry, r ...toolguard.Record) (toolguard.Entry, bool, error) {
			return force(ctx, j.Journal, e, r...)
		}
	},
	"a write and its records go together": func(j *brokenJournal) {
		j.write = func(ctx context.Context, was toolguard.Version, e toolguard.Entry, r ...toolguard.Record) (toolguard.Entry, bool, error) {
			if err := j.Journal.Append(ctx, r...); err != nil {
				return toolguard.Entry{}, false, err
			}
			return j.Journal.Write(ctx, was, e)
		}
	},
	"a write that is interrupted is there whole or not at all": func(j *brokenJournal) {
		j.write = func(ctx context.Context, was toolguard.Version, e toolguard.Entry, r ...toolguard.Record) (toolguard.Entry, bool, error) {
			now, ok, err := j.Journal.Write(context.WithoutCancel(ctx), was, e)
			if err == nil && ok {
				time.Sleep(time.Millisecond)
				err = j.Journal.Append(ctx, r...)
			}
			return now, ok, err
		}
	},
	"of many that insert one key, one does":      func(j *brokenJournal) { checkThenWrite(j) },
	"of many that replace one version, one does": func(j *brokenJournal) { checkThenWrite(j) },
	"writes of different keys do not disturb each other": func(j *brokenJournal) {
		var seq uint64
		j.records = func(ctx context.Context, q toolguard.RecordQuery) ([]toolguard.Record, error) {
			found, err := j.Journal.Records(ctx, q)
			for i := range found {
				found[i].Seq = seq / 2 // two of one number
				seq++
			}
			return found, err
		}
	},
	"keys are any text of 1 to 512 bytes": func(j *brokenJournal) { // a column without case
		j.scan = func(ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error) {
			if q.Key == "A" {
				q.Key = "a"
			}
			return j.Journal.Scan(ctx, q)
		}
	},
	"Scan finds by every field": func(j *brokenJournal) {
		j.scan = func(ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error) {
			q.Session = ""
			return j.Journal.Scan(ctx, q)
		}
	},
	"Scan finds by fields together": func(j *brokenJournal) {
		j.scan = func(ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error) {
			if q.Group != "" {
				q.Key = ""
			}
			return j.Journal.Scan(ctx, q)
		}
	},
	"Scan is newest first, a page at a time": func(j *brokenJournal) {
		j.scan = func(ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error) {
			found, err := j.Journal.Scan(ctx, q)
			slices.SortStableFunc(found, func(a, b toolguard.Entry) int { return b.Updated.Compare(a.Updated) })
			slices.Reverse(found)
			return found, err
		}
	},
	"Scan finds the latest generation of a group": func(j *brokenJournal) {
		j.scan = func(ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error) {
			limit := q.Limit
			q.Limit = 0
			found, err := j.Journal.Scan(ctx, q)
			slices.Reverse(found)
			return found[:min(max(limit, 1), len(found))], err
		}
	},
	"Take hands out what is due, longest due first": func(j *brokenJournal) {
		j.take = func(ctx context.Context, n int, hold time.Duration) ([]toolguard.Entry, error) {
			found, err := j.Journal.Take(ctx, n, hold)
			slices.Reverse(found)
			return found, err
		}
	},
	"Take fences a claim that is lost": func(j *brokenJournal) {
		j.take = func(ctx context.Context, n int, hold time.Duration) ([]toolguard.Entry, error) {
			found, err := j.Journal.Take(ctx, n, hold)
			for i, e := range found {
				was := e.Version()
				if e.State == toolguard.StatePending {
					e.Token--
				}
				if found[i], _, err = j.Journal.Write(ctx, was, e); err != nil {
					return nil, err
				}
			}
			return found, err
		}
	},
	"Take keeps what it hands out for hold": func(j *brokenJournal) {
		j.take = func(ctx context.Context, n int, _ time.Duration) ([]toolguard.Entry, error) {
			return j.Journal.Take(ctx, n, 0)
		}
	},
	"of several takers each gets its own": func(j *brokenJournal) {
		j.take = func(ctx context.Context, n int, hold time.Duration) ([]toolguard.Entry, error) {
			_, _ = j.Journal.Take(ctx, n, hold)
			return j.Journal.Scan(ctx, toolguard.Query{Limit: n})
		}
	},
	"Records come in order, by key, a page at a time": func(j *brokenJournal) {
		j.records = func(ctx context.Context, q toolguard.RecordQuery) ([]toolguard.Record, error) {
			q.After = 0
			return j.Journal.Records(ctx, q)
		}
	},
	"Prune deletes what is settled and old": func(j *brokenJournal) {
		j.prune = func(context.Context, time.Duration) (int, error) { return 0, nil }
	},
	"Prune deletes nothing else": func(j *brokenJournal) {
		j.prune = func(ctx context.Context, _ time.Duration) (int, error) { return j.Journal.Prune(ctx, 0) }
	},
	"what it returns is a copy": func(j *brokenJournal) {
		kept := map[string]*toolguard.Approval{}
		j.write = func(ctx context.Context, was toolguard.Version, e toolguard.Entry, r ...toolguard.Record) (toolguard.Entry, bool, error) {
			kept[e.Key] = e.Approval
			return j.Journal.Write(ctx, was, e, r...)
		}
		j.scan = func(ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error) {
			found, err := j.Journal.Scan(ctx, q)
			for i := range found {
				found[i].Approval = kept[found[i].Key]
			}
			return found, err
		}
	},
	"a context that has ended ends every method": func(j *brokenJournal) {
		j.append = func(ctx context.Context, r ...toolguard.Record) error {
			return j.Journal.Append(context.WithoutCancel(ctx), r...)
		}
	},
	"guards on it run an action once": func(j *brokenJournal) {
		j.write = func(ctx context.Context, _ toolguard.Version, e toolguard.Entry, r ...toolguard.Record) (toolguard.Entry, bool, error) {
			return force(ctx, j.Journal, e, r...)
		}
		j.scan = func(context.Context, toolguard.Query) ([]toolguard.Entry, error) { return nil, nil }
	},
	"guards on it never run over a lost claim": func(j *brokenJournal) { // leases are deleted
		j.take = func(context.Context, int, time.Duration) ([]toolguard.Entry, error) { return nil, nil }
		j.scan = func(ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error) {
			found, err := j.Journal.Scan(ctx, q)
			return slices.DeleteFunc(found, func(e toolguard.Entry) bool {
				return e.State == toolguard.StatePending && e.Read.Sub(e.Updated) > e.Due
			}), err
		}
	},
	"guards on it run nothing twice, whichever use of it fails": func(j *brokenJournal) { // it says yes, and writes later
		j.write = func(ctx context.Context, was toolguard.Version, e toolguard.Entry, r ...toolguard.Record) (toolguard.Entry, bool, error) {
			if e.State == toolguard.StatePending {
				return e, true, nil
			}
			return j.Journal.Write(ctx, toolguard.Version{}, e, r...)
		}
	},
	"guards on it tell of a result that is too large to keep": func(j *brokenJournal) {
		j.scan = func(ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error) {
			found, err := j.Journal.Scan(ctx, q)
			for i := range found {
				if len(found[i].Result) == 0 {
					found[i].Result = json.RawMessage(`{"text":""}`) // a column that is never NULL
				}
			}
			return found, err
		}
	},
	"what was written is there in another process": func(j *brokenJournal) {
		j.scan = func(ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error) {
			return nil, nil
		}
	},
	"two processes race for one key": func(j *brokenJournal) { checkThenWrite(j) },
}

// checkThenWrite looks first and then writes, without a lock over both.
func checkThenWrite(j *brokenJournal) {
	var mu sync.Mutex
	j.write = func(ctx context.Context, was toolguard.Version, e toolguard.Entry, r ...toolguard.Record) (toolguard.Entry, bool, error) {
		found, err := j.Journal.Scan(ctx, toolguard.Query{Key: e.Key})
		is := toolguard.Version{}
		if len(found) > 0 {
			is = found[0].Version()
		}
		if err != nil || is != was {
			return first(found), false, err
		}
		time.Sleep(time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		return force(ctx, j.Journal, e, r...)
	}
}

func first(found []toolguard.Entry) toolguard.Entry {
	if len(found) == 0 {
		return toolguard.Entry{}
	}
	return found[0]
}

// Each obligation of a journal is seen to fail.
func TestTheJournalSuiteCanFail(t *testing.T) {
	t.Parallel()
	for _, o := range tgt.JournalObligations(tgt.JournalSuite{}) {
		t.Run(o.Owes, func(t *testing.T) {
			breaks := journalMutants[o.Owes]
			if !assert.NotNil(t, breaks, "no mutant") {
				return
			}
			open := func(testing.TB) toolguard.Journal {
				j := &brokenJournal{Journal: toolguard.NewMemoryJournal()}
				breaks(j)
				return j
			}
			var said string
			for _, m := range tgt.JournalObligations(tgt.JournalSuite{Open: open, Again: sameJournal}) {
				if m.Owes == o.Owes {
					synctest.Test(t, func(t *testing.T) { said = failing(t, m.Check) })
				}
			}
			assertSays(t, said, "toolguardtest: ")
		})
	}
}

func TestJournalSuiteSaysWhatToDo(t *testing.T) {
	t.Parallel()
	durable := func(testing.TB) toolguard.Journal { return durableJournal{toolguard.NewMemoryJournal()} }
	for _, o := range tgt.JournalObligations(tgt.JournalSuite{Open: durable}) {
		if o.Owes == "what was written is there in another process" {
			assertSays(t, failing(t, o.Check), "the journal says that a write survives (disk), but JournalSuite.Again is nil: set it")
		}
	}
}

type durableJournal struct{ toolguard.Journal }

func (durableJournal) Durability() toolguard.Durability { return toolguard.DurabilityDisk }

// What the suite writes has something in every field, so that a store which forgets a
// new one is noticed.
func TestWhatTheSuiteWritesIsFull(t *testing.T) {
	t.Parallel()
	for _, v := range tgt.FullJournalValues() {
		assertFull(t, reflect.ValueOf(v), reflect.TypeOf(v).Name())
	}
}

func assertFull(t *testing.T, v reflect.Value, name string) {
	t.Helper()
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		switch {
		case value.Type() == reflect.TypeFor[time.Time]() || field.Name == "Seq" || field.Tag.Get("json") == "-": // the store's
		case value.IsZero():
			t.Errorf("%s.%s is empty", name, field.Name)
		case value.Kind() == reflect.Pointer:
			assertFull(t, value.Elem(), name+"."+field.Name)
		case value.Kind() == reflect.Struct:
			assertFull(t, value, name+"."+field.Name)
		}
	}
}

// storeFaults are of a sound journal that refuses for a while; each but the first is
// then wrong in one way, named by what the suite says of it.
var storeFaults = map[string]func(f *tgt.FaultyJournal, broken *atomic.Bool){
	"": func(*tgt.FaultyJournal, *atomic.Bool) {},
	"breaks breaks nothing": func(f *tgt.FaultyJournal, _ *atomic.Bool) {
		f.Fault = nil
	},
	"want one of": func(f *tgt.FaultyJournal, broken *atomic.Bool) { // an error that says nothing
		inner := f.Journal
		f.Journal, f.Fault = &brokenJournal{Journal: inner, write: func(ctx context.Context, was toolguard.Version, e toolguard.Entry, r ...toolguard.Record) (toolguard.Entry, bool, error) {
			if broken.Load() {
				return toolguard.Entry{}, false, errors.New("it did not work")
			}
			return inner.Write(ctx, was, e, r...)
		}}, nil
	},
	"which was acknowledged, is there: false": func(f *tgt.FaultyJournal, broken *atomic.Bool) { // it says yes to what it loses
		inner := f.Journal
		f.Journal = &brokenJournal{Journal: inner, write: func(ctx context.Context, was toolguard.Version, e toolguard.Entry, r ...toolguard.Record) (toolguard.Entry, bool, error) {
			if e.Key == "during0" {
				return e, true, nil
			}
			return inner.Write(ctx, was, e, r...)
		}}
		fault := f.Fault
		f.Fault = func(u tgt.JournalUse) tgt.JournalFault {
			if u.N <= 11 {
				return tgt.JournalWorks
			}
			return fault(u)
		}
	},
	"whose write failed, is there: true, with 0 of 2 records": func(f *tgt.FaultyJournal, broken *atomic.Bool) { // half of it
		inner := f.Journal
		f.Journal, f.Fault = &brokenJournal{Journal: inner, write: func(ctx context.Context, was toolguard.Version, e toolguard.Entry, r ...toolguard.Record) (toolguard.Entry, bool, error) {
			if broken.Load() {
				_, _, _ = inner.Write(ctx, was, e)
				return toolguard.Entry{}, false, tgt.ErrJournal
			}
			return inner.Write(ctx, was, e, r...)
		}}, nil
	},
	"the tool ran, and its intent is not in the journal": func(f *tgt.FaultyJournal, broken *atomic.Bool) {
		inner := f.Journal
		f.Journal, f.Fault = &brokenJournal{Journal: inner, write: func(ctx context.Context, was toolguard.Version, e toolguard.Entry, r ...toolguard.Record) (toolguard.Entry, bool, error) {
			switch {
			case !broken.Load():
				return inner.Write(ctx, was, e, r...)
			case e.Tool == "refund" && e.Scope.Run != "":
				return e, true, nil
			}
			return toolguard.Entry{}, false, tgt.ErrJournal
		}}, nil
	},
	"does not work again": func(f *tgt.FaultyJournal, broken *atomic.Bool) {
		var ever atomic.Bool
		f.Fault = func(tgt.JournalUse) tgt.JournalFault {
			if broken.Load() {
				ever.Store(true)
			}
			if ever.Load() {
				return tgt.JournalRefuses
			}
			return tgt.JournalWorks
		}
	},
	"does not return within": func(f *tgt.FaultyJournal, broken *atomic.Bool) { // it hears no context
		f.Fault = func(tgt.JournalUse) tgt.JournalFault {
			if broken.Load() {
				time.Sleep(time.Minute)
			}
			return tgt.JournalWorks
		}
	},
}

// A fault of the store is seen where it does harm.
func TestStoreFaultsOfTheSuite(t *testing.T) {
	t.Parallel()
	for want, change := range storeFaults {
		t.Run(want, func(t *testing.T) {
			var broken atomic.Bool
			f := &tgt.FaultyJournal{Journal: toolguard.NewMemoryJournal(), Fault: func(tgt.JournalUse) tgt.JournalFault {
				if broken.Load() {
					return tgt.JournalRefuses
				}
				return tgt.JournalWorks
			}}
			change(f, &broken)
			fault := tgt.StoreFault{
				Name: "a disk that is full",
				Open: func(testing.TB) (toolguard.Journal, func(), func()) {
					return f, func() { broken.Store(true) }, func() { broken.Store(false) }
				},
				Says: []string{"as the test says"},
			}
			synctest.Test(t, func(t *testing.T) {
				said := failing(t, func(t testing.TB) { tgt.CheckStoreFault(fault, t) })
				time.Sleep(time.Hour) // what hangs is over then
				if want == "" {
					assert.Empty(t, said)
					return
				}
				assertSays(t, said, want)
			})
		})
	}
}
