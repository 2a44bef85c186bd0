package toolguardtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/toolguard-go/toolguard"
)

// AdapterAnswer is what a framework hands to its model for one call.
type AdapterAnswer struct {
	// Text is what the model reads.
	Text string
	// Failed is the framework's error flag, where it has one.
	Failed bool
}

// AdapterSuite says how to try an adapter for a framework.
type AdapterSuite struct {
	// Wrap puts a guard into the framework the way the adapter does, and returns a
	// function that calls the tool the way the framework does. The error is the
	// one that the framework would see, nil for an answer.
	Wrap func(t testing.TB, guard *toolguard.Guard) func(ctx context.Context, args string) (AdapterAnswer, error)
	// WrapAll does the same for a toolbox and for all calls of one message; the answers
	// come in the order of the calls. If nil, the framework has no such thing.
	WrapAll func(t testing.TB, box *toolguard.Toolbox) func(ctx context.Context, calls []toolguard.Call) ([]AdapterAnswer, error)
	// Flag says that the framework has an error flag.
	Flag bool
	// Control is an error by which the framework's tools steer it, such as an
	// interrupt; PassThrough picks it. If nil, the framework has none.
	Control     error
	PassThrough func(error) bool
}

// TestAdapter checks what an adapter between a guard and a framework owes. It:
//
//   - hands a success on as it is, to the byte;
//   - hands a failure to the model as its envelope, with a nil error: to the
//     framework it is an answer, or it would end the run or hide the words;
//   - sets the framework's error flag for failures, and for them only;
//   - returns in time, and with an answer, when the tool panics or hangs;
//   - passes the arguments on as the model wrote them, numbers beyond 2^53 too;
//   - passes the context on: its values reach the tool, its end ends the call;
//   - leaves control flow untouched: the same error comes back, the tool has run
//     once;
//   - keeps siblings: a failed call of a message costs no other its answer.
func TestAdapter(t *testing.T, s AdapterSuite) {
	t.Helper()
	if s.Wrap == nil {
		t.Fatalf("toolguardtest: TestAdapter has no adapter: set AdapterSuite.Wrap")
	}
	if s.Control != nil && s.PassThrough == nil {
		t.Fatalf("toolguardtest: AdapterSuite.Control is set, but PassThrough does not say how a guard knows it")
	}
	meet(t, s, false, adapterObligations)
}

var adapterObligations = []obligation[AdapterSuite]{
	{"hands a success on as it is", AdapterSuite.success},
	{"hands a failure on as its envelope, with a nil error", AdapterSuite.failure},
	{"sets the error flag for failures only", AdapterSuite.flag},
	{"answers when the tool panics or hangs", AdapterSuite.bad},
	{"passes the arguments on", AdapterSuite.arguments},
	{"passes the context on", AdapterSuite.context},
	{"leaves control flow untouched", AdapterSuite.control},
	{"keeps siblings", AdapterSuite.siblings},
}

// wrapped makes a guard of a tool and puts it into the framework.
func (s AdapterSuite) wrapped(t testing.TB, tool toolguard.Tool) func(context.Context, string) (AdapterAnswer, error) {
	guard, err := toolguard.New(tool, &toolguard.Options{
		PassThrough: s.PassThrough, Retry: toolguard.RetryPolicy{Off: true},
		Timeout: toolguard.TimeoutPolicy{Attempt: 200 * time.Millisecond, Budget: time.Second, Grace: 50 * time.Millisecond},
	})
	if err != nil {
		t.Fatalf("toolguardtest: %v", err)
	}
	return s.Wrap(t, guard)
}

// ask makes one call that must come back with an answer.
func (s AdapterSuite) ask(ctx context.Context, t testing.TB, tool toolguard.Tool, args string) AdapterAnswer {
	t.Helper()
	call := s.wrapped(t, tool)
	var a AdapterAnswer
	var err error
	within(t, "the adapter", func() { a, err = call(ctx, args) })
	if err != nil {
		t.Fatalf("toolguardtest: the framework gets the error %v; want nil, and the envelope as the answer", err)
	}
	return a
}

var adapterInfo = toolguard.Info{Name: "tool", Description: "A tool.", Effect: toolguard.NonIdempotent, Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}

func (s AdapterSuite) success(t testing.TB) {
	for name, step := range map[string]Step{"text": OK("caf\u00e9 <b>&amp;</b>\n\ttwo lines"), "JSON": JSON(`{"id":9007199254740993,"b":[1.50,"<x>"]}`)} {
		guard, _ := toolguard.New(Always(t, adapterInfo, step), nil)
		want := guard.Do(t.Context(), toolguard.Call{Args: json.RawMessage(`{}`)}).ForModel()
		if got := s.ask(t.Context(), t, NewTool(t, adapterInfo, step), `{}`); got.Text != want {
			t.Errorf("toolguardtest: a success (%s) reads %q, want %q", name, got.Text, want)
		}
	}
}

// failureAnswers are the answers to calls that fail in different ways.
func (s AdapterSuite) failureAnswers(t testing.TB) map[toolguard.Code]AdapterAnswer {
	answers := map[toolguard.Code]AdapterAnswer{}
	for code, step := range map[toolguard.Code]Step{
		toolguard.CodeConnectionLost: Fail(connLost()), toolguard.CodeBusinessRule: Fail(toolguard.Business("No.")),
		toolguard.CodePanic: Panic("odd"), toolguard.CodeAttemptTimeout: Obey(), toolguard.CodeExited: Exit(),
	} {
		answers[code] = s.ask(t.Context(), t, NewTool(t, adapterInfo, step), `{}`)
	}
	answers[toolguard.CodeSchemaViolation] = s.ask(t.Context(), t, NewTool(t, adapterInfo), `{"n":"many"}`)
	return answers
}

func (s AdapterSuite) failure(t testing.TB) {
	for code, a := range s.failureAnswers(t) {
		env, err := Read(a.Text)
		if err != nil || env.OK || env.Error.Code != code {
			t.Errorf("toolguardtest: the answer to a call that fails with %s is not its envelope (%v): %s", code, err, cut(a.Text))
		}
	}
}

func (s AdapterSuite) flag(t testing.TB) {
	if !s.Flag {
		return
	}
	for code, a := range s.failureAnswers(t) {
		if !a.Failed {
			t.Errorf("toolguardtest: the error flag is not set for a call that fails with %s", code)
		}
	}
	for name, step := range map[string]Step{"a success": OK("done"), "a success with notes": OK("")} {
		if a := s.ask(t.Context(), t, NewTool(t, adapterInfo, step), `{}`); a.Failed {
			t.Errorf("toolguardtest: the error flag is set for %s", name)
		}
	}
}

func (s AdapterSuite) bad(t testing.TB) {
	for name, step := range map[string]Step{"panics": Panic("odd"), "ends its goroutine": Exit(), "hangs": Obey(), "hangs and is deaf": Ignore(OK("late"))} {
		tool := NewTool(t, adapterInfo, step)
		if env, err := Read(s.ask(t.Context(), t, tool, `{}`).Text); err != nil || env.OK {
			t.Errorf("toolguardtest: a tool that %s is not answered as a failure: %v %s", name, err, env.ForModel())
		}
		tool.Release()
	}
}

func (s AdapterSuite) arguments(t testing.TB) {
	const exact = `{"n":9007199254740993}`
	tool := NewTool(t, adapterInfo, OK("done"))
	s.ask(t.Context(), t, tool, exact)
	if got := tool.Args(); len(got) != 1 || string(got[0]) != exact {
		t.Errorf("toolguardtest: the tool got %s, want %s once", got, exact)
	}
}

func (s AdapterSuite) context(t testing.TB) {
	var got any
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), probeKey{}, "here"))
	defer cancel()
	tool := NewTool(t, adapterInfo, func(r *Run) (toolguard.Result, error) {
		got = r.Ctx.Value(probeKey{})
		cancel()
		return Obey()(r)
	})
	call := s.wrapped(t, tool)
	within(t, "the adapter, its context ended,", func() { _, _ = call(ctx, `{}`) })
	if got != "here" {
		t.Errorf("toolguardtest: the values of the framework's context do not reach the tool")
	}
}

func (s AdapterSuite) control(t testing.TB) {
	if s.Control == nil {
		return
	}
	tool := Always(t, adapterInfo, Fail(s.Control))
	call := s.wrapped(t, tool)
	var err error
	within(t, "the adapter", func() { _, err = call(t.Context(), `{}`) })
	if !errors.Is(err, s.Control) {
		t.Errorf("toolguardtest: the framework gets %v, want its own control flow %v", err, s.Control)
	}
	if tool.Runs() != 1 {
		t.Errorf("toolguardtest: control flow ran the tool %d times, want once", tool.Runs())
	}
}

func (s AdapterSuite) siblings(t testing.TB) {
	if s.WrapAll == nil {
		return
	}
	var tools []toolguard.Tool
	var calls []toolguard.Call
	for i, step := range []Step{OK("one"), Panic("odd"), OK("three"), Fail(toolguard.Business("No.")), OK("five")} {
		info := adapterInfo
		info.Name, info.Effect = fmt.Sprintf("tool_%d", i+1), toolguard.ReadOnly
		tools = append(tools, NewTool(t, info, step))
		calls = append(calls, toolguard.Call{ID: fmt.Sprintf("call_%d", i+1), Tool: info.Name, Args: json.RawMessage(`{}`)})
	}
	box, err := toolguard.NewToolbox(nil, tools...)
	if err != nil {
		t.Fatalf("toolguardtest: %v", err)
	}
	all := s.WrapAll(t, box)
	var answers []AdapterAnswer
	within(t, "the adapter", func() { answers, err = all(t.Context(), calls) })
	if err != nil || len(answers) != len(calls) {
		t.Fatalf("toolguardtest: %d calls of one message have %d answers and the error %v", len(calls), len(answers), err)
	}
	for i, want := range []string{"one", "", "three", "", "five"} {
		env, err := Read(answers[i].Text)
		if err != nil || env.OK != (want != "") || want != "" && answers[i].Text != want {
			t.Errorf("toolguardtest: the answer to call %d reads %q", i+1, cut(answers[i].Text))
		}
		if !env.OK && env.CallID != "" && env.CallID != calls[i].ID {
			t.Errorf("toolguardtest: the answer to call %d is that of %s", i+1, env.CallID)
		}
	}
}
