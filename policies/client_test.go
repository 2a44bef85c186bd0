package policies_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/httpguard"
	"github.com/toolguard-go/toolguard/policies"
)

func TestHTTPOptionsOfTheDefaultGroups(t *testing.T) {
	t.Parallel()
	for group, want := range map[string]httpguard.Options{
		"llm":      {ConnectTimeout: 10 * time.Second, HeaderTimeout: 300 * time.Second, IdleTimeout: 300 * time.Second},
		"mcp":      {ConnectTimeout: 5 * time.Second, HeaderTimeout: 30 * time.Second, IdleTimeout: 30 * time.Second},
		"tool":     {HeaderTimeout: 300 * time.Second, IdleTimeout: 300 * time.Second},
		"identity": {ConnectTimeout: 5 * time.Second, HeaderTimeout: 5 * time.Second, IdleTimeout: 5 * time.Second},
	} {
		got, err := policies.Default().HTTPOptions(group)
		require.NoError(t, err)
		assert.Equal(t, want, got, group)
		_, err = policies.Default().HTTPClient(group)
		require.NoError(t, err)
	}
}

func TestHTTPOptionsFollowTheDocument(t *testing.T) {
	t.Parallel()
	set := parse(t, `{"version":1,"groups":{
	  "llm": {"idle": "120s"}, "mcp": {"connect": "1s", "first_byte": "90s"}, "tool": {"attempt": "400s"}, "identity": {"timeout": "3s"}}}`)
	for group, want := range map[string]httpguard.Options{
		"llm":      {ConnectTimeout: 10 * time.Second, HeaderTimeout: 120 * time.Second, IdleTimeout: 120 * time.Second},
		"mcp":      {ConnectTimeout: time.Second, HeaderTimeout: 90 * time.Second, IdleTimeout: 30 * time.Second},
		"tool":     {HeaderTimeout: 400 * time.Second, IdleTimeout: 400 * time.Second},
		"identity": {ConnectTimeout: 3 * time.Second, HeaderTimeout: 3 * time.Second, IdleTimeout: 3 * time.Second},
	} {
		got, err := set.HTTPOptions(group)
		require.NoError(t, err)
		assert.Equal(t, want, got, group)
	}
}

func TestUnknownGroup(t *testing.T) {
	t.Parallel()
	_, err := policies.Default().HTTPClient("lmm")
	assert.EqualError(t, err, `policies: unknown group "lmm", did you mean "llm"?`)
	_, err = policies.Default().HTTPClient("")
	assert.EqualError(t, err, `policies: unknown group "", want one of identity, llm, mcp, tool`)
}

func TestHTTPClientConnects(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	defer service.Close()
	client, err := policies.Default().HTTPClient("mcp")
	require.NoError(t, err)
	defer client.CloseIdleConnections()
	resp, err := client.Get(service.URL)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, "hello", string(text))
}

// wired makes the client dial a server that runs here, over a pipe: the clock
// of a bubble does not stand still for it.
// The server has gone when the test ends.
func wired(t *testing.T, group string, serve func(net.Conn)) *http.Client {
	t.Helper()
	var servers sync.WaitGroup
	t.Cleanup(servers.Wait)
	client, err := policies.Default().HTTPClient(group)
	require.NoError(t, err)
	base := client.Transport.(*httpguard.Transport).Base.(*http.Transport)
	base.Proxy = nil
	base.DialContext = func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		servers.Go(func() {
			defer far.Close()
			if _, err := http.ReadRequest(bufio.NewReader(far)); err == nil {
				serve(far)
			}
		})
		return near, nil
	}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// untilClosed waits for the other side to hang up.
func untilClosed(conn net.Conn) { io.Copy(io.Discard, conn) }

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

// event is a chunk with one event.
const event = "9\r\ndata: x\n\n\r\n"

func TestStalledStreamEndsWithTheGroupsLimit(t *testing.T) {
	t.Parallel()
	for group, limit := range map[string]time.Duration{"llm": 300 * time.Second, "mcp": 30 * time.Second} {
		t.Run(group, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := wired(t, group, func(conn net.Conn) {
					io.WriteString(conn, streamHead+event)
					time.Sleep(limit - time.Second) // within the limit
					io.WriteString(conn, event)
					untilClosed(conn)
				})
				began := time.Now()
				resp, err := client.Get("http://service.test/")
				require.NoError(t, err)
				defer resp.Body.Close()
				text, err := io.ReadAll(resp.Body)
				var stalled *httpguard.StalledError
				require.ErrorAs(t, err, &stalled)
				assert.Equal(t, limit, stalled.Limit)
				assert.Equal(t, 2*len("data: x\n\n"), len(text))
				assert.Equal(t, 2*limit-time.Second, time.Since(began))
			})
		})
	}
}

func TestNoAnswerEndsWithTheGroupsLimit(t *testing.T) {
	t.Parallel()
	for group, limit := range map[string]time.Duration{"llm": 300 * time.Second, "mcp": 30 * time.Second, "identity": 5 * time.Second} {
		t.Run(group, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := wired(t, group, untilClosed)
				began := time.Now()
				_, err := client.Get("http://service.test/")
				var timeout net.Error
				require.ErrorAs(t, err, &timeout)
				assert.True(t, timeout.Timeout())
				assert.Equal(t, limit, time.Since(began))
			})
		})
	}
}

func TestIdentityLimitsTheWholeExchange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := wired(t, "identity", func(conn net.Conn) {
			io.WriteString(conn, streamHead)
			for range 20 {
				io.WriteString(conn, event) // never silent for long
				time.Sleep(time.Second)
			}
		})
		began := time.Now()
		resp, err := client.Get("http://service.test/")
		require.NoError(t, err)
		defer resp.Body.Close()
		_, err = io.ReadAll(resp.Body)
		assert.Error(t, err)
		assert.Equal(t, 5*time.Second, time.Since(began))
	})
}

// One retry after at most a second, made by the guard: the client has none.
func TestIdentityRetriesOnceInTheGuard(t *testing.T) {
	t.Parallel()
	for effect, want := range map[toolguard.Effect]int{toolguard.ReadOnly: 2, toolguard.NonIdempotent: 1} {
		t.Run(effect.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var times []time.Time
				opts := policies.Default().Identity()
				lookup := toolguard.Text(toolguard.Info{Name: "whoami", Effect: effect}, func(context.Context, string) (string, error) {
					times = append(times, time.Now())
					return "", toolguard.Unavailable("the directory is down")
				})
				guard, err := toolguard.New(lookup, &opts)
				require.NoError(t, err)
				env := guard.Do(t.Context(), toolguard.Call{Args: []byte(`{"input":"me"}`)})
				assert.False(t, env.OK)
				require.Len(t, times, want)
				assert.LessOrEqual(t, times[want-1].Sub(times[0]), time.Second)
			})
		})
	}
}
