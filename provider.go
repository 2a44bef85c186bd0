package toolguard

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// Provider is an API whose form tools and answers can be written in.
type Provider uint8

const (
	// ProviderOpenAI is OpenAI's Chat Completions API, and what is compatible.
	ProviderOpenAI Provider = iota
	// ProviderOpenAIResponses is OpenAI's Responses API.
	ProviderOpenAIResponses
	// ProviderAnthropic is Anthropic's Messages API.
	ProviderAnthropic
	// ProviderMCP is the Model Context Protocol, seen from a server.
	ProviderMCP
)

var providerNames = names{"openai", "openai_responses", "anthropic", "mcp"}

// String returns the lower_snake name, or Provider(n) for a value outside the set.
func (p Provider) String() string { return providerNames.text("Provider", uint8(p)) }

// MarshalText implements [encoding.TextMarshaler].
func (p Provider) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText accepts the names that String returns.
func (p *Provider) UnmarshalText(b []byte) error {
	return providerNames.parse("Provider", b, (*uint8)(p))
}

// nameRule is what a provider takes as a tool's name: ASCII letters, digits, "_"
// and "-", from one to a number of them.
type nameRule struct {
	most int
	dots bool // "." too
}

var nameRules = [...]nameRule{
	ProviderOpenAI:          {most: 64},
	ProviderOpenAIResponses: {most: 64},
	ProviderAnthropic:       {most: 128},
	ProviderMCP:             {most: 128, dots: true},
}

// toolName returns the name a tool goes by at a provider: its own, if that
// follows the rule; else one made of it that does. Where that loses more than
// punctuation, a digest of the name keeps it apart from others.
func (p Provider) toolName(own string) string {
	rule := nameRules[p]
	name := strings.Map(func(r rune) rune {
		if rule.allows(r) {
			return r
		}
		return '_'
	}, own)
	if len(name) <= rule.most && !lossy(own) {
		return name
	}
	sum := sha256.Sum256([]byte(own))
	mark := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), rule.most-len(mark))] + mark
}

func (r nameRule) allows(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || r.dots && c == '.'
}

// lossy says whether a name has letters beyond ASCII.
func lossy(name string) bool {
	return strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf })
}
