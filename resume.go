package toolguard

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Resume goes on with the call that has this key in the journal: after an
// approval, after a person's decision, or after a restart. It runs what is
// approved, under the scope that is stored (but for the Turn, which is over) and with
// the arguments that are stored, and asks Authorize and Check again; of a call that is over it returns what became of
// it. It does not run what nobody has decided about. Of a key that the journal does
// not have it knows nothing, not even that nothing was done: CodeNoEntry.
//
// ctx gives the deadline; its [Scope] does not count.
func (g *Guard) Resume(ctx context.Context, key string) Envelope {
	if g == nil || g.body.Load() == nil {
		return unmade(Call{})
	}
	if ctx == nil {
		ctx = context.Background() // as open does
	}
	e, err := g.journal.find(ctx, callbackTimeout, key)
	if err == nil && e.identity() != g.args.identity {
		err = fmt.Errorf("toolguard: Resume: %w for this tool: the call is of %q", ErrNoEntry, preview(e.Tool))
	}
	return g.resume(ctx, e, nil, err)
}

// Resume is [Guard.Resume] for whichever of the tools the call was to. A *Guard
// with a journal of its own has its own Resume.
func (b *Toolbox) Resume(ctx context.Context, key string) Envelope {
	if b == nil || b.nobody == nil {
		return unmade(Call{})
	}
	if ctx == nil {
		ctx = context.Background()
	}
	e, err := b.nobody.journal.find(ctx, callbackTimeout, key)
	var v via
	guard := b.lookUp(WithScope(ctx, e.Scope), e.Tool, &v)
	if err == nil && e.identity() != guard.args.identity {
		guard, err = b.nobody, fmt.Errorf("toolguard: Resume: %w for a tool of this toolbox: the call is of %q", ErrNoEntry, preview(e.Tool))
	}
	return guard.resume(ctx, e, &v, err)
}

// find returns the entry with the key.
func (j *journaling) find(ctx context.Context, limit time.Duration, key string) (Entry, error) {
	if j == nil {
		return Entry{}, fmt.Errorf("toolguard: Resume: %w: there is no journal", ErrNoEntry)
	}
	e, err := j.read(ctx, limit, Query{Key: key, Limit: 1})
	if err == nil && (key == "" || e.State == StateNone) {
		err = fmt.Errorf("toolguard: Resume: %w %q", ErrNoEntry, preview(key))
	}
	if err == nil && e.Digest == (Digest{}) {
		err = fmt.Errorf("toolguard: Resume: %w of a call: %q is an approval for a conversation", ErrNoEntry, preview(key))
	}
	return e, err
}

// resume runs the call of an entry, or says why there is nothing to go on with.
func (g *Guard) resume(ctx context.Context, e Entry, v *via, err error) Envelope {
	scope := e.Scope
	scope.Turn = "" // the conversation is further on, and must not be taken back
	c := g.open(WithScope(ctx, scope), Call{Tool: e.Tool, ID: e.CallID, Args: e.Args}, v, &e)
	c.rare.lost = err
	return c.run()
}

// resumed is the entry that the call goes on with; nil if it is a new call.
func (c *call) resumed() *Entry {
	if c.rare == nil {
		return nil
	}
	return c.rare.resumed
}

// found refuses to go on with what is not there.
func (c *call) found() bool {
	if e := c.resumed(); e != nil && e.Approval.edited() && !e.State.Final() {
		c.noteEdited(e.Args)
	}
	if c.rare == nil || c.rare.lost == nil {
		return true
	}
	code := CodeNoEntry
	if !errors.Is(c.rare.lost, ErrNoEntry) {
		code = CodeJournalUnavailable
	}
	c.fail(diagnosis{Verdict: Verdict{Code: code}}, c.rare.lost)
	c.outcome = c.leftOpen(c.resumed())
	return false
}

// leftOpen is what is known of the effect of a call that is not gone on with: that
// it did not start, or nothing.
func (c *call) leftOpen(e *Entry) Outcome {
	waits := e.State != StateNone && e.State.outcome() == OutcomeNotStarted
	if waits || c.guard.info.Effect == ReadOnly {
		return OutcomeNotStarted
	}
	return OutcomeUnknown
}
