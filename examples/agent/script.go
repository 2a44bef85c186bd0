package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolguard-go/toolguard/agentloop"
)

// scripted stands for a model. It does not understand a word: it does what
// models do wrong, in this order, whatever it reads.
type scripted struct{}

// mischief is what it replies, one after the other; the last again and again.
var mischief = []struct {
	says  string
	calls [][2]string
}{
	{"It makes up a tool, and the name of an argument.",
		[][2]string{{"find_order", `{"number":"A-17"}`}, {"get_order", `{"order":"A-17"}`}}},
	{"It does as it was told. The search fails once, which it never notices.",
		[][2]string{{"get_order", `{"order_id":"A-17"}`}, {"search_products", `{"words":"blue kettle"}`}}},
	{"It invents an order, and writes an amount in words.",
		[][2]string{{"refund_order", `{"order_id":"A-99","cents":8000}`}, {"refund_order", `{"order_id":"A-17","cents":"eighty"}`}}},
	{"It gets it right, and the answer is lost on the way.",
		[][2]string{{"refund_order", `{"order_id":"A-17","cents":8000}`}}},
	{"It checks, as the answer said, instead of paying twice.",
		[][2]string{{"list_refunds", `{"order_id":"A-17"}`}}},
	{"It asks the same thing again and again.",
		[][2]string{{"get_order", `{"order_id":"A-17"}`}}},
}

// Reply implements [agentloop.Model].
func (scripted) Reply(_ context.Context, req agentloop.Request) (agentloop.Message, error) {
	if req.AnswerOnly {
		return agentloop.Message{Text: "Order A-17 has been refunded: 80.00, reference R-1. We have three blue kettles."}, nil
	}
	n := len(req.Messages) - 1
	act := mischief[min(n, len(mischief)-1)]
	m := agentloop.Message{Text: "(" + strings.TrimSuffix(act.says, ".") + ")"}
	for i, c := range act.calls {
		m.Calls = append(m.Calls, agentloop.Call{ID: fmt.Sprintf("call_%d_%d", n+1, i+1), Tool: c[0], Args: c[1]})
	}
	return m, nil
}
