package httpguard

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolguard-go/toolguard/internal/evidence"
)

// BenchmarkTransport shows what the transport adds to a round trip.
func BenchmarkTransport(b *testing.B) {
	base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("{}"))}, nil
	})
	for _, bench := range []struct {
		name, method string
		rt           http.RoundTripper
	}{
		{"bare", "POST", base},
		{"get", "GET", &Transport{Base: base}},
		{"post", "POST", &Transport{Base: base}},
		{"post with key", "POST", &Transport{Base: base, IdempotencyHosts: []string{"a.test"}}},
		{"post with key, watched", "POST", &Transport{Base: base, IdempotencyHosts: []string{"a.test"}, Idle: &IdleOptions{}}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ctx := evidence.WithCallKey(evidence.NewContext(context.Background(), new(evidence.Attempt)), "call-1")
				req, _ := http.NewRequestWithContext(ctx, bench.method, "http://a.test/x", nil)
				resp, err := bench.rt.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
}

// BenchmarkIdleReader shows what watching adds to reading a megabyte.
func BenchmarkIdleReader(b *testing.B) {
	text := strings.Repeat("data: 0123456789\n\n", 1<<20/18)
	for name, opts := range map[string]*IdleOptions{"bare": nil, "bytes": {}, "events": {SSE: true}} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				var r io.Reader = io.NopCloser(onlyReader{strings.NewReader(text)})
				if opts != nil {
					r, _ = NewIdleReader(context.Background(), r.(io.ReadCloser), *opts)
				}
				io.Copy(onlyWriter{}, r)
			}
		})
	}
}

// onlyReader and onlyWriter hide the short cuts of io.Copy.
type onlyReader struct{ io.Reader }

type onlyWriter struct{}

func (onlyWriter) Write(p []byte) (int, error) { return len(p), nil }
