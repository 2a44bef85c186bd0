package agentloop

import (
	"iter"

	"github.com/toolguard-go/toolguard"
)

// Event is one step of a run.
type Event struct {
	Kind Kind
	// State is what the run has come to. A host that saves it can [Loop.Resume]
	// from here.
	State State
	// Index is the place of the call in the last message, Envelope its answer,
	// for [KindAnswer].
	Index    int
	Envelope toolguard.Envelope
	// Result is how the run ended, for [KindEnd].
	Result Result
}

// Kind is the kind of an [Event].
type Kind string

// The kinds.
const (
	KindAsk    Kind = "ask"    // the model is asked
	KindReply  Kind = "reply"  // the model has replied; its calls begin now
	KindAnswer Kind = "answer" // a call is answered
	KindEnd    Kind = "end"    // the last one, always
)

// Result is how a run ended.
type Result struct {
	Stop Stop
	// Text is the model's answer to the user. It is empty if there is none.
	Text string
	// State has all that is known so far, whatever the end: what the calls made
	// until then were answered.
	State State
	// Err is why there is no answer: for StopModel an error whose code
	// [toolguard.Error] tells, for StopCanceled the cause of the context, for
	// StopControl the host's own error. Nil if the model answered.
	Err error
}

// Stop is why a run ended.
type Stop string

// The reasons.
const (
	StopAnswered Stop = "answered" // the model answered
	StopLimit    Stop = "limit"    // a limit was reached; the model was asked to answer without tools
	StopCanceled Stop = "canceled" // the context ended
	StopModel    Stop = "model"    // the model could not be asked
	StopControl  Stop = "control"  // a tool returned the host's control flow; see Options.PassThrough of toolguard
	StopInvalid  Stop = "invalid"  // the conversation or state makes no sense
)

// Wait runs to the end and returns how it ended.
func Wait(events iter.Seq[Event]) (r Result) {
	for e := range events {
		r = e.Result
	}
	return r
}
