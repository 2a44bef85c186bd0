package toolguardtest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/toolguard-go/toolguard"
)

// The Require functions end the test where an answer is not what it should be, and
// show the whole answer.

// RequireOK requires a success.
func RequireOK(t testing.TB, env toolguard.Envelope) {
	t.Helper()
	if !env.OK {
		t.Fatalf("toolguardtest: want a success, got %s", shown(env))
	}
}

// RequireFailure requires a failure of any kind.
func RequireFailure(t testing.TB, env toolguard.Envelope) {
	t.Helper()
	if env.OK || env.Error == nil {
		t.Fatalf("toolguardtest: want a failure, got %s", shown(env))
	}
}

// RequireCategory requires a failure of this category.
func RequireCategory(t testing.TB, env toolguard.Envelope, want toolguard.Category) {
	t.Helper()
	RequireFailure(t, env)
	if env.Error.Category != want {
		t.Fatalf("toolguardtest: category is %v, want %v, of %s", env.Error.Category, want, shown(env))
	}
}

// RequireCode requires a failure for this reason.
func RequireCode(t testing.TB, env toolguard.Envelope, want toolguard.Code) {
	t.Helper()
	RequireFailure(t, env)
	if env.Error.Code != want {
		t.Fatalf("toolguardtest: code is %v, want %v, of %s", env.Error.Code, want, shown(env))
	}
}

// RequireOutcome requires what is known of the side effect. A success is
// [toolguard.OutcomeSucceeded].
func RequireOutcome(t testing.TB, env toolguard.Envelope, want toolguard.Outcome) {
	t.Helper()
	if got := OutcomeOf(env); got != want {
		t.Fatalf("toolguardtest: outcome is %v, want %v, of %s", got, want, shown(env))
	}
}

// RequireSuggestion requires a next step that has all of these parts in it, in any
// letter case. With no parts, any step will do.
func RequireSuggestion(t testing.TB, env toolguard.Envelope, parts ...string) {
	t.Helper()
	RequireFailure(t, env)
	if env.Suggestion == "" {
		t.Fatalf("toolguardtest: there is no suggestion in %s", shown(env))
	}
	for _, p := range parts {
		if !strings.Contains(strings.ToLower(env.Suggestion), strings.ToLower(p)) {
			t.Fatalf("toolguardtest: the suggestion does not say %q: %q", p, env.Suggestion)
		}
	}
}

// RequireNote requires a note of this kind, and returns it.
func RequireNote(t testing.TB, env toolguard.Envelope, kind toolguard.NoteKind) toolguard.Note {
	t.Helper()
	for _, n := range env.Notes {
		if n.Kind == kind {
			return n
		}
	}
	t.Fatalf("toolguardtest: there is no note %q in %s", kind, shown(env))
	return toolguard.Note{}
}

// RequireInForce requires a setting to have this value, defaults filled in. field
// is a path into [toolguard.Description], such as "Timeout.Attempt".
func RequireInForce(t testing.TB, guard *toolguard.Guard, field string, want any) {
	t.Helper()
	v := reflect.ValueOf(guard.Describe())
	for name := range strings.SplitSeq(field, ".") {
		if v.Kind() == reflect.Struct {
			v = v.FieldByName(name)
		} else {
			v = reflect.Value{}
		}
		if !v.IsValid() {
			t.Fatalf("toolguardtest: a Description has no field %q (at %q); it is a path such as Retry.MaxAttempts", field, name)
		}
	}
	if got := v.Interface(); !reflect.DeepEqual(got, want) {
		t.Fatalf("toolguardtest: %s of tool %q is %v, want %v (%T)", field, guard.Info().Name, got, want, want)
	}
}

// OutcomeOf is what an answer says of the side effect.
func OutcomeOf(env toolguard.Envelope) toolguard.Outcome {
	if env.Error == nil {
		return toolguard.OutcomeSucceeded
	}
	return env.Error.Outcome
}

// shown is an answer for a person.
func shown(env toolguard.Envelope) string {
	if env.OK {
		return "the success:\n" + cut(env.ForModel())
	}
	return fmt.Sprintf("the failure:\n%s", cut(env.String()))
}

// cut bounds what a failing test prints.
func cut(text string) string {
	const most = 2 << 10
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes more)", text[:most], len(text)-most)
}
