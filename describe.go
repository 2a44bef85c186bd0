package toolguard

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/toolguard-go/toolguard/internal/clean"
)

// Description is what is in force for a guard, with every default filled in; of
// a policy that is off, only what counts all the same.
// It is plain data, for logs and for tests of one's own configuration.
type Description struct {
	Tool        string
	Source      string
	Effect      Effect
	Arguments   ArgumentPolicy
	Timeout     TimeoutPolicy
	Retry       RetryPolicy
	Breaker     BreakerPolicy
	Concurrency ConcurrencyPolicy
	Loop        LoopPolicy
	Dedupe      DedupePolicy
	Journaling  JournalPolicy
	Approval    ApprovalPolicy
	Observe     ObservePolicy
	Render      RenderPolicy
	// SharedBreaker says that the breaker is the dependency's.
	SharedBreaker bool
	// MaxAttempts is what the policy and the effect allow together, but for a
	// proof that nothing was done.
	MaxAttempts int
	// SchemaRewrites and NotEnforced say what became of a schema that did not
	// compile as it was.
	SchemaRewrites []string
	NotEnforced    []string
	// ConstrainsNothing says that the schema looks like a map of arguments but
	// checks none of them.
	ConstrainsNothing bool
	// Remembers says what survives of a side effect: without a journal at most
	// what [Sessions] keep, so a tool that is not repeatable gets one attempt and
	// an honest unknown.
	Remembers string
}

// Describe returns what is in force.
func (g *Guard) Describe() Description {
	o := &g.opts
	d := Description{
		Tool: g.info.Name, Source: g.info.Source, Effect: g.info.Effect,
		Arguments: o.Arguments, Timeout: inForce("Timeout", o.Timeout), Retry: inForce("Retry", o.Retry),
		Breaker: inForce("Breaker", o.Breaker), Concurrency: inForce("Concurrency", o.Concurrency),
		Loop: inForce("Loop", o.Loop), Dedupe: inForce("Dedupe", o.Dedupe),
		Journaling: inForce("Journaling", o.Journaling), Approval: inForce("Approval", o.Approval),
		Observe: inForce("Observe", o.Observe), Render: inForce("Render", o.Render),
		SharedBreaker: g.sharesBreaker(), MaxAttempts: 1, NotEnforced: g.args.notEnforced,
		ConstrainsNothing: g.args.schema.ConstrainsNothing(), Remembers: "nothing after the call",
	}
	if o.Sessions != nil {
		d.Remembers = "a conversation, while Sessions keep it and the process lives"
	}
	if g.journal != nil && !o.Journaling.Off {
		d.Remembers = "a journal whose durability is " + g.journal.Durability().String()
	}
	if d.SharedBreaker {
		d.Breaker = inForce("Breaker", o.Dependencies.Breaker.withDefaults(sharedBudget))
	}
	if !o.Retry.Off && g.info.repeatable(time.Now()) {
		d.MaxAttempts = o.Retry.MaxAttempts
	}
	for _, n := range g.args.schema.Rewrites() {
		d.SchemaRewrites = append(d.SchemaRewrites, n.String())
	}
	return apart(d)
}

// DescribeCall says in one line what a call with these arguments would do, in
// the words of [Typed].Describe, for a person who has to decide about it. What the
// model wrote may stand in it, and does not look like anything else: it has no line
// breaks, no control characters and none that cannot be seen, and is cut to 1,000
// bytes. It is the tool's name where the tool does not say, or fails to.
func (g *Guard) DescribeCall(ctx context.Context, args json.RawMessage) string {
	if g.gates.describe == nil {
		return g.info.Name
	}
	said := make(chan string, 1)
	err := g.hanging.describe.Run(ctx, time.Second, func(context.Context) error {
		said <- g.gates.describe(args)
		return nil
	})
	if err != nil {
		return g.info.Name
	}
	line, _ := clean.Text(<-said, clean.Options{MaxBytes: maxLine})
	if line = strings.TrimSpace(oneLine(line)); line == "" {
		return g.info.Name
	}
	return line
}

const maxLine = 1000
