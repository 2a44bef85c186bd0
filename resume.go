package toolguard

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Resume goes on with the call that has this key in the journal: after an
// approval, after a person's decision, or after a restart. It runs what is
// approved, under the scope and with the arguments that are stored, and asks
// Authorize and Check again; of a call that is over it returns what became of
// it. It does not run what nobody has decided about.
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
		err = fmt.Errorf("toolguard: Resume: the call is of the tool %q", preview(e.Tool))
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
		guard, err = b.nobody, fmt.Errorf("toolguard: Resume: the toolbox has no tool %q", preview(e.Tool))
	}
	return guard.resume(ctx, e, &v, err)
}

// find returns the entry with the key.
func (j *journaling) find(ctx context.Context, limit time.Duration, key string) (Entry, error) {
	if j == nil {
		return Entry{}, errors.New("toolguard: Resume: there is no journal")
	}
	e, err := j.read(ctx, limit, Query{Key: key, Limit: 1})
	if err == nil && (key == "" || e.State == StateNone) {
		err = fmt.Errorf("toolguard: Resume: the journal has no entry %q", preview(key))
	}
	if err == nil && e.Digest == (Digest{}) {
		err = fmt.Errorf("toolguard: Resume: the entry %q is an approval for a conversation, not a call", preview(key))
	}
	return e, err
}

// resume runs the call of an entry, or says why there is nothing to go on with.
func (g *Guard) resume(ctx context.Context, e Entry, v *via, err error) Envelope {
	scope := e.Scope
	scope.Turn = "" // the conversation is further on, and must not be taken back
	c := g.open(WithScope(ctx, scope), Call{Tool: e.Tool, ID: e.CallID, Args: e.Args}, v)
	c.rarely().resumed, c.rarely().lost = &e, err
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
	if c.rare == nil || c.rare.lost == nil {
		return true
	}
	c.fail(diagnosis{Verdict: Verdict{Code: CodeInternalError}}, c.rare.lost)
	return false
}
