package toolguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// A name that no tool has is a mistake of the model's, not of the program.
// case c01: a run ended in a nil dereference
// case c02: a run was ended by an exception; the nearest name is offered, never run
// case c09: an empty name left its call without an answer
func TestUnknownNamesAreAnsweredByID(t *testing.T) {
	t.Parallel()
	wrote := inOrder(answers("written"))
	box := boxOf(t, &toolguard.ToolboxOptions{Aliases: true}, says("web_search"), toolNamed("write_file", toolguard.NonIdempotent, wrote.call))
	for name, hint := range map[string]string{"apply_change": "web_search, write_file", "web_serch": "web_search", "wirte_file": "write_file", "": "web_search, write_file"} {
		env := box.Do(t.Context(), toolguard.Call{ID: "call_1", Tool: name, Args: json.RawMessage(`{}`)})
		requireEnvelope(t, env)
		assert.Equal(t, "unknown_tool/not_started", verdict(env), name)
		assert.Equal(t, "call_1", env.CallID)
		assert.Contains(t, env.Suggestion, hint)
	}
	assert.Zero(t, wrote.count())
	for name, stats := range box.Stats().Tools {
		assert.Zero(t, stats.Calls, name)
		assert.Empty(t, stats.Breakers, name)
	}
}

// A hint leads the model to a tool it has, and to none that it has not.
// case c03: a bare "unknown tool" led to the same call again
func TestHintsNameWhatIsVisibleInThisTurn(t *testing.T) {
	t.Parallel()
	type turn struct{}
	box := boxOf(t, &toolguard.ToolboxOptions{Visible: func(ctx context.Context, tool toolguard.Info) bool {
		return tool.Name != "delete_all" || ctx.Value(turn{}) == "admin"
	}}, says("list_dir"), says("read_file"), says("delete_all"))
	env := ask(box, "search_files")
	assert.Contains(t, env.Suggestion, "list_dir, read_file.")
	assert.NotContains(t, env.ForModel(), "delete_all")
	env = box.Do(context.WithValue(t.Context(), turn{}, "admin"), callTo("search_files"))
	assert.Contains(t, env.Suggestion, "delete_all")
}

// case c04: a name with a hyphen where the tool was registered with an underscore
func TestAliasesOnlyWhereTheyMeanOneTool(t *testing.T) {
	t.Parallel()
	one := boxOf(t, &toolguard.ToolboxOptions{Aliases: true}, says("mcp__notes_graph__read"))
	assert.True(t, ask(one, "mcp__notes-graph__read").OK)
	two := boxOf(t, &toolguard.ToolboxOptions{Aliases: true}, says("mcp__notes_graph__read"), says("mcp__notesgraph__read"))
	env := ask(two, "mcp__notes-graph__read")
	assert.Equal(t, toolguard.CodeUnknownTool, codeOf(env))
	assert.Contains(t, env.Suggestion, "Did you mean mcp__notes_graph__read or mcp__notesgraph__read?")
}

// case c07: an unknown name was reported as not enabled, and the model gave up
func TestUnknownIsNotDisabled(t *testing.T) {
	t.Parallel()
	box := boxOf(t, nil, says("giphy_search"), says("giphy_random"))
	require.NoError(t, box.Disable("giphy_random"))
	unknown, disabled := ask(box, "giphy__search"), ask(box, "giphy_random")
	assert.Equal(t, toolguard.CodeUnknownTool, codeOf(unknown))
	assert.Contains(t, unknown.Suggestion, "Did you mean giphy_search?")
	assert.Equal(t, toolguard.CodeToolDisabled, codeOf(disabled))
	assert.Contains(t, disabled.Error.Message, "although it exists")
}

// case i14: two calls of one tool in a batch became one
func TestBatchKeepsCallsOfOneToolApart(t *testing.T) {
	t.Parallel()
	search := plain{info: toolguard.Info{Name: "search", Effect: toolguard.ReadOnly}, call: func(_ context.Context, args json.RawMessage) (toolguard.Result, error) {
		return toolguard.Result{JSON: args}, nil
	}}
	batch := boxOf(t, nil, search).DoAll(t.Context(), []toolguard.Call{
		{ID: "1", Tool: "search", Args: json.RawMessage(`{"q":"X"}`)}, {ID: "2", Tool: "search", Args: json.RawMessage(`{"q":"Y"}`)},
		{Tool: "search", Args: json.RawMessage(`{"q":"X"}`)}, {Tool: "search", Args: json.RawMessage(`{"q":"Z"}`)},
	})
	for i, want := range []string{"X", "Y", "X", "Z"} {
		assert.JSONEq(t, `{"q":"`+want+`"}`, batch.Envelopes[i].ForModel())
	}
}

// case j02: one failure threw the answers of its siblings away
func TestBatchKeepsWhatSucceeded(t *testing.T) {
	t.Parallel()
	box := boxOf(t, nil, says("ok"), toolNamed("bad", toolguard.ReadOnly, fails(errors.New("broken"))))
	batch := box.DoAll(t.Context(), batchOf("ok", "bad", "ok"))
	assert.Equal(t, []string{"ok", "unknown_error/failed", "ok"}, verdicts(batch))
	assert.Contains(t, batch.Summary(), "Succeeded: ok (c0), ok (c2).")
}

// case j04: a timeout and the late result both became answers, and a provider
// refused the second one for the same id
func TestBatchAnswersAnIDOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		events := &eventLog{}
		late := toolguard.With(toolNamed("late", toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) {
			time.Sleep(10 * time.Second)
			return toolguard.Result{Text: "late"}, nil
		}), hurried(time.Second))
		box := boxOf(t, &toolguard.ToolboxOptions{Options: toolguard.Options{Observer: events}}, late)
		answered := 0
		for _, env := range box.DoEach(t.Context(), batchOf("late")) {
			answered++
			assert.Equal(t, toolguard.CodeAbandoned, codeOf(env))
		}
		time.Sleep(time.Minute)
		assert.Equal(t, 1, answered)
		assert.Len(t, events.of(toolguard.EventLate), 1)
	})
}

// case j05: a failure that should have stopped the rest did not, and a panic did
func TestBatchStopsForWhatIsDeclaredOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box := boxOf(t, &toolguard.ToolboxOptions{Batch: toolguard.BatchPolicy{StopCodes: []string{"auth_expired"}}},
			toolNamed("panics", toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) { panic("x") }),
			toolNamed("signed_out", toolguard.ReadOnly, after(time.Millisecond, fails(&toolguard.Error{Code: toolguard.CodeAuthExpired}))),
			toolNamed("slow", toolguard.ReadOnly, takes(time.Second, "slow")), toolNamed("write", toolguard.NonIdempotent, answers("written")))
		assert.Equal(t, []string{"panic/failed", "ok", "ok"}, verdicts(box.DoAll(t.Context(), batchOf("panics", "slow", "write"))))
		assert.Equal(t, []string{"auth_expired/failed", "ok", "batch_stopped/not_started"}, verdicts(box.DoAll(t.Context(), batchOf("signed_out", "slow", "write"))),
			"what has begun is awaited")
	})
}

// case j06: a batch ended with an error while its siblings went on changing things
func TestNothingGoesOnAfterABatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wrote := inOrder(takes(time.Second, "written"))
		box := boxOf(t, &toolguard.ToolboxOptions{Batch: toolguard.BatchPolicy{StopTools: []string{"bad"}}},
			toolNamed("bad", toolguard.ReadOnly, fails(errors.New("raised"))), toolNamed("write", toolguard.NonIdempotent, wrote.call))
		box.DoAll(t.Context(), batchOf("write", "bad", "write"))
		assert.Zero(t, box.Stats().Tools["write"].InProgress)
		assert.Equal(t, 1, wrote.count())
		time.Sleep(time.Minute)
		assert.Equal(t, 1, wrote.count())
	})
}
