package httpguard

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/internal/evidence"
)

// sendKeyed is send with a key header set by the tool.
func sendKeyed(ctx context.Context, rt http.RoundTripper, header, url, body string) error {
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, "POST", url, r)
	if err != nil {
		return err
	}
	req.Header.Set(header, "mine")
	resp, err := (&http.Client{Transport: rt}).Do(req)
	if err != nil {
		return err
	}
	io.Copy(io.Discard, resp.Body)
	return resp.Body.Close()
}

// The connection dies after the server has taken a request on a kept connection.
// net/http on its own sends such a request again if it carries a key header.
func TestUnsafeRequestIsNotSentTwice(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"with body": "x", "without body": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newWireServer(t, killSecond)
			rt := &Transport{Base: newPool(t), IdempotencyHosts: []string{"127.0.0.1"}}
			ctx, a := attempt(t)
			_, err := send(ctx, rt, "POST", server.url, body)
			require.NoError(t, err)
			_, err = send(ctx, rt, "POST", server.url, body)
			require.Error(t, err)
			assert.Equal(t, 2, server.count(), "the request arrived once")
			assert.NotEmpty(t, server.last().Header.Get("Idempotency-Key"))
			assert.True(t, a.Requests()[1].KeySent)
			assert.False(t, a.Requests()[1].Resent)
		})
	}
}

func TestUnsafeRequestWithTheToolsOwnKeyIsNotSentTwice(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		for name, body := range map[string]string{"with body": "x", "without body": ""} {
			t.Run(header+" "+name, func(t *testing.T) {
				t.Parallel()
				plain, guarded := newWireServer(t, killSecond), newWireServer(t, killSecond)

				pool := newPool(t)
				require.NoError(t, sendKeyed(t.Context(), pool, header, plain.url, body))
				require.NoError(t, sendKeyed(t.Context(), pool, header, plain.url, body))
				require.Equal(t, 3, plain.count(), "net/http no longer sends again by itself: this guard can go")

				rt := &Transport{Base: newPool(t), IdempotencyHosts: []string{"127.0.0.1"}}
				ctx, a := attempt(t)
				require.NoError(t, sendKeyed(ctx, rt, header, guarded.url, body))
				require.Error(t, sendKeyed(ctx, rt, header, guarded.url, body))
				assert.Equal(t, 2, guarded.count())
				assert.Equal(t, []string{"mine"}, guarded.last().Header[http.CanonicalHeaderKey(header)])
				assert.True(t, a.Requests()[1].KeySent)
			})
		}
	}
}

func TestSafeRequestsAreStillSentAgain(t *testing.T) {
	t.Parallel()
	server := newWireServer(t, killSecond)
	rt := &Transport{Base: newPool(t)}
	ctx, a := attempt(t)
	for range 2 {
		_, err := send(ctx, rt, "GET", server.url, "")
		require.NoError(t, err)
	}
	assert.Equal(t, 3, server.count())
	assert.True(t, a.Requests()[1].Resent)
}

// A stream reset with PROTOCOL_ERROR makes net/http send the request again,
// whatever its method.
func TestResetStreamIsNotSentTwice(t *testing.T) {
	t.Parallel()
	const protocolError = 1
	for name, body := range map[string]string{"with body": "x", "without body": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, taken := resettingServer(t, protocolError, nil)
			base := newPool(t)
			base.TLSClientConfig = insecure()
			ctx, a := attempt(t)
			_, err := send(ctx, &Transport{Base: base}, "POST", url, body)
			require.ErrorIs(t, err, ErrNotResent)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			assert.EqualValues(t, 1, taken.Load())
			assert.Equal(t, 1, a.UnsafeRequests())
			assert.False(t, a.Requests()[0].Resent)

			ctx, cancel := context.WithCancel(t.Context())
			url, taken = resettingServer(t, protocolError, func(n int32) {
				if n == 2 {
					cancel()
				}
			})
			_, err = send(ctx, base, "POST", url, body)
			require.Error(t, err)
			assert.EqualValues(t, 2, taken.Load(), "net/http no longer sends again by itself: this guard can go")
		})
	}
}

func TestTargetLeavesOutWhatIsNotAsked(t *testing.T) {
	t.Parallel()
	req, err := http.NewRequest("POST", "http://me:secret@A.test:81/x%2Fy?b=1&a=2#part", nil)
	require.NoError(t, err)
	assert.Equal(t, "POST http://a.test:81/x%2Fy?b=1&a=2", target(req))
	assert.Equal(t, "me:secret", req.URL.User.String(), "the caller's URL stays as it is")
}

// keysOf plays an attempt against a transport that only notes the keys.
func keysOf(t *testing.T, callKey string, rt Transport, play func(ctx context.Context, rt http.RoundTripper)) []string {
	t.Helper()
	var keys []string
	rt.Base = roundTripFunc(func(req *http.Request) (*http.Response, error) {
		var wire bytes.Buffer
		req.Header.Write(&wire)
		keys = append(keys, strings.TrimSpace(wire.String()))
		return &http.Response{StatusCode: 200, Body: http.NoBody, Request: req}, nil
	})
	ctx := evidence.NewContext(t.Context(), new(evidence.Attempt))
	if callKey != "" {
		ctx = evidence.WithCallKey(ctx, callKey)
	}
	play(ctx, &rt)
	return keys
}

func posts(t *testing.T, urls ...string) func(context.Context, http.RoundTripper) {
	return func(ctx context.Context, rt http.RoundTripper) {
		for _, url := range urls {
			_, err := send(ctx, rt, "POST", url, "x")
			require.NoError(t, err)
		}
	}
}

func TestKeysAreTheSameInTheNextAttempt(t *testing.T) {
	t.Parallel()
	rt := Transport{IdempotencyHosts: []string{"a.test"}}
	play := posts(t, "http://a.test/x", "http://a.test/x", "http://a.test/y", "http://A.test/x#part")
	first := keysOf(t, "call-1", rt, play)
	assert.Equal(t, first, keysOf(t, "call-1", rt, play))
	assert.Len(t, unique(first), len(first), "requests of an attempt have keys of their own")
	for _, key := range first {
		assert.Regexp(t, regexp.MustCompile(`^idempotency-key: [0-9a-f]{32}$`), key)
	}
	other := keysOf(t, "call-2", rt, play)
	assert.Len(t, unique(append(other, first...)), 2*len(first), "another call has other keys")
}

func TestKeyIsPinned(t *testing.T) {
	t.Parallel()
	// A change of the derivation would send old calls again under new keys.
	assert.Equal(t, "58eaab85", requestKey("call-1", "POST http://a.test/x", 1)[:8])
	assert.NotEqual(t, requestKey("a1:b", "c", 1), requestKey("a", "b1:c", 1))
	assert.NotEqual(t, requestKey("a", "b", 11), requestKey("a", "b1", 1))
}

func TestWhoGetsAKey(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		callKey string
		hosts   []string
		url     string
		want    bool
	}{
		"opted in":               {"k", []string{"a.test"}, "http://a.test/", true},
		"other letter case":      {"k", []string{"A.test"}, "http://a.TEST/", true},
		"any port":               {"k", []string{"a.test"}, "http://a.test:81/", true},
		"that port":              {"k", []string{"a.test:81"}, "http://a.test:81/", true},
		"other port":             {"k", []string{"a.test:82"}, "http://a.test:81/", false},
		"other host":             {"k", []string{"a.test"}, "http://b.test/", false},
		"subdomain":              {"k", []string{"a.test"}, "http://x.a.test/", false},
		"nobody":                 {"k", nil, "http://a.test/", false},
		"call without a key":     {"", []string{"a.test"}, "http://a.test/", false},
		"one of several":         {"k", []string{"b.test", "a.test"}, "http://a.test/", true},
		"the scheme's port":      {"k", []string{"a.test:443"}, "https://a.test/", true},
		"that port, unsaid":      {"k", []string{"a.test"}, "https://a.test:443/", true},
		"other scheme's port":    {"k", []string{"a.test:443"}, "http://a.test/", false},
		"an address":             {"k", []string{"::1"}, "http://[::1]:80/", true},
		"an address in URL form": {"k", []string{"[::1]"}, "http://[::1]:80/", true},
		"an address, with port":  {"k", []string{"[::1]:80"}, "http://[::1]:80/", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys := keysOf(t, tt.callKey, Transport{IdempotencyHosts: tt.hosts}, posts(t, tt.url))
			assert.Equal(t, tt.want, keys[0] != "")
		})
	}
}

func TestMethodsThatGetAKey(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]bool{
		"GET": false, "HEAD": false, "OPTIONS": false, "TRACE": false,
		"POST": true, "PUT": true, "PATCH": true, "DELETE": true, "PURGE": true, "get": true,
	} {
		keys := keysOf(t, "k", Transport{IdempotencyHosts: []string{"a.test"}}, func(ctx context.Context, rt http.RoundTripper) {
			req, err := http.NewRequestWithContext(ctx, method, "http://a.test/", nil)
			require.NoError(t, err)
			_, err = rt.RoundTrip(req)
			require.NoError(t, err)
		})
		assert.Equal(t, want, keys[0] != "", method)
	}
}

func TestOwnHeaderName(t *testing.T) {
	t.Parallel()
	rt := Transport{IdempotencyHosts: []string{"a.test"}, IdempotencyHeader: "Request-Token"}
	keys := keysOf(t, "k", rt, posts(t, "http://a.test/"))
	assert.Contains(t, keys[0], "request-token: ")
}

// The tool's own header stays, whichever of the names for it the tool uses, in
// whatever spelling, and net/http does not find it.
func TestToolsOwnKeyIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, own := range []http.Header{
		{"Idempotency-Key": {"mine"}},
		{"X-Idempotency-Key": {"mine"}},
		{"Request-Token": {"mine"}},
		{"REQUEST-TOKEN": {"mine"}},
		{"Request-Token": {"mine"}, "request-token": {"too"}},
	} {
		rt := Transport{IdempotencyHosts: []string{"a.test"}, IdempotencyHeader: "Request-Token"}
		rt.Base = roundTripFunc(func(req *http.Request) (*http.Response, error) {
			values := 0
			for name, sent := range req.Header {
				assert.Equal(t, strings.ToLower(name), name, "net/http must not know it")
				values += len(sent)
			}
			assert.Len(t, req.Header, 1)
			assert.Equal(t, values, len(slices.Concat(slices.Collect(maps.Values(own))...)))
			return &http.Response{StatusCode: 200, Body: http.NoBody, Request: req}, nil
		})
		ctx, a := attempt(t)
		req, err := http.NewRequestWithContext(ctx, "POST", "http://a.test/", nil)
		require.NoError(t, err)
		req.Header = own
		_, err = rt.RoundTrip(req)
		require.NoError(t, err)
		assert.True(t, a.Requests()[0].KeySent)
	}
}

// net/http takes a key header without a value for leave to send again, and does
// not write it: that is no key of the tool's own.
func TestKeyHeaderWithoutAValueIsNoKey(t *testing.T) {
	t.Parallel()
	for host, keyed := range map[string]bool{"127.0.0.1": true, "elsewhere.test": false} {
		server := newWireServer(t, killSecond)
		rt := &Transport{Base: newPool(t), IdempotencyHosts: []string{host}}
		ctx, a := attempt(t)
		post := func() error {
			req, err := http.NewRequestWithContext(ctx, "POST", server.url, nil)
			require.NoError(t, err)
			req.Header["Idempotency-Key"] = nil
			resp, err := rt.RoundTrip(req)
			if err == nil {
				err = resp.Body.Close()
			}
			return err
		}
		require.NoError(t, post())
		require.Error(t, post())
		assert.Equal(t, 2, server.count(), "the request arrived once")
		assert.Equal(t, keyed, server.last().Header.Get("Idempotency-Key") != "")
		assert.Equal(t, keyed, a.Requests()[1].KeySent)
	}
}

// Headers the host adds cannot give net/http leave either.
func TestPropagatedKeyHeaderIsNotSentTwice(t *testing.T) {
	t.Parallel()
	server := newWireServer(t, killSecond)
	rt := &Transport{Base: newPool(t), Propagate: func(_ context.Context, h http.Header) { h.Set("Idempotency-Key", "host's") }}
	ctx, a := attempt(t)
	_, err := send(ctx, rt, "POST", server.url, "x")
	require.NoError(t, err)
	_, err = send(ctx, rt, "POST", server.url, "x")
	require.Error(t, err)
	assert.Equal(t, 2, server.count(), "the request arrived once")
	assert.Equal(t, "host's", server.last().Header.Get("Idempotency-Key"))
	assert.True(t, a.Requests()[1].KeySent)
}

func unique(keys []string) map[string]bool {
	set := map[string]bool{}
	for _, key := range keys {
		set[key] = true
	}
	return set
}
