package toolguardtest

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/toolguard-go/toolguard"
)

// toolSuite is a tool under test.
type toolSuite struct {
	newTool func(t testing.TB) toolguard.Tool
	args    []string
}

// TestTool checks what a [toolguard.Tool] owes. newTool makes one for each obligation,
// with whatever stands behind it; args are arguments that it accepts and, if it is
// sound, succeeds with or refuses for a reason. The tool:
//
//   - returns from Info the same value every time, without blocking;
//   - is accepted by New, and its schema by what validates it: nothing is left
//     unenforced;
//   - says what running it again may do;
//   - answers valid arguments with a result, or with an error that can be
//     classified, and neither panics nor ends its goroutine;
//   - returns nil, and not a nil pointer, as its error when it succeeds;
//   - returns JSON that is JSON, if it returns JSON;
//   - may be called concurrently (run with -race);
//   - stops soon when its context has ended.
//
// What a guard makes of a tool that breaks them is another matter: see [Matrix].
func TestTool(t *testing.T, newTool func(t testing.TB) toolguard.Tool, args ...string) {
	t.Helper()
	if newTool == nil || len(args) == 0 {
		t.Fatalf("toolguardtest: TestTool has nothing to call: give it a function that makes the tool, and arguments the tool accepts, such as {}")
	}
	meet(t, toolSuite{newTool, args}, false, toolObligations)
}

var toolObligations = []obligation[toolSuite]{
	{"returns from Info the same value every time, without blocking", toolSuite.sameInfo},
	{"is accepted by New with all of its schema", toolSuite.schema},
	{"says what running it again may do", toolSuite.effect},
	{"answers valid arguments with a result or an error that can be classified", toolSuite.answers},
	{"returns no nil pointer as its error", toolSuite.nilError},
	{"returns JSON that is JSON", toolSuite.validJSON},
	{"may be called concurrently", toolSuite.concurrent},
	{"stops soon when its context has ended", toolSuite.stops},
}

func (s toolSuite) sameInfo(t testing.TB) {
	tool := s.newTool(t)
	var first toolguard.Info
	within(t, "Info", func() { first = tool.Info() })
	together(t, "Info", 8, func(int) {
		if got := tool.Info(); !reflect.DeepEqual(got, first) {
			t.Errorf("toolguardtest: Info has returned two values:\n%+v\n%+v", first, got)
		}
	})
}

func (s toolSuite) guard(t testing.TB, opts *toolguard.Options) *toolguard.Guard {
	guard, err := toolguard.New(s.newTool(t), opts)
	if err != nil {
		t.Fatalf("toolguardtest: New refuses the tool: %v", err)
	}
	return guard
}

func (s toolSuite) schema(t testing.TB) {
	s.guard(t, nil) // in strict mode, where New refuses what it cannot enforce
	d := s.guard(t, &toolguard.Options{Arguments: toolguard.ArgumentPolicy{Schema: toolguard.SchemaLenient}}).Describe()
	if d.ConstrainsNothing {
		t.Errorf("toolguardtest: the schema checks none of the arguments: it looks like a map of them; put it under \"properties\"")
	}
	for _, n := range d.NotEnforced {
		t.Errorf("toolguardtest: this part of the schema is not enforced: %s", n)
	}
}

func (s toolSuite) effect(t testing.TB) {
	if s.newTool(t).Info().Effect == toolguard.EffectUnknown {
		t.Errorf("toolguardtest: Info.Effect is not set: it counts as NonIdempotent; say so, or say what the tool is")
	}
}

// once is one attempt, with what went wrong in the envelope.
var once = &toolguard.Options{Retry: toolguard.RetryPolicy{Off: true}}

func (s toolSuite) answers(t testing.TB) {
	for _, args := range s.args {
		env := s.guard(t, once).Do(t.Context(), toolguard.Call{ID: "c", Args: json.RawMessage(args)})
		if env.OK {
			continue
		}
		switch env.Error.Code {
		case toolguard.CodeInvalidJSON, toolguard.CodeSchemaViolation, toolguard.CodeTruncated:
			t.Errorf("toolguardtest: the tool's own schema refuses %s: %s", args, shown(env))
		case toolguard.CodePanic, toolguard.CodeExited, toolguard.CodeAbandoned, toolguard.CodeUnknownError, toolguard.CodeBadResponse:
			t.Errorf("toolguardtest: with %s the tool ends as %s; return an error that says what went wrong, such as toolguard.NotFound: %v\n%s", args, env.Error.Code, env.Cause(), shown(env))
		}
	}
}

// call calls the tool itself, soon.
func (s toolSuite) call(ctx context.Context, t testing.TB, tool toolguard.Tool, args string) (r toolguard.Result, err error) {
	t.Helper()
	within(t, "Call "+args, func() { r, err = tool.Call(ctx, json.RawMessage(args)) })
	return r, err
}

func (s toolSuite) nilError(t testing.TB) {
	for _, args := range s.args {
		_, err := s.call(t.Context(), t, s.newTool(t), args)
		if err == nil {
			continue
		}
		if v := reflect.ValueOf(err); v.Kind() == reflect.Pointer && v.IsNil() {
			t.Errorf("toolguardtest: Call returns a nil %T as its error, which is not nil; return nil itself", err)
		}
	}
}

func (s toolSuite) validJSON(t testing.TB) {
	for _, args := range s.args {
		if r, err := s.call(t.Context(), t, s.newTool(t), args); err == nil && len(r.JSON) > 0 && !json.Valid(r.JSON) {
			t.Errorf("toolguardtest: Result.JSON is no JSON: %s", cut(string(r.JSON)))
		}
	}
}

func (s toolSuite) concurrent(t testing.TB) {
	tool := s.newTool(t)
	together(t, "Call", 8*len(s.args), func(i int) {
		args := json.RawMessage(s.args[i%len(s.args)])
		_, _ = tool.Call(t.Context(), slices.Clone(args))
	})
}

func (s toolSuite) stops(t testing.TB) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = s.call(ctx, t, s.newTool(t), s.args[0])
}
