package httpguard_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/toolguard-go/toolguard/httpguard"
)

// A tool's function keeps its shape: it uses the client, checks the answer, and
// returns the error as it is. The guard around it knows the rest.
func Example() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "120")
		http.Error(w, "too many bookings", http.StatusTooManyRequests)
	}))
	defer service.Close()

	client, err := httpguard.NewClient(httpguard.Options{
		IdleTimeout:      15 * time.Second,
		IdempotencyHosts: []string{"127.0.0.1"},
	})
	if err != nil {
		panic(err)
	}
	book := func(ctx context.Context, room string) (string, error) {
		req, err := http.NewRequestWithContext(ctx, "POST", service.URL+"/bookings", strings.NewReader(room))
		if err != nil {
			return "", err
		}
		resp, err := client.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		if err := httpguard.CheckResponse(resp); err != nil {
			return "", err
		}
		confirmation, err := httpguard.ReadAll(resp.Body, 1<<20)
		return string(confirmation), err
	}

	_, err = book(context.Background(), "blue room")
	var status *httpguard.StatusError
	if errors.As(err, &status) {
		wait, _ := status.RetryAfter()
		fmt.Println(status, "- wait", wait)
	}
	// Output: POST: http status 429 Too Many Requests - wait 2m0s
}

func ExampleNewIdleReader() {
	stream := io.NopCloser(strings.NewReader("data: Hel\n\ndata: lo\n\n")) // the last event is missing
	r, err := httpguard.NewIdleReader(context.Background(), stream, httpguard.IdleOptions{
		Idle:       20 * time.Second,
		SSE:        true,
		Terminator: httpguard.EndsWith("data: [DONE]"),
	})
	if err != nil {
		panic(err)
	}
	defer r.Close()

	text, err := io.ReadAll(r)
	var cut *httpguard.TruncatedError
	fmt.Println(len(text), "bytes,", "cut off:", errors.As(err, &cut), "- seen by the consumer:", cut.Partial())
	// Output: 21 bytes, cut off: true - seen by the consumer: true
}
