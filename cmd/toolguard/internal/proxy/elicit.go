package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/toolguard-go/toolguard"
)

// Approver asks the user of the client a call came from, where that client can
// ask. Where it cannot, or nobody answers in time, the call waits in the journal.
type Approver struct{}

// asking is how long a person may take to answer at once.
const askingPerson = 50 * time.Second

// ApprovalWait is what ApprovalPolicy.Wait has to be for [Approver].
const ApprovalWait = askingPerson + 5*time.Second

type relayKey struct{}

// caller is where a call came from.
type caller struct {
	relay *relay
	key   string // of the request
}

// Approve implements [toolguard.Approver].
func (Approver) Approve(ctx context.Context, r toolguard.ApprovalRequest) (toolguard.Answer, error) {
	c, ok := ctx.Value(relayKey{}).(caller)
	if !ok || !c.relay.server.shakes.elicits() {
		return toolguard.Answer{Verdict: toolguard.ApprovalPending}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askingPerson)
	defer cancel()
	defer toolguard.WaitingFrom(ctx).Begin()() // what follows has its whole time
	return c.relay.elicit(ctx, c.key, question(&r)), nil
}

// maxShown is how much of the arguments a person is shown, in bytes.
const maxShown = 2 << 10

// question is what a person is asked. Arguments are shown as they are, but for
// what a terminal or a page could take for something else.
func question(r *toolguard.ApprovalRequest) json.RawMessage {
	args := printable(r.Redacted)
	if len(args) > maxShown {
		args = strings.ToValidUTF8(args[:maxShown], "") + " …"
	}
	params, _ := json.Marshal(map[string]any{
		"message": fmt.Sprintf("Allow the tool %s to run with %s?", printable(r.Tool), args),
		"requestedSchema": map[string]any{
			"type":       "object",
			"properties": map[string]any{"allow": map[string]any{"type": "boolean", "title": "Allow this call"}},
			"required":   []string{"allow"},
		},
	})
	return params
}

func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != ' ' && !unicode.IsGraphic(r) {
			return '\uFFFD'
		}
		return r
	}, text)
}

// elicit asks the client's user. Silence and closing the question decide nothing.
func (r *relay) elicit(ctx context.Context, related string, params json.RawMessage) toolguard.Answer {
	id := strconv.AppendQuote(nil, "toolguard-ask-"+strconv.FormatUint(r.server.last.Add(1), 10))
	answers := make(chan *message, 1)
	r.mu.Lock()
	r.questions[string(id)] = answers
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.questions, string(id))
		r.mu.Unlock()
	}()
	m := request(id, "elicitation/create", params)
	m.related = related
	r.toClient(m)
	select {
	case a := <-answers:
		return decided(a)
	case <-ctx.Done():
		r.toClient(request(nil, "notifications/cancelled", append(append([]byte(`{"requestId":`), id...), '}')))
		return toolguard.Answer{Verdict: toolguard.ApprovalPending}
	}
}

func decided(m *message) toolguard.Answer {
	var r struct {
		Action  string
		Content struct{ Allow bool }
	}
	answer := toolguard.Answer{Verdict: toolguard.ApprovalPending, By: "user of the client"}
	if m.failed() != nil || json.Unmarshal(m.Result, &r) != nil {
		return answer
	}
	switch {
	case r.Action == "accept" && r.Content.Allow:
		answer.Verdict = toolguard.ApprovalGranted
	case r.Action == "accept", r.Action == "decline":
		answer.Verdict = toolguard.ApprovalDenied
	}
	return answer
}

// answers hands over what the client says to a question of the proxy. It reports
// whether it was one.
func (r *relay) answers(m *message) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	q, ok := r.questions[m.key()]
	if ok {
		delete(r.questions, m.key())
		q <- m
	}
	return ok
}
