package toolguardtest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolguard-go/toolguard/agentloop"
)

// The functions of this file judge a conversation as [agentloop.State] has it. Of
// another framework's history make such messages: who spoke, the text, the calls with
// their answers.

// CallsOf are the calls of one tool, in order; of all tools, if tool is "".
func CallsOf(messages []agentloop.Message, tool string) (calls []agentloop.Call) {
	for _, m := range messages {
		for _, c := range m.Calls {
			if tool == "" || c.Tool == tool {
				calls = append(calls, c)
			}
		}
	}
	return calls
}

// RequireCalls requires the model to have called the tool n times.
func RequireCalls(t testing.TB, messages []agentloop.Message, tool string, n int) {
	t.Helper()
	if calls := CallsOf(messages, tool); len(calls) != n {
		t.Fatalf("toolguardtest: the model has called %q %d time(s), want %d:\n%s", tool, len(calls), n, printed(messages))
	}
}

// RequireAllAnswered requires every call to have its answer, as providers do.
func RequireAllAnswered(t testing.TB, messages []agentloop.Message) {
	t.Helper()
	for _, c := range CallsOf(messages, "") {
		if c.Answer == nil {
			t.Fatalf("toolguardtest: call %q of %q has no answer:\n%s", c.ID, c.Tool, printed(messages))
		}
	}
}

// RequireEffects requires the tool to have acted n times.
func RequireEffects(t testing.TB, tool *Tool, n int) {
	t.Helper()
	if got := tool.Ledger().Effects(); got != n {
		t.Fatalf("toolguardtest: tool %q has had %d effect(s) in %d run(s), want %d", tool.Info().Name, got, tool.Runs(), n)
	}
}

// RequireFinalAnswer requires the conversation to end with words to the user that have
// all of these parts in them, in any letter case, and returns those words.
func RequireFinalAnswer(t testing.TB, messages []agentloop.Message, parts ...string) string {
	t.Helper()
	var last agentloop.Message
	if len(messages) > 0 {
		last = messages[len(messages)-1]
	}
	if last.Role != agentloop.RoleAssistant || last.Text == "" || len(last.Calls) > 0 {
		t.Fatalf("toolguardtest: the conversation does not end with an answer to the user:\n%s", printed(messages))
	}
	for _, p := range parts {
		if !contains(last.Text, p) {
			t.Fatalf("toolguardtest: the final answer does not say %q: %q", p, last.Text)
		}
	}
	return last.Text
}

// RequireNothingInvented requires the final answer to hold nothing that the model
// cannot know: each word with a digit in it (an amount, an identifier, a date) must
// stand in what the user wrote or a tool answered. claims are phrases such as "was
// refunded" that are allowed only if some call has succeeded.
func RequireNothingInvented(t testing.TB, messages []agentloop.Message, claims ...string) {
	t.Helper()
	answer := RequireFinalAnswer(t, messages)
	known, succeeded := "", false
	for _, m := range messages {
		if m.Role == agentloop.RoleUser {
			known += " " + m.Text
		}
		for _, c := range m.Calls {
			if c.Answer != nil {
				known += " " + c.Answer.Text
				succeeded = succeeded || c.Answer.OK
			}
		}
	}
	for _, fact := range facts(answer) {
		if !contains(known, fact) {
			t.Fatalf("toolguardtest: the final answer says %q, which neither the user nor a tool has said: %q\n%s", fact, answer, printed(messages))
		}
	}
	for _, claim := range claims {
		if !succeeded && contains(answer, claim) {
			t.Fatalf("toolguardtest: the final answer claims %q, but no call has succeeded: %q\n%s", claim, answer, printed(messages))
		}
	}
}

var withDigit = regexp.MustCompile(`[\pL\d][\pL\d._:/-]*`)

// facts are the words of a text that have a digit in them.
func facts(text string) []string {
	words := withDigit.FindAllString(text, -1)
	words = slices.DeleteFunc(words, func(w string) bool { return !strings.ContainsAny(w, "0123456789") })
	for i := range words {
		words[i] = strings.TrimRight(words[i], "._:/-")
	}
	return words
}

func contains(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// printed is a conversation for a person.
func printed(messages []agentloop.Message) string {
	return cut(archive("", TranscriptSections(messages)))
}
