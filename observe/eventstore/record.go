package eventstore

import (
	"encoding/json"
	"time"

	"github.com/toolguard-go/toolguard"
)

// Record is what is kept of one event: redacted, bounded, and without what only
// the process that saw it can use.
type Record struct {
	Kind toolguard.EventKind `json:"kind"`
	// Time is when it ended, Duration how long it took.
	Time     time.Time     `json:"time"`
	Duration time.Duration `json:"duration_ns"`
	// Ref is shared by the events of one call, Within is that of the call it was
	// made in.
	Ref    uint64 `json:"ref,string"`
	Within uint64 `json:"within,string,omitempty"`

	Tool         string           `json:"tool"`
	ToolVersion  string           `json:"tool_version,omitempty"`
	Source       string           `json:"source,omitempty"`
	SchemaDigest string           `json:"schema_digest,omitempty"`
	Effect       toolguard.Effect `json:"effect"`
	CallID       string           `json:"call_id,omitempty"`
	Scope        toolguard.Scope  `json:"scope"`
	Digest       string           `json:"digest,omitempty"`
	Key          string           `json:"key,omitempty"`

	Stage    toolguard.Stage    `json:"stage"`
	Decision toolguard.Decision `json:"decision"`
	Why      string             `json:"why,omitempty"`

	OK       bool               `json:"ok"`
	Category toolguard.Category `json:"category"` // where OK is false
	Code     toolguard.Code     `json:"code,omitempty"`
	Outcome  toolguard.Outcome  `json:"outcome"`
	Attempt  int                `json:"attempt,omitempty"`
	Attempts int                `json:"attempts"`
	Wait     time.Duration      `json:"wait_ns,omitempty"`
	Deadline time.Time          `json:"deadline,omitzero"`

	Transitions []toolguard.Transition `json:"transitions,omitempty"`
	Requests    int                    `json:"requests,omitempty"`
	Incident    string                 `json:"incident,omitempty"`
	Error       string                 `json:"error,omitempty"`
	Detail      string                 `json:"detail,omitempty"`
	Notes       []string               `json:"notes,omitempty"`
	NotEnforced []string               `json:"not_enforced,omitempty"`
	// ApprovedBy is who said yes, ApprovalWait how long that took.
	ApprovedBy   string        `json:"approved_by,omitempty"`
	ApprovalWait time.Duration `json:"approval_wait_ns,omitempty"`
	ArgsEdited   bool          `json:"args_edited,omitempty"`
	Bytes        int           `json:"bytes,omitempty"`
	Lost         uint64        `json:"lost,omitempty"`
	Arguments    string        `json:"arguments,omitempty"`
	Result       string        `json:"result,omitempty"`
}

// Began returns when the attempt or call began.
func (r *Record) Began() time.Time { return r.Time.Add(-r.Duration) }

// Bounds of what is kept, in characters.
const (
	maxName    = 256
	maxError   = 1000
	maxPayload = 4096
	maxNotes   = 20
)

// record keeps of an event what may be kept.
func (o *Options) record(e *toolguard.Event, redactor *toolguard.Redactor) Record {
	r := Record{
		Kind: e.Kind, Time: e.Time, Duration: e.Duration, Ref: e.Ref, Within: e.Within,
		Tool: redactor.Text(e.Tool, maxName), ToolVersion: bounded(e.ToolVersion), Source: redactor.Text(e.Source, maxName),
		SchemaDigest: e.SchemaDigest, Effect: e.Effect, CallID: bounded(e.CallID), Scope: scope(e.Scope), Key: e.Key,
		Stage: e.Stage, Decision: e.Decision, Why: redactor.Text(e.Why, maxName),
		OK: e.OK, Category: e.Category, Code: e.Code, Outcome: e.Outcome, Attempt: e.Attempt, Attempts: e.Attempts,
		Wait: e.Wait, Deadline: e.Deadline, Transitions: e.Transitions, Requests: e.Requests, Incident: e.Incident,
		Error: redactor.Error(e.Err, maxError), Detail: redactor.Text(e.Detail, maxName), Bytes: e.Bytes, Lost: e.Lost,
	}
	if e.Digest != (toolguard.Digest{}) {
		r.Digest = e.Digest.String()
	}
	for i := range min(len(e.Notes), maxNotes) {
		r.Notes = append(r.Notes, string(e.Notes[i].Kind))
	}
	for i := range min(len(e.NotEnforced), maxNotes) {
		r.NotEnforced = append(r.NotEnforced, bounded(e.NotEnforced[i]))
	}
	if a := e.Approval; a != nil {
		r.ApprovedBy, r.ApprovalWait, r.ArgsEdited = redactor.Text(a.By, maxName), e.ApprovalWait, a.Edited
	}
	if o.Payloads {
		r.Arguments = redactor.Text(string(e.Arguments), maxPayload)
		r.Result = redactor.Text(e.Result, maxPayload)
	}
	return r
}

// bounded is for what the host names things by: kept as it is, up to a bound.
func bounded(s string) string {
	if len(s) <= maxName {
		return s
	}
	return s[:maxName]
}

func scope(s toolguard.Scope) toolguard.Scope {
	for _, field := range []*string{&s.Tenant, &s.Principal, &s.Session, &s.Turn, &s.Run, &s.Step, &s.Model, &s.PromptVersion} {
		*field = bounded(*field)
	}
	return s
}

func (r *Record) body() ([]byte, error) { return json.Marshal(r) }
