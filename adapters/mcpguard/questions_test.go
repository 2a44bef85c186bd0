package mcpguard_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/adapters/mcpguard"
)

// slowUser is a client whose user takes that long to answer.
func slowUser(thinks time.Duration) *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			select {
			case <-time.After(thinks):
			case <-ctx.Done():
			}
			return &mcp.ElicitResult{Action: "accept", Content: object{}}, nil
		},
	})
}

// olderSession speaks a protocol in which servers ask while a call is in progress.
func olderSession(t *testing.T, server *mcp.Server, client *mcp.Client) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	_, err := server.Connect(t.Context(), there, nil)
	require.NoError(t, err)
	cs, err := client.Connect(t.Context(), here, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	require.NoError(t, err)
	return cs
}

// asks is a tool that asks the user, with a context that the middleware knows or
// one that it does not.
func asks(known bool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if !known {
			ctx = context.Background()
		}
		a, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "sure?", RequestedSchema: object{"type": "object", "properties": object{}}})
		if err != nil {
			return nil, err
		}
		return says(a.Action)(ctx, req)
	}
}

// The time a person takes to answer is not the tool's, whichever side is guarded.
func TestQuestionsDoNotUseUpTheCallsTime(t *testing.T) {
	t.Parallel()
	const thinks = 9 * time.Minute
	for name, c := range map[string]struct {
		side      string
		questions bool
		known     bool
		max       time.Duration
		code      string
		took      time.Duration
	}{
		"client":               {"client", true, true, 0, "", thinks},
		"client, not told":     {"client", false, true, 0, "attempt_timeout", time.Minute},
		"client, too long":     {"client", true, true, 2 * time.Minute, "attempt_timeout", 3 * time.Minute},
		"server":               {"server", true, true, 0, "", thinks},
		"server, of some call": {"server", true, false, 0, "", thinks},
		"server, not told":     {"server", false, true, 0, "attempt_timeout", time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				guards := newGuards(t, &mcpguard.Options{MaxWaiting: c.max})
				client, server := slowUser(thinks), serverWith(mcp.Tool{}, asks(c.known))
				switch c.side {
				case "client":
					client.AddSendingMiddleware(guards.Client(nil))
					if c.questions {
						client.AddReceivingMiddleware(guards.Questions())
					}
				default:
					server.AddReceivingMiddleware(guards.Server())
					if c.questions {
						server.AddSendingMiddleware(guards.Questions())
					}
				}
				cs := olderSession(t, server, client)
				began := time.Now()
				r := call(t, cs, "probe", nil)
				assert.Equal(t, c.took, time.Since(began))
				if c.code == "" {
					assert.Equal(t, "accept", text(r))
				} else {
					assert.Equal(t, c.code, failed(t, r).Error.Code)
				}
				_ = cs.Close()
				time.Sleep(thinks) // until the user has done thinking
			})
		})
	}
}

func TestMaxWaitingThatMakesNoSense(t *testing.T) {
	t.Parallel()
	_, err := mcpguard.New(&mcpguard.Options{MaxWaiting: -time.Second})
	require.ErrorContains(t, err, "Options.MaxWaiting")
	require.ErrorContains(t, err, "-1s")
}
