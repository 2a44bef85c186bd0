package toolguard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Risk says how much harm a call may do. It is declared by the tool's author and
// decides, beside the effect, whether somebody has to approve.
type Risk uint8

const (
	// RiskNormal is that of most tools.
	RiskNormal Risk = iota
	// RiskLow tools do nothing that anybody would mind.
	RiskLow
	// RiskHigh tools move money, delete data, or speak to the world.
	RiskHigh
)

var riskNames = names{"normal", "low", "high"}

// String returns the lower-case name, or Risk(n) for a value outside the set.
func (r Risk) String() string { return riskNames.text("Risk", uint8(r)) }

// MarshalText implements [encoding.TextMarshaler].
func (r Risk) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText accepts the names that String returns.
func (r *Risk) UnmarshalText(b []byte) error { return riskNames.parse("Risk", b, (*uint8)(r)) }

// Approver decides whether a call may run: a person, or a policy. It is asked
// after the arguments were checked and the caller authorized, and before anything
// runs. Implementations:
//   - may be called concurrently;
//   - return soon, with ApprovalPending where a person needs time: [Decide]
//     brings the decision later, and [Guard.Resume] runs the call;
//   - decide on Args, not on Line or Redacted, which only show them.
//
// An error, a panic or silence is no approval: the call is refused.
type Approver interface {
	Approve(ctx context.Context, r ApprovalRequest) (Answer, error)
}

// ApprovalPolicy says which calls an [Approver] is asked about, and how. It counts
// only where Options.Approver is set.
type ApprovalPolicy struct {
	// Off asks nobody.
	Off bool
	// Effects are those of the tools that need an approval. If empty, all but
	// ReadOnly.
	Effects []Effect
	// Risks are those of the tools that need one, among these. If empty, all but
	// RiskLow.
	Risks []Risk
	// Repeats asks about a call that had its effect in an earlier turn of the
	// session, whatever the tool.
	Repeats bool
	// Version names the policy. Approvals given under another one do not count.
	Version string
	// Expiry is how long a decision is waited for, and how long an approval holds
	// once it is given. If zero, 24 h.
	Expiry time.Duration
	// Wait is how long the Approver may take to answer; the call's budget goes on
	// meanwhile. If zero, 10 s.
	Wait time.Duration
}

func (p ApprovalPolicy) withDefaults() ApprovalPolicy {
	if len(p.Effects) == 0 {
		p.Effects = []Effect{Idempotent, IdempotentByKey, NonIdempotent}
	}
	if len(p.Risks) == 0 {
		p.Risks = []Risk{RiskNormal, RiskHigh}
	}
	setDefault(&p.Expiry, 24*time.Hour)
	setDefault(&p.Wait, callbackTimeout)
	return p
}

func (p ApprovalPolicy) check() error {
	errs := []error{durationOption("Approval.Expiry", p.Expiry), durationOption("Approval.Wait", p.Wait)}
	for i, e := range p.Effects {
		if int(e) >= len(effectNames) || e == EffectUnknown {
			errs = append(errs, badOption(fmt.Sprintf("Approval.Effects[%d]", i), e, "an effect"))
		}
	}
	for i, r := range p.Risks {
		if int(r) >= len(riskNames) {
			errs = append(errs, badOption(fmt.Sprintf("Approval.Risks[%d]", i), r, "a risk"))
		}
	}
	return errors.Join(errs...)
}

// asksApproval says whether calls of the tool may need an approval.
func (g *Guard) asksApproval() bool {
	p := &g.opts.Approval
	return g.opts.Approver != nil && !p.Off &&
		(p.Repeats || slices.Contains(p.Effects, g.info.Effect) && slices.Contains(p.Risks, g.info.Risk))
}

// ApprovalRequest is what an [Approver] decides on.
type ApprovalRequest struct {
	// Key is what the decision is brought under.
	Key                                     string
	Tool, Source, ToolVersion, SchemaDigest string
	Effect                                  Effect
	Risk                                    Risk
	Scope                                   Scope
	CallID                                  string
	// Line is what [Guard.DescribeCall] says that the call would do: in the tool's own
	// words, or else its name.
	Line string
	// Args are the exact arguments, Redacted what may be shown and stored anywhere.
	Args     json.RawMessage
	Redacted string
	// Digest is of the tool and all arguments: what is approved is this.
	Digest Digest
	// Expires is when an approval that is pending runs out.
	Expires time.Time
}

// Answer is what an [Approver] says. The zero value is no.
type Answer struct {
	Verdict ApprovalVerdict
	// By is who decided, Why the reason; both are recorded.
	By, Why string
	// Args replace the arguments where the verdict is ApprovalEdited. They go
	// through the whole validation again.
	Args json.RawMessage
	// Wider extends an approval to other calls, where the verdict is ApprovalGranted;
	// if zero, it is for this one.
	Wider Wider
}

// ApprovalVerdict is a yes, a no, or neither yet.
type ApprovalVerdict uint8

const (
	// ApprovalDenied: no.
	ApprovalDenied ApprovalVerdict = iota
	// ApprovalGranted: yes, to exactly this.
	ApprovalGranted
	// ApprovalEdited: yes, to Answer.Args in place of what was asked.
	ApprovalEdited
	// ApprovalPending: somebody will decide later.
	ApprovalPending
)

var approvalVerdictNames = names{"denied", "granted", "edited", "pending"}

// String returns the lower-case name, or ApprovalVerdict(n) outside the set.
func (v ApprovalVerdict) String() string {
	return approvalVerdictNames.text("ApprovalVerdict", uint8(v))
}

// MarshalText implements [encoding.TextMarshaler].
func (v ApprovalVerdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText accepts the names that String returns.
func (v *ApprovalVerdict) UnmarshalText(b []byte) error {
	return approvalVerdictNames.parse("ApprovalVerdict", b, (*uint8)(v))
}

// Wider says which calls beside the one asked about an approval covers.
type Wider uint8

const (
	// WiderNot: none.
	WiderNot Wider = iota
	// WiderSession: every call of this tool, whatever its arguments, that the same
	// principal makes in the same session until the approval expires.
	WiderSession
)

// Approval is who said yes to what an [Entry] would do, and to what exactly.
type Approval struct {
	By  string `json:"by"`
	Why string `json:"why,omitempty"`
	// Digest, SchemaDigest, ToolVersion and Policy are what was approved: a call
	// that differs in any needs a new approval.
	Digest       Digest `json:"digest"`
	SchemaDigest string `json:"schema_digest,omitempty"`
	ToolVersion  string `json:"tool_version,omitempty"`
	Policy       string `json:"policy,omitempty"`
	// Edited says that the arguments are not those the model sent.
	Edited bool `json:"edited,omitempty"`
	// Doubt says that nobody knew whether the effect had happened already: it may
	// happen, but what follows proves nothing of what was before.
	Doubt bool `json:"doubt,omitempty"`
	// Holds is how long after [Entry].Updated an entry that is approved may begin, or
	// one that is not may be approved, whoever looks at it meanwhile. If zero, as long
	// as Entry.Due says.
	Holds time.Duration `json:"holds_ns,omitempty"`
}

// doubts says whether the approval is to try again what may have happened.
func (a *Approval) doubts() bool { return a != nil && a.Doubt }
