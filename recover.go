package toolguard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// RecoverPolicy says how a [Recoverer] works. Nil and the zero value are the
// documented defaults.
type RecoverPolicy struct {
	// Interval is how often the journal is looked at. If zero, 10 s.
	Interval time.Duration
	// MaxChecks is how often the downstream is asked about one entry before a
	// person has to decide. The wait doubles from 10 s to 10 min at most. If zero, 8:
	// a person is asked after about 20 min.
	MaxChecks int
	// Batch is how many entries are taken from the journal at a time. Other
	// recoverers leave them alone meanwhile, for up to 5 s each: so long does it take
	// until somebody goes on where one is killed. If zero, 20.
	Batch int
	// Decided, if not nil, is told of each entry whose state changed. It should
	// return soon.
	Decided func(Entry)
}

// Recoverer finds out what became of calls that were not settled: of processes
// that are gone, and of outcomes nobody knew. It asks the tools' Status, settles
// what they know, and parks the rest for a person. It never runs a tool.
//
// Several on one journal, on several machines too, share the work: each entry is
// decided once.
type Recoverer struct {
	journal *journaling
	guards  map[string]*Guard
	policy  RecoverPolicy
}

// NewRecoverer returns a recoverer for the tools of guards. Entries of other
// tools are parked.
func NewRecoverer(j Journal, p *RecoverPolicy, guards ...*Guard) (*Recoverer, error) {
	r := &Recoverer{journal: newJournaling(j), guards: make(map[string]*Guard, len(guards))}
	if p != nil {
		r.policy = *p
	}
	switch {
	case j == nil:
		return nil, errors.New("toolguard: NewRecoverer: the journal is nil")
	case r.policy.Interval < 0:
		return nil, fmt.Errorf("toolguard: RecoverPolicy.Interval is %v, want zero or more", r.policy.Interval)
	case r.policy.MaxChecks < 0:
		return nil, fmt.Errorf("toolguard: RecoverPolicy.MaxChecks is %v, want zero or more", r.policy.MaxChecks)
	case r.policy.Batch < 0 || r.policy.Batch > maxRecoverBatch:
		return nil, fmt.Errorf("toolguard: RecoverPolicy.Batch is %v, want up to %d", r.policy.Batch, maxRecoverBatch)
	}
	setDefault(&r.policy.Interval, 10*time.Second)
	setDefault(&r.policy.MaxChecks, 8)
	setDefault(&r.policy.Batch, 20)
	for _, g := range guards {
		if g == nil || g.body.Load() == nil {
			return nil, errors.New("toolguard: NewRecoverer: a Guard was not made by New")
		}
		r.guards[g.args.identity] = g
	}
	return r, nil
}

// Recoverer returns one for all tools of the toolbox, on the journal it was
// given.
func (b *Toolbox) Recoverer(p *RecoverPolicy) (*Recoverer, error) {
	var guards []*Guard
	for _, t := range b.tools {
		guards = append(guards, t.guard)
	}
	journal := b.nobody.opts.Journal
	if journal == nil {
		return nil, errors.New("toolguard: Toolbox.Recoverer: Options.Journal is nil: there is nothing to look after")
	}
	return NewRecoverer(journal, p, guards...)
}

// Recovered counts what one pass did.
type Recovered struct {
	// Succeeded and Failed are settled, Parked wait for a person, Expired are
	// approvals that ran out, Waiting are asked about again later.
	Succeeded, Failed, Parked, Expired, Waiting int
	// NotDue are those that nobody had to look at yet, such as calls that run: up
	// to 1,000 are counted.
	NotDue int
}

// String says it in one line.
func (n Recovered) String() string {
	return fmt.Sprintf("%d succeeded, %d failed, %d parked, %d expired, %d waiting, %d not due",
		n.Succeeded, n.Failed, n.Parked, n.Expired, n.Waiting, n.NotDue)
}

// Run makes a pass at once and then one each interval, until ctx ends. It returns
// the context's error. A journal that fails is tried again.
func (r *Recoverer) Run(ctx context.Context) error {
	ticker := time.NewTicker(r.policy.Interval)
	defer ticker.Stop()
	for {
		_, _ = r.pass(ctx) // what fails is due again
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

const (
	maxRecoverBatch = 1000
	// statusTimeout bounds one status query.
	statusTimeout = 5 * time.Second
	// firstCheck is how long after an unknown outcome the downstream is asked; the
	// wait doubles up to maxCheck.
	firstCheck = 5 * time.Second
	maxCheck   = 10 * time.Minute
)

// Once looks at all that is due and returns what it did. The error is the
// journal's, or names the entries that could not be unsealed, or not be written:
// they keep nobody from deciding about the others.
func (r *Recoverer) Once(ctx context.Context) (Recovered, error) {
	notDue, err := r.notDue(ctx)
	n, passErr := r.pass(ctx)
	n.NotDue = notDue
	return n, errors.Join(passErr, err)
}

// notDue counts what a pass would leave alone.
func (r *Recoverer) notDue(ctx context.Context) (n int, err error) {
	q := Query{Limit: 1000, States: []State{StateAwaiting, StateApproved, StatePending, StateUnknown, StateParked}}
	var found []Entry
	err = r.journal.ask(ctx, callbackTimeout, func(ctx context.Context) (err error) {
		found, err = r.journal.Scan(ctx, q)
		return err
	})
	if err != nil {
		return 0, err
	}
	for i := range found {
		if e := &found[i]; e.Due > 0 && !e.overdue() {
			n++
		}
	}
	return n, nil
}

// pass is Once without the count of what is left alone, which takes a look at it.
func (r *Recoverer) pass(ctx context.Context) (Recovered, error) {
	var n Recovered
	var errs []error
	hold := time.Duration(r.policy.Batch) * statusTimeout // it asks about one after the other
	for ctx.Err() == nil {
		var taken []Entry
		err := r.journal.ask(ctx, callbackTimeout, func(ctx context.Context) (err error) {
			taken, err = r.journal.Take(ctx, r.policy.Batch, hold)
			return err
		})
		if err != nil {
			return n, errors.Join(append(errs, err)...)
		}
		for i := range taken {
			err := r.decideOn(ctx, &taken[i], &n)
			if err != nil {
				errs = append(errs, err)
			}
			if errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil { // a journal that hangs does so for all
				return n, errors.Join(errs...)
			}
		}
		if len(taken) < r.policy.Batch {
			return n, errors.Join(errs...)
		}
	}
	return n, errors.Join(append(errs, ctx.Err())...)
}

// decideOn is decide with errors that name the entry.
func (r *Recoverer) decideOn(ctx context.Context, e *Entry, n *Recovered) error {
	var unread error
	if e.Sealed {
		unread = fmt.Errorf("toolguard: the entry %q cannot be unsealed", preview(e.Key))
	}
	err := r.decide(ctx, *e, n)
	if err != nil {
		err = fmt.Errorf("toolguard: the entry %q: %w", preview(e.Key), err)
	}
	return errors.Join(unread, err)
}

// decide does what is due about an entry, and counts what has come of it.
func (r *Recoverer) decide(ctx context.Context, e Entry, n *Recovered) error {
	switch e.State {
	case StateAwaiting, StateApproved:
		next, err := e.unheard().withdrawn(StateExpired)
		if err != nil {
			return err
		}
		_, ok, err := r.move(ctx, e, next, "expired")
		if ok {
			n.Expired++
		}
		return err
	case StatePending:
		lost, _, err := r.move(ctx, e, e.lost(), WhyLeaseExpired)
		if err != nil || lost.State != StateUnknown {
			return err
		}
		e = lost
	}
	if e.State != StateUnknown && e.State != StateParked {
		return nil
	}
	next, why := r.confirm(ctx, e.unheard())
	now, ok, err := r.move(ctx, e, next, why)
	if ok {
		n.count(now.State)
	}
	return err
}

func (n *Recovered) count(s State) {
	switch s {
	case StateSucceeded:
		n.Succeeded++
	case StateFailed:
		n.Failed++
	case StateParked:
		n.Parked++
	default:
		n.Waiting++
	}
}

// confirm asks the downstream and says what that makes of the entry.
func (r *Recoverer) confirm(ctx context.Context, e Entry) (Entry, string) {
	guard := r.guards[e.identity()]
	switch {
	case e.Sealed:
		return e.parked(maxCheck), WhySealed // it may be readable again
	case guard == nil:
		return e.parked(maxCheck), WhyNoHandler // another recoverer may know the tool
	case guard.body.Load().status == nil && guard.info.mayRepeat(&e):
		e.Due = guard.info.mayRepeatFor(&e) // so long whoever asks for it again may run it
		return e, WhyNoStatus
	case guard.body.Load().status == nil:
		return e.parked(0), WhyNoStatus
	}
	outcome, receipt, err := guard.statusOf(WithScope(ctx, e.Scope), statusTimeout, e.Key, e.Args)
	if e.Checks++; err != nil || !e.believes(outcome, &guard.info) {
		if e.Checks >= r.policy.MaxChecks {
			return e.parked(0), WhyChecksUsed
		}
		e.Due = min(firstCheck<<min(e.Checks, 10), maxCheck)
		return e, WhyStillUnknown
	}
	return guard.known(e, outcome, &receipt), WhyConfirmed
}

// parked is the entry as a person has to decide about it.
func (e Entry) parked(due time.Duration) Entry {
	if e.State == StateParked {
		e.Due = due
		return e
	}
	return e.must(StateParked, due)
}

// move writes what became of an entry, and reports whether it did. Somebody else may
// have been faster: then theirs stands.
func (r *Recoverer) move(ctx context.Context, was, e Entry, why string) (now Entry, ok bool, err error) {
	e.Owner = r.journal.nextOwner()
	line := lineOf(&e, was.State, ActorRecoverer, why)
	if was.State == e.State {
		line.Kind = RecordCheck
	}
	now, ok, err = r.journal.write(ctx, callbackTimeout, was.Version(), e, line)
	if err == nil && ok && was.State != e.State && r.policy.Decided != nil {
		_ = r.journal.hanging.Run(ctx, callbackTimeout, func(context.Context) error { // it is only told
			r.policy.Decided(now)
			return nil
		})
	}
	return now, ok && err == nil, err
}

// Why an entry is in its state, in [Record].Why. Beside these it may be a code, or
// a person's words.
const (
	WhyLeaseExpired = "lease_expired" // who ran it was not heard of for too long
	WhyConfirmed    = "confirmed"     // the downstream says so
	WhyLate         = "late_answer"   // an abandoned attempt came back
	WhyLeaseLost    = "lease_lost"    // the entry was taken away meanwhile
	WhySealed       = "sealed"        // its arguments cannot be unsealed
	WhyNoHandler    = "no_handler"    // no tool of this name is known here
	WhyNoStatus     = "no_status"     // the tool has no status query
	WhyChecksUsed   = "checks_used"   // the downstream was asked often enough
	WhyStillUnknown = "still_unknown" // the downstream does not know yet
)

// statusOf asks the downstream what became of a key.
func (g *Guard) statusOf(ctx context.Context, limit time.Duration, key string, args json.RawMessage) (Outcome, Result, error) {
	type said struct {
		outcome Outcome
		receipt Result
	}
	var s said
	err := g.hanging.stages[StageConfirm].Run(ctx, limit, func(ctx context.Context) (err error) {
		s.outcome, s.receipt, err = g.body.Load().status(ctx, key, args)
		return err
	})
	if err != nil {
		return OutcomeUnknown, Result{}, err
	}
	return s.outcome, s.receipt, nil
}
