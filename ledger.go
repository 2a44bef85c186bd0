package toolguard

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"
)

// ledger is what a call has to do with the journal.
type ledger struct {
	group      string
	generation int
	entry      Entry         // as last seen; in StateNone if there is none
	earlier    time.Duration // since an earlier generation had its effect; 0 if none had
	approval   *Approval     // given to this call
	waited     time.Duration // for it
	runsOut    time.Duration // after the call began; the approval's end
	claimed    bool
	lines      []line          // of the audit, on their way into the journal
	args       json.RawMessage // for the audit, from the claim on
	room       [1]line         // for the lines of most calls

	mu       sync.Mutex
	renewal  *time.Timer
	recorded bool        // what the call came to is in the journal
	late     *lateAnswer // of the attempt it gave up on, until then
}

// unkept is the ledger of a call that does not belong into the journal, unwritten
// that of one that the journal did not take.
var unkept, unwritten ledger

// inJournal says whether the call is in the journal, or on its way there.
func (c *call) inJournal() bool {
	return c.ledger != nil && c.ledger != &unkept && c.ledger != &unwritten
}

// journaled says whether a call of the tool belongs into the journal: reads only
// where the host can resume them, or somebody has to approve them.
func (c *call) journaled() bool {
	g := c.guard
	return g.journal != nil && (g.info.Effect != ReadOnly || c.scope.stepped() || g.asksApproval())
}

// stepped says that the host knows this piece of work by a name of its own.
func (s *Scope) stepped() bool { return s.Run != "" && s.Step != "" }

// keyed finds the call's entry, and with it the key, before anything is judged:
// the key may be one of the arguments.
func (c *call) keyed() bool {
	if c.mismatch() != nil && c.guard.info.KeyField == "" {
		return true // it is going to be refused
	}
	return c.lookUp() && c.editedBefore() && c.injectKey()
}

// lookUp reads what the journal has of this action.
func (c *call) lookUp() bool {
	switch {
	case c.resumed() != nil:
		return c.lookUpKey()
	case c.inheritsKey() || !c.journaled():
		c.ledger = &unkept
		return true
	}
	l := &ledger{group: c.group()}
	c.ledger, l.lines = l, l.room[:0]
	if l.group == "" {
		l.group = c.CallKey()
		return true
	}
	if err := c.readGroup(); err != nil {
		return c.withoutJournal(err)
	}
	c.takeUp()
	return true
}

// readGroup reads the last entry of the call's group.
func (c *call) readGroup() (err error) {
	j, l := c.guard.journal, c.ledger
	if j.memory != nil {
		return j.memory.last(c.ctx, l.group, &l.entry)
	}
	l.entry, err = j.read(c.ctx, c.left(callbackTimeout), Query{Group: l.group, Limit: 1})
	return err
}

func (c *call) lookUpKey() bool {
	found, err := c.guard.journal.find(c.ctx, c.left(callbackTimeout), c.resumed().Key)
	if err != nil {
		return c.withoutJournal(err)
	}
	c.ledger = &ledger{group: found.Group, generation: found.Generation, entry: found}
	c.key.Store(&c.resumed().Key)
	return true
}

// takeUp goes on from the entry that was found: with its key, or where it belongs
// to a call that is over and this one is meant anew, with the next.
func (c *call) takeUp() {
	l := c.ledger
	e := &l.entry
	if c.outlived(e) {
		if e.State == StateSucceeded && !c.guard.info.meansRepeats() && !c.sameTurn(e) {
			l.earlier = max(e.Read.Sub(e.effective()), 1)
		}
		l.generation, l.entry = e.Generation+1, Entry{}
	}
	if l.entry.Key == "" && l.generation == 0 {
		c.key.Store(&l.group)
		return
	}
	key := l.entry.Key
	if key == "" {
		key = generationKey(l.group, l.generation)
	}
	c.key.Store(&key)
}

// outlived says that what the entry came to does not answer this call: the user
// has spoken since, or the tool is meant to act each time.
func (c *call) outlived(e *Entry) bool {
	if c.scope.stepped() || !e.State.Final() {
		return false
	}
	meant := e.State == StateSucceeded && (c.guard.info.meansRepeats() || c.guard.info.Effect == Idempotent)
	doubted := (e.State == StateAborted || e.settledLater()) && c.scope.Turn == "" // nobody has spoken since nobody knew
	return !c.sameTurn(e) && !doubted || meant
}

// sameTurn says that the user has not spoken since the entry was made.
func (c *call) sameTurn(e *Entry) bool {
	return c.scope.Turn != "" && c.scope.Turn == e.Scope.Turn
}

// group names the action whose entries belong together; "" if nothing tells this
// call from any other. A call from inside a tool is told apart by its arguments,
// for the host has named the outer one only; one that does the outer one's work has
// the name that the outer one would have.
func (c *call) group() string {
	s := c.scope
	beside := c.rare != nil && c.rare.beside
	switch {
	case s.stepped() && c.outer != nil && (beside || c.twin() == nil):
		return hashWith(&c.digest, s.Tenant, s.Run, s.Step, c.guard.args.identity, c.outer.call.CallKey())
	case s.stepped():
		return hashParts(s.Tenant, s.Run, s.Step, c.guard.args.identity)
	case s.Session != "" && beside:
		return hashWith(&c.digest, "inside", s.Tenant, s.Session, c.guard.args.identity, c.outer.call.CallKey())
	case s.Session != "":
		return hashWith(&c.digest, "session", s.Tenant, s.Session, c.guard.args.identity)
	default:
		return ""
	}
}

// generationKey is that of a group's later generations. The first has its name.
func generationKey(group string, generation int) string {
	return hashParts("generation", group, strconv.Itoa(generation))
}

// withoutJournal goes on although the journal does not answer, where running
// twice would do no harm.
func (c *call) withoutJournal(err error) bool {
	c.ledger = &unwritten
	if c.guard.info.repeatable(c.began) && !c.guard.asksApproval() && c.resumed() == nil {
		return true
	}
	return c.refuseWithoutJournal(err)
}

func (c *call) refuseWithoutJournal(err error) bool {
	c.ledger = &unwritten
	if c.ctx.Err() != nil {
		return c.refuse(c.callerCode(), 0)
	}
	c.fail(diagnosis{Verdict: Verdict{Code: CodeJournalUnavailable}}, err)
	if e := c.resumed(); e != nil {
		c.outcome = c.leftOpen(e)
	}
	return false
}

// editedBefore takes over the arguments that were approved: they are what runs.
func (c *call) editedBefore() bool {
	e, edited := &c.ledger.entry, c.runsEdited()
	if edited {
		c.noteEdited(e.Args)
	}
	if !edited && e.State != StateApproved || bytes.Equal(e.Args, c.doc.Text) {
		return true
	}
	return c.adoptEdited(e.Args)
}

// runsEdited says that the entry's arguments, if they run again, are not those that were
// asked for.
func (c *call) runsEdited() bool {
	e := &c.ledger.entry
	return (e.State == StateApproved || e.State.inDoubt()) && e.Approval.edited()
}

// noted says that there is such a note.
func (c *call) noted(kind NoteKind) bool {
	return slices.ContainsFunc(c.notes, func(n Note) bool { return n.Kind == kind })
}

// noteOnce adds a note, if it is not there.
func (c *call) noteOnce(kind NoteKind) {
	if !c.noted(kind) {
		c.notes = append(c.notes, Note{Kind: kind})
	}
}
