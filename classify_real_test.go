package toolguard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Real failures, as the standard library makes them today.

func realListen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

func realGet(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Do(req)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	_, err = io.Copy(io.Discard, r.Body)
	return err
}

func realServe(t *testing.T, start func(*httptest.Server), h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	start(s)
	t.Cleanup(s.Close)
	return s.URL
}

func hangUp(w http.ResponseWriter, _ *http.Request) {
	conn, _, _ := http.NewResponseController(w).Hijack()
	conn.Close()
}

func TestRealRefused(t *testing.T) {
	t.Parallel()
	l := realListen(t)
	l.Close()
	diagnosed{code: CodeConnectionRefused, dial: true}.check(t, classify(realGet(t.Context(), "http://"+l.Addr().String())))
}

func TestRealHangUp(t *testing.T) {
	t.Parallel()
	url := realServe(t, (*httptest.Server).Start, hangUp)
	diagnosed{code: CodeConnectionLost}.check(t, classify(realGet(t.Context(), url)))
}

func TestRealShortBody(t *testing.T) {
	t.Parallel()
	url := realServe(t, (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		hangUp(w, r)
	})
	assert.Contains(t, []Code{CodeConnectionLost, CodeBadResponse}, classify(realGet(t.Context(), url)).Code)
}

func TestRealTLS(t *testing.T) {
	t.Parallel()
	ok := func(http.ResponseWriter, *http.Request) {}
	secure := realServe(t, (*httptest.Server).StartTLS, ok)
	diagnosed{code: CodeTLSFailure, dial: true}.check(t, classify(realGet(t.Context(), secure)))
	open := realServe(t, (*httptest.Server).Start, ok)
	diagnosed{code: CodeTLSFailure, dial: true}.check(t, classify(realGet(t.Context(), "https"+open[len("http"):])))
}

func TestRealDeadlineAndCancel(t *testing.T) {
	t.Parallel()
	l := realListen(t) // accepts in the kernel, never answers
	url := "http://" + l.Addr().String()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := realGet(ctx, url)
	assert.Equal(t, CodeDownstreamTimeout, classify(err).Code)
	assert.Equal(t, CodeAttemptTimeout, diagnose(ctx, err, stopAttemptTimeout, reader{}).Code)
	assert.Equal(t, CodeCallerDeadline, diagnose(ctx, err, stopCallerDeadline, reader{}).Code)

	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	for _, err := range []error{realGet(ctx, url), realDial(ctx, l.Addr().String())} {
		assert.Equal(t, CodeUnknownError, classify(err).Code, "%v", err)
		assert.Equal(t, CodeCanceled, diagnose(ctx, err, stopCallerCanceled, reader{}).Code, "%v", err)
	}
}

func realDial(ctx context.Context, addr string) error {
	_, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	return err
}

func TestRealClientTimeout(t *testing.T) {
	t.Parallel()
	l := realListen(t)
	client := &http.Client{Timeout: 20 * time.Millisecond}
	_, err := client.Get("http://" + l.Addr().String())
	diagnosed{code: CodeDownstreamTimeout}.check(t, classify(err))
}

func TestRealConnections(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	there.Close()
	_, err := here.Write([]byte("x"))
	assert.Equal(t, CodeConnectionLost, classify(err).Code)

	conn, err := net.Dial("tcp", realListen(t).Addr().String())
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(-time.Second)))
	_, err = conn.Read(make([]byte, 1))
	assert.Equal(t, CodeDownstreamTimeout, classify(err).Code)
	conn.Close()
	_, err = conn.Read(make([]byte, 1))
	assert.Equal(t, CodeConnectionLost, classify(err).Code)
}

func TestRealPrograms(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	assert.Equal(t, CodeNotInstalled, classify(exec.Command("toolguard-no-such-program").Run()).Code)
	assert.Equal(t, CodeNotInstalled, classify(exec.Command(missing).Run()).Code)
	self, err := os.Executable()
	require.NoError(t, err)
	failed := exec.Command(self, "-test.no-such-flag").Run()
	assert.Equal(t, CodeCommandFailed, classify(failed).Code)
	assert.Equal(t, CodeCommandFailed, classify(errors.New(failed.Error())).Code)
	_, err = os.ReadFile(missing)
	assert.Equal(t, CodeUnknownError, classify(err).Code)
}

func TestRealDecoders(t *testing.T) {
	t.Parallel()
	var number struct{ N int }
	_, atoi := strconv.Atoi("5O3")
	_, parse := time.Parse(time.RFC3339, "yesterday")
	for _, err := range []error{
		json.Unmarshal([]byte("<html>"), &number),
		json.Unmarshal([]byte(`{"N":"x"}`), &number),
		json.NewDecoder(bytes.NewReader(nil)).Decode(&number),
		json.NewDecoder(bytes.NewReader([]byte(`{"N":`))).Decode(&number),
		atoi, parse,
	} {
		assert.Equal(t, CodeBadResponse, classify(err).Code, "%v", err)
	}
}
