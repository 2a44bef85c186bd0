package toolguardtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/toolguard-go/toolguard"
)

// JournalFault is what becomes of one use of a journal.
type JournalFault uint8

const (
	// JournalWorks: what should.
	JournalWorks JournalFault = iota
	// JournalRefuses: nothing is done, and [ErrJournal] says so: a disk that is full,
	// a file that may only be read.
	JournalRefuses
	// JournalLosesAnswer: all is done, and [ErrJournal] comes back in place of the
	// answer: a connection that is cut after the commit.
	JournalLosesAnswer
	// JournalHangs: nothing is done until the context ends.
	JournalHangs
	// JournalLosesAnswerAndHangs: all is done, and no answer comes until the context
	// ends.
	JournalLosesAnswerAndHangs
)

// ErrJournal is what a [FaultyJournal] fails with.
var ErrJournal = errors.New("toolguardtest: the journal fails, as the test says")

// JournalUse is one call of a journal's method.
type JournalUse struct {
	// Method is its name: "Write".
	Method string
	// N counts the uses of the journal from 1, whatever the method; so that a test
	// can fail each in turn.
	N int
}

// FaultyJournal is a journal that fails as a test says. It may be used concurrently.
type FaultyJournal struct {
	toolguard.Journal
	// Fault says what becomes of a use. It may take its time, as a slow disk does, and
	// is called concurrently. If nil, all works.
	Fault func(JournalUse) JournalFault

	mu   sync.Mutex
	uses int
}

// Uses is how often the journal was used.
func (j *FaultyJournal) Uses() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.uses
}

func (j *FaultyJournal) fault(method string) JournalFault {
	j.mu.Lock()
	j.uses++
	use := JournalUse{method, j.uses}
	j.mu.Unlock()
	if j.Fault == nil {
		return JournalWorks
	}
	return j.Fault(use)
}

// use does what a method should, or what a fault makes of it.
func (j *FaultyJournal) use(ctx context.Context, method string, do func() error) error {
	fault := j.fault(method)
	switch fault {
	case JournalRefuses:
		return ErrJournal
	case JournalHangs:
		<-ctx.Done()
		return ctx.Err()
	}
	err := do()
	switch {
	case err != nil || fault == JournalWorks:
		return err
	case fault == JournalLosesAnswerAndHangs:
		<-ctx.Done()
		return ctx.Err()
	}
	return ErrJournal
}

// Write implements [toolguard.Journal].
func (j *FaultyJournal) Write(ctx context.Context, was toolguard.Version, e toolguard.Entry, records ...toolguard.Record) (now toolguard.Entry, ok bool, err error) {
	err = j.use(ctx, "Write", func() (err error) {
		now, ok, err = j.Journal.Write(ctx, was, e, records...)
		return err
	})
	if err != nil {
		return toolguard.Entry{}, false, err
	}
	return now, ok, nil
}

// Append implements [toolguard.Journal].
func (j *FaultyJournal) Append(ctx context.Context, records ...toolguard.Record) error {
	return j.use(ctx, "Append", func() error { return j.Journal.Append(ctx, records...) })
}

// Scan implements [toolguard.Journal].
func (j *FaultyJournal) Scan(ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error) {
	return answered(j, ctx, "Scan", func() ([]toolguard.Entry, error) { return j.Journal.Scan(ctx, q) })
}

// Take implements [toolguard.Journal].
func (j *FaultyJournal) Take(ctx context.Context, n int, hold time.Duration) ([]toolguard.Entry, error) {
	return answered(j, ctx, "Take", func() ([]toolguard.Entry, error) { return j.Journal.Take(ctx, n, hold) })
}

// Records implements [toolguard.Journal].
func (j *FaultyJournal) Records(ctx context.Context, q toolguard.RecordQuery) ([]toolguard.Record, error) {
	return answered(j, ctx, "Records", func() ([]toolguard.Record, error) { return j.Journal.Records(ctx, q) })
}

// Prune implements [toolguard.Journal].
func (j *FaultyJournal) Prune(ctx context.Context, age time.Duration) (int, error) {
	return answered(j, ctx, "Prune", func() (int, error) { return j.Journal.Prune(ctx, age) })
}

// answered is use of a method with one answer, which comes or does not.
func answered[T any](j *FaultyJournal, ctx context.Context, method string, do func() (T, error)) (answer T, err error) {
	err = j.use(ctx, method, func() (err error) {
		answer, err = do()
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return answer, nil
}
