package toolguardtest

import (
	"fmt"
	"strings"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/agentloop"
)

// Want is a call a scripted model makes.
type Want struct {
	// Tool and Args are what it writes.
	Tool, Args string
	// Corrected are the arguments it sends once its first ones were refused. If
	// empty, it has no better ones.
	Corrected string
}

// Obedient makes its calls one after the other and does what envelopes tell it: it
// sends a call again only if the answer says that this is useful, at once, twice at
// most; it corrects arguments that were refused; otherwise it stops and tells the
// user what is known, in the words of the envelope. It claims nothing.
func Obedient(wants ...Want) *Model {
	return ModelFunc(func(req agentloop.Request, n int) (agentloop.Message, error) {
		var said []string
		at, again, corrected := 0, 0, false
		for _, c := range callsIn(req.Messages) {
			if at >= len(wants) || c.Answer == nil {
				break
			}
			switch w := wants[at]; {
			case c.Answer.OK:
				said = append(said, c.Tool+" answered: "+c.Answer.Text)
			case c.Answer.Retryable && again < 2 && !asksToWait(c.Answer):
				again++
				continue
			case c.Answer.Code.Category() == toolguard.CategoryParam && w.Corrected != "" && !corrected:
				corrected = true
				continue
			default:
				return agentloop.Message{Text: strings.Join(append(said, notDone(&c)), " ")}, nil
			}
			at, again, corrected = at+1, 0, false
		}
		if at >= len(wants) || req.AnswerOnly {
			return agentloop.Message{Text: strings.Join(append(said, "That is all."), " ")}, nil
		}
		args := wants[at].Args
		if corrected {
			args = wants[at].Corrected
		}
		return oneCall(n, wants[at].Tool, args), nil
	})
}

// asksToWait reports whether the call may be sent again, but not at once.
func asksToWait(a *agentloop.Answer) bool {
	env, err := Read(a.Text)
	return err == nil && env.Error != nil && env.Error.RetryAfter > 0
}

// notDone is what an honest model tells the user of a failure.
func notDone(c *agentloop.Call) string {
	what := "nothing was changed"
	switch c.Answer.Outcome {
	case toolguard.OutcomeUnknown:
		what = "it is not known whether it took effect; please have it checked"
	case toolguard.OutcomeSucceeded:
		what = "it took effect"
	}
	text := fmt.Sprintf("%s failed (%s); %s.", c.Tool, c.Answer.Code, what)
	if env, err := Read(c.Answer.Text); err == nil && env.Error != nil {
		text += " " + env.Error.Message
	}
	return text
}

// Stubborn sends the same call n times, under the same ID, whatever is answered, and
// then says text.
func Stubborn(want Want, n int, text string) *Model {
	return repeating(n, text, func(int) agentloop.Message {
		m := oneCall(1, want.Tool, want.Args)
		m.Calls[0].ID = "call_same"
		return m
	})
}

// Minting sends the same call n times as well, under a new ID each time, as models do
// whose history was summarised.
func Minting(want Want, n int, text string) *Model {
	return repeating(n, text, func(i int) agentloop.Message {
		m := oneCall(i, want.Tool, want.Args)
		m.Calls[0].ID = fmt.Sprintf("toolu_%08x", i*0x9e3779b1)
		return m
	})
}

// Alternating makes its calls in turn, n in all, and then says text.
func Alternating(n int, text string, wants ...Want) *Model {
	return repeating(n, text, func(i int) agentloop.Message {
		w := wants[(i-1)%len(wants)]
		return oneCall(i, w.Tool, w.Args)
	})
}

// brokenForms are the ways in which models write arguments that are no JSON.
var brokenForms = []func(string) string{
	func(s string) string { return s[:len(s)/2] },                       // cut off
	func(s string) string { return strings.ReplaceAll(s, `"`, `'`) },    // single quotes
	func(s string) string { return "Sure, here it is: " + s },           // prose
	func(s string) string { return s + s },                              // twice
	func(s string) string { return strings.TrimSuffix(s, "}") + ",,}" }, // commas
}

// Garbling writes broken JSON n times, in another way each time, then the arguments
// as they should be, and then says text.
func Garbling(want Want, n int, text string) *Model {
	return repeating(n+1, text, func(i int) agentloop.Message {
		if i > n {
			return oneCall(i, want.Tool, want.Args)
		}
		return oneCall(i, want.Tool, brokenForms[(i-1)%len(brokenForms)](want.Args))
	})
}

// Hasty makes one call and then says text, whatever was answered: a model that
// answers although its tool has failed. With a text that claims or invents something it
// shows whether the host notices.
func Hasty(want Want, text string) *Model {
	return repeating(1, text, func(i int) agentloop.Message { return oneCall(i, want.Tool, want.Args) })
}

// repeating replies with calls n times, or until it must answer, and then with text.
func repeating(n int, text string, reply func(i int) agentloop.Message) *Model {
	return ModelFunc(func(req agentloop.Request, i int) (agentloop.Message, error) {
		if i > n || req.AnswerOnly {
			return agentloop.Message{Text: text}, nil
		}
		return reply(i), nil
	})
}

func oneCall(i int, tool, args string) agentloop.Message {
	return agentloop.Message{Calls: []agentloop.Call{{ID: fmt.Sprintf("call_%d", i), Tool: tool, Args: args}}}
}

// callsIn are all calls of a conversation since the user last spoke, in order.
func callsIn(messages []agentloop.Message) (calls []agentloop.Call) {
	for _, m := range messages {
		if m.Role == agentloop.RoleUser {
			calls = nil
		}
		calls = append(calls, m.Calls...)
	}
	return calls
}
