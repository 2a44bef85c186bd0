package toolguard_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/httpguard"
)

// A look that failed has no effect to speak of, also where it never began.
func TestALookThatFailedHasFailed(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for effect, want := range map[toolguard.Effect]string{
		toolguard.ReadOnly: "connection_refused/failed", toolguard.NonIdempotent: "connection_refused/not_started",
	} {
		tool := toolOf(effect, fails(refused))
		tool.info.SingleRequest = true
		assert.Equal(t, want, verdict(do(guardOf(t, tool, &toolguard.Options{Retry: once}))))
	}
}

// A result that reports a failure speaks for the one request that could act, and not
// for another one before it.
func TestARefusedResultSpeaksForOneRequest(t *testing.T) {
	t.Parallel()
	client := &http.Client{Transport: &httpguard.Transport{Base: transportFunc(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"ok":false}`)), Request: r}, nil
	})}}
	for requests, want := range map[int]string{1: "result_rejected/failed", 2: "result_rejected/unknown"} {
		tool := toolguard.Func(toolguard.Info{Name: "charge"}, func(ctx context.Context, _ struct{}) (body string, err error) {
			for range requests {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://pay.test/charge", http.NoBody)
				if err != nil {
					return "", err
				}
				resp, err := client.Do(req)
				if err != nil {
					return "", err
				}
				text, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				body = string(text)
			}
			return body, nil
		})
		assert.Equal(t, want, verdict(do(guardOf(t, tool, &toolguard.Options{CheckResult: toolguard.Failed, Retry: once}))))
	}
}
