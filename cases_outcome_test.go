package toolguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// Report: Abilityai/trinity#914 (case h05)
func TestDownstreamIsAskedBeforeAnythingIsRepeated(t *testing.T) {
	t.Parallel()
	type input struct{ Job string }
	tests := map[string]struct {
		said    toolguard.Outcome
		err     error
		ok      bool
		outcome toolguard.Outcome
	}{
		"it is queued":         {toolguard.OutcomeSucceeded, nil, true, toolguard.OutcomeSucceeded},
		"it failed":            {toolguard.OutcomeFailed, nil, false, toolguard.OutcomeFailed},
		"it is not there yet":  {toolguard.OutcomeNotStarted, nil, false, toolguard.OutcomeUnknown},
		"it cannot say":        {toolguard.OutcomeUnknown, nil, false, toolguard.OutcomeUnknown},
		"it cannot be reached": {toolguard.OutcomeSucceeded, errors.New("down"), false, toolguard.OutcomeUnknown},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs, keys := 0, []string{}
			tool := toolguard.Func(toolguard.Info{Name: "enqueue"}, func(ctx context.Context, in input) (string, error) {
				runs++
				keys = append(keys, toolguard.Key(ctx))
				return "", fmt.Errorf("fetch: %w", syscall.ECONNRESET)
			})
			tool.Status = func(_ context.Context, key string, _ input) (toolguard.Outcome, toolguard.Result, error) {
				keys = append(keys, key)
				return tt.said, toolguard.Result{Text: "queued as 9"}, tt.err
			}
			g, err := toolguard.New(tool, nil)
			require.NoError(t, err)
			env := g.Do(t.Context(), toolguard.Call{Args: json.RawMessage(`{"Job":"nightly"}`)})
			assert.Equal(t, tt.ok, env.OK)
			assert.Equal(t, 1, runs)
			require.Len(t, keys, 2)
			assert.Equal(t, keys[0], keys[1], "it is asked by the key the attempt had")
			if tt.ok {
				assert.Contains(t, env.ForModel(), "queued as 9")
				assert.EqualValues(t, "confirmed", env.Notes[0].Kind)
				return
			}
			assert.Equal(t, tt.outcome, env.Error.Outcome)
		})
	}
}

// Report: PrefectHQ/fastmcp#499, anthropics/claude-code#35287, scottcrosby-securebine/kali-mcp-server#47 (case m03)
func TestServerThatDiesInTheMiddleLeavesTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"pipe closed":  fmt.Errorf("write: %w", syscall.EPIPE),
		"own pipe":     io.ErrClosedPipe,
		"file closed":  &fs.PathError{Op: "write", Path: "|1", Err: fs.ErrClosed},
		"reset":        syscall.ECONNRESET,
		"end of input": fmt.Errorf("read reply: %w", io.EOF),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				acts := doIn(t.Context(), caseGuard(t, toolguard.Info{}, nil, fails(err)))
				assert.Equal(t, toolguard.OutcomeUnknown, acts.Error.Outcome)
				assert.Equal(t, 1, acts.Attempts)
				looks := doIn(t.Context(), caseGuard(t, toolguard.Info{Effect: toolguard.ReadOnly}, nil, fails(err)))
				assert.Equal(t, toolguard.OutcomeFailed, looks.Error.Outcome)
				assert.Equal(t, 3, looks.Attempts)
			})
		})
	}
}

// Report: browser-use/browser-use#5252, JUNKDOGE-JOE/after-effects-mcp#22, clawdotnet/openclaw.net#237 (case m06)
func TestFailureInsideASuccessIsFoundIfAskedFor(t *testing.T) {
	t.Parallel()
	refused := returning(toolguard.Result{JSON: json.RawMessage(`{"ok":false,"error":"layer 9 is not there"}`)})
	env := doIn(t.Context(), caseGuard(t, toolguard.Info{}, nil, refused))
	assert.True(t, env.OK, "by default nobody guesses")

	env = doIn(t.Context(), caseGuard(t, toolguard.Info{}, &toolguard.Options{CheckResult: toolguard.Failed}, refused))
	assert.Equal(t, toolguard.CodeResultRejected, codeOf(env))
	assert.Contains(t, env.Error.Quote, "layer 9 is not there")
}

// Report: atlassian/atlassian-mcp-server#132 (case h10)
func TestOneCallIsOneDispatchOnTheRecord(t *testing.T) {
	t.Parallel()
	seen := &eventLog{}
	g := caseGuard(t, toolguard.Info{}, &toolguard.Options{Observer: seen}, answers("done"))
	env := doIn(t.Context(), g)
	assert.Equal(t, 1, env.Attempts)
	assert.Len(t, seen.of(toolguard.EventAttempt), 1)
	assert.Len(t, seen.of(toolguard.EventCall), 1)
	assert.EqualValues(t, 1, g.Stats().Attempts)
}
