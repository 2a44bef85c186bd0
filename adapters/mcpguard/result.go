package mcpguard

import (
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolguard-go/toolguard"
)

// whole is the answer as the server gave it. It goes along as the first part and
// is handed on if the guard has nothing to change or to add.
type whole struct{ answer *mcp.CallToolResult }

// structured marks the part that is the structured content.
type structured struct{ value any }

// maxWhole is how much text an answer may have to be kept whole, in bytes: more
// is cut by any guard with default options, and must not stay in memory.
const maxWhole = 1 << 20

// Result makes of a server's answer what a guard looks at: its text, and the rest
// in parts that are counted by their size. An answer with IsError is a [*ToolError],
// none at all an error too.
func Result(answer *mcp.CallToolResult) (toolguard.Result, error) {
	if answer == nil {
		return toolguard.Result{}, errNoAnswer
	}
	r := toolguard.Result{InputRequired: answer.NeedsInput(), Text: textOf(answer.Content), Parts: partsOf(answer)}
	if answer.IsError && !r.InputRequired {
		return toolguard.Result{}, &ToolError{Text: r.Text, Parts: r.Parts, Err: answer.GetError()}
	}
	if empty := r.Text == "" && len(answer.Content) == 0 && answer.StructuredContent == nil; empty && !r.InputRequired {
		r.Parts = nil // let the guard say that nothing was returned
	}
	return r, nil
}

// partsOf are the answer itself, if it is not too large to be kept, and all of it
// that is no text.
func partsOf(answer *mcp.CallToolResult) (parts []toolguard.Part) {
	if len(textOf(answer.Content)) <= maxWhole {
		parts = append(parts, toolguard.Part{Raw: whole{answer}})
	}
	for _, c := range answer.Content {
		if _, ok := c.(*mcp.TextContent); !ok && c != nil {
			parts = append(parts, partOf(c))
		}
	}
	if answer.StructuredContent != nil {
		data, _ := json.Marshal(answer.StructuredContent) // it came as JSON
		parts = append(parts, toolguard.Part{MediaType: "application/json", Data: data, Raw: structured{answer.StructuredContent}})
	}
	return parts
}

// textOf joins the texts of an answer.
func textOf(content []mcp.Content) string {
	var texts []string
	for _, c := range content {
		if t, ok := c.(*mcp.TextContent); ok && t != nil {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func partOf(c mcp.Content) toolguard.Part {
	p := toolguard.Part{Raw: c}
	switch c := c.(type) {
	case *mcp.ImageContent:
		p.MediaType, p.Data = c.MIMEType, c.Data
	case *mcp.AudioContent:
		p.MediaType, p.Data = c.MIMEType, c.Data
	case *mcp.EmbeddedResource:
		if c.Resource != nil {
			p.MediaType, p.Data = c.Resource.MIMEType, c.Resource.Blob
			if p.Data == nil {
				p.Data = []byte(c.Resource.Text)
			}
		}
	default:
		p.Data, _ = json.Marshal(c) // links and the like are small
	}
	return p
}
