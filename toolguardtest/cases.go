package toolguardtest

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolguard-go/toolguard"
)

// Kind is a kind of cases, one letter.
type Kind string

// The kinds of cases. What depends on what is around a tool, such as an adapter for a
// framework, has suites of its own: see [TestAdapter] and [TestApprover].
const (
	KindArguments Kind = "a" // malformed arguments
	KindTypes     Kind = "b" // values of another type
	KindNames     Kind = "c" // names no tool has; for toolboxes
	KindSchemas   Kind = "d" // schemas that say less than they seem to
	KindHangs     Kind = "e" // hangs, deadlines, cancellations
	KindErrors    Kind = "f" // panics and odd errors
	KindRetry     Kind = "g" // retries and waits
	KindRepeats   Kind = "h" // effects that happen twice
	KindLoops     Kind = "i" // the same call again and again; for guards with Sessions
	KindSiblings  Kind = "j" // answers that are missing; for toolboxes
	KindResults   Kind = "k" // big, binary and broken results
	KindLeaks     Kind = "l" // what must not reach a model
	KindMCP       Kind = "m" // servers that go away, and failures told as successes
	KindBreaker   Kind = "n" // breakers that open for no reason, or never close
	KindApproval  Kind = "o" // approvals of something else; for subjects with an Approver
	KindStreams   Kind = "p" // streams that stall, break off or are played again
)

// Case is something that people who run agents have reported, as an input of this
// project's own that any tool can be tried with.
type Case struct {
	ID    string
	Kind  Kind
	Title string
	// Source is the public report.
	Source string

	run func(c *trial)
}

// Cases tries a guarded tool, a toolbox or a loop with every case of [Corpus]. A case
// that does not fit, because the arguments have no whole number for instance, is
// skipped and says why. newSubject is called for each case as [Matrix] does.
func Cases(t *testing.T, newSubject func(t testing.TB) Subject) {
	t.Helper()
	CasesOf(t, Corpus(), newSubject)
}

// CasesOf is [Cases] with cases of your choice.
func CasesOf(t *testing.T, cases []Case, newSubject func(t testing.TB) Subject) {
	t.Helper()
	if len(cases) == 0 || newSubject == nil {
		t.Fatalf("toolguardtest: nothing is tried: give Cases a function that returns Guarded(guard, args), and CasesOf some of Corpus()")
	}
	tryOnce(t, newSubject)
	for _, c := range cases {
		t.Run(string(c.Kind)+"/"+c.ID+" "+c.Title, func(t *testing.T) {
			skipped := false
			synctest.Test(t, func(t *testing.T) {
				defer func() { skipped = t.Skipped() }()
				c.Try(t, newSubject)
			})
			if skipped { // or it would count as passed: a bubble's test is another one
				t.SkipNow()
			}
		})
	}
}

// Try tries one case. It must be called inside a bubble of [testing/synctest].
func (c Case) Try(t testing.TB, newSubject func(t testing.TB) Subject) {
	t.Helper()
	s := newSubject(t)
	if err := s.check(); err != nil {
		t.Fatalf("toolguardtest: %v", err)
	}
	c.run(&trial{TB: t, s: s, c: c})
}

// Corpus returns all cases, or those of some kinds.
func Corpus(kinds ...Kind) []Case {
	all := slices.Concat(argumentCases, typeCases, nameCases, schemaCases, hangCases, errorCases, retryCases, repeatCases, siblingCases, resultCases, leakCases, mcpCases, breakerCases, approvalCases, streamCases)
	if len(kinds) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(c Case) bool { return !slices.Contains(kinds, c.Kind) })
}

// trial is a case under one subject.
type trial struct {
	testing.TB
	s    Subject
	c    Case
	tool *Tool
	sent int
}

// bad fails the trial, with the report it comes from.
func (x *trial) bad(format string, args ...any) {
	x.Helper()
	x.Errorf("case "+x.c.ID+" ("+x.c.Source+"): "+format, args...)
}

// put lets a scripted tool stand in.
func (x *trial) put(step Step) *Tool {
	x.Helper()
	x.tool = Always(x.TB, x.s.Guard.Info(), step)
	if err := x.s.Replace(x.tool); err != nil {
		x.Fatalf("toolguardtest: %v", err)
	}
	return x.tool
}

// scope is that of a conversation.
func scope(ctx context.Context, turn string) context.Context {
	return toolguard.WithScope(ctx, toolguard.Scope{Session: "cases", Turn: turn, Principal: "cases"})
}

// in makes a call in a context.
func (x *trial) in(ctx context.Context, args string) toolguard.Envelope {
	x.Helper()
	x.sent++
	call := x.s.call("call_" + ordinal(x.sent))
	call.Args = json.RawMessage(args)
	return x.send(ctx, call)
}

// send sends a call and expects one answer.
func (x *trial) send(ctx context.Context, call toolguard.Call) toolguard.Envelope {
	x.Helper()
	a := (&examination{t: x.TB, subject: x.s}).ask(ctx, call)
	switch {
	case a.panicked != nil:
		x.bad("Do panicked: %v", a.panicked)
		x.FailNow()
	case a.hung:
		x.tool.Release()
		x.bad("Do did not return; its limit is %v", x.s.limit())
		x.FailNow()
	case len(a.envelopes) != 1:
		x.bad("there are %d answers to one call", len(a.envelopes))
		x.FailNow()
	}
	return a.envelopes[0]
}

// call makes a call in one turn.
func (x *trial) call(args string) toolguard.Envelope {
	x.Helper()
	return x.in(scope(x.Context(), "1"), args)
}

// took returns how long f takes.
func took(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

// refused expects the model's own arguments to be refused, before the tool ran.
func (x *trial) refused(args string) {
	x.Helper()
	tool := x.put(OK("done"))
	env := x.call(args)
	switch {
	case tool.Runs() > 0:
		x.bad("%s ran the tool with %s", cut(args), tool.Args()[0])
	case env.OK || env.Error.Category != toolguard.CategoryParam:
		x.bad("%s is not refused as param: %s", cut(args), shown(env))
	case OutcomeOf(env) != toolguard.OutcomeNotStarted:
		x.bad("%s is refused, but the outcome is %v", cut(args), OutcomeOf(env))
	}
}

// refusedOr expects a text to be refused, or to be read as exactly these arguments.
func (x *trial) refusedOr(args, same string) {
	x.Helper()
	tool := x.put(OK("done"))
	env := x.call(args)
	switch {
	case tool.Runs() == 0 && (env.OK || env.Error.Category != toolguard.CategoryParam):
		x.bad("%s did not run the tool, and is not refused as param: %s", cut(args), shown(env))
	case tool.Runs() > 0 && !equalJSON(string(tool.Args()[0]), same):
		x.bad("%s ran the tool with %s; only %s has the same meaning", cut(args), tool.Args()[0], same)
	case tool.Runs() > 0 && len(env.Args) > 0 && string(env.Args) != string(tool.Args()[0]):
		x.bad("the tool ran with %s, but Envelope.Args is %s: the history would not hold what ran", tool.Args()[0], env.Args)
	}
}

// equalJSON compares documents with their numbers to the last digit.
func equalJSON(a, b string) bool {
	x, errX := exact(a)
	y, errY := exact(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// members are the subject's valid arguments, one by one.
func (x *trial) members() map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(x.s.Args), &m) != nil {
		x.Skip("the arguments of the subject are no object")
	}
	return m
}

// changed are the arguments with one member another one.
func (x *trial) changed(name, value string) string {
	m := x.members()
	m[name] = json.RawMessage(value)
	text := ""
	for _, k := range slices.Sorted(mapKeys(m)) {
		key, _ := json.Marshal(k)
		text += "," + string(key) + ":" + string(m[k])
	}
	return "{" + text[1:] + "}"
}

// remembers skips a case where nothing is remembered from one call to the next.
func (x *trial) remembers() {
	if !(&examination{subject: x.s}).remembers() {
		x.Skip("the guard remembers nothing from one call to the next: give it Sessions")
	}
}

// boxed skips a case that needs a toolbox.
func (x *trial) boxed() *toolguard.Toolbox {
	if x.s.Box == nil {
		x.Skip("this is about toolboxes: return Boxed(box, name, args)")
	}
	return x.s.Box
}

func (x *trial) repeatable() bool { return (&examination{subject: x.s}).repeatable() }
