package toolguard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolguard-go/toolguard/internal/digest"
	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// Ruling is what a person decides about an entry of a journal.
type Ruling struct {
	Key     string
	Verdict RulingVerdict
	// By is who decides, Why the reason; both are recorded. By is required.
	By, Why string
	// Args are run in place of the stored ones, with RulingApprove and RulingRetry.
	Args json.RawMessage
	// Result is what the model reads, with RulingSucceeded.
	Result Result
	// Token, if not zero, is that of the entry the person has seen: if it has
	// changed hands since, nothing is decided.
	Token uint64
}

// RulingVerdict is what a person says.
type RulingVerdict uint8

const (
	_ RulingVerdict = iota
	// RulingApprove: what awaits an approval may run.
	RulingApprove
	// RulingDeny: it may not.
	RulingDeny
	// RulingRetry: what is unknown may run again, whatever the tool's effect. With
	// Args it becomes an entry of its own, linked to the old one.
	RulingRetry
	// RulingSucceeded: what is unknown had its effect.
	RulingSucceeded
	// RulingFailed: it had none.
	RulingFailed
	// RulingAbort: nobody will find out, and nothing more is to be done.
	RulingAbort
)

var rulingNames = names{"none", "approve", "deny", "retry", "succeeded", "failed", "abort"}

// String returns the lower-case name, or RulingVerdict(n) outside the set.
func (v RulingVerdict) String() string { return rulingNames.text("RulingVerdict", uint8(v)) }

// MarshalText implements [encoding.TextMarshaler].
func (v RulingVerdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText accepts the names that String returns.
func (v *RulingVerdict) UnmarshalText(b []byte) error {
	return rulingNames.parse("RulingVerdict", b, (*uint8)(v))
}

// ErrDecided says that a ruling came too late: the entry is in another state than
// the person has seen, or than can be decided about.
var ErrDecided = errors.New("toolguard: the entry is in a state that the ruling is not about")

// ErrNoEntry says that the journal has no entry with the key.
var ErrNoEntry = errors.New("toolguard: the journal has no such entry")

// Decide writes down a person's decision. The first one wins: a later one gets
// [ErrDecided]. After any other error it may be written down or not: decide again.
// What is approved runs with [Guard.Resume], or when the model asks for it again.
// It returns the entry as it is then; with Args to retry, the new one.
func Decide(ctx context.Context, j Journal, r Ruling) (Entry, error) {
	if j == nil || r.By == "" {
		return Entry{}, errors.New("toolguard: Decide: want a journal, and who decides")
	}
	way := newJournaling(j)
	e, err := way.read(ctx, callbackTimeout, Query{Key: r.Key, Limit: 1})
	switch {
	case err != nil:
		return Entry{}, err
	case e.State == StateNone || r.Key == "":
		return Entry{}, fmt.Errorf("%w: %q", ErrNoEntry, preview(r.Key))
	case r.Verdict == RulingApprove && r.decides(e.State) && e.ranOut():
		return e, fmt.Errorf("%w: the time to approve %q was over at %v", ErrDecided, preview(r.Key), e.Updated.Add(e.holds()).Format(time.RFC3339))
	case r.Token != 0 && r.Token != e.Token || !r.decides(e.State) && !r.completes(&e):
		return e, fmt.Errorf("%w: %q is %v", ErrDecided, preview(r.Key), e.State)
	case len(r.Args) > 0 && r.Verdict == RulingRetry:
		return r.retryEdited(ctx, way, e)
	}
	next, err := r.apply(e.unheard())
	if err != nil {
		return e, err
	}
	return r.write(ctx, way, e.Version(), next, e.State)
}

// decides says which states a verdict is about. What runs is nobody's to decide.
func (r *Ruling) decides(s State) bool {
	switch r.Verdict {
	case RulingApprove:
		return s == StateAwaiting
	case RulingDeny:
		return s == StateAwaiting || s == StateApproved
	case RulingRetry, RulingSucceeded, RulingFailed, RulingAbort:
		return s == StateUnknown || s == StateParked
	default:
		return false
	}
}

// apply returns the entry as the person wants it.
func (r *Ruling) apply(e Entry) (Entry, error) {
	switch r.Verdict {
	case RulingApprove, RulingRetry:
		return r.approve(e)
	case RulingDeny:
		return e.withdrawn(StateDenied)
	case RulingSucceeded:
		e.Result = encodeResult(&r.Result, nil)
		return e.next(StateSucceeded, 0)
	case RulingFailed:
		return e.next(StateFailed, 0)
	default:
		return e.next(StateAborted, 0)
	}
}

// approve lets the entry run, as it is or with other arguments.
func (r *Ruling) approve(e Entry) (Entry, error) {
	edited := e.Approval.edited() // before
	if len(r.Args) > 0 {
		edited = true
		doc, err := strictjson.Parse(r.Args, strictjson.Limits{})
		if err == nil && !doc.IsObject() {
			err = errors.New("they are another value")
		}
		if err != nil {
			return Entry{}, fmt.Errorf("toolguard: Decide: Args are not one JSON object: %w", err)
		}
		e.Args, e.ApprovalDigest = r.Args, digest.Of(e.identity(), &doc, nil)
	}
	policy := ""
	if e.Approval != nil {
		policy = e.Approval.Policy
	}
	e.Approval = &Approval{
		By: r.By, Why: r.Why, Digest: e.ApprovalDigest, SchemaDigest: e.SchemaDigest,
		ToolVersion: e.ToolVersion, Policy: policy, Edited: edited,
		Doubt: e.State == StateUnknown || e.State == StateParked,
	}
	holds := e.holds()
	if e.State != StateAwaiting {
		holds = retryHolds
	}
	return e.next(StateApproved, holds)
}

// retryHolds is how long a person's leave to run something again holds.
const retryHolds = 24 * time.Hour

// retryEdited closes the old entry and makes one of its own for what runs in its
// place. Closing it is the decision: whoever is too late makes no other.
func (r *Ruling) retryEdited(ctx context.Context, j *journaling, old Entry) (Entry, error) {
	e := old
	e.Key, e.Linked = editedKey(old.Key), old.Key
	e.Group, e.Generation = e.Key, 0
	e.Token, e.State, e.Attempts, e.Checks, e.Quiet, e.Result, e.Code = 0, StateNone, 0, 0, 0, nil, ""
	e, err := r.approve(e)
	if err != nil {
		return old, err
	}
	if old.State != StateAborted {
		closed := old.unheard().must(StateAborted, 0)
		closed.Linked = e.Key
		if now, err := r.write(ctx, j, old.Version(), closed, old.State); err != nil {
			return now, err
		}
	}
	return r.write(ctx, j, Version{}, e, StateNone)
}

// completes says that the ruling is the second half of one that closed the entry
// and was then cut short.
func (r *Ruling) completes(e *Entry) bool {
	return r.Verdict == RulingRetry && len(r.Args) > 0 && e.State == StateAborted && e.Linked == editedKey(e.Key)
}

// editedKey is that of the entry that takes another one's place.
func editedKey(old string) string { return hashParts("retry", old) }

// write stores what was decided, unless somebody was faster.
func (r *Ruling) write(ctx context.Context, j *journaling, was Version, e Entry, from State) (Entry, error) {
	e.Owner = j.nextOwner() // two decisions may look alike
	line := lineOf(&e, from, r.By, r.Why)
	now, ok, err := j.write(ctx, callbackTimeout, was, e, line)
	if err == nil && !ok {
		err = fmt.Errorf("%w: %q is %v", ErrDecided, preview(r.Key), now.State)
	}
	return now, err
}

// lineOf is the audit's line on an entry that came from a state, by what the
// entry itself knows.
func lineOf(e *Entry, from State, actor, why string) Record {
	r := recordAbout(e, RecordState, actor)
	r.From, r.To, r.Why, r.Code, r.Outcome = from, e.State, why, e.Code, e.State.outcome()
	return r
}
