package toolguard_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/httpguard"
)

// The tool said yes; the check looks whether the order is really there, under the
// key that the tool has sent. What it sends for that has no key of the tool's.
func TestAResultCheckLooksUpTheKey(t *testing.T) {
	t.Parallel()
	for name, booked := range map[string]bool{"it is there": true, "it is not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := "none was asked"
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { header = r.Header.Get("Idempotency-Key") }))
			defer server.Close()
			client, b := &http.Client{Transport: &httpguard.Transport{Base: server.Client().Transport, IdempotencyHosts: []string{"127.0.0.1"}}}, new(bank)
			tool := toolguard.Func(toolguard.Info{Name: "refund"}, func(ctx context.Context, in refundIn) (string, error) {
				if booked {
					return b.refund(ctx, in)
				}
				return "refunded " + in.Order, nil
			})
			g := guardOf(t, tool, &toolguard.Options{CheckResult: func(ctx context.Context, _ toolguard.Result) error {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, nil)
				assert.NoError(t, err)
				_, err = client.Do(req)
				assert.NoError(t, err)
				if b.keys[toolguard.Key(ctx)] == 0 {
					return errors.New("no such refund")
				}
				return nil
			}})
			var env toolguard.Envelope
			doIn(inTurn("1"), guardOf(t, toolOf(toolguard.NonIdempotent, func(ctx context.Context) (toolguard.Result, error) {
				env = refundOf(ctx, g, "A") // what is around it has a key of its own
				return toolguard.Result{}, nil
			}), nil))
			assert.Equal(t, map[bool]string{true: "ok", false: "result_rejected/unknown"}[booked], verdict(env))
			assert.Empty(t, header)
		})
	}
}
