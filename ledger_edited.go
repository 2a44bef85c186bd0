package toolguard

import (
	"encoding/json"

	"github.com/toolguard-go/toolguard/prompts"
)

// What somebody approved with other arguments runs under the key of those that were
// asked for. A model that sends the others itself, as it was told that they ran, makes
// another call of it.

// maxEditedShown bounds what the model reads of arguments that a person wrote, in bytes.
const maxEditedShown = 240

// noteEdited says, once, that a person wrote args in place of those that were asked for.
func (c *call) noteEdited(args json.RawMessage) {
	if !c.noted(prompts.NoteArgsEdited) {
		c.notes = append(c.notes, Note{Kind: prompts.NoteArgsEdited, To: c.cutRedacted(string(args), maxEditedShown)})
	}
}

func isEdited(n Note) bool { return n.Kind == prompts.NoteArgsEdited }

// edited says that somebody approved other arguments than were asked for.
func (a *Approval) edited() bool { return a != nil && a.Edited }

// refusesEdit says that what was refused is what a person wrote: the model cannot mend it.
func (c *call) refusesEdit() bool {
	return c.failure.row().category == CategoryParam && c.noted(prompts.NoteArgsEdited)
}

// unsettled are the states in which such a call may have had its effect, or may have it yet.
var unsettled = []State{StatePending, StateUnknown, StateParked, StateAborted, StateApproved}

// maxUnsettled bounds how many of them are looked at.
const maxUnsettled = 1000

// doubtOfEdited returns the entry of a call of the same conversation, or else run, that
// runs or ran with this one's arguments in place of its own and is in doubt; the zero
// Entry if there is none. Few tools ask for approvals, and those wait for people: all
// their entries in such a state are looked at.
func (c *call) doubtOfEdited() (Entry, error) {
	s := c.scope
	if !c.guard.asksApproval() || s.Session == "" && s.Run == "" {
		return Entry{}, nil
	}
	found, _, err := c.findElsewhere(Query{Tool: c.guard.info.Name, States: unsettled, Limit: maxUnsettled}, c.ranEdited)
	return found, err
}

// ranEdited says that the entry is of another call that this one repeats. What a person
// has closed answers until the user speaks, as it would its own call.
func (c *call) ranEdited(e *Entry) bool {
	over := e.State == StateApproved && !e.Approval.doubts() || e.State == StateAborted && !c.scope.stepped() && c.scope.Turn != "" && !c.sameTurn(e)
	decided := e.Key == c.ledger.entry.Linked // about which a person has: this call is in its place
	return !over && !decided && e.Approval.edited() && c.guard.args.digestOfText(e.Args) == c.digest
}
