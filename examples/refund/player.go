package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/toolguard-go/toolguard"
)

// player plays scenes: it starts processes, which die as the scene says, and
// starts them again, as a supervisor does.
type player struct {
	bank string // its URL
	// journal says where the journal of an order's agent is. Each has its own, so
	// that the recoverer of one agent is not another one's.
	journal func(order string) store
	// mayMiss says that a process may end before the moment at which it would be
	// killed: of moments chosen at random not all are reached.
	mayMiss bool
}

// run is one playing of a scene.
type run struct {
	*player
	scene scene
	agent agentRole
	result
}

// trouble tells the bank what becomes of the next requests for the order.
func (r *run) trouble(ctx context.Context) error {
	body, err := json.Marshal(r.scene.troubles)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, r.bank+"/troubles/"+r.agent.Order, bytes.NewReader(body))
	if err != nil {
		return err
	}
	var planned []trouble
	return (&client{http: http.DefaultClient}).send(req, &planned)
}

// unguarded plays a scene without toolguard.
func (p *player) unguarded(ctx context.Context, s scene, tool, order string) (result, error) {
	r := &run{player: p, scene: s, agent: agentRole{Bank: p.bank, Tool: tool, Order: order, Calls: s.mostCalls()}}
	err := r.trouble(ctx)
	for _, at := range append(slices.Clone(s.plain), "") {
		if err == nil {
			err = r.live(ctx, at)
		}
	}
	return r.result, err
}

// guarded plays a scene with toolguard: the agent is started until nothing is open
// any more. A person decides what waits for her.
func (p *player) guarded(ctx context.Context, s scene, tool, order string) (result, error) {
	r := &run{player: p, scene: s, agent: agentRole{
		Bank: p.bank, Journal: p.journal(order), Tool: tool, Order: order, Calls: s.mostCalls(), Approve: s.approve,
	}}
	if err := r.trouble(ctx); err != nil {
		return r.result, err
	}
	for _, at := range s.kills {
		if err := r.live(ctx, at); err != nil {
			return r.result, err
		}
	}
	for range mostRestarts {
		if err := r.live(ctx, ""); err != nil || !r.open() {
			return r.result, err
		}
		if err := r.decide(ctx); err != nil {
			return r.result, err
		}
	}
	return r.result, fmt.Errorf("order %s is still open after %d processes", order, mostRestarts)
}

// mostRestarts is more than any scene needs.
const mostRestarts = 40

// live plays the agent once, until it ends or is killed, and looks at what is left.
func (r *run) live(ctx context.Context, at moment) error {
	r.agent.Kill = at
	told, killed, err := play(ctx, asAgent, r.agent)
	switch {
	case err != nil:
		return err
	case r.missed(killed, at):
		return fmt.Errorf("order %s: killed is %t, want the agent to be killed %q", r.agent.Order, killed, at)
	}
	return r.look(ctx, told)
}

// missed says that a process did not die where it should.
func (p *player) missed(killed bool, at moment) bool {
	return killed != (at != "") && !(p.mayMiss && !killed)
}

// byPerson stands in place of a call ID where a person decides.
const byPerson = "a person"

// decide plays the person, if something waits for her. If her process dies, she
// tries again.
func (r *run) decide(ctx context.Context) error {
	if !r.waits() {
		return nil
	}
	person := personRole{Bank: r.bank, Journal: r.agent.Journal, Order: r.agent.Order, Kill: r.scene.decision}
	for r.decided = true; ; person.Kill = "" {
		_, killed, err := play(ctx, asPerson, person)
		if err != nil {
			return err
		}
		if r.missed(killed, person.Kill) {
			return fmt.Errorf("order %s: killed is %t, want the person's process to be killed %q", person.Order, killed, person.Kill)
		}
		if !killed {
			break
		}
	}
	r.scene.decision = ""
	r.answers = append(r.answers, answer{CallID: byPerson})
	var err error
	for _, at := range r.scene.resumed {
		err = errors.Join(err, r.live(ctx, at))
	}
	r.scene.resumed = nil
	return err
}

// look looks into the bank's ledger and the agent's journal.
func (r *run) look(ctx context.Context, told []answer) (err error) {
	recorded := r.recorded()
	if r.refunds, err = statement(ctx, r.bank, r.agent.Order); err != nil {
		return err
	}
	if !r.decided {
		r.undecided = len(r.refunds)
	}
	r.answers = append(r.answers, told...)
	if r.agent.Journal == (store{}) {
		return nil
	}
	if r.entries, err = entries(ctx, r.agent.Journal, r.agent.Order); err != nil {
		return err
	}
	r.judge(told, recorded)
	return nil
}

// entries are what the journal has of the conversation about an order. It may be
// read while others write to it.
func entries(ctx context.Context, s store, order string) ([]toolguard.Entry, error) {
	j, err := s.open()
	if err != nil {
		return nil, err
	}
	found, err := j.Scan(ctx, ofConversation(order))
	return found, errors.Join(err, j.Close())
}
