package proxy

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/adapters/mcpguard"
)

// whole is a result as the server wrote it. It goes along as the first part and is
// handed on if the guard has nothing to change or to add.
type whole struct {
	text   json.RawMessage
	joined string // the texts in it
}

// structured is the part that is the structured content; other parts are blocks.
type structured json.RawMessage

type block json.RawMessage

// structuredType tells structured content from blocks in a result that comes back
// from the journal, where only bytes are kept.
const structuredType = "application/json; role=structured"

// maxWhole is how much text a result may have to be kept whole: more is cut by any
// guard with default options, and must not stay in memory.
const maxWhole = 1 << 20

// result is what a guard looks at in the result of a call.
type result struct {
	Content           []json.RawMessage `json:"content"`
	StructuredContent json.RawMessage   `json:"structuredContent"`
	IsError           bool              `json:"isError"`
	ResultType        string            `json:"resultType"`
	InputRequests     json.RawMessage   `json:"inputRequests"`
	Task              json.RawMessage   `json:"task"`
}

var errUnreadable = &toolguard.Error{Code: toolguard.CodeBadResponse, Message: "The server's answer is no result of a tool."}

// readResult makes of a server's result what a guard looks at.
func readResult(text json.RawMessage) (toolguard.Result, error) {
	var r result
	if json.Unmarshal(text, &r) != nil {
		return toolguard.Result{}, errUnreadable
	}
	out := toolguard.Result{InputRequired: r.ResultType == "input_required" || len(r.InputRequests) > 0}
	out.Text, out.Parts = r.parts()
	nothing := len(r.Content) == 0 && len(out.Parts) == 0 && len(r.Task) == 0 && !out.InputRequired
	if len(out.Text) <= maxWhole && !nothing {
		out.Parts = slices.Insert(out.Parts, 0, toolguard.Part{Raw: whole{text, out.Text}})
	}
	if r.IsError && !out.InputRequired {
		return toolguard.Result{}, &mcpguard.ToolError{Text: out.Text, Parts: out.Parts}
	}
	return out, nil
}

// parts are the texts, and what is none.
func (r *result) parts() (text string, parts []toolguard.Part) {
	var texts []string
	for _, raw := range r.Content {
		if t, ok := textBlock(raw); ok {
			texts = append(texts, t)
		} else {
			parts = append(parts, toolguard.Part{MediaType: mediaType(raw), Data: raw, Raw: block(raw)})
		}
	}
	if s := r.StructuredContent; len(s) > 0 && string(s) != "null" {
		parts = append(parts, toolguard.Part{MediaType: structuredType, Data: s, Raw: structured(s)})
	}
	return strings.Join(texts, "\n"), parts
}

func textBlock(raw json.RawMessage) (string, bool) {
	var b struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	if json.Unmarshal(raw, &b) != nil || b.Type != "text" || b.Text == nil {
		return "", false
	}
	return *b.Text, true
}

func mediaType(raw json.RawMessage) string {
	var b struct {
		MediaType string `json:"mimeType"`
	}
	_ = json.Unmarshal(raw, &b) // not all blocks have one
	return b.MediaType
}

// writeResult writes an envelope as the result of a call: as the server wrote it,
// if the guard has nothing to change or to add; else what the model reads, with
// the blocks, the structured content and whatever else there was beside it.
func writeResult(env toolguard.Envelope) json.RawMessage {
	members := make(map[string]any)
	if w, ok := wholeOf(env.Result.Parts); ok {
		if env.OK && len(env.Notes) == 0 && env.Degraded == nil && w.joined == env.Result.Text {
			return w.text
		}
		var others map[string]json.RawMessage
		_ = json.Unmarshal(w.text, &others) // it was read before
		for name, raw := range others {
			members[name] = raw
		}
	}
	content := []json.RawMessage{textOf(env.ForModel())}
	delete(members, "isError")
	delete(members, "structuredContent")
	if !env.OK {
		members["isError"] = true
	}
	for _, p := range env.Result.Parts {
		switch raw := p.Raw.(type) {
		case block:
			content = append(content, json.RawMessage(raw))
		case structured:
			members["structuredContent"] = json.RawMessage(raw)
		case nil:
			if p.MediaType == structuredType {
				members["structuredContent"] = json.RawMessage(p.Data)
			} else if len(p.Data) > 0 {
				content = append(content, p.Data)
			}
		}
	}
	members["content"] = content
	text, _ := json.Marshal(members) // all of it came as JSON
	return text
}

func wholeOf(parts []toolguard.Part) (whole, bool) {
	for _, p := range parts {
		if w, ok := p.Raw.(whole); ok {
			return w, true
		}
	}
	return whole{}, false
}

func textOf(text string) json.RawMessage {
	raw, _ := json.Marshal(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{"text", text})
	return raw
}
