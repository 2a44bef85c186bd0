package mcpguard

import (
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolguard-go/toolguard"
)

// Answer returns an envelope as the result of a call: a failure as text with
// IsError set; a success as the server gave it, the very same value, if the guard
// has nothing to change or to add, and otherwise what the model reads of it. The
// images, links and structured content of either follow the text, as they were.
// What is the host's control flow is an error.
func Answer(env toolguard.Envelope) (*mcp.CallToolResult, error) {
	if err := env.Control(); err != nil {
		return nil, err
	}
	original := originalOf(env.Result.Parts)
	if env.OK && original != nil && len(env.Notes) == 0 && env.Degraded == nil && env.Result.Text == textOf(original.Content) {
		return original, nil
	}
	answer := &mcp.CallToolResult{IsError: !env.OK}
	if original != nil {
		answer.Meta = original.Meta
	}
	if text := env.ForModel(); text != "" {
		answer.Content = append(answer.Content, &mcp.TextContent{Text: text})
	}
	for _, p := range env.Result.Parts {
		switch raw := p.Raw.(type) {
		case mcp.Content:
			answer.Content = append(answer.Content, raw)
		case structured:
			answer.StructuredContent = raw.value
		}
	}
	return answer, nil
}

func originalOf(parts []toolguard.Part) *mcp.CallToolResult {
	i := slices.IndexFunc(parts, func(p toolguard.Part) bool { _, ok := p.Raw.(whole); return ok })
	if i < 0 {
		return nil
	}
	return parts[i].Raw.(whole).answer
}
