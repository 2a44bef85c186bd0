package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/agentloop"
	"github.com/toolguard-go/toolguard/httpguard"
)

func TestScriptedConversation(t *testing.T) {
	t.Parallel()
	began := time.Now()
	var out strings.Builder
	r, err := run(t.Context(), &out, config{prompt: defaultPrompt, most: 10})
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if r.Stop != agentloop.StopLimit || !strings.Contains(r.Text, "R-1") {
		t.Errorf("ended %s with %q", r.Stop, r.Text)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	for _, want := range []string{
		"SCRIPTED MODEL: no model is asked", `"code":"unknown_tool"`, "Did you mean order_id?", "There is no order A-99",
		"must be of type integer", `"outcome":"unknown"`, "Check with list_refunds", "blue kettle (3 left)", "refunds made: [{R-1 A-17 8000}]",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, &out)
		}
	}
}

// endpoint is an API in memory: it answers the requests in turn.
type endpoint struct {
	t        *testing.T
	answers  []func(http.ResponseWriter)
	requests []chatRequest
	keys     []string
}

func (e *endpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	var body chatRequest
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		e.t.Errorf("the request is no JSON: %v", err)
	}
	if r.URL.String() != "http://llm.test/v1/chat/completions" || r.Header.Get("Content-Type") != "application/json" {
		e.t.Errorf("request to %s with %v", r.URL, r.Header)
	}
	n := len(e.requests)
	e.requests, e.keys = append(e.requests, body), append(e.keys, r.Header.Get("Authorization"))
	w := httptest.NewRecorder()
	e.answers[min(n, len(e.answers)-1)](w)
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

func answers(status int, format string, args ...any) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.WriteHeader(status)
		fmt.Fprintf(w, format, args...)
	}
}

func (e *endpoint) config(t *testing.T) config {
	t.Helper()
	e.t = t
	client, err := httpguard.NewClient(httpguard.Options{Base: e})
	if err != nil {
		t.Fatal(err)
	}
	return config{url: "http://llm.test/v1/", model: "m-1", key: "sk-secret", prompt: "Refund A-17.", most: 2, client: client}
}

const (
	asksTwice = `{"choices":[{"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[
	  {"id":"a","type":"function","function":{"name":"get_order","arguments":"{\"order_id\":\"A-17\"}"}},
	  {"id":"b","type":"function","function":{"name":"refund_order","arguments":"{\"order_id\":\"B\",\"cents\":1}"}}]}}]}`
	cutOff = `{"choices":[{"finish_reason":"length","message":{"role":"assistant","content":"I will","tool_calls":[
	  {"id":"c","type":"function","function":{"name":"refund_order","arguments":"{\"order_id\":\"A-17\",\"cents\":8}"}}]}}]}`
	answersNow = `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"That was not possible."}}]}`
)

func TestConversationOverHTTP(t *testing.T) {
	t.Parallel()
	busy := func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
	}
	e := &endpoint{answers: []func(http.ResponseWriter){answers(200, asksTwice), busy, answers(200, cutOff), answers(200, answersNow)}}
	var out strings.Builder
	r, err := run(t.Context(), &out, e.config(t))
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if r.Stop != agentloop.StopLimit || r.Text != "That was not possible." {
		t.Errorf("ended %s with %q", r.Stop, r.Text)
	}
	if strings.Contains(out.String(), "sk-secret") || !strings.Contains(out.String(), "refunds made: []") {
		t.Errorf("output:\n%s", &out)
	}
	if len(e.requests) != 4 {
		t.Fatalf("%d requests", len(e.requests))
	}
	checkRequests(t, e)
}

func checkRequests(t *testing.T, e *endpoint) {
	t.Helper()
	for i, r := range e.requests {
		if r.Model != "m-1" || e.keys[i] != "Bearer sk-secret" || !strings.Contains(string(r.Tools), `"name":"refund_order"`) {
			t.Errorf("request %d: model %q, key %q, tools %s", i, r.Model, e.keys[i], r.Tools)
		}
		if want := map[bool]string{true: "none"}[i == 3]; r.ToolChoice != want {
			t.Errorf("request %d: tool_choice is %q, want %q", i, r.ToolChoice, want)
		}
	}
	last := e.requests[3].Messages
	var roles []string
	for _, m := range last {
		roles = append(roles, m.Role)
	}
	if got := strings.Join(roles, " "); got != "system user assistant tool tool system assistant tool system" {
		t.Fatalf("roles are %q", got)
	}
	for i, part := range map[int]string{
		0: "How to read tool answers", 1: "Refund A-17.", 3: `"id":"A-17"`, 4: "There is no order B", 5: "succeeded: 1",
		6: "I will", 7: `"code":"truncated"`, 8: "Call no more tools now",
	} {
		if last[i].Content == nil || !strings.Contains(*last[i].Content, part) {
			t.Errorf("message %d lacks %q: %+v", i, part, last[i])
		}
	}
	if last[2].Content != nil || len(last[2].ToolCalls) != 2 || last[3].ToolCallID != "a" || last[4].ToolCallID != "b" {
		t.Errorf("calls and answers: %+v", last[2:5])
	}
}

func TestEndpointsThatFail(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer func(http.ResponseWriter)
		code   toolguard.Code
		asked  int
	}{
		"key refused": {answers(401, `{"error":"db-7.internal says no"}`), toolguard.CodeAuthExpired, 1},
		"bad request": {answers(400, `{}`), toolguard.CodeRequestRejected, 1},
		"no JSON":     {answers(200, `<html>`), toolguard.CodeBadResponse, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &endpoint{answers: []func(http.ResponseWriter){tc.answer}}
			var out strings.Builder
			r, err := run(t.Context(), &out, e.config(t))
			var failure *toolguard.Error
			if r.Stop != agentloop.StopModel || !errors.As(err, &failure) || failure.Code != tc.code {
				t.Errorf("ended %s with %v", r.Stop, err)
			}
			if len(e.requests) != tc.asked || strings.Contains(out.String(), "db-7") {
				t.Errorf("%d requests, output:\n%s", len(e.requests), &out)
			}
		})
	}
}

func TestFlagsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	if _, err := run(context.Background(), new(strings.Builder), config{url: "http://x"}); err == nil {
		t.Error("-url without -model is accepted")
	}
	if _, err := run(context.Background(), new(strings.Builder), config{most: -1}); err == nil {
		t.Error("-max -1 is accepted")
	}
}
