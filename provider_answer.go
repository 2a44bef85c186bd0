package toolguard

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/toolguard-go/toolguard/internal/canonical"
	"github.com/toolguard-go/toolguard/prompts"
)

// ForProvider returns the answer as the message or block in which a provider
// expects the result of the call: for OpenAI a message of the role tool, or an
// item function_call_output; for Anthropic a block tool_result; for MCP a
// CallToolResult. What the model reads is [Envelope.ForModel]; a failure is
// flagged where there is a flag. Parts go along where the provider has a place
// for their kind; others are left out and a note says so. A value of p outside
// the set counts as [ProviderOpenAI].
func (e Envelope) ForProvider(p Provider) json.RawMessage {
	kept := e.keepParts(p)
	switch text := e.ForModel(); p {
	case ProviderOpenAIResponses:
		return p.appendBody(appendID(`{"type":"function_call_output","call_id":`, e.CallID), "output", text, kept, "")
	case ProviderAnthropic:
		return p.appendBody(appendID(`{"type":"tool_result","tool_use_id":`, e.CallID), "content", text, kept, `,"is_error":`+strconv.FormatBool(!e.OK))
	case ProviderMCP:
		return e.appendMCP(text, kept)
	default:
		return p.appendBody(appendID(`{"role":"tool","tool_call_id":`, e.CallID), "content", text, nil, "")
	}
}

func appendID(head, id string) []byte {
	return append(canonical.AppendString([]byte(head), id), ',')
}

// appendBody ends a message: text alone is a string, parts make it a list.
func (p Provider) appendBody(b []byte, member, text string, parts []Part, flag string) json.RawMessage {
	b = append(append(append(b, '"'), member...), `":`...)
	if len(parts) == 0 {
		b = canonical.AppendString(b, text)
	} else {
		b = p.appendBlocks(b, text, parts)
	}
	return append(append(b, flag...), '}')
}

// appendMCP also gives a result that is a JSON object as one.
func (e *Envelope) appendMCP(text string, parts []Part) json.RawMessage {
	b := ProviderMCP.appendBlocks([]byte(`{"content":`), text, parts)
	if json := e.Result.JSON; e.OK && len(json) > 0 && json[0] == '{' {
		b = append(append(b, `,"structuredContent":`...), json...)
	}
	return append(strconv.AppendBool(append(b, `,"isError":`...), !e.OK), '}')
}

func (p Provider) appendBlocks(b []byte, text string, parts []Part) []byte {
	kind := "text"
	if p == ProviderOpenAIResponses {
		kind = "input_text"
	}
	b = append(append(append(b, `[{"type":"`...), kind...), `","text":`...)
	b = append(canonical.AppendString(b, text), '}')
	for i := range parts {
		b = p.appendPart(append(b, ','), &parts[i])
	}
	return append(b, ']')
}

// appendPart writes a part that carries has said yes to.
func (p Provider) appendPart(b []byte, part *Part) []byte {
	media := canonical.AppendString(nil, part.MediaType)
	switch {
	case p == ProviderOpenAIResponses:
		b = canonical.AppendString(append(b, `{"type":"input_image","image_url":`...), "data:"+part.MediaType+";base64,")
		b = base64.StdEncoding.AppendEncode(b[:len(b)-1], part.Data)
		return append(b, `"}`...)
	case p == ProviderAnthropic:
		b = append(append(b, `{"type":"`...), anthropicKind(part.MediaType)...)
		b = append(append(b, `","source":{"type":"base64","media_type":`...), media...)
		return append(base64.StdEncoding.AppendEncode(append(b, `,"data":"`...), part.Data), `"}}`...)
	default:
		kind, _, _ := strings.Cut(part.MediaType, "/")
		b = append(append(append(b, `{"type":"`...), kind...), `","data":"`...)
		b = base64.StdEncoding.AppendEncode(b, part.Data)
		return append(append(append(b, `","mimeType":`...), media...), '}')
	}
}

// keepParts returns the parts the provider has a place for, and notes the others.
func (e *Envelope) keepParts(p Provider) (kept []Part) {
	words := e.words
	if words == nil {
		words = prompts.English()
	}
	e.Notes = slices.Clip(e.Notes)
	for _, part := range e.Result.Parts {
		if p.carries(&part) {
			kept = append(kept, part)
			continue
		}
		n := Note{Kind: prompts.NoteBinaryOmitted, Bytes: len(part.Data), Media: part.MediaType}
		n.Text = string(words.AppendNote(nil, n.Kind, &prompts.Vars{Size: n.Bytes, Kind: n.Media}))
		e.Notes = append(e.Notes, n)
	}
	return kept
}

// images are the media types that models take as images.
var images = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// carries says whether a provider has a place for a part.
func (p Provider) carries(part *Part) bool {
	if len(part.Data) == 0 {
		return false
	}
	switch p {
	case ProviderOpenAIResponses:
		return slices.Contains(images, part.MediaType)
	case ProviderAnthropic:
		return slices.Contains(images, part.MediaType) || part.MediaType == "application/pdf"
	case ProviderMCP:
		return strings.HasPrefix(part.MediaType, "image/") || strings.HasPrefix(part.MediaType, "audio/")
	default:
		return false
	}
}

func anthropicKind(media string) string {
	if slices.Contains(images, media) {
		return "image"
	}
	return "document"
}
