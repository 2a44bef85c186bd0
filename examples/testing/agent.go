// Package agent is a very small agent. It exists for its test: agent_test.go
// shows how to test what an agent does when its tool fails, without a network,
// a model, or waiting.
package agent

import (
	"context"
	"encoding/json"

	"github.com/toolguard-go/toolguard"
)

// Model stands for the language model: it reads the answer to its last call, ""
// at first, and writes the arguments of the next.
type Model func(answer string) json.RawMessage

// Refund lets the model refund an order through a guarded tool, and returns what
// the user is told. It never relies on the model to be careful with money: what
// the envelope forbids, it does not do.
func Refund(ctx context.Context, tool *toolguard.Guard, model Model) string {
	env := tool.Do(ctx, toolguard.Call{ID: "call_1", Args: model("")})
	if !env.OK && env.Error.Category == toolguard.CategoryParam {
		env = tool.Do(ctx, toolguard.Call{ID: "call_2", Args: model(env.ForModel())})
	}
	switch {
	case env.OK:
		return "Refunded: " + env.ForModel()
	case env.Error.Category == toolguard.CategoryBusiness && noMoneyMoved(env):
		return "That was refused. " + env.Error.Message
	case noMoneyMoved(env):
		return "The refund could not be made, and no money has moved."
	default:
		return "I do not know whether the refund went through. Please have it checked before anybody tries again."
	}
}

func noMoneyMoved(env toolguard.Envelope) bool {
	return env.Error.Outcome == toolguard.OutcomeNotStarted || env.Error.Outcome == toolguard.OutcomeFailed
}
