package proxy

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/adapters/mcpguard"
	"github.com/toolguard-go/toolguard/httpguard"
)

// What the client is asked is the client's to answer in its own time, and only that
// time does not count.
func TestQuestionsDoNotUseUpTheCallsTime(t *testing.T) {
	t.Parallel()
	const attempt = 500 * time.Millisecond
	d := serve(t, "plain", brisk(attempt))
	hang := d.call("hang", `{}`) // that cannot be told from the one that asks
	id := d.call("ask", `{}`)
	q := d.receive()
	require.Equal(t, "sampling/createMessage", q.Method)
	later, _ := d.failure(d.call("hang", `{"n":2}`))
	assert.Equal(t, "attempt_timeout", later, "a call that came later is not what the question is about")
	began := time.Now()
	d.eventually("it is long over", func() bool { return time.Since(began) > 4*attempt })
	d.say(`{"jsonrpc":"2.0","id":` + q.key() + `,"result":{}}`)
	text, isError := d.result(id)
	assert.False(t, isError, text)
	assert.Equal(t, "heard", text)
	code, _ := d.failure(hang)
	assert.Equal(t, "attempt_timeout", code, "a tool that hangs for itself is given up on afterwards")
}

// Over HTTP the stream is silent meanwhile, which would end it otherwise.
func TestQuestionsOverHTTPMayTakeLong(t *testing.T) {
	t.Parallel()
	const idle = 300 * time.Millisecond
	server := everything()
	up := hosted(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	o := upstreamOptions(t, up.URL)
	client, err := mcpguard.HTTPClient(httpguard.Options{IdleTimeout: idle})
	require.NoError(t, err)
	o.Upstream.Client = client
	c := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			select {
			case <-time.After(4 * idle):
			case <-ctx.Done():
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
		},
	})
	cs, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: listen(t, web(o))}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	require.NoError(t, err)
	defer func() { _ = cs.Close() }()
	assert.Equal(t, "accept", callText(t, cs, &mcp.CallToolParams{Name: "ask"}))
}

// There is an end to it: by the limit, and by the server taking its question back.
func TestQuestionsThatAreNotAnswered(t *testing.T) {
	t.Parallel()
	o := brisk(300 * time.Millisecond)
	o.MaxWaiting = time.Second
	d := serve(t, "plain", o)
	began := time.Now()
	code, _ := d.failure(d.call("ask", `{}`))
	assert.Equal(t, "attempt_timeout", code)
	assert.Greater(t, time.Since(began), 1200*time.Millisecond)

	r := &relay{
		calls: make(map[string]*inProgress), asked: make(map[string]stopped),
	}
	w, err := toolguard.NewWaiting(time.Hour)
	require.NoError(t, err)
	r.calls["1"] = &inProgress{func() {}, w}
	for i := range maxQuestions + 10 {
		r.ask(request([]byte(fmt.Sprint(i)), "elicitation/create", nil))
	}
	assert.Len(t, r.asked, maxQuestions, "not all are kept track of")
	r.answered(cancelled(request(nil, "notifications/cancelled", []byte(`{"requestId":5}`))))
	assert.Len(t, r.asked, maxQuestions-1)
	r.unanswered()
	assert.Empty(t, r.asked)
}

// One crash takes all calls in progress along: more failures in a row than a
// breaker takes, and than a conversation takes. Once the server is back its tools
// can be called again, and nobody is told to wait for half a minute.
func TestToolsCanBeCalledAgainAfterACrash(t *testing.T) {
	t.Parallel()
	d := serve(t, "plain", &mcpguard.Options{})
	var hanging []string
	for i := range 12 {
		hanging = append(hanging, d.call("hang", fmt.Sprintf(`{"n":%d}`, i)))
	}
	d.eventually("they run", func() bool { return len(d.notes("hang")) == len(hanging) })
	die := d.call("die", `{}`)
	answers := make(map[string]*message)
	for range len(hanging) + 1 {
		m := d.receive()
		answers[m.key()] = m
	}
	assert.Len(t, answers, len(hanging)+1)
	assert.Contains(t, answers, die)
	for _, id := range hanging {
		assert.Contains(t, string(answers[id].Result), "connection_lost")
	}
	id := d.call("hang", `{"n":100}`)
	d.eventually("it runs at once", func() bool { return len(d.notes("hang")) == len(hanging)+1 })
	d.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
	text, isError := d.result(d.call("echo", `{"text":"back"}`))
	assert.False(t, isError, text)
	assert.Len(t, d.notes("start"), 2)
	code, _ := d.failure(d.call("hang", `{"n":0}`))
	assert.Equal(t, "in_doubt", code, "what nobody knows is not run again")
}
