package toolguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/toolguard-go/toolguard"
)

var chat = toolguard.Scope{Session: "chat", Turn: "one", Principal: "ann"}

// server is a process that keeps nothing between requests.
type server struct {
	sessions               *toolguard.Sessions
	read, write, fail, odd *toolguard.Guard
}

func newServer(t testing.TB) *server {
	s := sessionsOf(t, toolguard.SessionPolicy{})
	named := func(name string, tool *counted) *toolguard.Guard {
		tool.info.Name = name
		tool.info.Irrelevant = []string{"why"}
		tool.info.Schema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
		return guardOf(t, tool, everyTime(s))
	}
	return &server{
		sessions: s,
		read:     named("read", countedTool(toolguard.ReadOnly, "same")),
		write:    guardOf(t, &counted{info: toolguard.Info{Name: "write", Effect: toolguard.NonIdempotent}, answer: countedTool(0, "written").answer}, oneTry(s)),
		fail:     named("fail", failingTool(toolguard.ReadOnly, toolguard.Unavailable("down"))),
		odd:      named("odd", failingTool(toolguard.NonIdempotent, errors.New("odd"))),
	}
}

func (s *server) guard(name string) *toolguard.Guard {
	return map[string]*toolguard.Guard{"read": s.read, "write": s.write, "fail": s.fail, "odd": s.odd}[name]
}

// gist is what a restored conversation must get right: not the times, nor the
// result of a read kept on the other machine.
func gist(env toolguard.Envelope) string {
	text := verdict(env)
	if !env.OK && env.Error.Code == toolguard.CodeResultUnavailable {
		text = "replayed"
	}
	if noted(env, "replayed") != nil {
		text = "replayed"
	}
	for _, n := range env.Notes {
		if n.Kind == "repeated_call" || n.Kind == "many_calls" {
			text += fmt.Sprintf(" %s %d", n.Kind, n.Count)
		}
	}
	if !env.OK && env.Error.Code != toolguard.CodeResultUnavailable {
		text += " " + strings.SplitN(env.Suggestion, " ", 4)[1]
	}
	return text
}

// A call on another machine, which is told the history first, ends as on the one
// that has seen everything.
func TestRestoredIsTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		home, away := newServer(t), newServer(t)
		var history []toolguard.PastCall
		scope := chat
		for last := rapid.IntRange(0, 12).Draw(rt, "calls"); ; last-- {
			if rapid.IntRange(0, 9).Draw(rt, "speaks") == 9 {
				scope.Turn += "+"
			}
			name := rapid.SampledFrom([]string{"read", "read", "write", "fail", "odd"}).Draw(rt, "tool")
			args := rapid.SampledFrom([]string{`{"n":1}`, `{ "n": 1.0, "why": "again" }`, `{"n":"1"}`, `{"n":2}`, `{"n":`, `{"n":"x"}`}).Draw(rt, "args")
			ctx := toolguard.WithScope(t.Context(), scope)
			want := send(ctx, home.guard(name), args)
			if last > 0 {
				history = append(history, want.Past(json.RawMessage(args)))
				continue
			}
			stored, err := json.Marshal(history)
			require.NoError(rt, err)
			require.NoError(rt, json.Unmarshal(stored, &history))
			require.NoError(rt, away.sessions.Restore(scope, history))
			require.Equal(rt, gist(want), gist(send(ctx, away.guard(name), args)), "%s %s after %s", name, args, stored)
			return
		}
	})
}

// A host may tell of calls in its own words: a tool, arguments, a code, a text.
func TestRestoreFromAPlainList(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	call := toolguard.PastCall{Tool: "read", Args: `{"n":1}`, Turn: "one", Result: "same"}
	require.NoError(t, s.sessions.Restore(chat, []toolguard.PastCall{call, call}))
	env := send(turn("one"), s.read, `{"n":1}`)
	require.NotNil(t, noted(env, "repeated_call"), "%s", env)
	assert.Equal(t, toolguard.CodeLoopDetected, codeOf(send(turn("one"), s.read, `{"n":1}`)))
	assert.True(t, send(turn("two"), s.read, `{"n":1}`).OK)

	paid := toolguard.PastCall{Tool: "write", Args: `{"n":7}`, Turn: "one", Principal: "ann", Result: "receipt 7"}
	require.NoError(t, s.sessions.Restore(chat, []toolguard.PastCall{paid}))
	env = send(turn("one"), s.write, `{"n":7}`)
	assert.NotNil(t, noted(env, "replayed"))
	assert.Equal(t, "receipt 7", env.Result.Text)

	lost := toolguard.PastCall{Tool: "write", Args: `{"n":8}`, Turn: "one", Code: toolguard.CodeAttemptTimeout}
	require.NoError(t, s.sessions.Restore(chat, []toolguard.PastCall{lost}))
	assert.Equal(t, toolguard.CodeInDoubt, codeOf(send(turn("one"), s.write, `{"n":8}`)))
	require.NoError(t, s.sessions.Restore(chat, nil))
	assert.Equal(t, toolguard.CodeInDoubt, codeOf(send(turn("one"), s.write, `{"n":8}`)), "what is in doubt here stays so")
	settled := lost
	settled.Code, settled.Outcome = toolguard.CodeConflict, toolguard.OutcomeFailed
	require.NoError(t, s.sessions.Restore(chat, []toolguard.PastCall{lost, settled}))
	assert.True(t, send(turn("one"), s.write, `{"n":8}`).OK, "until the history knows better")
}

// An open breaker's refusals count on every machine.
func TestRestoredRefusalsCount(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	open := toolguard.PastCall{Tool: "read", Args: `{"n":1}`, Turn: "one", Code: toolguard.CodeBreakerOpen, Stored: true}
	other := open
	other.Args = `{"n":2}`
	require.NoError(t, s.sessions.Restore(chat, []toolguard.PastCall{open, other, open}))
	assert.Contains(t, send(turn("one"), s.read, `{"n":3}`).Suggestion, "Stop calling")
}

// A clock ahead of ours does not make a repeat last longer.
func TestRestoredFutureIsNow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		call := toolguard.PastCall{Tool: "read", Args: `{"n":1}`, At: time.Now().AddDate(50, 0, 0)}
		require.NoError(t, s.sessions.Restore(toolguard.Scope{Session: "chat"}, []toolguard.PastCall{call, call, call}))
		assert.Equal(t, toolguard.CodeLoopDetected, codeOf(send(turn(""), s.read, `{"n":1}`)))
		time.Sleep(5 * time.Minute)
		assert.True(t, send(turn(""), s.read, `{"n":1}`).OK)
	})
}

// What a code implies needs no telling: a call that was refused did nothing.
func TestRestoreKnowsWhatCodesMean(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	refused := toolguard.PastCall{Tool: "write", Args: `{"n":9}`, Turn: "one", Code: toolguard.CodeSchemaViolation}
	require.NoError(t, s.sessions.Restore(chat, []toolguard.PastCall{refused}))
	assert.True(t, send(turn("one"), s.write, `{"n":9}`).OK)
}

// Of a key it has never seen the downstream would say that nothing was done.
func TestRestoredDoubtWithoutKeyIsNotAskedAbout(t *testing.T) {
	t.Parallel()
	s, asked := sessionsOf(t, toolguard.SessionPolicy{}), 0
	pay := toolguard.Func(toolguard.Info{Name: "pay", Effect: toolguard.NonIdempotent}, func(context.Context, payment) (string, error) {
		return "paid again", nil
	})
	pay.Status = func(context.Context, string, payment) (toolguard.Outcome, toolguard.Result, error) {
		asked++
		return toolguard.OutcomeNotStarted, toolguard.Result{}, nil
	}
	g := guardOf(t, pay, oneTry(s))
	lost := toolguard.PastCall{Tool: "pay", Args: `{"order":"A1"}`, Turn: "one", Code: toolguard.CodeAttemptTimeout}
	require.NoError(t, s.Restore(chat, []toolguard.PastCall{lost}))
	assert.Equal(t, "in_doubt/unknown", verdict(send(turn("one"), g, `{"order":"A1"}`)))
	assert.Zero(t, asked)
	lost.Key, lost.At = "k1", time.Now().Add(-time.Hour)
	require.NoError(t, s.Restore(chat, []toolguard.PastCall{lost}))
	assert.True(t, send(turn("one"), g, `{"order":"A1"}`).OK)
	assert.Equal(t, 1, asked)
}

// Tools that no guard is known for are known by their names.
func TestRestoreStrangers(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	call := toolguard.PastCall{Tool: "elsewhere", Args: `{"n":1}`, Turn: "one"}
	require.NoError(t, s.sessions.Restore(chat, []toolguard.PastCall{call, call, call}))
	stranger := countedTool(toolguard.ReadOnly, "")
	stranger.info.Name = "elsewhere"
	g := guardOf(t, stranger, everyTime(s.sessions))
	assert.Equal(t, toolguard.CodeLoopDetected, codeOf(send(turn("one"), g, `{ "n": 1 }`)))
}

func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	s := newServer(t).sessions
	one := func(change func(*toolguard.PastCall)) []toolguard.PastCall {
		p := toolguard.PastCall{Tool: "read", Args: `{}`}
		change(&p)
		return []toolguard.PastCall{p}
	}
	long := strings.Repeat("x", 2000)
	for name, tc := range map[string]struct {
		scope   toolguard.Scope
		history []toolguard.PastCall
		want    string
	}{
		"no session": {toolguard.Scope{Tenant: "t"}, nil, "Scope.Session"},
		"no tool":    {chat, one(func(p *toolguard.PastCall) { p.Tool = "" }), "PastCall.Tool has 0 bytes"},
		"tool":       {chat, one(func(p *toolguard.PastCall) { p.Tool = long }), "PastCall.Tool"},
		"source":     {chat, one(func(p *toolguard.PastCall) { p.Source = long }), "PastCall.Source"},
		"turn":       {chat, one(func(p *toolguard.PastCall) { p.Turn = long }), "PastCall.Turn"},
		"principal":  {chat, one(func(p *toolguard.PastCall) { p.Principal = long }), "PastCall.Principal"},
		"code":       {chat, one(func(p *toolguard.PastCall) { p.Code = toolguard.Code(long) }), "PastCall.Code"},
		"key":        {chat, one(func(p *toolguard.PastCall) { p.Key = long }), "PastCall.Key"},
		"outcome":    {chat, one(func(p *toolguard.PastCall) { p.Outcome = 9 }), "PastCall.Outcome"},
		"answer":     {chat, one(func(p *toolguard.PastCall) { p.Answer = "zz" }), "PastCall.Answer"},
		"calls":      {chat, make([]toolguard.PastCall, 4097), "4097 calls"},
		"bytes":      {chat, one(func(p *toolguard.PastCall) { p.Result = string(make([]byte, 16<<20)) }), "16777216 bytes"},
	} {
		err := s.Restore(tc.scope, tc.history)
		if assert.ErrorContains(t, err, tc.want, name) {
			assert.Less(t, len(err.Error()), 300, name)
		}
	}
	assert.Zero(t, s.Stats().Conversations, "and changes nothing")
}

// A call in flight stays joined, whatever a history says meanwhile.
func TestRestoreKeepsFlights(t *testing.T) {
	t.Parallel()
	s := sessionsOf(t, toolguard.SessionPolicy{})
	started, release := make(chan struct{}), make(chan struct{})
	tool := countedTool(toolguard.NonIdempotent, "")
	tool.answer = func(context.Context, int, string) (toolguard.Result, error) {
		close(started)
		<-release
		return toolguard.Result{Text: "paid"}, nil
	}
	g := guardOf(t, tool, oneTry(s))
	done := make(chan toolguard.Envelope, 2)
	go func() { done <- do2(turn("one"), g) }()
	<-started
	require.NoError(t, s.Restore(chat, []toolguard.PastCall{{Tool: "tool", Args: "{}", Turn: "one", Code: toolguard.CodeConflict, Outcome: toolguard.OutcomeFailed}}))
	go func() { done <- do2(turn("one"), g) }()
	time.AfterFunc(10*time.Millisecond, func() { close(release) })
	first, second := <-done, <-done
	assert.True(t, first.OK && second.OK)
	assert.Equal(t, 1, tool.ran())
	assert.NotNil(t, noted(do2(turn("one"), g), "replayed"))
}

func FuzzRestore(f *testing.F) {
	f.Add([]byte(`[{"tool":"read","args":"{\"n\":1}","turn":"one","outcome":"succeeded"}]`), `{"n":1}`)
	f.Add([]byte(`[{"tool":"write","args":"{","code":"attempt_timeout","outcome":"unknown","at":"2099-01-01T00:00:00Z"}]`), `{`)
	f.Add([]byte(`[{"tool":"odd","args":"[1e400]","code":"loop_detected","outcome":"not_started","stored":true},{"tool":"\u0000"}]`), `null`)
	f.Fuzz(func(t *testing.T, text []byte, args string) {
		var history []toolguard.PastCall
		if json.Unmarshal(text, &history) != nil {
			return
		}
		s := newServer(t)
		err := s.sessions.Restore(chat, history)
		for _, name := range []string{"read", "write"} {
			env := send(turn("one"), s.guard(name), args)
			requireEnvelope(t, env)
			if err == nil && !env.OK && env.Error.Code == toolguard.CodeInternalError {
				t.Fatalf("%s", env)
			}
			past := env.Past(json.RawMessage(args))
			if e := s.sessions.Restore(chat, append(history, past)); e != nil && err == nil && len(history) < 4096 {
				t.Fatal(e)
			}
		}
		if n := s.sessions.Stats().Conversations; n != 1 {
			t.Fatalf("%d conversations", n)
		}
	})
}
