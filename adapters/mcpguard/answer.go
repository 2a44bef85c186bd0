package mcpguard

import (
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolguard-go/toolguard"
)

// Answer returns an envelope as the result of a call: a failure as text with
// IsError set; a success as the server gave it, the very same value, if the guard
// has nothing to change or to add, and otherwise what the model reads of it,
// followed by its images, links and structured content. What is the host's
// control flow is an error.
func Answer(env toolguard.Envelope) (*mcp.CallToolResult, error) {
	if err := env.Control(); err != nil {
		return nil, err
	}
	if !env.OK {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: env.ForModel()}}, IsError: true}, nil
	}
	original := originalOf(env.Result.Parts)
	if original != nil && len(env.Notes) == 0 && env.Degraded == nil && env.Result.Text == textOf(original.Content) {
		return original, nil
	}
	answer := &mcp.CallToolResult{}
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
