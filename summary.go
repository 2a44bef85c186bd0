package toolguard

import (
	"strings"

	"github.com/toolguard-go/toolguard/prompts"
)

// Batch is the answers to the calls of one message.
type Batch struct {
	// Envelopes has one answer for each call, in the order of the calls.
	Envelopes []Envelope
}

// OK reports whether every call succeeded.
func (b Batch) OK() bool { return b.tally().Succeeded == len(b.Envelopes) }

// Bounds of a summary, in bytes: of the list of calls that succeeded, and of the
// words about those that did not.
const (
	maxSummaryNames    = 320
	maxSummaryFailures = 1500
)

// Summary tells a model in a few lines what succeeded, what failed and why, to do
// what the answers suggest, and then to answer from what is there and say what is
// missing. It is empty if every call succeeded. It is up to about 2 KiB long and in
// the locale of the calls.
//
// It does not take the place of the answers: every call ID needs its own. A host
// puts it after the last of them, where the model reads it as the system's
// word: for the OpenAI APIs a message of the role developer or system that
// follows the results, for the Anthropic API a text block that follows the
// tool_result blocks in the same message. MCP answers one call at a time and has
// no place for it.
func (b Batch) Summary() string {
	v := b.tally()
	if v.Succeeded == v.Count {
		return ""
	}
	words := b.words()
	text := words.AppendFrame(nil, prompts.FrameBatch, &v)
	if v.Tools = b.succeeded(); len(v.Tools) > 0 {
		text = words.AppendFrame(append(text, '\n'), prompts.FrameBatchSucceeded, &v)
	}
	text = b.appendFailures(text, words)
	return string(words.AppendFrame(append(text, '\n'), prompts.FrameBatchNext, &v))
}

func (b Batch) words() *prompts.Catalogue {
	if len(b.Envelopes) > 0 && b.Envelopes[0].words != nil {
		return b.Envelopes[0].words
	}
	return prompts.English()
}

// tally counts the answers by what became of the calls.
func (b Batch) tally() prompts.Vars {
	v := prompts.Vars{Count: len(b.Envelopes)}
	for i := range b.Envelopes {
		e := &b.Envelopes[i]
		switch {
		case e.OK:
			v.Succeeded++
		case e.Error.Outcome == OutcomeNotStarted:
			v.NotStarted++
		case e.Error.Outcome == OutcomeUnknown:
			v.Unknown++
		default:
			v.Failed++
		}
	}
	return v
}

// succeeded names the calls that succeeded, as many as there is room for.
func (b Batch) succeeded() (names []string) {
	size := 0
	for i := range b.Envelopes {
		e := &b.Envelopes[i]
		if !e.OK {
			continue
		}
		name := strings.TrimSpace(e.Tool + " " + parenthesized(e.CallID))
		if size += len(name) + 2; size > maxSummaryNames {
			return append(names, "…")
		}
		names = append(names, name)
	}
	return names
}

func parenthesized(id string) string {
	if id == "" {
		return ""
	}
	return "(" + shortened(id) + ")"
}

// shortened keeps foreign ids from filling a summary.
func shortened(id string) string {
	if len(id) <= maxShownName {
		return id
	}
	return strings.ToValidUTF8(id[:maxShownName], "") + "…"
}

// appendFailures gives each call that failed a line; those without room are
// counted.
func (b Batch) appendFailures(text []byte, words *prompts.Catalogue) []byte {
	room, more := len(text)+maxSummaryFailures, 0
	for i := range b.Envelopes {
		e := &b.Envelopes[i]
		switch {
		case e.OK:
		case more > 0 || len(text)+len(e.Error.Message) > room:
			more++
		default:
			head := &prompts.Vars{Tool: e.Tool, Name: shortened(e.CallID)}
			text = words.AppendFrame(append(text, "\n- "...), prompts.FrameBatchCall, head)
			text = append(words.AppendGap(text), e.Error.Message...)
		}
	}
	if more > 0 {
		text = words.AppendFrame(append(text, '\n'), prompts.FrameMore, &prompts.Vars{Count: more})
	}
	return text
}
