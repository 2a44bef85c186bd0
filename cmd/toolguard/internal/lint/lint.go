// Package lint says what in the schemas of tools is not enforced, ambiguous, or
// hard for a model.
package lint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolguard-go/toolguard/adapters/mcpguard"
	"github.com/toolguard-go/toolguard/cmd/toolguard/internal/schemas"
)

// Rule is the kind of a finding.
type Rule string

// The rules.
const (
	NotEnforced       Rule = "not_enforced"       // a part of the schema that is left out
	Rewritten         Rule = "rewritten"          // a part that is read as something else
	ConstrainsNothing Rule = "constrains_nothing" // a map of arguments where a schema belongs
	Unguarded         Rule = "unguarded"          // no guard can be made
	NoDescription     Rule = "no_description"
	NoType            Rule = "no_type"
	ManyTypes         Rule = "many_types" // what a value is may depend on how it is written
	NoItems           Rule = "no_items"   // an array of anything
	NameCollides      Rule = "name_collides"
	NameUnusable      Rule = "name_unusable" // by the rules of some provider
)

// Finding is one thing to mend.
type Finding struct {
	Tool string `json:"tool,omitempty"`
	// Path is the place in the schema, as a JSON pointer; empty is the tool.
	Path string `json:"path,omitempty"`
	Rule Rule   `json:"rule"`
	Text string `json:"text"`
}

// String returns the finding as a line.
func (f Finding) String() string {
	return fmt.Sprintf("%s%s: %s (%s)", f.Tool, f.Path, f.Text, f.Rule)
}

// Tools examines tools that are offered together.
func Tools(tools []schemas.Tool) []Finding {
	var all []Finding
	for _, t := range tools {
		all = append(all, enforcement(t)...)
		if t.Name != "" && strings.TrimSpace(t.Description) == "" {
			all = append(all, Finding{t.Name, "", NoDescription, "the tool has no description"})
		}
		all = append(all, members(t)...)
	}
	return append(all, names(tools)...)
}

// enforcement asks a guard what it makes of the schema.
func enforcement(t schemas.Tool) []Finding {
	guards, err := mcpguard.New(nil)
	if err != nil {
		return []Finding{{t.Name, "", Unguarded, err.Error()}}
	}
	guards.Learn([]*mcp.Tool{{Name: t.Name, InputSchema: t.InputSchema}})
	guard := guards.Guard(t.Name)
	if guard == nil {
		return []Finding{{t.Name, "", Unguarded, "no guard can be made for the tool"}}
	}
	d := guard.Describe()
	var all []Finding
	for _, what := range d.NotEnforced {
		all = append(all, Finding{t.Name, "", NotEnforced, "not enforced: " + what})
	}
	for _, what := range d.SchemaRewrites {
		all = append(all, Finding{t.Name, "", Rewritten, "read as something else: " + what})
	}
	if d.ConstrainsNothing {
		all = append(all, Finding{t.Name, "", ConstrainsNothing, `a map of arguments where a schema belongs: every document satisfies it; put it under "properties" and set "type" and "required"`})
	}
	return all
}

// names looks for names that cannot be told apart, or not be used everywhere.
func names(tools []schemas.Tool) []Finding {
	var all []Finding
	first := make(map[string]string)
	for _, t := range tools {
		if t.Name == "" {
			continue
		}
		like := squash(t.Name)
		if other, ok := first[like]; ok {
			all = append(all, Finding{t.Name, "", NameCollides, fmt.Sprintf("a model can take it for the tool %q", other)})
		} else {
			first[like] = t.Name
		}
		if !usable(t.Name) {
			all = append(all, Finding{t.Name, "", NameUnusable, "providers take 1 to 64 of a-z, A-Z, 0-9, _ and -"})
		}
	}
	return all
}

// squash is the same for names that differ only in case and separators.
func squash(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// usable reports whether all providers take a name.
func usable(name string) bool {
	return len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	})
}

// members examines the arguments that a schema names.
func members(t schemas.Tool) []Finding {
	var root node
	if json.Unmarshal(t.InputSchema, &root) != nil {
		return nil
	}
	return root.walk(t.Name, "", 0)
}

// node is what is looked at in a schema. Booleans and anything else are passed over.
type node struct {
	Type        any                        `json:"type"`
	Description string                     `json:"description"`
	Properties  map[string]json.RawMessage `json:"properties"`
	Items       json.RawMessage            `json:"items"`
	PrefixItems json.RawMessage            `json:"prefixItems"`
	Enum        json.RawMessage            `json:"enum"`
	Const       json.RawMessage            `json:"const"`
	Ref         json.RawMessage            `json:"$ref"`
	AnyOf       json.RawMessage            `json:"anyOf"`
	OneOf       json.RawMessage            `json:"oneOf"`
	AllOf       json.RawMessage            `json:"allOf"`
}

// maxDepth bounds how deep is looked.
const maxDepth = 32

func (n *node) walk(tool, path string, depth int) []Finding {
	if depth > maxDepth {
		return nil
	}
	var all []Finding
	first := make(map[string]string)
	for _, name := range sorted(n.Properties) {
		at := path + "/properties/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		if other, ok := first[squash(name)]; ok {
			all = append(all, Finding{tool, at, NameCollides, fmt.Sprintf("a model can take it for %q", other)})
		} else {
			first[squash(name)] = name
		}
		var member node
		if json.Unmarshal(n.Properties[name], &member) != nil {
			continue
		}
		all = append(all, member.examine(tool, at)...)
		all = append(all, member.walk(tool, at, depth+1)...)
	}
	var items node
	if len(n.Items) > 0 && json.Unmarshal(n.Items, &items) == nil {
		all = append(all, items.walk(tool, path+"/items", depth+1)...)
	}
	return all
}

func (n *node) examine(tool, at string) []Finding {
	var all []Finding
	if strings.TrimSpace(n.Description) == "" && n.Ref == nil {
		all = append(all, Finding{tool, at, NoDescription, "has no description"})
	}
	typed := n.Type != nil || n.Enum != nil || n.Const != nil || n.Ref != nil || n.AnyOf != nil || n.OneOf != nil || n.AllOf != nil
	if !typed {
		all = append(all, Finding{tool, at, NoType, "has no type: any value is accepted"})
	}
	types, _ := n.Type.([]any)
	if types = slices.DeleteFunc(slices.Clone(types), func(t any) bool { return t == "null" }); len(types) > 1 {
		all = append(all, Finding{tool, at, ManyTypes, fmt.Sprintf("may be one of %v: say which in its description, or give one type", types)})
	}
	if n.Type == "array" && n.Items == nil && n.PrefixItems == nil {
		all = append(all, Finding{tool, at, NoItems, "is an array of anything"})
	}
	return all
}

func sorted(m map[string]json.RawMessage) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
