package agentloop

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/toolguard-go/toolguard"
)

// Role says who a message is from.
type Role string

// The roles. There is none for tools: answers stand with their calls. There is
// none for the system: see [Request].
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant" // the model
)

// Message is one message of a conversation. It is plain data and marshals to
// JSON. The loop never changes a message that it has been given or has handed
// out, and nobody else may.
type Message struct {
	Role Role   `json:"role"`
	Text string `json:"text,omitempty"`
	// Calls are what the model asks for, in its order.
	Calls []Call `json:"calls,omitempty"`
	// Hint is what the system says after the message and the answers to Calls: a
	// summary where of several something is lost for good, and a word on limits.
	// [toolguard.Batch.Summary] says where each provider wants it.
	Hint string `json:"hint,omitempty"`
	// Truncated says that the model's output was cut off: finish_reason length,
	// stop_reason max_tokens. The last call counts as cut off then.
	Truncated bool `json:"truncated,omitempty"`
	// Extra is for the adapter alone, such as the reasoning some providers want
	// back, or images of a user. The loop keeps it.
	Extra json.RawMessage `json:"extra,omitempty"`
}

// User returns a message of the user.
func User(text string) Message { return Message{Role: RoleUser, Text: text} }

// Call is one call of a model, and its answer.
type Call struct {
	// ID is the model's. The loop fills in an empty one. The second of two calls
	// with one ID is refused, and has another ID from then on.
	ID   string `json:"id"`
	Tool string `json:"tool"`
	// Args is the text the model wrote, which may be no JSON at all.
	Args string `json:"args"`
	// Answer is nil until there is one.
	Answer *Answer `json:"answer,omitempty"`
}

// Answer is what a model reads of a call.
type Answer struct {
	// Text is the envelope as the model reads it.
	Text string `json:"text"`
	OK   bool   `json:"ok"`
	// Code is that of a failure, Retryable its word on sending the call again.
	Code      toolguard.Code `json:"code,omitempty"`
	Retryable bool           `json:"retryable,omitempty"`
	// Outcome is what is known of the side effect.
	Outcome toolguard.Outcome `json:"outcome"`
	// Parts are images and other blocks, for adapters of providers that have a
	// place for them.
	Parts []Part `json:"parts,omitempty"`
}

// Part is a block of a result that is no text.
type Part struct {
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"`
}

func answerOf(env *toolguard.Envelope) *Answer {
	a := &Answer{Text: env.ForModel(), OK: env.OK, Outcome: toolguard.OutcomeSucceeded}
	if f := env.Error; f != nil {
		a.Code, a.Retryable, a.Outcome = f.Code, f.Retryable, f.Outcome
	}
	for _, p := range env.Result.Parts {
		a.Parts = append(a.Parts, Part{MediaType: p.MediaType, Data: p.Data})
	}
	return a
}

// pending returns the indices of the calls that have no answer.
func (m *Message) pending() (indices []int) {
	for i := range m.Calls {
		if m.Calls[i].Answer == nil {
			indices = append(indices, i)
		}
	}
	return indices
}

// call is a call as the toolbox wants it.
func (m *Message) call(i int, step string) toolguard.Call {
	c := &m.Calls[i]
	return toolguard.Call{
		ID: c.ID, Tool: c.Tool, Args: json.RawMessage(c.Args), Step: step,
		Truncated: m.Truncated && i == len(m.Calls)-1,
	}
}

// answered returns the message with an answer more.
func (m Message) answered(i int, a *Answer) Message {
	m.Calls = slices.Clone(m.Calls)
	m.Calls[i].Answer = a
	return m
}

// identified returns the message with an ID for every call, and the role of the
// model whatever its adapter says.
func (m Message) identified(iteration int) Message {
	m.Role, m.Calls = RoleAssistant, slices.Clone(m.Calls)
	for i := range m.Calls {
		m.Calls[i].Answer = nil // an answer comes from the toolbox
		if m.Calls[i].ID == "" {
			m.Calls[i].ID = fmt.Sprintf("call_%d_%d", iteration, i)
		}
	}
	return m
}

// distinct returns the message without two calls of one ID, which providers
// refuse. It is for after the answers: until then a second call of the same ID
// must show as such.
func (m Message) distinct() Message {
	taken := make(map[string]bool, len(m.Calls))
	m.Calls = slices.Clone(m.Calls)
	for i := range m.Calls {
		id := &m.Calls[i].ID
		for taken[*id] {
			*id += fmt.Sprintf("_%d", i)
		}
		taken[*id] = true
	}
	return m
}
