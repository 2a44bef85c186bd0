package mcpguard

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolguard-go/toolguard"
)

// infoOf says what a guard goes by for a tool of the server's list.
func (o *Options) infoOf(tool *mcp.Tool) toolguard.Info {
	info := toolguard.Info{
		Name:          guardName(tool.Name),
		Description:   tool.Description,
		Source:        o.Source,
		Schema:        schemaOf(tool.InputSchema),
		Effect:        o.effectOf(tool.Annotations),
		SingleRequest: true, // one message, one answer
	}
	info.RepeatsNormal = info.Effect == toolguard.EffectUnknown
	if o.Info != nil {
		name := info.Name
		info = o.Info(tool, info)
		info.Name = name
	}
	return info
}

// effectOf reads the hints. The first that holds says it all: idempotence means
// nothing for a tool that changes nothing.
func (o *Options) effectOf(hints *mcp.ToolAnnotations) toolguard.Effect {
	if hints == nil {
		return o.Effect
	}
	hinted := toolguard.NonIdempotent
	switch {
	case hints.ReadOnlyHint:
		hinted = toolguard.ReadOnly
	case hints.IdempotentHint:
		hinted = toolguard.Idempotent
	}
	if o.TrustHints || worse(hinted, o.Effect) {
		return hinted
	}
	return o.Effect
}

// worse reports whether a hint says that less may be repeated.
func worse(hinted, declared toolguard.Effect) bool {
	return declared != toolguard.EffectUnknown && hinted > declared
}

// schemaOf returns a schema as JSON, nil if it is none.
func schemaOf(schema any) json.RawMessage {
	switch s := schema.(type) {
	case nil:
		return nil
	case json.RawMessage:
		return s
	}
	raw, err := json.Marshal(schema)
	if err != nil || string(raw) == "null" {
		return nil
	}
	return raw
}

// maxName is how long a guard's name may be, in bytes.
const maxName = 256

// guardName makes a name a guard takes: servers may use any.
func guardName(name string) string {
	if name == "" {
		return "(unnamed)"
	}
	clean := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || unicode.IsSpace(r) || strings.ContainsRune("\"'`", r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	if len(clean) > maxName {
		clean = strings.ToValidUTF8(clean[:maxName], "")
	}
	return clean
}
