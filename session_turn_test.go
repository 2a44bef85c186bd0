package toolguard_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
)

// A call that names no turn belongs to the one that goes on, so a host that is
// not consistent does not set the limits back.
func TestCallWithoutTurnStaysInTheTurn(t *testing.T) {
	t.Parallel()
	tool := countedTool(toolguard.ReadOnly, "same")
	g := guardOf(t, tool, everyTime(sessionsOf(t, toolguard.SessionPolicy{})))
	for _, name := range []string{"one", "", "one"} {
		assert.True(t, do2(turn(name), g).OK)
	}
	assert.Equal(t, toolguard.CodeLoopDetected, codeOf(do2(turn(""), g)))
	assert.Equal(t, toolguard.CodeLoopDetected, codeOf(do2(turn("one"), g)))
}

// What is kept is kept for the turn.
func TestNothingIsReusedInTheNextTurn(t *testing.T) {
	t.Parallel()
	for _, effect := range []toolguard.Effect{toolguard.ReadOnly, toolguard.NonIdempotent} {
		tool := countedTool(effect, "fine")
		s := sessionsOf(t, toolguard.SessionPolicy{})
		g := guardOf(t, tool, oneTry(s))
		do2(turn("one"), g)
		do2(turn("two"), g)
		assert.Equal(t, 2, tool.ran(), effect)
		do2(turn("two"), g)
		assert.Equal(t, 2, tool.ran(), effect)
		s.NewTurn(toolguard.Scope{Session: "chat", Turn: "two"})
		do2(turn("two"), g)
		assert.Equal(t, 3, tool.ran(), effect)
	}
}

// Without turns nothing is known to belong to one.
func TestWithoutTurnsNothingIsReused(t *testing.T) {
	t.Parallel()
	tool := countedTool(toolguard.ReadOnly, "fine")
	g := guardOf(t, tool, oneTry(sessionsOf(t, toolguard.SessionPolicy{})))
	do2(turn(""), g)
	do2(turn(""), g)
	assert.Equal(t, 2, tool.ran())
}

// Two screenshots are the same if the pictures are. What cannot be looked into is
// never the same.
func TestPartsMakeAnswersDiffer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		part    func(n int) toolguard.Part
		refused bool
	}{
		"other pictures": {func(n int) toolguard.Part { return toolguard.Part{Data: []byte(strconv.Itoa(n))} }, false},
		"one picture":    {func(int) toolguard.Part { return toolguard.Part{Data: []byte("x")} }, true},
		"opaque":         {func(int) toolguard.Part { return toolguard.Part{Raw: struct{}{}} }, false},
	} {
		tool := countedTool(toolguard.ReadOnly, "")
		tool.answer = func(_ context.Context, n int, _ string) (toolguard.Result, error) {
			return toolguard.Result{Text: "screenshot taken", Parts: []toolguard.Part{tc.part(n)}}, nil
		}
		g := guardOf(t, tool, everyTime(sessionsOf(t, toolguard.SessionPolicy{})))
		var last toolguard.Envelope
		for range 4 {
			last = do2(turn("one"), g)
		}
		assert.Equal(t, tc.refused, !last.OK, name)
	}
}

// What is said about one call is not said about the next that gets its answer.
func TestAdviceIsNotShared(t *testing.T) {
	t.Parallel()
	opts := oneTry(sessionsOf(t, toolguard.SessionPolicy{}))
	opts.Loop.NoteAfter = 1
	tool := countedTool(toolguard.NonIdempotent, "done")
	g := guardOf(t, tool, opts)
	send(turn("one"), g, `{"n":1}`)
	assert.NotNil(t, noted(send(turn("one"), g, `{"n":2}`), "many_calls"))
	env := send(turn("one"), g, `{"n":2}`)
	assert.NotNil(t, noted(env, "replayed"))
	assert.Nil(t, noted(env, "many_calls"))
}

// No session, no memory: each call runs, however often.
func TestWithoutSession(t *testing.T) {
	t.Parallel()
	s := sessionsOf(t, toolguard.SessionPolicy{})
	tool := countedTool(toolguard.NonIdempotent, "same")
	g := guardOf(t, tool, oneTry(s))
	for range 30 {
		env := do2(context.Background(), g)
		assert.True(t, env.OK && len(env.Notes) == 0)
	}
	assert.Equal(t, 30, tool.ran())
	assert.Zero(t, s.Stats().Conversations)
	s.NewTurn(toolguard.Scope{})
	s.Forget(toolguard.Scope{})
}

// A toolbox remembers conversations without being told to, over all its tools.
func TestToolboxBringsSessions(t *testing.T) {
	t.Parallel()
	box := boxOf(t, &toolguard.ToolboxOptions{Options: toolguard.Options{Loop: toolguard.LoopPolicy{TurnCalls: 4}}}, says("left"), says("right"))
	call := func(name string) toolguard.Envelope {
		return box.Do(turn("one"), toolguard.Call{Tool: name, Args: []byte(`{}`)})
	}
	assert.True(t, call("left").OK)
	assert.NotNil(t, noted(call("left"), "reused"))
	assert.Equal(t, toolguard.CodeUnknownTool, codeOf(call("middle")), "counts as well")
	assert.True(t, call("right").OK)
	assert.Equal(t, toolguard.CodeLimitReached, codeOf(call("right")))
	box.Sessions().NewTurn(toolguard.Scope{Session: "chat", Turn: "one"})
	assert.True(t, call("right").OK)

	own := sessionsOf(t, toolguard.SessionPolicy{})
	box = boxOf(t, &toolguard.ToolboxOptions{Options: toolguard.Options{Sessions: own}}, says("left"))
	assert.Same(t, own, box.Sessions())
}
