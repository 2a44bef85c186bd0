package toolguard

import (
	"encoding/json"
	"slices"
	"strings"
)

// Bounds of OpenAI's strict mode, as the oldest models that have it know them.
const (
	strictDepth      = 5
	strictProperties = 100
)

// strictMode counts what is bounded over a whole schema.
type strictMode struct{ properties int }

// fitsStrictMode reports whether OpenAI's strict mode admits a schema as it is:
// a provider refuses the whole request for one that it does not, so what is not
// known to be admitted is taken to be refused.
// https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
func fitsStrictMode(raw json.RawMessage) bool {
	var top map[string]any
	if json.Unmarshal(raw, &top) != nil || top["type"] != "object" {
		return false
	}
	var m strictMode
	return m.admits(top, 0) && m.properties <= strictProperties
}

// strictKeywords are the keywords that strict mode knows, but for $ref.
var strictKeywords = []string{
	"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$defs", "title", "description",
}

func (m *strictMode) admits(v any, depth int) bool {
	s, ok := v.(map[string]any)
	if !ok || depth > strictDepth {
		return false
	}
	if ref, ok := s["$ref"].(string); ok {
		return len(s) == 1 && (ref == "#" || strings.HasPrefix(ref, "#/$defs/"))
	}
	for keyword := range s {
		if !slices.Contains(strictKeywords, keyword) {
			return false
		}
	}
	return constrains(s) && m.admitsObject(s, depth) && m.admitsArray(s, depth) && m.admitsParts(s, depth)
}

// constrains says whether a schema says what the value is.
func constrains(s map[string]any) bool {
	for _, keyword := range []string{"type", "enum", "const", "anyOf"} {
		if _, ok := s[keyword]; ok {
			return true
		}
	}
	return false
}

// admitsObject wants every object closed and every property required.
func (m *strictMode) admitsObject(s map[string]any, depth int) bool {
	properties, described := s["properties"].(map[string]any)
	if !described {
		return !isType(s, "object")
	}
	m.properties += len(properties)
	required, _ := s["required"].([]any)
	if s["additionalProperties"] != false {
		return false
	}
	for name, property := range properties {
		if !slices.Contains(required, any(name)) || !m.admits(property, depth+1) {
			return false
		}
	}
	return true
}

func (m *strictMode) admitsArray(s map[string]any, depth int) bool {
	items, described := s["items"]
	if !described {
		return !isType(s, "array")
	}
	return m.admits(items, depth+1)
}

// admitsParts looks at the schemas inside that describe the same value, or none.
func (m *strictMode) admitsParts(s map[string]any, depth int) bool {
	either, _ := s["anyOf"].([]any)
	if depth == 0 && either != nil {
		return false
	}
	for _, part := range either {
		if !m.admits(part, depth) {
			return false
		}
	}
	definitions, _ := s["$defs"].(map[string]any)
	for _, definition := range definitions {
		if !m.admits(definition, depth+1) {
			return false
		}
	}
	return true
}

// isType says whether a schema names a type, alone or among others.
func isType(s map[string]any, name string) bool {
	several, _ := s["type"].([]any)
	return s["type"] == name || slices.Contains(several, any(name))
}
