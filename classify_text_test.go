package toolguard

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTexts(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text   string
		code   Code
		status int
		quoted bool
	}{
		{"dial tcp 10.0.0.5:5432: connect: connection refused", CodeConnectionRefused, 0, false},
		{"dial tcp: lookup db.internal: no such host", CodeDNSFailure, 0, false},
		{"read tcp 10.0.0.5:1->10.0.0.6:2: i/o timeout", CodeDownstreamTimeout, 0, false},
		{"query failed: context deadline exceeded", CodeDownstreamTimeout, 0, false},
		{"write: broken pipe", CodeConnectionLost, 0, false},
		{"read: connection reset by peer", CodeConnectionLost, 0, false},
		{`Post "https://x/refunds": EOF`, CodeConnectionLost, 0, false},
		{"EOF", CodeConnectionLost, 0, false},
		{"no line says EOF", CodeUnknownError, 0, true},
		{"the geofence: eof2", CodeUnknownError, 0, true},
		{"read: unexpected EOF", CodeConnectionLost, 0, false},
		{"rpc error: transport is closing", CodeConnectionLost, 0, false},
		{"net/http: HTTP/1.x transport connection broken: malformed", CodeConnectionLost, 0, false},
		{"read ECONNRESET", CodeConnectionLost, 0, false},
		{"write EPIPE", CodeConnectionLost, 0, false},
		{"timeout of 0ms exceeded, ECONNABORTED", CodeConnectionLost, 0, false},
		{"connect ECONNREFUSED 10.0.0.5:80", CodeConnectionRefused, 0, false},
		{"getaddrinfo ENOTFOUND db.internal", CodeDNSFailure, 0, false},
		{"connect ETIMEDOUT", CodeDownstreamTimeout, 0, false},
		{"socket hang up", CodeConnectionLost, 0, false},
		{"Client network socket disconnected before secure TLS connection was established", CodeConnectionLost, 0, false},
		{"other side closed", CodeConnectionLost, 0, false},
		{"TypeError: fetch failed", CodeConnectionLost, 0, false},
		{"Server disconnected without sending a response.", CodeConnectionLost, 0, false},
		{"peer closed connection without sending complete message body", CodeConnectionLost, 0, false},
		{"('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))", CodeConnectionLost, 0, false},
		{"The operation was aborted", CodeUnknownError, 0, false},
		{"accept: too many open files", CodeResourceExhausted, 0, false},
		{"redigo: connection pool exhausted", CodeResourceExhausted, 0, false},
		{"remote error: tls: handshake failure", CodeTLSFailure, 0, false},
		{"tls: failed to verify certificate: x509: certificate signed by unknown authority", CodeTLSFailure, 0, false},
		{`exec: "ffmpeg": executable file not found in $PATH`, CodeNotInstalled, 0, false},
		{"git push: exit status 128", CodeCommandFailed, 0, true},
		{"invalid connection", CodeConnectionLost, 0, false},
		{"an invalid connection string", CodeUnknownError, 0, true},
		{"rate limit", CodeRateLimited, 0, true},
		{"Rate limit exceeded, try later", CodeRateLimited, 0, true},
		{"the rate limit must be positive", CodeUnknownError, 0, true},
		{"timeout", CodeDownstreamTimeout, 0, true},
		{"invalid timeout value", CodeUnknownError, 0, true},

		{"429 Too Many Requests", CodeRateLimited, 429, true},
		{"mail: 503 service unavailable", CodeServiceUnavailable, 503, true},
		{"status code: 503", CodeServiceUnavailable, 503, true},
		{"unexpected status 404", CodeNotFound, 404, true},
		{"request failed with status code 500.", CodeServerError, 500, true},
		{`{"status": 409, "detail": "exists"}`, CodeConflict, 409, true},
		{"HTTP 401", CodeAuthExpired, 401, true},
		{"HTTP/1.1 502 Bad Gateway", CodeServerError, 502, true},
		{"(status=422)", CodeRequestRejected, 422, true},

		{"status code: 503: connection refused", CodeConnectionRefused, 0, false},

		{"order 4290 is not in the system", CodeUnknownError, 0, true},
		{"order 429 is not in the system", CodeUnknownError, 0, true},
		{"order status 404 unknown", CodeUnknownError, 0, true},
		{"status code 5030", CodeUnknownError, 0, true},
		{"status code 12503", CodeUnknownError, 0, true},
		{"status code 503.5", CodeUnknownError, 0, true},
		{"status code 503-1", CodeUnknownError, 0, true},
		{"status code 302", CodeUnknownError, 0, true},
		{"part #429 Too Many Requests Ltd", CodeRateLimited, 0, true},
		{"the total is 1,503 Service Unavailables", CodeUnknownError, 0, true},
		{"a substatus code: 503", CodeUnknownError, 0, true},
		{"misconnection refused", CodeUnknownError, 0, true},
		{"connection refusedness", CodeUnknownError, 0, true},
		{"überrate limited", CodeUnknownError, 0, true},
	} {
		d := classify(errors.New(tc.text))
		assert.Equal(t, tc.code, d.Code, tc.text)
		assert.Equal(t, tc.status, d.status, tc.text)
		assert.Equal(t, tc.quoted, d.quote != "", tc.text)
		assert.False(t, d.definite || d.dial, tc.text)
		d = classify(&opaqueError{text: tc.text})
		assert.Equal(t, tc.code, d.Code, tc.text)
		assert.Empty(t, d.quote, tc.text)
	}
}

func TestTypedBeforeText(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("connection refused, says the proxy: %w", methodStatusError{403})
	assert.Equal(t, CodePermissionDenied, classify(err).Code)
}

func TestPhrasesAreSpelledToMatch(t *testing.T) {
	t.Parallel()
	for _, p := range phrases {
		assert.Equal(t, strings.ToLower(p.text), p.text)
		assert.True(t, isWord(p.text[0]) && !isDigit(p.text[0]), p.text)
		got, ok := findPhrase("before: " + p.text + " (after)")
		assert.True(t, ok, p.text)
		assert.Equal(t, p.code, got.code, "%q is hidden by %q", p.text, got.text)
	}
}

// Digits mean something only as a whole number: whatever number a status is a
// part of, the text around it says nothing.
func TestDigitsInsideNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		status := rapid.IntRange(400, 599).Draw(t, "status")
		left := rapid.SampledFrom([]string{"", "1", "20", "1.", "1,", "-", "#", "A", "v2.", "2024-", "$", "x_"}).Draw(t, "left")
		right := rapid.SampledFrom([]string{"", "0", "17", ".5", ",000", "-12", "th", "_x", "%", "/2", ":30"}).Draw(t, "right")
		if left == "" && right == "" {
			right = "0"
		}
		before := rapid.SampledFrom([]string{"order ", "status code: ", "http ", "status=", "total ", ""}).Draw(t, "before")
		after := rapid.SampledFrom([]string{"", " is not there", " gone missing", " items"}).Draw(t, "after")
		text := fmt.Sprintf("%s%s%d%s%s", before, left, status, right, after)
		d := classify(errors.New(text))
		require.Equal(t, CodeUnknownError, d.Code, text)
		require.Zero(t, d.status, text)
	})
}

// Numbers without a word for status are just numbers.
func TestBareNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 99999).Draw(t, "n")
		noun := rapid.SampledFrom([]string{"order", "invoice no.", "customer", "room", "flight status of", "code"}).Draw(t, "noun")
		text := fmt.Sprintf("%s %d does not exist", noun, n)
		require.Equal(t, CodeUnknownError, classify(errors.New(text)).Code, text)
	})
}

func FuzzText(f *testing.F) {
	for _, seed := range []string{"", "429", "status code: 503", "http/1.1 502 bad gateway", "x509:", "order 4290", "\xff503\xff", "İ rate limited"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := classify(errors.New(text))
		if d.definite || d.dial || d.claimed || d.RetryAfter != 0 {
			t.Fatalf("a text proves nothing: %+v", d)
		}
		if d.status != 0 && !strings.Contains(text, fmt.Sprint(d.status)) {
			t.Fatalf("status %d is not in %q", d.status, text)
		}
		if again := classify(errors.New(text)); again != d {
			t.Fatalf("%+v, then %+v", d, again)
		}
	})
}
