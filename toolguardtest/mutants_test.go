package toolguardtest_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	tgt "github.com/toolguard-go/toolguard/toolguardtest"
)

// mutant is a guard or a tool that is broken on purpose.
type mutant struct {
	rule   tgt.Rule
	broken string // how
	fault  string // under which it shows
	effect toolguard.Effect
	build  func(t testing.TB, s *tgt.Subject) // breaks a sound subject
}

// breaking changes what a sound guard answers.
func breaking(f func(*toolguard.Envelope)) func(testing.TB, *tgt.Subject) {
	return func(_ testing.TB, s *tgt.Subject) {
		sound := s.Do
		s.Do = func(ctx context.Context, c toolguard.Call) []toolguard.Envelope {
			envs := sound(ctx, c)
			for i := range envs {
				f(&envs[i])
			}
			return envs
		}
	}
}

// bare takes the guard away: the tool itself answers the call, by f.
func bare(f func(ctx context.Context, tool toolguard.Tool, c toolguard.Call) []toolguard.Envelope) func(testing.TB, *tgt.Subject) {
	return func(_ testing.TB, s *tgt.Subject) {
		var tool toolguard.Tool
		s.Replace = func(body toolguard.Tool) error {
			tool = body
			return nil
		}
		s.Do = func(ctx context.Context, c toolguard.Call) []toolguard.Envelope { return f(ctx, tool, c) }
	}
}

// success is the answer of one who sees no trouble.
func success(c toolguard.Call, r toolguard.Result) []toolguard.Envelope {
	return []toolguard.Envelope{{OK: true, CallID: c.ID, Tool: c.Tool, Result: r, Attempts: 1}}
}

// unguarded is what many write: call the tool, hand the error's text to the model.
func unguarded(ctx context.Context, tool toolguard.Tool, c toolguard.Call) []toolguard.Envelope {
	r, err := tool.Call(ctx, c.Args)
	if err != nil {
		return []toolguard.Envelope{{CallID: c.ID, Tool: c.Tool, Suggestion: "Try again.", Attempts: 1, Error: &toolguard.Failure{Code: "error", Message: err.Error()}}}
	}
	return success(c, r)
}

// otherGuard answers by a guard whose tool declares another effect.
func otherGuard(effect toolguard.Effect, opts *toolguard.Options) func(testing.TB, *tgt.Subject) {
	return func(t testing.TB, s *tgt.Subject) {
		other := tgt.Guarded(guardOf(t, refund(infoOf(effect)), opts), orderArgs)
		s.Do, s.Replace = other.Do, other.Replace
	}
}

var mutants = []mutant{
	{tgt.RuleOneEnvelope, "a loop that answers every call twice", "http 500", toolguard.ReadOnly, func(_ testing.TB, s *tgt.Subject) {
		sound := s.Do
		s.Do = func(ctx context.Context, c toolguard.Call) []toolguard.Envelope {
			envs := sound(ctx, c)
			return append(envs, envs...)
		}
	}},
	{tgt.RuleOneEnvelope, "a loop that drops a failed call", "http 500", toolguard.ReadOnly, bare(func(ctx context.Context, tool toolguard.Tool, c toolguard.Call) []toolguard.Envelope {
		if r, err := tool.Call(ctx, c.Args); err == nil {
			return success(c, r)
		}
		return nil
	})},
	{tgt.RuleOneEnvelope, "an answer under another call's ID", "slow", toolguard.ReadOnly, breaking(func(e *toolguard.Envelope) { e.CallID = "call_9" })},
	{tgt.RuleOneEnvelope, "a failure that says OK", "http 404", toolguard.ReadOnly, breaking(func(e *toolguard.Envelope) { e.OK = true })},
	{tgt.RuleInTime, "no timeout: whoever calls waits for the tool", "hangs and cannot be stopped", toolguard.ReadOnly, bare(unguarded)},
	{tgt.RuleInTime, "a timeout that is longer than declared", "hangs until told to stop", toolguard.ReadOnly, otherGuard(toolguard.ReadOnly, &toolguard.Options{Timeout: toolguard.TimeoutPolicy{Attempt: 10 * time.Minute}})},
	{tgt.RuleNoPanic, "no recover", "panics", toolguard.ReadOnly, bare(unguarded)},
	{tgt.RuleNoPanic, "the tool runs on the caller's goroutine", "ends its goroutine", toolguard.ReadOnly, bare(unguarded)},
	{tgt.RuleNoLeak, "a goroutine for each call that nobody ends", "slow", toolguard.ReadOnly, func(t testing.TB, s *tgt.Subject) {
		end, sound := make(chan struct{}), s.Do
		t.Cleanup(func() { close(end) })
		s.Do = func(ctx context.Context, c toolguard.Call) []toolguard.Envelope {
			go func() { <-end }()
			return sound(ctx, c)
		}
	}},
	{tgt.RuleNoOverlap, "an attempt after one that was given up", "hangs and cannot be stopped", toolguard.Idempotent, bare(func(ctx context.Context, tool toolguard.Tool, c toolguard.Call) []toolguard.Envelope {
		for range 2 {
			go func() { _, _ = tool.Call(ctx, c.Args) }()
			time.Sleep(time.Minute)
		}
		return []toolguard.Envelope{{CallID: c.ID, Tool: c.Tool, Suggestion: "Wait.", Attempts: 2, Error: &toolguard.Failure{Code: "timeout", Message: "No answer."}}}
	})},
	{tgt.RuleOneEffect, "retries a tool that is not repeatable", "acts, then http 503", toolguard.NonIdempotent, otherGuard(toolguard.Idempotent, nil)},
	{tgt.RuleOneEffect, "a new idempotency key for each attempt", "acts, then connection reset", toolguard.IdempotentByKey, bare(func(ctx context.Context, tool toolguard.Tool, c toolguard.Call) []toolguard.Envelope {
		var last []toolguard.Envelope
		for range 2 {
			guard, _ := toolguard.New(tool, &toolguard.Options{Retry: toolguard.RetryPolicy{Off: true}})
			last = []toolguard.Envelope{guard.Do(ctx, c)}
		}
		last[0].Attempts = 2
		return last
	})},
	{tgt.RuleUnsure, "nothing is remembered of an unknown outcome", "acts, then answer cut off", toolguard.NonIdempotent, otherGuard(toolguard.NonIdempotent, nil)},
	{tgt.RuleHonest, "every failure says that nothing was done", "acts, then http 500", toolguard.NonIdempotent, breaking(func(e *toolguard.Envelope) { e.Error.Outcome = toolguard.OutcomeFailed })},
	{tgt.RuleHonest, "a failure that is told as a success", "http 409", toolguard.NonIdempotent, breaking(func(e *toolguard.Envelope) { e.OK, e.Error = true, nil })},
	{tgt.RuleHonest, "a read that may have had an effect", "http 500", toolguard.ReadOnly, breaking(func(e *toolguard.Envelope) { e.Error.Outcome = toolguard.OutcomeUnknown })},
	{tgt.RuleNoCause, "the error's text is handed to the model", "connection refused", toolguard.ReadOnly, bare(unguarded)},
	{tgt.RuleNoCause, "the cause stands beside the words", "sql connection failure", toolguard.ReadOnly, breaking(func(e *toolguard.Envelope) { e.Error.Message += " (" + e.Cause().Error() + ")" })},
	{tgt.RuleBounded, "results of any size", "huge result", toolguard.ReadOnly, bare(unguarded)},
	{tgt.RuleBounded, "failures of any size", "http 500", toolguard.ReadOnly, breaking(func(e *toolguard.Envelope) { e.Error.Message += strings.Repeat(" and so on", 200) })},
	{tgt.RuleNextStep, "no suggestion", "http 503", toolguard.ReadOnly, breaking(func(e *toolguard.Envelope) { e.Suggestion = "" })},
	{tgt.RuleRetries, "a second layer that retries", "http 500", toolguard.ReadOnly, func(_ testing.TB, s *tgt.Subject) {
		sound := s.Do
		s.Do = func(ctx context.Context, c toolguard.Call) []toolguard.Envelope {
			sound(ctx, c)
			return sound(ctx, c)
		}
	}},
	{tgt.RuleRetries, "retries a refusal", "author: business rule", toolguard.ReadOnly, bare(func(ctx context.Context, tool toolguard.Tool, c toolguard.Call) []toolguard.Envelope {
		_, _ = tool.Call(ctx, c.Args)
		envs := unguarded(ctx, tool, c)
		envs[0].Attempts = 2
		return envs
	})},
	{tgt.RuleRetries, "attempts that are not counted", "http 503", toolguard.ReadOnly, breaking(func(e *toolguard.Envelope) { e.Attempts = 1 })},
	{tgt.RuleRetries, "arguments that the schema refuses: nothing is tested", "slow", toolguard.ReadOnly, func(_ testing.TB, s *tgt.Subject) { s.Args = `{"order":7}` }},
}

// sound is the subject that mutants break.
func sound(t testing.TB, effect toolguard.Effect) tgt.Subject {
	box, err := toolguard.NewToolbox(nil, refund(infoOf(effect)))
	require.NoError(t, err)
	return tgt.Boxed(box, "refund", orderArgs)
}

// The matrix finds each mutant, and nothing where nothing is broken. What it says
// becomes the table of docs/testing.md.
func TestTheMatrixCanFail(t *testing.T) {
	rows := make([]string, len(mutants))
	t.Run("mutants", func(t *testing.T) {
		for i, m := range mutants {
			inBubble(t, string(m.rule)+"/"+m.broken, func(t *testing.T) {
				fault := tgt.FaultNamed(m.fault)
				require.Empty(t, tgt.Check(t, fault, func(t testing.TB) tgt.Subject { return sound(t, m.effect) }))
				found := tgt.Check(t, fault, func(t testing.TB) tgt.Subject {
					s := sound(t, m.effect)
					m.build(t, &s)
					return s
				})
				for _, b := range found {
					if b.Rule == m.rule && rows[i] == "" {
						rows[i] = fmt.Sprintf("| %s | %s | %s | `%s` |", m.rule, m.broken, m.fault, oneLine(b.Detail))
					}
				}
				assert.NotEmpty(t, rows[i], "not found: %v", found)
				time.Sleep(time.Hour)
				synctest.Wait()
			})
		}
	})
	for _, rule := range tgt.Rules() {
		assert.Contains(t, strings.Join(rows, "\n"), string(rule), "no mutant breaks this rule")
	}
	compareTable(t, "mutants", append([]string{"| rule | mutant | fault | message |", "|---|---|---|---|"}, rows...))
}

// oneLine is the beginning of a message, fit for a table.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if i := strings.Index(text, ": {"); i > 0 {
		text = text[:i]
	}
	if i := strings.Index(text, " still goroutine "); i > 0 {
		text = text[:i] + " still goroutine …"
	}
	if len(text) > 130 {
		text = text[:130] + "…"
	}
	return strings.NewReplacer("|", "/", "`", "'").Replace(text)
}

// compareTable holds a generated table of docs/testing.md against what it should be.
func compareTable(t *testing.T, name string, rows []string) {
	t.Helper()
	compare(t, "../docs/testing.md", name, rows)
}

func compare(t *testing.T, paper, name string, rows []string) {
	t.Helper()
	begin, end := "<!-- begin of "+name+" -->\n", "<!-- end of "+name+" -->\n"
	text, err := os.ReadFile(paper)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, "%s has no %q", paper, begin)
	printed, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	want := strings.Join(rows, "\n") + "\n"
	if os.Getenv("TOOLGUARDTEST_UPDATE") == "1" {
		require.NoError(t, os.WriteFile(paper, []byte(before+begin+want+end+after), 0o600))
		return
	}
	assert.Equal(t, want, printed, "run: TOOLGUARDTEST_UPDATE=1 go test -run %s ./toolguardtest", t.Name())
}

func TestMatrixSaysWhatToMend(t *testing.T) {
	t.Parallel()
	fault := tgt.FaultNamed("slow")
	for want, s := range map[string]tgt.Subject{
		"the subject has no tool":      {},
		"has no Do or no Replace":      {Guard: guardOf(t, refund(infoOf(0)), nil), Args: "{}"},
		"Args \"{\" are no JSON":       tgt.Guarded(guardOf(t, refund(infoOf(0)), nil), "{"),
		"has no tool of this name":     tgt.Boxed(nil, "x", "{}"),
		"the fault cannot stand in":    {Guard: guardOf(t, refund(infoOf(0)), nil), Args: "{}", Do: func(context.Context, toolguard.Call) []toolguard.Envelope { return nil }, Replace: func(toolguard.Tool) error { return context.Canceled }},
		"return Guarded(guard, args),": tgt.Guarded(nil, "{}"),
	} {
		synctest.Test(t, func(t *testing.T) {
			assertSays(t, failing(t, func(t testing.TB) { tgt.Check(t, fault, func(testing.TB) tgt.Subject { return s }) }), want)
		})
	}
	assert.PanicsWithValue(t, "toolguardtest: no fault is named tls: wrong; there are: tls: wrong host; acts, then tls: wrong host", func() { tgt.FaultNamed("tls: wrong") })
}

// A timeout of 300 s costs next to nothing.
func TestTimeIsFake(t *testing.T) {
	began, sum := time.Now(), time.Duration(0)
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			from := time.Now()
			guard := guardOf(t, tgt.Always(t, infoOf(0), tgt.Obey()), &toolguard.Options{Timeout: toolguard.TimeoutPolicy{Attempt: 300 * time.Second}})
			tgt.RequireCode(t, do(t.Context(), guard), toolguard.CodeAttemptTimeout)
			sum += time.Since(from)
		})
	}
	assert.Equal(t, 20*300*time.Second, sum)
	assert.Less(t, time.Since(began), 20*time.Second)
}
