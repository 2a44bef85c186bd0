package httpguard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func answer(status int, header http.Header, body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: status, Header: header, Body: body, Request: &http.Request{Method: "POST"}}
}

func TestCheckResponseLeavesGoodAnswersAlone(t *testing.T) {
	t.Parallel()
	for _, status := range []int{101, 200, 204, 299, 302, 304, 399} {
		body := &closeRecorder{Reader: strings.NewReader("x")}
		require.NoError(t, CheckResponse(answer(status, nil, body)))
		assert.False(t, body.closed)
	}
}

// cases g01, g02, g05, g07
func TestCheckResponseKeepsStatusAndWait(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status int
		header string
		wait   time.Duration
		ok     bool
	}{
		"with a wait":   {429, "30", 30 * time.Second, true},
		"three hours":   {503, "10800", 3 * time.Hour, true},
		"passed":        {503, "Wed, 21 Oct 2015 07:28:00 GMT", 0, true},
		"negative":      {429, "-1", 0, false},
		"without":       {404, "", 0, false},
		"unknown code":  {599, "", 0, false},
		"beyond a year": {503, "99999999999999999999", 365 * 24 * time.Hour, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{"Set-Cookie": {"session=secret"}, "X-Request-Id": {"r1"}}
			if tt.header != "" {
				header.Set("Retry-After", tt.header)
			}
			body := &closeRecorder{Reader: strings.NewReader("token=secret")}
			err := fmt.Errorf("charge: %w", CheckResponse(answer(tt.status, header, body)))
			var status interface {
				error
				HTTPStatusCode() int
				RetryAfter() (time.Duration, bool)
			}
			require.ErrorAs(t, err, &status)
			assert.Equal(t, tt.status, status.HTTPStatusCode())
			wait, ok := status.RetryAfter()
			assert.Equal(t, tt.wait, wait)
			assert.Equal(t, tt.ok, ok)
			assert.NotContains(t, err.Error(), "secret")
			assert.Contains(t, err.Error(), fmt.Sprintf("POST: http status %d", tt.status))
			full := status.(*StatusError)
			assert.Equal(t, "token=secret", string(full.Body))
			assert.Equal(t, []string{"r1"}, full.Header["X-Request-Id"])
			assert.NotContains(t, full.Header, "Set-Cookie")
			assert.True(t, body.closed)
		})
	}
}

func TestCheckResponseReadsLittle(t *testing.T) {
	t.Parallel()
	source := &countingReader{Reader: strings.NewReader(strings.Repeat("x", 10<<20))}
	err := CheckResponse(answer(500, nil, io.NopCloser(source)))
	var status *StatusError
	require.ErrorAs(t, err, &status)
	assert.Len(t, status.Body, MaxPreview)
	assert.LessOrEqual(t, source.n, drainBytes+idleBuffer)
}

// The rest of a page of an error is read, so that its connection serves on.
func TestCheckResponseKeepsTheConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		base, dials := newBase(time.Second, time.Second), 0
		serveInMemory(t, base, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			io.WriteString(w, strings.Repeat("x", drainBytes-1))
		})
		dial := base.DialContext
		base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials++
			return dial(ctx, network, addr)
		}
		client := &http.Client{Transport: &Transport{Base: base}}
		for range 3 {
			resp, err := client.Get("http://service/")
			require.NoError(t, err)
			require.Error(t, CheckResponse(resp))
			synctest.Wait()
		}
		assert.Equal(t, 1, dials)
	})
}

func TestCheckResponseDoesNotWaitForABody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		source := newScripted(step{text: "start"}, step{wait: forever})
		source.deaf = true
		err := CheckResponse(answer(500, nil, source))
		var status *StatusError
		require.ErrorAs(t, err, &status)
		assert.Equal(t, "start", string(status.Body))
		assert.Equal(t, drainTime, time.Since(began))
		<-source.closed
		close(source.release)
	})
}

func TestCheckResponseOfOddAnswers(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, CheckResponse(nil), "response is nil")
	require.EqualError(t, CheckResponse(&http.Response{StatusCode: 502}), "http status 502 Bad Gateway")
	broken := io.NopCloser(iotest.ErrReader(errors.New("gone")))
	require.EqualError(t, CheckResponse(answer(502, nil, broken)), "POST: http status 502 Bad Gateway")
}

func TestReadAll(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	tests := map[string]struct {
		source io.Reader
		limit  int64
		want   string
		err    error
	}{
		"less":              {strings.NewReader("abc"), 4, "abc", nil},
		"exactly":           {strings.NewReader("abc"), 3, "abc", nil},
		"more":              {strings.NewReader("abcd"), 3, "abc", ErrTooLarge},
		"nothing allowed":   {strings.NewReader("a"), 0, "", ErrTooLarge},
		"nothing there":     {strings.NewReader(""), 0, "", nil},
		"negative":          {strings.NewReader("a"), -5, "", ErrTooLarge},
		"error":             {io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(gone)), 9, "ab", gone},
		"error at the edge": {io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(gone)), 2, "ab", gone},
		"one byte at once":  {iotest.OneByteReader(strings.NewReader("abcd")), 3, "abc", ErrTooLarge},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ReadAll(tt.source, tt.limit)
			assert.Equal(t, tt.want, string(got))
			assert.ErrorIs(t, err, tt.err)
		})
	}
}

type countingReader struct {
	io.Reader
	n int
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += n
	return n, err
}
