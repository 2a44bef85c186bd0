package storetest

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolguard-go/toolguard"
)

// Ordinary is what a guard writes for a call of an ordinary size: the claim and the
// settlement, each an entry and its record.
func Ordinary(key string) (claim, settled toolguard.Entry, claimed, done toolguard.Record) {
	claim = toolguard.Entry{
		Key: key, Token: 1, State: toolguard.StatePending, Group: key, Tool: "refund_order", Source: "billing",
		Scope: toolguard.Scope{Tenant: "acme", Principal: "ann", Session: "session-17", Turn: "turn-3"},
		Args:  json.RawMessage(`{"order":"A-2024-0017","amount":"19.90","currency":"EUR","reason":"damaged on arrival"}`),
		Owner: key, Due: 30 * time.Second,
	}
	claimed = toolguard.Record{
		Key: key, Token: 1, To: toolguard.StatePending, Actor: "guard", Tool: claim.Tool, Source: claim.Source, Scope: claim.Scope,
	}
	settled, done = claim, claimed
	settled.State, settled.Due, settled.Attempts, settled.Result = toolguard.StateSucceeded, 0, 1, json.RawMessage(`{"JSON":{"refund":"rf_8812","status":"done"}}`)
	done.From, done.To, done.Outcome = toolguard.StatePending, toolguard.StateSucceeded, toolguard.OutcomeSucceeded
	return claim, settled, claimed, done
}

// ClaimAndSettle makes the two writes of an ordinary call.
func ClaimAndSettle(ctx context.Context, j toolguard.Journal, key string) error {
	claim, settled, claimed, done := Ordinary(key)
	if err := Made(j.Write(ctx, toolguard.Version{}, claim, claimed)); err != nil {
		return err
	}
	return Made(j.Write(ctx, claim.Version(), settled, done))
}
