package toolguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/httpguard"
	"github.com/toolguard-go/toolguard/toolguardtest"
)

// service is an HTTP service with a client to reach it. Host "down" refuses
// connections.
type service struct {
	*toolguardtest.Server
	client *http.Client
}

func serve(t *testing.T, handler http.HandlerFunc) *service {
	s := &service{Server: toolguardtest.NewServer(t, handler)}
	s.Unreachable("down", nil)
	client, err := httpguard.NewClient(httpguard.Options{Base: s.Transport()})
	require.NoError(t, err)
	s.client = client
	return s
}

// send makes one request and turns an error status into an error.
func (s *service) send(ctx context.Context, method, url string) error {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader("x"))
	if err != nil {
		return err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return httpguard.CheckResponse(resp)
}

// status answers with the status the path names: /503.
func status(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	var code int
	fmt.Sscanf(r.URL.Path, "/%d", &code)
	switch code {
	case 0:
		panic(http.ErrAbortHandler) // hangs up
	case 1:
		<-r.Context().Done()
	default:
		w.WriteHeader(code)
	}
}

// What is known of the side effect goes by what the requests of the attempt
// came to, not by what the error is called.
func TestOutcomeByTheTransportsRecord(t *testing.T) {
	t.Parallel()
	const single = true
	for name, tt := range map[string]struct {
		requests []string // the error of the last one is the tool's
		single   bool
		want     string
	}{
		"refused connection":           {[]string{"POST http://down/200"}, false, "connection_refused/not_started"},
		"posted, then none":            {[]string{"POST http://up/200", "POST http://down/200"}, false, "connection_refused/unknown"},
		"looked up, then none":         {[]string{"GET http://up/200", "POST http://down/200"}, false, "connection_refused/unknown"},
		"looked up, then refused":      {[]string{"GET http://up/200", "POST http://up/422"}, false, "request_rejected/failed"},
		"400":                          {[]string{"POST http://up/400"}, false, "request_rejected/failed"},
		"401":                          {[]string{"POST http://up/401"}, false, "auth_expired/not_started"},
		"403":                          {[]string{"POST http://up/403"}, false, "permission_denied/failed"},
		"404":                          {[]string{"POST http://up/404"}, false, "not_found/failed"},
		"409":                          {[]string{"POST http://up/409"}, false, "conflict/failed"},
		"429":                          {[]string{"POST http://up/429"}, false, "rate_limited/not_started"},
		"posted, then its receipt 404": {[]string{"POST http://up/201", "GET http://up/404"}, false, "not_found/unknown"},
		"posted, then 429":             {[]string{"POST http://up/201", "POST http://up/429"}, false, "rate_limited/unknown"},
		"408":                          {[]string{"POST http://up/408"}, false, "downstream_timeout/unknown"},
		"499":                          {[]string{"POST http://up/499"}, false, "downstream_timeout/unknown"},
		"500":                          {[]string{"POST http://up/500"}, false, "server_error/unknown"},
		"502":                          {[]string{"POST http://up/502"}, false, "server_error/unknown"},
		"503":                          {[]string{"POST http://up/503"}, false, "service_unavailable/unknown"},
		"504":                          {[]string{"POST http://up/504"}, false, "downstream_timeout/unknown"},
		"hangs up":                     {[]string{"POST http://up/0"}, false, "connection_lost/unknown"},
		"hangs":                        {[]string{"POST http://up/1"}, false, "attempt_timeout/unknown"},
		"single, 500":                  {[]string{"POST http://up/500"}, single, "server_error/unknown"},
		"single, refused connection":   {[]string{"POST http://down/200"}, single, "connection_refused/not_started"},
		"single, 404":                  {[]string{"POST http://up/404"}, single, "not_found/failed"},
	} {
		inBubble(t, name, func(t *testing.T) {
			s := serve(t, status)
			tool := toolOf(toolguard.NonIdempotent, func(ctx context.Context) (toolguard.Result, error) {
				var err error
				for _, r := range tt.requests {
					method, url, _ := strings.Cut(r, " ")
					err = s.send(ctx, method, url)
				}
				return toolguard.Result{}, err
			})
			tool.info.SingleRequest = tt.single
			events := &eventLog{}
			env := do(guardOf(t, tool, &toolguard.Options{Retry: once, Timeout: shortTime, Observer: events}))
			assert.Equal(t, tt.want, verdict(env))
			assert.Equal(t, len(tt.requests), events.of(toolguard.EventAttempt)[0].Requests)
			synctest.Wait()
		})
	}
}

// Without the record, the same errors prove nothing, unless the author says
// that one attempt is one request.
func TestOutcomeWithoutARecord(t *testing.T) {
	t.Parallel()
	dial := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for name, tt := range map[string]struct {
		err            error
		single, others string
	}{
		"bare dial error":   {dial, "connection_refused/not_started", "connection_refused/unknown"},
		"429":               {&httpguard.StatusError{StatusCode: 429}, "rate_limited/not_started", "rate_limited/unknown"},
		"401":               {&httpguard.StatusError{StatusCode: 401}, "auth_expired/not_started", "auth_expired/unknown"},
		"404":               {&httpguard.StatusError{StatusCode: 404}, "not_found/failed", "not_found/unknown"},
		"500":               {&httpguard.StatusError{StatusCode: 500}, "server_error/unknown", "server_error/unknown"},
		"503":               {&httpguard.StatusError{StatusCode: 503}, "service_unavailable/unknown", "service_unavailable/unknown"},
		"read error":        {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, "connection_lost/unknown", "connection_lost/unknown"},
		"a text about 404":  {fmt.Errorf("status code 404"), "not_found/unknown", "not_found/unknown"},
		"the author's word": {toolguard.NotFound("no order A1"), "not_found/failed", "not_found/failed"},
		"no word on it":     {toolguard.Unavailable("closed"), "service_unavailable/unknown", "service_unavailable/unknown"},
		"taken back":        {toolguard.MaybeDone(toolguard.NotFound("no receipt")), "not_found/unknown", "not_found/unknown"},
		"not started":       {toolguard.NotStarted(dial), "connection_refused/not_started", "connection_refused/not_started"},
		"no effect":         {toolguard.NoEffect(fmt.Errorf("odd")), "unknown_error/failed", "unknown_error/failed"},
		"broken answer":     {fmt.Errorf("reading: %w", io.ErrUnexpectedEOF), "bad_response/unknown", "bad_response/unknown"},
	} {
		inBubble(t, name, func(t *testing.T) {
			for _, single := range []bool{true, false} {
				tool := toolOf(toolguard.NonIdempotent, fails(tt.err))
				tool.info.SingleRequest = single
				want := tt.others
				if single {
					want = tt.single
				}
				assert.Equal(t, want, verdict(do(guardOf(t, tool, &toolguard.Options{Retry: once}))), "single request: %v", single)
			}
			for _, effect := range []toolguard.Effect{toolguard.ReadOnly} {
				env := do(guardOf(t, toolOf(effect, fails(tt.err)), &toolguard.Options{Retry: once}))
				assert.NotEqual(t, toolguard.OutcomeUnknown, env.Error.Outcome, "who only reads is never unsure")
			}
		})
	}
}

// A tool that still runs may still send: a record without a request proves
// nothing then.
func TestOutcomeOfAnAbandonedAttempt(t *testing.T) {
	t.Parallel()
	for name, caller := range map[string]time.Duration{"timeout": time.Hour, "caller's deadline": 5 * time.Second} {
		inBubble(t, name, func(t *testing.T) {
			s := serve(t, status)
			g := guardOf(t, toolOf(toolguard.NonIdempotent, func(ctx context.Context) (toolguard.Result, error) {
				stubborn := context.WithoutCancel(ctx)
				_ = s.send(stubborn, "POST", "http://down/200")
				time.Sleep(time.Minute)
				return toolguard.Result{}, s.send(stubborn, "POST", "http://up/200")
			}), &toolguard.Options{Timeout: shortTime})
			ctx, cancel := context.WithTimeout(t.Context(), caller)
			defer cancel()
			env := doIn(ctx, g)
			assert.Equal(t, toolguard.OutcomeUnknown, env.Error.Outcome)
			time.Sleep(time.Hour)
			synctest.Wait()
			assert.Equal(t, 1, s.Count(http.MethodPost), "it did send")
		})
	}
}

// A failure that looks like a success says as little about earlier attempts as
// any other failure.
func TestAnUnknownOutlivesASuccessThatIsNone(t *testing.T) {
	t.Parallel()
	inBubble(t, "result check", func(t *testing.T) {
		tool := toolOf(toolguard.Idempotent, inOrder(fails(codeErr(toolguard.CodeConnectionLost)), answers(`{"ok":false,"error":"no such layer"}`)).call)
		tool.info.SingleRequest = true
		g := guardOf(t, tool, &toolguard.Options{CheckResult: toolguard.Failed})
		assert.Equal(t, "result_rejected/unknown", verdict(do(g)))
	})
	inBubble(t, "alone", func(t *testing.T) { // case m06
		tool := toolOf(toolguard.Idempotent, answers(`{"ok":false,"error":"no such layer"}`))
		tool.info.SingleRequest = true
		env := do(guardOf(t, tool, &toolguard.Options{CheckResult: toolguard.Failed}))
		assert.Equal(t, "result_rejected/failed", verdict(env))
		assert.Contains(t, env.Error.Quote, "no such layer")
		assert.True(t, do(guardOf(t, tool, nil)).OK, "nobody looks into results unasked")
	})
}

// What Failed takes for a failure, and what for data.
func TestFailedKnowsTheUsualShapes(t *testing.T) {
	t.Parallel()
	for text, cause := range map[string]string{
		`{"ok":false,"error":"no such layer"}`: "no such layer", ` {"success":false,"message":" gone "}`: "gone", `{"isError":true,"reason":"full"}`: "full",
		`{"is_error":true}`: "the result reports a failure", `{"error":{"code":7,"message":"denied"}}`: "denied", `{"error":7}`: "the result reports a failure", `{"error":["x"]}`: "the result reports a failure", `{"error":true}`: "the result reports a failure",
		`{"ok":true}`: "", `{"success":true,"error":null}`: "", `{"isError":false,"error":""}`: "", `{"error":{}}`: "", `{"error":[]}`: "", `{"error":false}`: "", `{"ok":"false"}`: "", `{"is_error":1}`: "",
		`{"errors":["x"]}`: "", `{"data":{"ok":false}}`: "", `[{"ok":false}]`: "", `{"ok":false`: "", `all is well`: "", ``: "",
	} {
		for _, r := range []toolguard.Result{{Text: text}, {JSON: json.RawMessage(text)}} {
			err := toolguard.Failed(t.Context(), r)
			require.Equal(t, cause != "", err != nil, text)
			var said *toolguard.Error
			if errors.As(err, &said) {
				assert.Equal(t, toolguard.CodeResultRejected, said.Code)
				assert.Equal(t, cause, said.Cause.Error())
			}
		}
	}
}

// A stand-in whose effect nobody knows is followed by no other.
func TestFallbackStopsAtAnUnknown(t *testing.T) {
	t.Parallel()
	inBubble(t, "two stand-ins", func(t *testing.T) {
		first, second := inOrder(fails(codeErr(toolguard.CodeServerError))), inOrder(answers("sent"))
		stand := func(name string, s *script) toolguard.Alternative {
			tool := toolOf(toolguard.NonIdempotent, s.call)
			tool.info.Name = name
			return toolguard.Alternative{Tool: tool, SameEffect: true}
		}
		g := guardOf(t, toolOf(toolguard.NonIdempotent, fails(errDown)), &toolguard.Options{
			Retry: once, Fallback: &toolguard.Fallback{Alternatives: []toolguard.Alternative{stand("a", first), stand("b", second)}},
		})
		env := do(g)
		assert.Equal(t, "service_unavailable/unknown", verdict(env))
		assert.Equal(t, 1, first.count())
		assert.Zero(t, second.count(), "the message may have been sent")
	})
	inBubble(t, "never past an effect", func(t *testing.T) {
		other := inOrder(answers("sent"))
		g := guardOf(t, toolOf(toolguard.NonIdempotent, fails(codeErr(toolguard.CodeServerError))), &toolguard.Options{
			Fallback: &toolguard.Fallback{Alternatives: []toolguard.Alternative{{Tool: toolOf(toolguard.NonIdempotent, other.call), SameEffect: true}}},
		})
		assert.Equal(t, "server_error/unknown", verdict(do(g)))
		assert.Zero(t, other.count())
	})
}

func TestStatusSettlesAnUnknown(t *testing.T) {
	t.Parallel()
	type in struct{}
	for name, tt := range map[string]struct {
		failure error
		says    toolguard.Outcome
		err     error
		want    string
		asked   int
	}{
		"done":            {codeErr(toolguard.CodeServerError), toolguard.OutcomeSucceeded, nil, "ok", 1},
		"not done":        {codeErr(toolguard.CodeServerError), toolguard.OutcomeFailed, nil, "server_error/failed", 1},
		"nobody knows":    {codeErr(toolguard.CodeServerError), toolguard.OutcomeUnknown, nil, "server_error/unknown", 1},
		"cannot say":      {codeErr(toolguard.CodeServerError), toolguard.OutcomeSucceeded, io.EOF, "server_error/unknown", 1},
		"says nonsense":   {codeErr(toolguard.CodeServerError), toolguard.Outcome(77), nil, "server_error/unknown", 1},
		"is not needed":   {toolguard.Business("no"), toolguard.OutcomeSucceeded, nil, "business_rule/failed", 0},
		"after a timeout": {context.DeadlineExceeded, toolguard.OutcomeSucceeded, nil, "ok", 1},
	} {
		inBubble(t, name, func(t *testing.T) {
			var keys []string
			tool := toolguard.Action(toolguard.Info{Name: "pay"}, func(ctx context.Context, _ in) error {
				keys = append(keys, toolguard.Key(ctx))
				return tt.failure
			})
			tool.Status = func(_ context.Context, key string, _ in) (toolguard.Outcome, toolguard.Result, error) {
				keys = append(keys, key)
				return tt.says, toolguard.Result{Text: "receipt 7"}, tt.err
			}
			env := do(guardOf(t, tool, nil))
			assert.Equal(t, tt.want, verdict(env))
			require.Len(t, keys, 1+tt.asked)
			if tt.asked > 0 {
				assert.Equal(t, keys[0], keys[1], "it is asked about the same key")
			}
			if env.OK {
				assert.Equal(t, "receipt 7", env.Result.Text)
				assert.EqualValues(t, "confirmed", env.Notes[0].Kind)
			}
		})
	}
}
