package toolguardtest_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/agentloop"
	tgt "github.com/toolguard-go/toolguard/toolguardtest"
)

var _ = tgt.UpdateFlag()

func TestRequireSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	fine := tgt.Answer{Text: "done"}.Envelope(t)
	lost := tgt.Answer{Code: toolguard.CodeConnectionLost}.Envelope(t)
	guard := guardOf(t, tgt.NewTool(t, infoOf(0)), nil)
	for name, row := range map[string]struct {
		passes, fails func(testing.TB)
		says          string
	}{
		"ok":         {func(t testing.TB) { tgt.RequireOK(t, fine) }, func(t testing.TB) { tgt.RequireOK(t, lost) }, "want a success, got the failure"},
		"failure":    {func(t testing.TB) { tgt.RequireFailure(t, lost) }, func(t testing.TB) { tgt.RequireFailure(t, fine) }, "want a failure, got the success"},
		"category":   {func(t testing.TB) { tgt.RequireCategory(t, lost, toolguard.CategoryUnavailable) }, func(t testing.TB) { tgt.RequireCategory(t, lost, toolguard.CategoryParam) }, "category is unavailable, want param"},
		"code":       {func(t testing.TB) { tgt.RequireCode(t, lost, toolguard.CodeConnectionLost) }, func(t testing.TB) { tgt.RequireCode(t, lost, toolguard.CodePanic) }, "code is connection_lost, want panic"},
		"outcome":    {func(t testing.TB) { tgt.RequireOutcome(t, lost, toolguard.OutcomeUnknown) }, func(t testing.TB) { tgt.RequireOutcome(t, lost, toolguard.OutcomeFailed) }, "outcome is unknown, want failed"},
		"succeeded":  {func(t testing.TB) { tgt.RequireOutcome(t, fine, toolguard.OutcomeSucceeded) }, func(t testing.TB) { tgt.RequireOutcome(t, fine, toolguard.OutcomeUnknown) }, "outcome is succeeded, want unknown"},
		"suggestion": {func(t testing.TB) { tgt.RequireSuggestion(t, lost, "do not", "again") }, func(t testing.TB) { tgt.RequireSuggestion(t, lost, "try again at once") }, `does not say "try again at once"`},
		"note":       {func(t testing.TB) { tgt.RequireNote(t, tgt.Answer{}.Envelope(t), "empty_success") }, func(t testing.TB) { tgt.RequireNote(t, fine, "empty_success") }, `no note "empty_success"`},
		"in force":   {func(t testing.TB) { tgt.RequireInForce(t, guard, "Timeout.Attempt", time.Minute) }, func(t testing.TB) { tgt.RequireInForce(t, guard, "Retry.MaxAttempts", 7) }, `Retry.MaxAttempts of tool "refund" is 3, want 7`},
		"no field":   {func(testing.TB) {}, func(t testing.TB) { tgt.RequireInForce(t, guard, "Retry.Tries", 7) }, `no field "Retry.Tries" (at "Tries")`},
	} {
		assert.Empty(t, failing(t, row.passes), name)
		if row.says != "" {
			assertSays(t, failing(t, row.fails), row.says)
		}
	}
}

// Envelopes for tests are what a guard makes.
func TestAnswersAreReal(t *testing.T) {
	t.Parallel()
	for code, category := range toolguard.Codes() {
		env := tgt.Answer{Tool: "refund", Code: code, Outcome: toolguard.OutcomeNotStarted, RetryAfter: 2 * time.Second, Cause: io.EOF}.Envelope(t)
		require.Equal(t, code, codeOf(env))
		assert.Equal(t, category, env.Error.Category)
		assert.Equal(t, toolguard.OutcomeNotStarted, env.Error.Outcome)
		assert.NotEmpty(t, env.Suggestion, code)
		assert.ErrorIs(t, env.Err(), io.EOF)
		assert.Zero(t, env.Attempts)
	}
	assert.Equal(t, toolguard.OutcomeFailed, tgt.OutcomeOf(tgt.Answer{Code: toolguard.CodePanic, Effect: toolguard.ReadOnly}.Envelope(t)))
	assert.Contains(t, tgt.Answer{Code: toolguard.CodePanic, Locale: "zh"}.Envelope(t).Suggestion, "不")
}

// What was rendered reads back as what it was.
func TestReadIsTheInverseOfRendering(t *testing.T) {
	t.Parallel()
	for code := range toolguard.Codes() {
		env := tgt.Answer{Code: code, Message: "A word of the author.", RetryAfter: 3 * time.Second}.Envelope(t)
		read, err := tgt.Read(env.ForModel())
		require.NoError(t, err)
		assert.Equal(t, env.Error, read.Error)
		assert.Equal(t, []string{env.CallID, env.Tool, env.Suggestion}, []string{read.CallID, read.Tool, read.Suggestion})
	}
	bare, err := tgt.Read("just text")
	require.NoError(t, err)
	assert.Equal(t, "just text", bare.ForModel())
	noted, err := tgt.Read(tgt.Answer{}.Envelope(t).ForModel())
	require.NoError(t, err)
	assert.True(t, noted.OK && len(noted.Notes) == 1)
	for _, bad := range []string{`{"ok":false}`, `{"ok":false,"error":{"category":"x","outcome":"failed"}}`, tgt.Answer{Code: toolguard.CodePanic}.Envelope(t).String()} {
		_, err := tgt.Read(bad)
		assert.Error(t, err, bad)
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	guard := guardOf(t, tgt.NewTool(t, infoOf(0)), nil)
	tgt.Golden(t, "testdata/envelopes.txtar",
		tgt.EnvelopeSection("lost answer", tgt.Answer{Tool: "refund", Code: toolguard.CodeConnectionLost}.Envelope(t)),
		tgt.EnvelopeSection("bare success", tgt.Answer{Tool: "refund", Text: "done"}.Envelope(t)))
	described := tgt.DescriptionSection(guard)
	assert.Equal(t, "description of refund", described.Name)
	assert.Contains(t, described.Text, `"attempt": "60s"`)
}

// A golden file that differs, or is not there, says what to do. Only remarks,
// incidents and keys may differ.
func TestGoldenFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "x.txtar")
	section := func(text string) tgt.Section { return tgt.Section{Name: "one", Text: text} }
	assertSays(t, failing(t, func(t testing.TB) { tgt.Golden(t, path, section("a")) }), "is missing: run this test once with -update", "TOOLGUARDTEST_UPDATE=1")
	assertSays(t, failing(t, func(t testing.TB) { tgt.Golden(t, path) }), "has nothing to compare")

	t.Setenv("TOOLGUARDTEST_UPDATE", "1")
	tgt.Golden(t, path, section("a\nb\nc\n{\"incident\":\"abcdefgh\"}\n"))
	t.Setenv("TOOLGUARDTEST_UPDATE", "")
	tgt.Golden(t, path, section("a\nb\nc\n{\"incident\":\"ijklmnop\"}\n"))
	assertSays(t, failing(t, func(t testing.TB) { tgt.Golden(t, path, section("a\nX\nc\n{\"incident\":\"q\"}\n")) }), "- b", "+ X", "  a", "-update")

	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append([]byte("Why this is so.\n\n"), text...), 0o600))
	t.Setenv("TOOLGUARDTEST_UPDATE", "1")
	tgt.Golden(t, path, section("new"))
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "Why this is so.\n\n-- one --\nnew\n", string(text))
}

func TestGoldenTranscript(t *testing.T) {
	t.Parallel()
	lost := tgt.Answer{Tool: "refund", CallID: "c1", Code: toolguard.CodeConnectionLost}.Envelope(t)
	tgt.Golden(t, "testdata/transcript.txtar", tgt.TranscriptSections([]agentloop.Message{
		agentloop.User("Refund A-17."),
		{Role: agentloop.RoleAssistant, Calls: []agentloop.Call{{ID: "c1", Tool: "refund", Args: `{"id":"A-17"}`, Answer: &agentloop.Answer{Text: lost.ForModel()}}, {ID: "c2", Tool: "mail"}}, Hint: "Say so."},
		{Role: agentloop.RoleAssistant, Text: "I do not know."},
	})...)
}

// Causes stay reachable for the host.
func TestAnswersKeepTheirCause(t *testing.T) {
	t.Parallel()
	mine := errors.New("mine")
	env := tgt.Answer{Code: toolguard.CodeConflict, Cause: mine}.Envelope(t)
	assert.ErrorIs(t, env.Err(), mine)
	assert.NoError(t, env.Control())
}
