package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/toolguard-go/toolguard"
)

// desk is the approver: it leaves every decision to a person, who takes her time.
// The model is told so at once.
type desk struct{}

func (desk) Approve(context.Context, toolguard.ApprovalRequest) (toolguard.Answer, error) {
	return toolguard.Answer{Verdict: toolguard.ApprovalPending}, nil
}

// personRole is what the process is told in which a person decides: a command, or
// a page in the browser. It has nothing in common with the agent's process but the
// journal.
type personRole struct {
	Bank    string
	Journal store
	Order   string
	Kill    moment
}

// play decides what is open in the conversation.
func (r personRole) play() error {
	opened, err := r.Journal.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	j, ctx := killingJournal{opened, killer{r.Kill}}, context.Background()
	open, err := j.Scan(ctx, ofConversation(r.Order, toolguard.StateAwaiting, toolguard.StateParked))
	if err != nil {
		return err
	}
	for i := range open {
		ruling, err := r.rule(ctx, &open[i])
		if err != nil {
			return err
		}
		// The first decision wins. Whoever comes later is told so.
		if _, err := toolguard.Decide(ctx, j, ruling); err != nil && !errors.Is(err, toolguard.ErrDecided) {
			return err
		}
	}
	return nil
}

// rule approves what awaits it. Where nobody knows whether there was a refund, she
// looks at the bank's statement, which no program can.
func (r personRole) rule(ctx context.Context, e *toolguard.Entry) (toolguard.Ruling, error) {
	ruling := toolguard.Ruling{Key: e.Key, Token: e.Token, By: "accounting"}
	if e.State == toolguard.StateAwaiting {
		ruling.Verdict, ruling.Why = toolguard.RulingApprove, "the order was returned"
		return ruling, nil
	}
	made, err := statement(ctx, r.Bank, r.Order)
	switch {
	case err != nil:
		return ruling, err
	case len(made) == 0:
		ruling.Verdict, ruling.Why = toolguard.RulingRetry, "it is not on the statement"
	default:
		ruling.Verdict, ruling.Why = toolguard.RulingSucceeded, "it is on the statement"
		ruling.Result.JSON, err = json.Marshal(made[0])
	}
	return ruling, err
}

// statement is what the bank has booked for an order.
func statement(ctx context.Context, bank, order string) ([]receipt, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, bank+"/ledger?order_id="+url.QueryEscape(order), nil)
	if err != nil {
		return nil, err
	}
	var made []receipt
	if err := (&client{http: http.DefaultClient}).send(req, &made); err != nil {
		return nil, fmt.Errorf("the statement of %s: %w", order, err)
	}
	return made, nil
}
