package toolguardtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/agentloop"
	"github.com/toolguard-go/toolguard/httpguard"
	"github.com/toolguard-go/toolguard/toolguardtest"
)

// The recipes of docs/testing.md. Each takes what is under test as an argument, so
// that it can be seen to fail with one that is wrong.

// refundAgent lets a model refund an order, and returns what the user is told.
type refundAgent func(ctx context.Context, refund *toolguard.Guard) string

// snippet: recipe_lost_answer
func lostAnswer(t testing.TB, agent refundAgent) {
	info := toolguard.Info{Name: "refund", Effect: toolguard.NonIdempotent}
	refund := toolguardtest.NewTool(t, info, toolguardtest.LoseAnswer()).Then(toolguardtest.OK("R-2"))
	guard, err := toolguard.New(refund, nil)
	if err != nil {
		t.Fatal(err)
	}
	said := agent(t.Context(), guard)
	toolguardtest.RequireEffects(t, refund, 1) // the money has moved once
	if !strings.Contains(said, "do not know") {
		t.Fatalf("nobody knows what became of the refund, but the user is told %q", said)
	}
}

// end snippet

func askOnce(ctx context.Context, refund *toolguard.Guard) string {
	env := refund.Do(ctx, toolguard.Call{ID: "1", Args: json.RawMessage(`{}`)})
	return told(env)
}

func askTwice(ctx context.Context, refund *toolguard.Guard) string {
	if env := refund.Do(ctx, toolguard.Call{ID: "1", Args: json.RawMessage(`{}`)}); env.OK {
		return told(env)
	}
	return askOnce(ctx, refund)
}

func alwaysDone(ctx context.Context, refund *toolguard.Guard) string {
	askOnce(ctx, refund)
	return "Your money is on its way."
}

// snippet: recipe_every_fault
func TestRefundsUnderEveryFault(t *testing.T) {
	toolguardtest.Matrix(t, func(t testing.TB) toolguardtest.Subject {
		return toolguardtest.Guarded(newRefunds(t, refundOptions()), `{"order_id":"A-17","cents":8000}`)
	})
}

// end snippet

// refundOptions are those of production.
func refundOptions() *toolguard.Options { return nil }

func newRefunds(t testing.TB, opts *toolguard.Options) *toolguard.Guard {
	return guardOf(t, refund(infoOf(toolguard.NonIdempotent)), opts)
}

// optimist takes every error for one that came before anything was done.
var optimist = &toolguard.Options{Classifier: func(context.Context, error) (toolguard.Verdict, bool) {
	return toolguard.Verdict{Code: toolguard.CodeServiceUnavailable, Outcome: toolguard.OutcomeNotStarted}, true
}}

// snippet: recipe_real_code
func realCode(t testing.TB, newTool func(*http.Client) toolguard.Tool) {
	paid := 0
	server := toolguardtest.NewServer(t, toolguardtest.Replies(t,
		toolguardtest.Reply{Status: 503, Header: []string{"Retry-After", "20"}},
		toolguardtest.Reply{Acts: func() { paid++ }, Reset: true}, // paid, and the answer is lost
		toolguardtest.Reply{Acts: func() { paid++ }},
	))
	client, err := httpguard.NewClient(httpguard.Options{Base: server.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	guard, err := toolguard.New(newTool(client), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range []string{"before anything was done", "after it was paid"} {
		env := guard.Do(t.Context(), toolguard.Call{ID: call, Args: json.RawMessage(`{}`)})
		toolguardtest.RequireOutcome(t, env, toolguard.OutcomeUnknown) // a 503 may come after the payment, too
		toolguardtest.RequireSuggestion(t, env, "do not send this call again")
	}
	if n := server.Count(http.MethodPost); n != 2 || paid != 1 {
		t.Fatalf("two calls have made %d requests and paid %d times", n, paid)
	}
}

// end snippet

// pay posts once and hands on what happened.
func pay(client *http.Client) toolguard.Tool {
	return toolguard.Action(infoOf(toolguard.NonIdempotent), func(ctx context.Context, _ struct{}) error {
		return post(ctx, client)
	})
}

// payAnyway tries again by itself, and takes the last error for the whole story.
func payAnyway(client *http.Client) toolguard.Tool {
	return toolguard.Action(infoOf(toolguard.NonIdempotent), func(ctx context.Context, _ struct{}) error {
		for range 3 {
			if post(ctx, client) == nil {
				return nil
			}
		}
		return toolguard.NoEffect(errors.New("payments are down"))
	})
}

func post(ctx context.Context, client *http.Client) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://pay.test/payments", strings.NewReader("{}"))
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return httpguard.CheckResponse(resp)
}

// snippet: recipe_stubborn_model
func stubbornModel(t testing.TB, newBox func(refund toolguard.Tool) *toolguard.Toolbox) {
	info := toolguard.Info{Name: "refund", Effect: toolguard.NonIdempotent}
	refund := toolguardtest.Always(t, info, toolguardtest.LoseAnswer())
	model := toolguardtest.Minting(toolguardtest.Want{Tool: "refund", Args: `{"order":"A-17"}`}, 5, "I could not find out whether it worked.")
	loop, err := agentloop.New(model, newBox(refund), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx := toolguard.WithScope(t.Context(), toolguard.Scope{Session: "chat", Turn: "1", Principal: "ann"})
	end := agentloop.Wait(loop.Run(ctx, []agentloop.Message{agentloop.User("Refund A-17.")}))
	toolguardtest.RequireEffects(t, refund, 1)
	toolguardtest.RequireAllAnswered(t, end.State.Messages)
	toolguardtest.RequireNothingInvented(t, end.State.Messages, "was refunded")
}

// end snippet

func boxOf(opts toolguard.Options) func(toolguard.Tool) *toolguard.Toolbox {
	return func(tool toolguard.Tool) *toolguard.Toolbox {
		box, err := toolguard.NewToolbox(&toolguard.ToolboxOptions{Options: opts}, tool)
		if err != nil {
			panic(err)
		}
		return box
	}
}

// snippet: recipe_reading_envelopes
func readingEnvelopes(t testing.TB, told func(toolguard.Envelope) string) {
	for want, answer := range map[string]toolguardtest.Answer{
		"Done: R-1":           {Text: "R-1"},
		"Nothing was changed": {Code: toolguard.CodeConflict, Outcome: toolguard.OutcomeFailed},
		"The desk is closed":  {Code: toolguard.CodeBusinessRule, Outcome: toolguard.OutcomeFailed, Message: "The desk is closed."},
		"I do not know":       {Code: toolguard.CodeConnectionLost},
		"try again in 2 min":  {Code: toolguard.CodeBreakerOpen, Outcome: toolguard.OutcomeNotStarted, RetryAfter: 120e9},
	} {
		if said := told(answer.Envelope(t)); !strings.Contains(said, want) {
			t.Fatalf("%s: the user is told %q, want %q", answer.Code, said, want)
		}
	}
}

// end snippet

// told is what a user is told of an answer.
func told(env toolguard.Envelope) string {
	switch {
	case env.OK:
		return "Done: " + env.ForModel()
	case env.Error.Outcome == toolguard.OutcomeUnknown:
		return "I do not know whether it worked. Please have it checked."
	case env.Error.Category == toolguard.CategoryBusiness && env.Error.Code == toolguard.CodeBusinessRule:
		return env.Error.Message
	case env.Error.RetryAfter > 0:
		return fmt.Sprintf("It did not work; try again in %.0f min.", env.Error.RetryAfter.Minutes())
	default:
		return "It did not work. Nothing was changed."
	}
}

// toldByCategory forgets that a failure may have had its effect.
func toldByCategory(env toolguard.Envelope) string {
	if !env.OK && env.Error.Category == toolguard.CategoryUnavailable {
		env.Error.Outcome = toolguard.OutcomeFailed
	}
	return told(env)
}

// recipes are each shown a right and a wrong subject.
var recipes = []struct {
	name, wrong  string
	right, fails func(t testing.TB)
}{
	{"a lost answer", "an agent that sends a failed call again",
		func(t testing.TB) { lostAnswer(t, askOnce) }, func(t testing.TB) { lostAnswer(t, askTwice) }},
	{"a lost answer", "an agent that tells success whatever happened",
		func(t testing.TB) { lostAnswer(t, askOnce) }, func(t testing.TB) { lostAnswer(t, alwaysDone) }},
	{"every fault", "a classifier that takes every error for a refusal at the door",
		func(t testing.TB) { oneFault(t, refundOptions()) }, func(t testing.TB) { oneFault(t, optimist) }},
	{"real code", "a tool that retries by itself and reports the last error",
		func(t testing.TB) { realCode(t, pay) }, func(t testing.TB) { realCode(t, payAnyway) }},
	{"a stubborn model", "a tool that says it is idempotent and is not",
		func(t testing.TB) { stubbornModel(t, boxOf(toolguard.Options{})) },
		func(t testing.TB) {
			stubbornModel(t, func(tool toolguard.Tool) *toolguard.Toolbox { return boxOf(toolguard.Options{})(forgetful{tool}) })
		}},
	{"reading envelopes", "words chosen by category, not by outcome",
		func(t testing.TB) { readingEnvelopes(t, told) }, func(t testing.TB) { readingEnvelopes(t, toldByCategory) }},
}

// oneFault is the matrix with one fault, for a test that wants to see it fail.
func oneFault(t testing.TB, opts *toolguard.Options) {
	fault := toolguardtest.FaultNamed("acts, then http 503")
	for _, b := range toolguardtest.Check(t, fault, func(t testing.TB) toolguardtest.Subject {
		return toolguardtest.Guarded(newRefunds(t, opts), `{"order_id":"A-17","cents":8000}`)
	}) {
		t.Errorf("%s", b)
	}
}

// forgetful says that its calls are meant each time.
type forgetful struct{ toolguard.Tool }

func (f forgetful) Info() toolguard.Info {
	info := f.Tool.Info()
	info.Effect = toolguard.Idempotent
	return info
}

// Each recipe passes with what is right and fails with what is wrong. What it then
// says becomes the table of docs/testing.md.
func TestRecipes(t *testing.T) {
	rows := []string{"| recipe | what is wrong | what the recipe says |", "|---|---|---|"}
	for _, r := range recipes {
		synctest.Test(t, func(t *testing.T) { assert.Empty(t, failing(t, r.right), r.name) })
		var said string
		synctest.Test(t, func(t *testing.T) { said = failing(t, r.fails) })
		assert.NotEmpty(t, said, "%s: %s", r.name, r.wrong)
		rows = append(rows, fmt.Sprintf("| %s | %s | `%s` |", r.name, r.wrong, oneLine(said)))
	}
	compareTable(t, "recipes", rows)
}
