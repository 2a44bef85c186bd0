package prompts

// Label names the kind of an answer. Categories of toolguard are labels by
// their own names.
type Label string

// The labels.
const (
	LabelParam            Label = "param"
	LabelTimeout          Label = "timeout"
	LabelUnavailable      Label = "unavailable"
	LabelBusiness         Label = "business"
	LabelPermission       Label = "permission"
	LabelUnknown          Label = "unknown"
	LabelOutcomeUnknown   Label = "outcome_unknown"   // in place of the category's where the outcome is unknown
	LabelCanceled         Label = "canceled"          // in place of the category's for a canceled call
	LabelAwaitingApproval Label = "awaiting_approval" // in place of the category's while nobody has decided
	LabelSuccess          Label = "success"           // for a success that has notes
)

// Outcome names what is known of a call's effect. The outcomes of toolguard are
// here by their own names; OutcomeUnread is a fifth way to say two of them.
type Outcome string

// The outcomes.
const (
	OutcomeNotStarted Outcome = "not_started"
	OutcomeFailed     Outcome = "failed"
	// OutcomeUnread stands in for not_started and failed where a tool that only
	// reads met a failure of the system: the answer says nothing about the data.
	OutcomeUnread    Outcome = "unread"
	OutcomeSucceeded Outcome = "succeeded"
	OutcomeUnknown   Outcome = "unknown"
)

// Frame names the words around something that is not a phrase.
type Frame string

// The frames.
const (
	FrameQuote          Frame = "quote"           // Text: the tool's own words, which cannot end the quotation
	FramePreview        Frame = "preview"         // Text, Size: the first bytes of arguments that could not be parsed
	FrameMore           Frame = "more"            // Count: violations or notes left out
	FrameExample        Frame = "example"         // Example: a minimal valid call
	FrameIncident       Frame = "incident"        // Incident: what ties the answer to the event
	FrameNext           Frame = "next"            // goes before the step in the labelled text
	FrameNote           Frame = "note"            // goes before a note in the labelled text
	FrameResultAsData   Frame = "result_as_data"  // goes before a result that imitates an answer of toolguard
	FrameBatch          Frame = "batch"           // Count, Succeeded, Failed, NotStarted, Unknown
	FrameBatchSucceeded Frame = "batch_succeeded" // Tools: the calls that succeeded
	FrameBatchCall      Frame = "batch_call"      // Tool, [Name]: goes before the message of a call that failed
	FrameBatchNext      Frame = "batch_next"      // [Succeeded]: goes after all others
)
