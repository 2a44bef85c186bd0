package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/agentloop"
	"github.com/toolguard-go/toolguard/httpguard"
)

// chat is a model behind an API that speaks OpenAI's Chat Completions.
type chat struct {
	client     *http.Client
	url, model string
	key        string // if empty, none is sent
}

// maxReply bounds what is read of an answer, in bytes.
const maxReply = 16 << 20

// Reply implements [agentloop.Model]. Errors go back as they are: the loop's
// guard knows an overloaded endpoint from a refused key.
func (c *chat) Reply(ctx context.Context, req agentloop.Request) (agentloop.Message, error) {
	body, err := c.body(req)
	if err != nil {
		return agentloop.Message{}, err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(c.url, "/")+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return agentloop.Message{}, err
	}
	post.Header.Set("Content-Type", "application/json")
	if c.key != "" {
		post.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := c.client.Do(post)
	if err != nil {
		return agentloop.Message{}, err
	}
	defer resp.Body.Close()
	if err := httpguard.CheckResponse(resp); err != nil {
		return agentloop.Message{}, err
	}
	text, err := httpguard.ReadAll(resp.Body, maxReply)
	if err != nil {
		return agentloop.Message{}, err
	}
	return readReply(text)
}

// The parts of the API that are used here.
type (
	chatRequest struct {
		Model      string          `json:"model"`
		Messages   []chatMessage   `json:"messages"`
		Tools      json.RawMessage `json:"tools,omitempty"`
		ToolChoice string          `json:"tool_choice,omitempty"`
	}
	chatMessage struct {
		Role       string     `json:"role"`
		Content    *string    `json:"content"`
		ToolCalls  []chatCall `json:"tool_calls,omitempty"`
		ToolCallID string     `json:"tool_call_id,omitempty"`
	}
	chatCall struct {
		ID       string       `json:"id"`
		Type     string       `json:"type"`
		Function chatFunction `json:"function"`
	}
	chatFunction struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	chatReply struct {
		Choices []struct {
			Message      chatMessage `json:"message"`
			FinishReason string      `json:"finish_reason"`
		} `json:"choices"`
	}
)

// body is the request. The tools stay in it when no call will be run any more:
// the history has calls.
func (c *chat) body(req agentloop.Request) ([]byte, error) {
	tools, err := req.Tools(toolguard.ProviderOpenAI)
	if err != nil {
		return nil, err
	}
	r := chatRequest{Model: c.model, Messages: []chatMessage{{Role: "system", Content: &req.System}}}
	if string(tools) != "[]" {
		r.Tools = tools
	}
	if req.AnswerOnly {
		r.ToolChoice = "none"
	}
	for _, m := range req.Messages {
		r.Messages = appendMessage(r.Messages, m)
	}
	return json.Marshal(r)
}

// appendMessage turns one message of the loop into those of the API: the model's
// with its calls, an answer for each, and the hint as the system's word.
func appendMessage(list []chatMessage, m agentloop.Message) []chatMessage {
	own := chatMessage{Role: string(m.Role)}
	if m.Text != "" || len(m.Calls) == 0 {
		own.Content = &m.Text
	}
	var answers []chatMessage
	for _, call := range m.Calls {
		own.ToolCalls = append(own.ToolCalls, chatCall{ID: call.ID, Type: "function", Function: chatFunction{call.Tool, call.Args}})
		answers = append(answers, chatMessage{Role: "tool", ToolCallID: call.ID, Content: &call.Answer.Text})
	}
	list = append(append(list, own), answers...)
	if m.Hint != "" {
		list = append(list, chatMessage{Role: "system", Content: &m.Hint})
	}
	return list
}

func readReply(text []byte) (m agentloop.Message, err error) {
	var reply chatReply
	if err := json.Unmarshal(text, &reply); err != nil {
		return m, err
	}
	if len(reply.Choices) == 0 {
		return m, errors.New("the endpoint answered without a choice")
	}
	choice := reply.Choices[0]
	if choice.Message.Content != nil {
		m.Text = *choice.Message.Content
	}
	m.Truncated = choice.FinishReason == "length"
	for _, call := range choice.Message.ToolCalls {
		m.Calls = append(m.Calls, agentloop.Call{ID: call.ID, Tool: call.Function.Name, Args: call.Function.Arguments})
	}
	return m, nil
}
