package toolguard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/toolguard-go/toolguard/internal/isolate"
)

// JournalPolicy says how a guard uses its journal.
type JournalPolicy struct {
	// Off writes nothing down, although there is a journal. It is an error where an
	// Approver is asked.
	Off bool
	// Lease is how long a call that runs may be silent before it counts as lost;
	// it is renewed at a third. If zero, 30 s.
	Lease time.Duration
	// MaxResult bounds the results that are kept for replay, in bytes. Of a larger
	// one it is known that it was there. If zero, 256 KiB.
	MaxResult int
	// Checked says that a [Recoverer] or people look at what is unknown, so that
	// the model may be told so.
	Checked bool
	// AuditArguments puts the redacted arguments into the audit, and, as the Why of
	// what awaits an approval, the redacted line of [Typed].Describe. The exact
	// arguments are in the entry in any case.
	AuditArguments bool
}

func (p JournalPolicy) withDefaults() JournalPolicy {
	setDefault(&p.Lease, 30*time.Second)
	setDefault(&p.MaxResult, 256<<10)
	return p
}

func (p JournalPolicy) check() error {
	errs := []error{notNegative("Journaling.MaxResult", p.MaxResult)}
	if p.Lease != 0 && (p.Lease < time.Second || p.Lease > time.Hour) {
		errs = append(errs, badOption("Journaling.Lease", p.Lease, "between 1s and 1h0m0s"))
	}
	return errors.Join(errs...)
}

// journaling is the way to a journal, which is somebody else's code: it may
// hang, panic, and fail after it has done what it was asked to.
type journaling struct {
	Journal
	memory  *MemoryJournal // the journal, if it is ours and does not block
	hanging isolate.Account
	owner   string // this guard, among all that use the journal
	claims  atomic.Uint64
}

func newJournaling(j Journal) *journaling {
	if j == nil {
		return nil
	}
	memory, _ := j.(*MemoryJournal)
	return &journaling{Journal: j, memory: memory, owner: randomKey()}
}

// nextOwner names one claim, so that it is known again after an answer that was
// lost. None is in memory.
func (j *journaling) nextOwner() string {
	if j.memory != nil {
		return j.owner
	}
	var name [64]byte
	return string(strconv.AppendUint(append(append(name[:0], j.owner...), '.'), j.claims.Add(1), 36))
}

// ask runs f, for at most limit.
func (j *journaling) ask(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	if j.memory != nil {
		return f(ctx)
	}
	return j.hanging.Run(ctx, limit, f)
}

// write stores e in place of was.
func (j *journaling) write(ctx context.Context, limit time.Duration, was Version, e Entry, records ...Record) (now Entry, ok bool, err error) {
	if j.memory != nil {
		return j.memory.Write(ctx, was, e, records...)
	}
	return j.writeAside(ctx, limit, was, e, records)
}

// detached outlives ctx.
func (j *journaling) detached(ctx context.Context) context.Context {
	if j.memory != nil { // it asks nothing of it
		return context.Background()
	}
	return context.WithoutCancel(ctx)
}

// writeAside writes to somebody else's store. After an error the entry may be
// there all the same: it is looked at again before anything is said.
func (j *journaling) writeAside(ctx context.Context, limit time.Duration, was Version, e Entry, records []Record) (now Entry, ok bool, err error) {
	type written struct {
		Entry
		ok bool
	}
	var w written
	err = j.ask(ctx, limit, func(ctx context.Context) (err error) {
		if w.Entry, w.ok, err = j.Write(ctx, was, e, records...); err == nil && !answers(&w.Entry, &e, w.ok) {
			err = errOtherEntry
		}
		return err
	})
	if err == nil {
		return w.Entry, w.ok, nil
	}
	found, readErr := j.read(ctx, limit, Query{Key: e.Key, Limit: 1})
	switch {
	case readErr != nil || found.Version() == was:
		return Entry{}, false, err // it may still be on its way
	default:
		return found, found.Version() == e.Version() && found.Owner == e.Owner, nil
	}
}

// answers says whether a journal's answer is about what it was given to write: what
// it says of something else must not be taken for the call's own.
func answers(now, e *Entry, ok bool) bool {
	if ok {
		return now.Key == e.Key && now.Version() == e.Version()
	}
	return now.Key == e.Key || now.State == StateNone
}

var errOtherEntry = errors.New("toolguard: the journal answers with another entry")

// read returns the newest entry the query asks for; without one, the zero Entry.
func (j *journaling) read(ctx context.Context, limit time.Duration, q Query) (Entry, error) {
	found, err := j.scan(ctx, limit, q)
	if err != nil || len(found) == 0 {
		return Entry{}, err
	}
	return found[0], nil
}

// scan returns the entries the query asks for.
func (j *journaling) scan(ctx context.Context, limit time.Duration, q Query) ([]Entry, error) {
	var found []Entry // not a result: a scan that hangs may write it later
	other := func(e Entry) bool { return !q.Matches(&e) }
	err := j.ask(ctx, limit, func(ctx context.Context) (err error) {
		if found, err = j.Scan(ctx, q); err == nil && slices.ContainsFunc(found, other) {
			err = errOtherEntry
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// append adds to the audit what goes with no change of an entry.
func (j *journaling) append(ctx context.Context, limit time.Duration, records ...Record) error {
	return j.ask(ctx, limit, func(ctx context.Context) error { return j.Append(ctx, records...) })
}

// checkJournal refuses a journal that loses more than the tool allows.
func (g *Guard) checkJournal() (err error) {
	want, j := g.info.Durability, g.opts.Journal
	if int(want) >= len(durabilityNames) {
		return fmt.Errorf("toolguard: Info.Durability is %v", want)
	}
	if j == nil || g.opts.Journaling.Off {
		if want > DurabilityVolatile {
			return fmt.Errorf("toolguard: Options.Journal is nil or off, want one whose durability is %v: Info.Durability says so", want)
		}
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("toolguard: Options.Journal panics: %v", v)
		}
	}()
	if has := j.Durability(); has < want {
		return badOption("Journal", has, fmt.Sprintf("a durability of %v: Info.Durability says so", want))
	}
	return nil
}

// stuck is how many runs of the journal hang.
func (j *journaling) stuck() int {
	if j == nil {
		return 0
	}
	return j.hanging.Stuck()
}
