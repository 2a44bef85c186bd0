// Package config reads the proxy's configuration: a document of the package
// policies, with one member more that says what the server's tools are.
package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/adapters/mcpguard"
	"github.com/toolguard-go/toolguard/policies"
)

// Config is a configuration that makes sense by itself. Whether the server has the
// tools it names, [Config.Check] says.
type Config struct {
	Policies *policies.Set
	Server   Server
}

// Server is the member "mcp".
type Server struct {
	// Source names the server.
	Source string `json:"source"`
	// TrustHints lets the server's hints make tools repeatable.
	TrustHints bool `json:"trust_hints"`
	// DoubtErrors takes no tool's word that it failed.
	DoubtErrors bool `json:"doubt_errors"`
	// Effect of tools whose hints say nothing.
	Effect toolguard.Effect `json:"effect"`
	// Tools are declarations of single tools, by name.
	Tools map[string]Tool `json:"tools"`
}

// Tool is what the operator declares of a tool. What is not given stays as the
// server's list has it.
type Tool struct {
	Effect        *toolguard.Effect `json:"effect"`
	Class         string            `json:"class"`
	VerifyWith    []string          `json:"verify_with"`
	Alternatives  []string          `json:"alternatives"`
	Irrelevant    []string          `json:"irrelevant"`
	RepeatsNormal *bool             `json:"repeats_normal"`
	// Approve has a person asked before each call.
	Approve bool `json:"approve"`
}

// Default is the configuration of a document that says nothing.
func Default() *Config { return &Config{Policies: policies.Default()} }

// Load reads the configuration in a file.
func Load(path string) (*Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Parse reads a configuration. An error names the place.
func Parse(text []byte) (*Config, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil || members["mcp"] == nil {
		set, err := policies.Parse(text) // it says best what is wrong
		return &Config{Policies: set}, err
	}
	c := &Config{}
	dec := json.NewDecoder(bytes.NewReader(members["mcp"]))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c.Server); err != nil {
		return nil, fmt.Errorf("/mcp: %w", err)
	}
	delete(members, "mcp")
	rest, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	if c.Policies, err = policies.Parse(rest); err != nil {
		return nil, err
	}
	return c, nil
}

// Options are those of the guards.
func (c *Config) Options() mcpguard.Options {
	return mcpguard.Options{
		For:         c.Policies.For,
		Source:      c.Server.Source,
		Effect:      c.Server.Effect,
		TrustHints:  c.Server.TrustHints,
		DoubtErrors: c.Server.DoubtErrors,
		Info:        c.declare,
	}
}

// declare gives a tool what the operator has declared of it.
func (c *Config) declare(tool *mcp.Tool, info toolguard.Info) toolguard.Info {
	t, ok := c.Server.Tools[tool.Name]
	if !ok {
		return info
	}
	if t.Effect != nil {
		info.Effect = *t.Effect
		info.RepeatsNormal = *t.Effect == toolguard.EffectUnknown
	}
	if t.RepeatsNormal != nil {
		info.RepeatsNormal = *t.RepeatsNormal
	}
	if t.Approve {
		info.Risk = toolguard.RiskHigh
	}
	info.Class = t.Class
	info.VerifyWith, info.Alternatives, info.Irrelevant = t.VerifyWith, t.Alternatives, t.Irrelevant
	return info
}

// Approvals says whether somebody has to be asked before calls of some tool.
func (c *Config) Approvals() bool {
	for _, t := range c.Server.Tools {
		if t.Approve {
			return true
		}
	}
	return false
}

// Names says whether the configuration names tools, so that it can be held against
// the server's list.
func (c *Config) Names() bool {
	return len(c.Server.Tools) > 0 || len(c.named()) > 0
}

// named are the tools that the policies configure.
func (c *Config) named() []string {
	var doc struct {
		Tools map[string]json.RawMessage `json:"tools"`
	}
	text, err := c.Policies.MarshalJSON()
	if err != nil || json.Unmarshal(text, &doc) != nil {
		return nil
	}
	var names []string
	for name := range doc.Tools {
		names = append(names, name)
	}
	return names
}

// Check returns an error that lists the tools the configuration names and the
// server does not have.
func (c *Config) Check(tools []string) error {
	errs := []error{c.Policies.Check(tools...)}
	var unknown []string
	for name := range c.Server.Tools {
		if !slices.Contains(tools, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		errs = append(errs, fmt.Errorf("/mcp/tools: the server has no tool %q; it has %s", name, strings.Join(tools, ", ")))
	}
	return errors.Join(errs...)
}
