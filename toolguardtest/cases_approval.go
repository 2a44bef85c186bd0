package toolguardtest

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolguard-go/toolguard"
)

// approvals skips a case unless the test can play the person who decides.
func (x *trial) approvals(answer toolguard.ApprovalVerdict) {
	x.Helper()
	if x.s.Approver == nil || x.s.Journal == nil {
		x.Skip("this is about approvals: give the guard NewApprover and JournalFor, and the Subject both")
	}
	p, info := x.s.Guard.Describe().Approval, x.s.Guard.Info()
	if p.Off || !slices.Contains(p.Effects, info.Effect) || !slices.Contains(p.Risks, info.Risk) {
		x.Skip("calls of this tool need no approval")
	}
	x.s.Approver.Say(toolguard.Answer{Verdict: answer, By: "the test"})
}

// awaits makes a call that nobody has decided about, and returns its key.
func (x *trial) awaits(args string) (key string) {
	x.Helper()
	ran := x.tool.Runs()
	env := x.call(args)
	switch {
	case x.tool.Runs() > ran:
		x.bad("%s ran although nobody has approved it", cut(args))
		x.FailNow()
	case env.OK || env.Error.Code != toolguard.CodeApprovalPending || env.Key == "":
		x.bad("a call that waits for a person is answered with %s", shown(env))
		x.FailNow()
	}
	return env.Key
}

// approve decides as a person does, in the journal.
func (x *trial) approve(key string) {
	x.Helper()
	if _, err := toolguard.Decide(x.Context(), x.s.Journal, toolguard.Ruling{Key: key, Verdict: toolguard.RulingApprove, By: "the test"}); err != nil {
		x.bad("what waits cannot be approved: %v", err)
		x.FailNow()
	}
}

// others are arguments that differ in one member, some of which the schema will let
// pass.
func (x *trial) others() (all []string) {
	members := x.members()
	for _, name := range slices.Sorted(mapKeys(members)) {
		value := string(members[name])
		switch {
		case value == "true" || value == "false":
			all = append(all, x.changed(name, map[string]string{"true": "false", "false": "true"}[value]))
		case strings.Contains(digits, value[:1]):
			all = append(all, x.changed(name, "1"+strings.TrimPrefix(value, "-")), x.changed(name, "1"))
		case value[0] == '"':
			all = append(all, x.changed(name, value[:len(value)-1]+`9"`))
		}
	}
	return all
}

// another makes a call that the schema lets pass and differs in one member.
func (x *trial) another() (string, toolguard.Envelope) {
	x.Helper()
	for _, args := range x.others() {
		env := x.call(args)
		if env.OK || env.Error.Category != toolguard.CategoryParam && env.Error.Code != toolguard.CodeBusinessRule {
			return args, env
		}
	}
	x.Skip("no other arguments are known that the tool accepts")
	return "", toolguard.Envelope{}
}

var approvalCases = []Case{
	{"o02", KindApproval, "an approval is used up by a call with other arguments", "extra-org/extra#139", func(x *trial) {
		x.approvals(toolguard.ApprovalPending)
		tool := x.put(OK("done"))
		x.approve(x.awaits(x.s.Args))
		if args, env := x.another(); tool.Runs() > 0 {
			x.bad("%s was approved, and %s ran: %s", x.s.Args, args, shown(env))
		}
		if env := x.call(x.s.Args); tool.Runs() != 1 || !equalJSON(string(tool.Args()[0]), x.s.Args) {
			x.bad("what was approved does not run: %s", shown(env))
		}
	}},
	{"o04", KindApproval, "the approver sees other arguments than those that run", "pydantic/pydantic-ai#6968", func(x *trial) {
		x.approvals(toolguard.ApprovalGranted)
		tool := x.put(OK("done"))
		env := x.call(" " + x.s.Args + "\n")
		asked := x.s.Approver.Asked()
		switch {
		case tool.Runs() != 1:
			x.bad("an approved call ran %d times: %s", tool.Runs(), shown(env))
		case len(asked) != 1:
			x.bad("the tool ran, and the approver was asked %d times", len(asked))
		case string(asked[0].Args) != string(tool.Args()[0]):
			x.bad("%s was approved, and %s ran", asked[0].Args, tool.Args()[0])
		}
	}},
	{"o05", KindApproval, "an approval is lost with a run that never began", "Agenta-AI/agenta#5592", func(x *trial) {
		x.approvals(toolguard.ApprovalPending)
		x.put(Fail(toolguard.NotStarted(toolguard.Unavailable("The desk does not answer."))))
		x.approve(x.awaits(x.s.Args))
		x.call(x.s.Args)
		tool := x.put(OK("done"))
		env := x.call(x.s.Args)
		if tool.Runs() != 1 || len(x.s.Approver.Asked()) != 1 {
			x.bad("after a run that did not begin the approved call ran %d times, and %d approvals were asked for: %s", tool.Runs(), len(x.s.Approver.Asked()), shown(env))
		}
	}},
	{"o06", KindApproval, "what was approved is asked about again", "curie-eng/curie#430", func(x *trial) {
		x.approvals(toolguard.ApprovalPending)
		tool := x.put(OK("done"))
		x.approve(x.awaits(x.s.Args))
		env := x.call(x.s.Args)
		if !env.OK || tool.Runs() != 1 || len(x.s.Approver.Asked()) != 1 {
			x.bad("the approved call ran %d times, and %d approvals were asked for: %s", tool.Runs(), len(x.s.Approver.Asked()), shown(env))
		}
	}},
	{"o07", KindApproval, "approving one step does the steps before it again", "tinyhumansai/opencompany#846", func(x *trial) {
		x.approvals(toolguard.ApprovalGranted)
		x.remembers()
		if x.repeatable() {
			x.Skip("the tool may run again")
		}
		tool := x.put(OK("done"))
		x.call(x.s.Args)
		x.s.Approver.Say(toolguard.Answer{Verdict: toolguard.ApprovalPending})
		args, env := x.another()
		if env.OK || env.Error.Code != toolguard.CodeApprovalPending {
			x.bad("a call that waits for a person is answered with %s", shown(env))
			return
		}
		x.approve(env.Key)
		x.call(x.s.Args) // the host begins from the start
		x.call(args)
		if n := tool.Ledger().Effects(); n != 2 {
			x.bad("two steps, of which the second waited for a person, have acted %d times", n)
		}
	}},
	{"o08", KindApproval, "an approval covers whatever comes after it", "nicobailon/pi-mcp-adapter#367", func(x *trial) {
		x.approvals(toolguard.ApprovalGranted)
		tool := x.put(OK("done"))
		x.call(x.s.Args)
		x.s.Approver.Say(toolguard.Answer{By: "the test"})
		if args, env := x.another(); tool.Runs() > 1 {
			x.bad("%s was approved and %s denied, and both ran: %s", x.s.Args, args, shown(env))
		}
	}},
}

// cutOff makes a call whose arguments a model did not finish writing.
func (x *trial) cutOff() toolguard.Envelope {
	call := x.s.call("call_1")
	call.Args, call.Truncated = json.RawMessage(x.s.Args), true
	return x.send(scope(x.Context(), "1"), call)
}
