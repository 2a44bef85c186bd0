// Package config reads the proxy's configuration: a document of the package
// policies, with one member more that says what the server's tools are.
package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/adapters/mcpguard"
	"github.com/toolguard-go/toolguard/internal/jsonpointer"
	"github.com/toolguard-go/toolguard/internal/policyjson"
	"github.com/toolguard-go/toolguard/internal/strictjson"
	"github.com/toolguard-go/toolguard/policies"
)

// Config is a configuration that makes sense by itself. Whether the server has the
// tools it names, [Config.Check] says.
type Config struct {
	Policies *policies.Set
	Server   Server
}

// Server is the member "mcp". Its members are named after the fields, in
// lower_snake; see internal/policyjson.
type Server struct {
	// Source names the server.
	Source string
	// TrustHints lets the server's hints make tools repeatable.
	TrustHints bool
	// DoubtErrors takes no tool's word that it failed.
	DoubtErrors bool
	// Effect of tools whose hints say nothing.
	Effect toolguard.Effect
	// MaxWaiting is how long a call may wait for answers of the client.
	MaxWaiting time.Duration
	// Tools are declarations of single tools, by name.
	Tools map[string]Tool
}

// Tool is what the operator declares of a tool. What is not given stays as the
// server's list has it.
type Tool struct {
	Effect        *toolguard.Effect
	Class         string
	VerifyWith    []string
	Alternatives  []string
	Irrelevant    []string
	RepeatsNormal *bool
	// Approve has a person asked before each call.
	Approve bool
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

// Parse reads a configuration of at most 1 MiB. An error names all that is wrong,
// and the places.
func Parse(text []byte) (*Config, error) {
	c := &Config{}
	var members map[string]json.RawMessage
	if _, err := strictjson.Parse(text, strictjson.Limits{}); err != nil || json.Unmarshal(text, &members) != nil || members["mcp"] == nil {
		set, err := policies.Parse(text) // it says best what is wrong
		return &Config{Policies: set}, err
	}
	err := c.Server.read(members["mcp"])
	delete(members, "mcp")
	rest, _ := json.Marshal(members) // it came as JSON
	var other error
	c.Policies, other = policies.Parse(rest)
	if err = errors.Join(err, other); err == nil {
		err = c.classes()
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// classes returns an error that lists the classes that no policy knows.
func (c *Config) classes() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.Server.Tools)) {
		info := toolguard.Info{Name: "any", Class: c.Server.Tools[name].Class}
		o := c.Policies.For(info)
		if _, err := toolguard.New(nothing(info), &o); err != nil && info.Class != "" {
			errs = append(errs, fmt.Errorf("/mcp/tools/%s/class: %w", jsonpointer.Escape(name), err))
		}
	}
	return errors.Join(errs...)
}

// nothing is a tool that is only there to have its class looked at.
type nothing toolguard.Info

// Info implements [toolguard.Tool].
func (n nothing) Info() toolguard.Info { return toolguard.Info(n) }

// Call implements [toolguard.Tool].
func (nothing) Call(context.Context, json.RawMessage) (toolguard.Result, error) {
	return toolguard.Result{}, nil
}

func (s *Server) read(text []byte) error {
	err := policyjson.Unmarshal(text, s)
	if errs, ok := errors.AsType[policyjson.Errors](err); ok {
		var all []error
		for _, e := range errs {
			all = append(all, fmt.Errorf("/mcp%s: %s", e.Path, e.Problem))
		}
		return errors.Join(all...)
	}
	return errors.Join(err, s.check())
}

// check says what reads well and makes no sense.
func (s *Server) check() error {
	var errs []error
	noKey := func(path string, e toolguard.Effect) {
		if e == toolguard.IdempotentByKey {
			errs = append(errs, fmt.Errorf("%s: idempotent_by_key: MCP hands no key on", path))
		}
	}
	noKey("/mcp/effect", s.Effect)
	for _, name := range slices.Sorted(maps.Keys(s.Tools)) {
		if e := s.Tools[name].Effect; e != nil {
			noKey("/mcp/tools/"+jsonpointer.Escape(name)+"/effect", *e)
		}
	}
	return errors.Join(errs...)
}

// Options are those of the guards.
func (c *Config) Options() mcpguard.Options {
	return mcpguard.Options{
		For:         c.Policies.For,
		Source:      c.Server.Source,
		Effect:      c.Server.Effect,
		TrustHints:  c.Server.TrustHints,
		DoubtErrors: c.Server.DoubtErrors,
		MaxWaiting:  c.Server.MaxWaiting,
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
// server does not have, and those it declares in a way that no guard can take.
func (c *Config) Check(guards *mcpguard.Guards) error {
	tools := guards.Tools()
	errs := []error{c.Policies.Check(tools...)}
	for _, name := range slices.Sorted(maps.Keys(c.Server.Tools)) {
		path, t := "/mcp/tools/"+jsonpointer.Escape(name), c.Server.Tools[name]
		named := func(path, name string) {
			if !slices.Contains(tools, name) {
				errs = append(errs, fmt.Errorf("%s: the server has no tool %q; it has %s", path, name, strings.Join(tools, ", ")))
			}
		}
		named(path, name)
		for _, other := range t.VerifyWith {
			named(path+"/verify_with", other)
		}
		for _, other := range t.Alternatives {
			named(path+"/alternatives", other)
		}
		if guard := guards.Guard(name); guard != nil && len(t.Irrelevant) > 0 && guard.Info().Schema == nil {
			errs = append(errs, fmt.Errorf("%s/irrelevant: %s: not arguments that the tool's schema has", path, strings.Join(t.Irrelevant, ", ")))
		}
	}
	return errors.Join(errs...)
}
