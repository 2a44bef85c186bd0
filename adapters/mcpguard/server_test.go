package mcpguard_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/adapters/mcpguard"
)

// A handler that breaks its promise ends in an envelope, whichever way it does.
func TestServerHandlersMayFailInAnyWay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handler mcp.ToolHandler
		code    string
	}{
		"panics": {func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("at the disco") }, "panic"},
		"exits": {func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			runtime.Goexit()
			return nil, nil
		}, "exited"},
		"returns nothing": {func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil }, "bad_response"},
		"stops late": {func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, "attempt_timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cs := guardedServer(t, nil, mcp.Tool{}, c.handler)
				f := failed(t, call(t, cs, "probe", nil))
				assert.Equal(t, c.code, f.Error.Code)
				assert.Equal(t, "unknown", f.Error.Outcome)
				assert.NotContains(t, f.Error.Message, "disco")
			})
		})
	}
}

func TestServerAbandonsAHandlerThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		cs := guardedServer(t, nil, mcp.Tool{}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			<-release
			return &mcp.CallToolResult{}, nil
		})
		began := time.Now()
		f := failed(t, call(t, cs, "probe", nil))
		assert.Equal(t, "abandoned", f.Error.Code)
		assert.Equal(t, 61*time.Second, time.Since(began), "the attempt and its grace")
	})
}

// The SDK makes the text of a typed handler's error the result: the guard must
// have the error itself.
func TestServerKeepsSecretsOfTypedHandlersErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
		mcp.AddTool(s, &mcp.Tool{Name: "login"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, fmt.Errorf("dial postgres://app:hunter2@db.internal:5432/x: %w", errors.New("refused"))
		})
		mcp.AddTool(s, &mcp.Tool{Name: "lookup"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, toolguard.NotFound("There is no order A-17.")
		})
		s.AddReceivingMiddleware(newGuards(t, nil).Server())
		cs := session(t, s, bareClient())

		r := call(t, cs, "login", nil)
		failed(t, r)
		assert.NotContains(t, text(r), "hunter2")
		f := failed(t, call(t, cs, "lookup", nil))
		assert.Equal(t, "not_found", f.Error.Code)
		assert.Contains(t, f.Error.Message, "There is no order A-17.")
	})
}

func TestServerAnswersUnknownNamesAndWrongArguments(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ran := false
		cs := guardedServer(t, nil, mcp.Tool{Name: "web_search", InputSchema: object{
			"type": "object", "properties": object{"q": object{"type": "string"}}, "required": []string{"q"},
		}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			ran = true
			return &mcp.CallToolResult{}, nil
		})
		r := call(t, cs, "web_serch", nil)
		assert.Equal(t, "unknown_tool", failed(t, r).Error.Code)
		assert.Contains(t, text(r), "web_search")

		f := failed(t, call(t, cs, "web_search", object{"q": 5, "x": 1}))
		assert.Equal(t, "schema_violation", f.Error.Code)
		assert.Equal(t, "not_started", f.Error.Outcome)
		assert.False(t, ran)
	})
}

// The client's cancellation reaches the handler.
func TestServerHandsCancellationOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stopped := make(chan struct{})
		cs := guardedServer(t, nil, mcp.Tool{}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			<-ctx.Done()
			close(stopped)
			return nil, ctx.Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "probe"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		<-stopped
	})
}

func TestHandlerGuardsOneTool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tool := &mcp.Tool{Name: "probe", InputSchema: anything}
		guarded, err := mcpguard.Handler(tool, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic(1) }, nil)
		require.NoError(t, err)
		assert.Equal(t, "panic", failed(t, call(t, session(t, serverWith(*tool, guarded), bareClient()), "probe", nil)).Error.Code)
	})
}

func TestNewNamesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	_, err := mcpguard.New(&mcpguard.Options{Effect: 99})
	require.ErrorContains(t, err, "Options.Effect Effect(99)")
	_, err = mcpguard.New(&mcpguard.Options{Options: toolguard.Options{Retry: toolguard.RetryPolicy{MaxAttempts: -1}}})
	require.ErrorContains(t, err, "Retry.MaxAttempts")
}
