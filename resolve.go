package toolguard

import (
	"context"
	"time"

	"github.com/toolguard-go/toolguard/internal/digest"
	"github.com/toolguard-go/toolguard/internal/isolate"
	"github.com/toolguard-go/toolguard/prompts"
)

// via is how a call came through a toolbox, and what became of it there.
type via struct {
	box      *Toolbox
	tool     *boxed    // nil if the name leads to none
	alias    bool      // the name is not one of the tool's own
	refusal  Code      // the batch's no, or ""
	deadline time.Time // the batch's, or zero

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

// resolved settles a call that leads to no tool, or to one that may not run now.
// Whether a tool is there comes before everything else that is said of it.
func (c *call) resolved() bool {
	v := c.via
	switch {
	case v == nil:
		return true
	case v.refusal != "":
		return c.turnedAway(v.refusal)
	case c.left(1) == 0:
		return c.turnedAway(CodeBudgetExhausted)
	case v.tool == nil || len(c.seen(v.tool)) == 0:
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
		c.failure.field = c.cutRedacted(c.in.ID, maxShownName)
	case CodeLimitReached:
		c.via.limit = c.via.box.batch.MaxCalls
	}
	return false
}

// nowhere refuses a call whose name leads to no tool that the caller may see.
func (c *call) nowhere() bool {
	if c.ctx.Err() != nil {
		return c.turnedAway(c.callerCode())
	}
	c.refuse(CodeUnknownTool, 0)
	c.digest = digest.OfRaw(c.in.Tool, c.in.Args) // names differ, and nothing else would
	if !c.via.blind {
		c.via.other = newOtherTools(c.in.Tool, c.seen(c.via.box.offered()...))
	}
	return false
}

// seen returns those of tools that the caller may know of.
func (c *call) seen(tools ...*boxed) []*boxed {
	seen, err := c.via.box.askVisible(c.ctx, c.left(callbackTimeout), tools)
	c.via.blind = err != nil
	return seen
}

// askVisible returns those of tools that the host lets be seen.
func (b *Toolbox) askVisible(ctx context.Context, limit time.Duration, tools []*boxed) ([]*boxed, error) {
	if b.visible == nil {
		return tools, nil
	}
	var seen []*boxed
	err := isolate.Run(ctx, limit, func(ctx context.Context) error {
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
