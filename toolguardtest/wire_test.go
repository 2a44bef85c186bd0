package toolguardtest_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/httpguard"
	tgt "github.com/toolguard-go/toolguard/toolguardtest"
)

// poster is a tool with real HTTP code.
func poster(t *testing.T, base http.RoundTripper) toolguard.Tool {
	t.Helper()
	client, err := httpguard.NewClient(httpguard.Options{Base: base})
	require.NoError(t, err)
	return toolguard.Func(infoOf(toolguard.NonIdempotent), func(ctx context.Context, _ struct{}) (string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://pay.test/refunds", strings.NewReader("body"))
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
		text, err := io.ReadAll(resp.Body)
		return string(text), err
	})
}

// wire is what a service does and what comes of it, over a server and over a
// transport alike.
var wire = map[string]struct {
	reply   tgt.Reply
	code    toolguard.Code
	outcome toolguard.Outcome
	took    time.Duration // at least
}{
	"fine":    {reply: tgt.Reply{Body: "done"}},
	"slow":    {reply: tgt.Reply{Body: "done", Wait: 20 * time.Second}, took: 20 * time.Second},
	"refused": {reply: tgt.Reply{Refuse: true}, code: toolguard.CodeConnectionRefused, outcome: toolguard.OutcomeNotStarted},
	"404":     {reply: tgt.Reply{Status: 404}, code: toolguard.CodeNotFound, outcome: toolguard.OutcomeFailed},
	"429":     {reply: tgt.Reply{Status: 429, Header: []string{"Retry-After", "3600"}}, code: toolguard.CodeRateLimited, outcome: toolguard.OutcomeNotStarted},
	"503":     {reply: tgt.Reply{Status: 503}, code: toolguard.CodeServiceUnavailable},
	"reset":   {reply: tgt.Reply{Reset: true}, code: toolguard.CodeConnectionLost},
	"cut":     {reply: tgt.Reply{Body: "half of it", Cut: true}, code: toolguard.CodeConnectionLost},
	"stall":   {reply: tgt.Reply{Body: "half of it", Stall: true}, code: toolguard.CodeDownstreamTimeout, took: 30 * time.Second},
	"hang":    {reply: tgt.Reply{Hang: true}, code: toolguard.CodeAttemptTimeout, took: 60 * time.Second},
}

func TestServerAndTransportBringTheSameTrouble(t *testing.T) {
	t.Parallel()
	for name, w := range wire {
		judge := func(t *testing.T, base http.RoundTripper, acted *atomic.Int32) {
			began := time.Now()
			env := do(t.Context(), guardOf(t, poster(t, base), nil))
			assert.GreaterOrEqual(t, time.Since(began), w.took)
			assert.Equal(t, w.code, codeOf(env), env.ForModel())
			if w.code == "" {
				assert.Equal(t, "done", env.ForModel())
				return
			}
			assert.Equal(t, w.outcome, env.Error.Outcome, env.ForModel())
			assert.Equal(t, w.outcome == toolguard.OutcomeNotStarted && w.code == toolguard.CodeConnectionRefused, acted.Load() == 0)
		}
		inBubble(t, name+"/server", func(t *testing.T) {
			var acted atomic.Int32
			reply := w.reply
			reply.Refuse, reply.Acts = false, func() { acted.Add(1) }
			s := tgt.NewServer(t, tgt.Replies(t, reply, reply, reply))
			if w.reply.Refuse {
				s.Unreachable("pay.test", nil)
			}
			judge(t, s.Transport(), &acted)
			assert.Len(t, s.Requests(), int(acted.Load()))
			assert.Equal(t, int(acted.Load()), s.Count(http.MethodPost))
		})
		inBubble(t, name+"/transport", func(t *testing.T) {
			var acted atomic.Int32
			reply := w.reply
			reply.Acts = func() { acted.Add(1) }
			tr := tgt.NewTransport(t, reply, reply, reply)
			judge(t, tr, &acted)
			assert.Len(t, tr.Sent(), int(acted.Load()))
		})
	}
}

func TestRepliesThatRunOutSayWhatToDo(t *testing.T) {
	t.Parallel()
	said := failing(t, func(tb testing.TB) {
		client := &http.Client{Transport: tgt.NewTransport(tb, tgt.Reply{Body: "one"})}
		for range 2 {
			resp, err := client.Get("http://pay.test/refunds")
			require.NoError(t, err)
			resp.Body.Close()
		}
	})
	assertSays(t, said, "GET /refunds is the 2nd request, but the script has 1 repl", "add the reply it should get")
	assertSays(t, failing(t, func(tb testing.TB) { tgt.NewTransport(tb) }), "no replies: give at least one")
	assertSays(t, failing(t, func(tb testing.TB) { tgt.Replies(tb, tgt.Reply{Refuse: true}) }), "use Server.Unreachable or NewTransport")
}

// Many servers in bubbles leave nothing behind: a bubble would say so.
func TestServerEndsWithItsTest(t *testing.T) {
	t.Parallel()
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			s := tgt.NewServer(t, nil)
			resp, err := s.Client().Get("http://anything.test/")
			require.NoError(t, err)
			assert.Equal(t, http.StatusOK, resp.StatusCode)
			resp.Body.Close()
		})
	}
}
