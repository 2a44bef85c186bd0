package toolguard

import (
	"context"
	"time"

	"github.com/toolguard-go/toolguard/internal/digest"
	"github.com/toolguard-go/toolguard/prompts"
)

// via is how a call came through a toolbox, and what became of it there.
type via struct {
	box      *Toolbox
	written  string    // the tool's name, as the model wrote it
	tool     *boxed    // nil if the name leads to none
	alias    bool      // the name is not one of the tool's own
	refusal  Code      // the batch's no, or ""
	deadline time.Time // the batch's, or zero
	batch    uint16    // the calls of one message have it in common; 0 outside of batches
	began    time.Time

	shown string      // the tool's name, in the answer
	blind bool        // the host's Visible failed
	limit int         // the limit that was reached
	other *otherTools // what there is in place of a tool that there is not
}

// vars are what the phrases of a refusal may speak of.
func (v *via) vars(p *prompts.Vars) {
	if v == nil {
		return
	}
	if v.limit > 0 {
		p.Limit = v.limit
	}
	if v.other != nil {
		p.Near, p.Tools = v.other.near, v.other.visible
	}
}

// WhyReadOnlyMode is the Why of an event about a call that
// [Toolbox.SetReadOnlyMode] forbids.
const WhyReadOnlyMode = "read_only_mode"

// lookUp returns the guard of the tool that a name leads to. Where the caller may
// not see that tool there is none, and all that follows knows of none.
func (b *Toolbox) lookUp(ctx context.Context, name string, v *via) *Guard {
	v.box, v.began = b, time.Now()
	if v.tool, v.alias = b.directory.find(name, b.aliases); v.tool == nil {
		return b.nobody
	}
	guard := v.tool.guard
	if b.visible == nil {
		return guard
	}
	seen, err := b.askVisible(ctx, v.patience(guard), v.tool)
	if v.blind = err != nil; len(seen) == 0 {
		v.tool, v.alias = nil, false
		return b.nobody
	}
	return guard
}

// patience bounds host code that is asked before the call is with its guard.
func (v *via) patience(g *Guard) time.Duration {
	limit := callbackTimeout
	if t := &g.opts.Timeout; !t.Off {
		limit = min(limit, t.Budget)
	}
	if !v.deadline.IsZero() {
		limit = min(limit, v.deadline.Sub(v.began))
	}
	return max(limit, 0)
}

// resolved settles a call that leads to no tool, or to one that may not run now.
func (c *call) resolved() bool {
	v := c.via
	switch {
	case v == nil:
		return true
	case v.refusal != "":
		return c.turnedAway(v.refusal)
	case c.left(1) == 0:
		return c.turnedAway(CodeBudgetExhausted)
	case v.tool == nil:
		return c.nowhere()
	}
	if v.alias {
		c.notes = append(c.notes, Note{Kind: prompts.NoteNameResolved, From: v.shown, To: c.guard.info.Name})
		v.shown = c.guard.info.Name
	}
	switch {
	case v.tool.disabled.Load():
		return c.turnedAway(CodeToolDisabled)
	case v.box.readOnly.Load() && c.guard.info.Effect != ReadOnly:
		c.why = WhyReadOnlyMode
		return c.turnedAway(CodeToolDisabled)
	}
	return true
}

// turnedAway refuses a call whose arguments nobody has read.
func (c *call) turnedAway(code Code) bool {
	c.digestRaw()
	c.refuse(code, 0)
	switch code {
	case CodeDuplicateCallID:
		c.failure.field = c.cutRedacted(c.id, maxShownName)
	case CodeLimitReached:
		c.via.limit = c.via.box.batch.MaxCalls
	}
	return false
}

// nowhere refuses a call whose name leads to no tool that the caller may see.
func (c *call) nowhere() bool {
	c.refuse(CodeUnknownTool, 0)
	c.digest = digest.OfRaw(c.via.written, c.written) // names differ, and nothing else would
	if v := c.via; !v.blind {
		seen, _ := v.box.askVisible(c.ctx, c.left(callbackTimeout), v.box.offered()...)
		v.other = newOtherTools(v.written, seen)
	}
	return false
}

// askVisible returns those of tools that the host lets be seen.
func (b *Toolbox) askVisible(ctx context.Context, limit time.Duration, tools ...*boxed) ([]*boxed, error) {
	if b.visible == nil {
		return tools, nil
	}
	if ctx == nil {
		ctx = context.Background() // as open does
	}
	var seen []*boxed
	err := b.nobody.hanging.visible.Run(ctx, limit, func(ctx context.Context) error {
		var found []*boxed
		for _, t := range tools {
			if b.visible(ctx, t.guard.info) {
				found = append(found, t)
			}
		}
		seen = found
		return nil
	})
	if err != nil {
		return nil, err // seen may still be written to
	}
	return seen, nil
}
