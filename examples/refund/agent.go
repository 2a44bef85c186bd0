package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/httpguard"
)

// agentRole is what an agent's process is told.
type agentRole struct {
	Bank    string // its URL
	Journal store  // none for the agent without a guard
	Tool    string
	Order   string
	Calls   int    // how often the model calls, with a new call ID each time
	Approve bool   // a person has to approve
	Kill    moment // where the process is killed
}

const (
	tenant = "shop"
	cents  = 8000
	// attemptTimeout is how long the agent waits for the bank.
	attemptTimeout = 2 * time.Second
)

// play is the process of an agent that uses toolguard. It does not know whether it
// is the first one or takes over from one that was killed.
func (r agentRole) play() error {
	if r.Journal == (store{}) {
		return r.playPlain()
	}
	opened, err := r.Journal.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	kill := killer{r.Kill}
	j := killingJournal{opened, kill}
	box, err := r.toolbox(j, kill)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	recoverer, err := box.Recoverer(&toolguard.RecoverPolicy{
		Interval: 200 * time.Millisecond,
		Batch:    1, // if this process is killed, the next one does not wait for long
	})
	if err != nil {
		return err
	}
	ctx = toolguard.WithScope(ctx, r.scope())
	if err := r.finishOld(ctx, j, recoverer); err != nil {
		return err
	}
	go recoverer.Run(ctx) // it ends with the process
	if done, err := r.goOn(ctx, j, box); done || err != nil {
		return err
	}
	return r.converse(ctx, box)
}

// toolbox guards the tools. Nothing here is about crashes but the journal.
func (r agentRole) toolbox(j toolguard.Journal, kill killer) (*toolguard.Toolbox, error) {
	opts := toolguard.ToolboxOptions{Options: toolguard.Options{
		Timeout: toolguard.TimeoutPolicy{Attempt: attemptTimeout, Budget: 5 * attemptTimeout},
		Render:  toolguard.RenderPolicy{Format: toolguard.FormatText},
		Journal: j,
		Journaling: toolguard.JournalPolicy{
			Lease:   time.Second, // so short that nobody has to wait in a demonstration
			Checked: true,        // the recoverer and people look after what is unknown
		},
	}}
	if r.Approve {
		opts.Approver = desk{}
	}
	web, err := httpguard.NewClient(httpguard.Options{
		Base:             kill.transport(),
		IdempotencyHosts: []string{strings.TrimPrefix(r.Bank, "http://")},
	})
	if err != nil {
		return nil, err
	}
	c := &client{http: web, bank: r.Bank, reference: toolguard.Key}
	return toolguard.NewToolbox(&opts, c.tools()...)
}

// scope is the conversation. It is the same after a restart, and with it the key of
// the refund, whatever the call ID.
func (r agentRole) scope() toolguard.Scope {
	return toolguard.Scope{Tenant: tenant, Principal: "support", Session: r.Order, Turn: "1"}
}

// finishOld finds out what became of what earlier processes had begun. One that was
// killed counts as running until its lease is over.
func (r agentRole) finishOld(ctx context.Context, j toolguard.Journal, recoverer *toolguard.Recoverer) error {
	for {
		if _, err := recoverer.Once(ctx); err != nil {
			return err
		}
		running, err := j.Scan(ctx, ofConversation(r.Order, toolguard.StatePending))
		if err != nil || len(running) == 0 {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// goOn continues what a person has approved, without asking the model to make up
// the call again. It reports whether there was anything.
func (r agentRole) goOn(ctx context.Context, j toolguard.Journal, box *toolguard.Toolbox) (bool, error) {
	approved, err := j.Scan(ctx, ofConversation(r.Order, toolguard.StateApproved))
	for _, e := range approved {
		report(box.Resume(ctx, e.Key))
	}
	return len(approved) > 0, err
}

// converse plays the model: it calls, and while it does not read of a success, it
// calls again. The words it reads tell it not to, but nothing relies on that.
func (r agentRole) converse(ctx context.Context, box *toolguard.Toolbox) error {
	args, err := json.Marshal(refundIn{Order: r.Order, Cents: cents})
	if err != nil {
		return err
	}
	for range r.Calls {
		env := box.Do(ctx, toolguard.Call{Tool: r.Tool, ID: newCallID(), Args: args})
		report(env)
		if env.OK {
			break
		}
		time.Sleep(1100 * time.Millisecond) // models are slow
	}
	return nil
}

// newCallID makes one as providers of models do: it says nothing of what is called.
func newCallID() string { return "call_" + rand.Text()[:8] }

// answer is what the agent's process tells of an answer to the model.
type answer struct {
	CallID  string
	OK      bool
	Code    toolguard.Code
	Outcome toolguard.Outcome
	Reads   string // what the model reads
}

// String is short, for a line that has many.
func (a answer) String() string {
	if a.CallID == byPerson {
		return byPerson
	}
	return fmt.Sprintf("%s/%v", a.Code, a.Outcome)
}

// report prints an answer as one line.
func report(env toolguard.Envelope) {
	a := answer{CallID: env.CallID, OK: env.OK, Reads: env.ForModel(), Outcome: toolguard.OutcomeSucceeded}
	if !env.OK {
		a.Code, a.Outcome = env.Error.Code, env.Error.Outcome
	}
	tell(a)
}

func tell(a answer) {
	line, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stdout, string(line))
}
