package mcpguard_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard/adapters/mcpguard"
)

// lostTexts are what clients in several languages say of a connection that broke,
// as servers hand it on in results with IsError.
var lostTexts = []string{
	`Post "https://x/refunds": EOF`,
	"EOF",
	"unexpected EOF",
	"http: server closed idle connection",
	"stream error: stream ID 3; INTERNAL_ERROR; received from peer",
	"http2: server sent GOAWAY and closed the connection",
	"context canceled",
	"The operation was aborted",
	"AbortError: This operation was aborted",
	"The request was cancelled",
	"Server disconnected without sending a response.",
	"peer closed connection without sending complete message body (incomplete chunked read)",
	"Client network socket disconnected before secure TLS connection was established",
	"rpc error: code = Unavailable desc = transport is closing",
	"net/http: HTTP/1.x transport connection broken: unexpected end",
	"other side closed",
	"socket hang up",
	"ECONNRESET",
	"read ECONNRESET",
	"fetch failed",
	"('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))",
	"lost the connection to the payment provider",
	strings.Repeat("while refunding an order, ", 400) + "EOF",
}

// What may have been a lost connection may have had its effect: the same call is
// not run again, and nobody is told that nothing was changed.
func TestLostConnectionsOfToolsLeaveDoubt(t *testing.T) {
	t.Parallel()
	for _, said := range lostTexts {
		for name, opts := range map[string]*mcpguard.Options{"": nil, ", with doubt": {DoubtErrors: true}} {
			t.Run(said[:min(len(said), 40)]+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { doubts(t, opts, said) })
			})
		}
	}
}

// So does what somebody said to take no word of.
func TestDoubtedErrorsAreNoRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		doubts(t, &mcpguard.Options{DoubtErrors: true}, "no such order")
	})
}

func doubts(t *testing.T, opts *mcpguard.Options, said string) {
	t.Helper()
	ran := 0
	cs := guardedClient(t, opts, mcp.Tool{}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ran++
		return saysError(said)(ctx, r)
	})
	r := call(t, cs, "probe", nil)
	f := failed(t, r)
	assert.Equal(t, "unknown", f.Error.Outcome, f.Error.Code)
	assert.NotEqual(t, "request_rejected", f.Error.Code)
	for _, wrong := range []string{"refused this request", "Nothing was"} {
		assert.NotContains(t, text(r), wrong)
	}
	assert.Equal(t, "in_doubt", failed(t, call(t, cs, "probe", nil)).Error.Code)
	assert.Equal(t, 1, ran)
}

// A refusal in the tool's own words stays one, whatever its subject.
func TestRefusalsOfToolsLeaveNoDoubt(t *testing.T) {
	t.Parallel()
	for _, said := range []string{
		"no such layer", "the order is closed", "the subscription is already canceled", "outside of the geofence", "no connection is named main",
		"amount must be 1 or more", "permission denied", "the account was lost from sight",
	} {
		t.Run(said, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := failed(t, call(t, guardedClient(t, nil, mcp.Tool{}, saysError(said)), "probe", nil))
				assert.Equal(t, "request_rejected", f.Error.Code)
				assert.Equal(t, "failed", f.Error.Outcome)
			})
		})
	}
}
