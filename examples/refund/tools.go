package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/httpguard"
)

// This file is what you would write yourself: a client of the bank, and three
// tools made of it.

// refundIn is what the model asks for.
type refundIn struct {
	Order string `json:"order"`
	Cents int64  `json:"cents"`
}

// receipt is what the bank answers.
type receipt struct {
	ID    string `json:"id"`
	Order string `json:"order"`
	Cents int64  `json:"cents"`
}

// client speaks with the bank.
type client struct {
	http *http.Client
	bank string // its URL
	// reference is the name under which the bank books a refund.
	reference func(context.Context) string
}

// The three kinds of service a tool may have behind it.
const (
	withStatus = "refund_with_status" // it can be asked what became of a refund
	withKey    = "refund_with_key"    // it honours Idempotency-Key
	withNone   = "refund_with_none"   // neither: every request is a refund
)

var kinds = []string{withStatus, withKey, withNone}

// tools are the refund, once for each kind. What differs is what their author
// declares; the function is the same.
func (c *client) tools() []toolguard.Tool {
	asked := toolguard.Func(toolguard.Info{
		Name: withStatus, Effect: toolguard.NonIdempotent, Risk: toolguard.RiskHigh,
		// It must not be lost with the power what was begun.
		Durability: toolguard.DurabilityDisk,
		// The bank books what has reached it within a second. Only then does it mean
		// something that it knows of no refund.
		SettleDelay: time.Second,
	}, c.refund(withStatus))
	asked.Status = c.status

	keyed := toolguard.Func(toolguard.Info{
		Name: withKey, Effect: toolguard.IdempotentByKey, KeyTTL: 24 * time.Hour, Risk: toolguard.RiskHigh,
		Durability: toolguard.DurabilityDisk,
	}, c.refund(withKey))

	blind := toolguard.Func(toolguard.Info{
		Name: withNone, Effect: toolguard.NonIdempotent, Risk: toolguard.RiskHigh,
		Durability: toolguard.DurabilityDisk,
	}, c.refund(withNone))

	for _, t := range []*toolguard.Typed[refundIn]{asked, keyed, blind} {
		t.Describe = func(in refundIn) string { // what a person reads who has to approve
			return fmt.Sprintf("refund %d.%02d for order %s", in.Cents/100, in.Cents%100, in.Order)
		}
	}
	return []toolguard.Tool{asked, keyed, blind}
}

// refund makes one. It is an ordinary function that knows nothing of retries,
// crashes or journals.
func (c *client) refund(kind string) func(context.Context, refundIn) (receipt, error) {
	return func(ctx context.Context, in refundIn) (receipt, error) {
		body, err := json.Marshal(order{refundIn: in, Reference: c.reference(ctx)})
		if err != nil {
			return receipt{}, toolguard.NotStarted(err)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.bank+"/"+kind, bytes.NewReader(body))
		if err != nil {
			return receipt{}, toolguard.NotStarted(err)
		}
		var made receipt
		err = c.send(req, &made)
		return made, err
	}
}

// status tells what became of the refund with a reference. The guard calls it
// after an outcome that nobody knows, the recoverer after a crash.
func (c *client) status(ctx context.Context, key string, _ refundIn) (toolguard.Outcome, toolguard.Result, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.bank+"/"+withStatus+"?reference="+url.QueryEscape(key), nil)
	if err != nil {
		return toolguard.OutcomeUnknown, toolguard.Result{}, err
	}
	var made []receipt
	if err := c.send(req, &made); err != nil {
		return toolguard.OutcomeUnknown, toolguard.Result{}, err
	}
	if len(made) == 0 {
		// Not "failed": the request may still be on its way.
		return toolguard.OutcomeNotStarted, toolguard.Result{}, nil
	}
	text, err := json.Marshal(made[0])
	return toolguard.OutcomeSucceeded, toolguard.Result{JSON: text}, err
}

const maxAnswer = 1 << 20

// send sends a request and reads the JSON that answers it.
func (c *client) send(req *http.Request, answer any) error {
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := httpguard.CheckResponse(resp); err != nil {
		return err
	}
	text, err := httpguard.ReadAll(resp.Body, maxAnswer)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, answer)
}
