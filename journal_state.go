package toolguard

import (
	"fmt"
	"slices"
	"time"
)

// State is where an [Entry] stands.
type State uint8

const (
	// StateNone: there is no entry.
	StateNone State = iota
	// StateAwaiting: somebody has to approve.
	StateAwaiting
	// StateApproved: somebody has, and it has not begun.
	StateApproved
	// StateDenied: somebody has said no. It is final.
	StateDenied
	// StateExpired: nobody decided in time, or it did not begin in time. It is final.
	StateExpired
	// StatePending: the tool runs, or the process that ran it is gone.
	StatePending
	// StateSucceeded: the effect happened. It is final.
	StateSucceeded
	// StateFailed: the effect did not happen.
	StateFailed
	// StateUnknown: nobody knows.
	StateUnknown
	// StateParked: nobody knows, and a person has to decide.
	StateParked
	// StateAborted: a person has closed it. It is final.
	StateAborted
)

var stateNames = names{
	"none", "awaiting_approval", "approved", "denied", "expired", "pending",
	"succeeded", "failed", "unknown", "parked", "aborted",
}

// String returns the lower_snake name, or State(n) outside the set.
func (s State) String() string { return stateNames.text("State", uint8(s)) }

// MarshalText implements [encoding.TextMarshaler].
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText accepts the names that String returns.
func (s *State) UnmarshalText(b []byte) error { return stateNames.parse("State", b, (*uint8)(s)) }

// Final says that nothing follows.
func (s State) Final() bool { return int(s) < len(moves) && len(moves[s]) == 0 }

// Prunable says that an entry in this state may be deleted when it is old.
func (s State) Prunable() bool { return s.Final() || s == StateFailed }

// inDoubt says that nobody knows whether the effect happened.
func (s State) inDoubt() bool { return s == StateUnknown || s == StateParked }

// outcome is what a state says of the effect.
func (s State) outcome() Outcome {
	switch s {
	case StateSucceeded:
		return OutcomeSucceeded
	case StateFailed:
		return OutcomeFailed
	case StatePending, StateUnknown, StateParked, StateAborted:
		return OutcomeUnknown
	default:
		return OutcomeNotStarted
	}
}

// moves are the states that may follow each.
//
//	awaiting → approved ⇄ pending → succeeded | failed | unknown → parked
//
// From unknown and parked on, a status query, a late answer or a person decides.
// What a person lets run again although it is unknown, and does not run, is unknown.
var moves = [...][]State{
	StateNone:     {StateAwaiting, StateApproved, StateDenied, StatePending},
	StateAwaiting: {StateApproved, StateDenied, StateExpired},
	StateApproved: {StatePending, StateDenied, StateExpired, StateUnknown},
	StatePending:  {StateApproved, StateSucceeded, StateFailed, StateUnknown},
	StateFailed:   {StatePending, StateAwaiting, StateDenied},
	StateUnknown:  {StatePending, StateSucceeded, StateFailed, StateParked, StateApproved, StateAborted},
	StateParked:   {StatePending, StateSucceeded, StateFailed, StateApproved, StateAborted},
	StateAborted:  nil,
}

// move brings the entry to the state that follows, due after a while. It is the
// one place where an entry changes its state. Each claim has a token of its own.
func (e *Entry) move(to State, due time.Duration) error {
	if int(e.State) >= len(moves) || !slices.Contains(moves[e.State], to) {
		return fmt.Errorf("toolguard: journal: an entry that is %v cannot become %v", e.State, to)
	}
	if to == StatePending {
		e.Token++
		e.Result, e.Code, e.Checks, e.Quiet = nil, "", 0, 0
	}
	if a := e.Approval; a != nil && (to == StateAwaiting || to == StateApproved) {
		held := *a
		held.Holds, e.Approval = due, &held
	}
	e.State, e.Due = to, due
	return nil
}

// next returns the entry in the state that follows.
func (e Entry) next(to State, due time.Duration) (Entry, error) {
	if err := e.move(to, due); err != nil {
		return Entry{}, err
	}
	return e, nil
}

// withdrawn is the entry without its approval, or when the wait for one is over: it
// ends, unless what was approved is in doubt.
func (e Entry) withdrawn(end State) (Entry, error) {
	if e.State == StateApproved && e.Approval.doubts() {
		return e.next(StateUnknown, firstCheck)
	}
	return e.next(end, 0)
}

// must is next for a step that the table has.
func (e Entry) must(to State, due time.Duration) Entry {
	e.become(to, due)
	return e
}

// become is move for such a step.
func (e *Entry) become(to State, due time.Duration) {
	if err := e.move(to, due); err != nil {
		panic(err)
	}
}
