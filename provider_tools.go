package toolguard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/toolguard-go/toolguard/internal/canonical"
)

// Tools returns the tools that a caller may use now as a JSON array in the form
// of a provider's list of tools, in the order they were given to [NewToolbox].
// Left out are those that are disabled, that read-only mode forbids, or that
// ToolboxOptions.Visible hides from ctx; an error means that it failed.
//
// Names that break the provider's rules are changed; the toolbox takes a call by
// either name. Schemas are those the tools gave: for OpenAI they are marked
// strict where strict mode admits them as they are, and nothing in them is
// changed to make it so.
func (b *Toolbox) Tools(ctx context.Context, p Provider) (json.RawMessage, error) {
	if int(p) >= len(providerNames) {
		return nil, fmt.Errorf("toolguard: Tools: there is no %v", p)
	}
	tools, err := b.askVisible(ctx, callbackTimeout, b.offered()...)
	if err != nil {
		return nil, fmt.Errorf("toolguard: ToolboxOptions.Visible: %w", err)
	}
	list := []byte{'['}
	for i, t := range tools {
		if i > 0 {
			list = append(list, ',')
		}
		list = p.appendTool(list, t.guard)
	}
	return append(list, ']'), nil
}

func (p Provider) appendTool(list []byte, g *Guard) []byte {
	switch p {
	case ProviderOpenAI:
		list = append(list, `{"type":"function","function":{"name":`...)
		return append(p.appendOpenAI(list, g), "}}"...)
	case ProviderOpenAIResponses:
		list = append(list, `{"type":"function","name":`...)
		return append(p.appendOpenAI(list, g), '}')
	case ProviderAnthropic:
		list = p.appendNamed(append(list, `{"name":`...), g, "input_schema")
		return append(list, '}')
	default:
		list = p.appendNamed(append(list, `{"name":`...), g, "inputSchema")
		return append(appendAnnotations(list, g.info.Effect), '}')
	}
}

// appendNamed appends name, description and schema.
func (p Provider) appendNamed(list []byte, g *Guard, schemaMember string) []byte {
	list = canonical.AppendString(list, p.toolName(g.info.Name))
	list = appendMember(list, "description", g.info.Description)
	list = append(append(append(list, `,"`...), schemaMember...), `":`...)
	return append(list, objectSchema(g.info.Schema)...)
}

// appendOpenAI says strict or not in any case: the Responses API takes silence
// for strict.
func (p Provider) appendOpenAI(list []byte, g *Guard) []byte {
	list = append(p.appendNamed(list, g, "parameters"), `,"strict":`...)
	return strconv.AppendBool(list, fitsStrictMode(g.info.Schema))
}

// appendAnnotations gives MCP's hints. A key of ours is nothing its client knows
// of, so that repeating is safe for Idempotent tools only.
func appendAnnotations(list []byte, e Effect) []byte {
	if e == ReadOnly {
		return append(list, `,"annotations":{"readOnlyHint":true}`...)
	}
	list = append(list, `,"annotations":{"readOnlyHint":false,"idempotentHint":`...)
	return append(strconv.AppendBool(list, e == Idempotent), '}')
}

// objectSchema returns a schema as providers want it: an object that says that
// the arguments are one, which they always are, and that speaks of properties.
func objectSchema(raw json.RawMessage) []byte {
	var b bytes.Buffer
	var top map[string]json.RawMessage
	if json.Unmarshal(raw, &top) != nil || json.Compact(&b, raw) != nil || len(top) == 0 {
		return []byte(`{"type":"object","properties":{}}`)
	}
	head := "{"
	if _, ok := top["type"]; !ok {
		head += `"type":"object",`
	}
	if _, ok := top["properties"]; !ok {
		head += `"properties":{},`
	}
	return append([]byte(head), b.Bytes()[1:]...)
}
