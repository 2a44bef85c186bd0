package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/adapters/mcpguard"
	"github.com/toolguard-go/toolguard/cmd/toolguard/internal/lint"
	"github.com/toolguard-go/toolguard/cmd/toolguard/internal/schemas"
)

// checkFlags are those of the command check.
type checkFlags struct {
	lint, json bool
	tool       string
	locale     string
	format     toolguard.Format
}

func (f *checkFlags) declare(flags *flag.FlagSet) {
	flags.BoolVar(&f.lint, "lint", false, "say what in the schemas is not enforced, ambiguous or hard for a model")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.StringVar(&f.tool, "tool", "", "the `name` of the tool, where the schema file has several")
	flags.StringVar(&f.locale, "locale", "en", "the `language` of the words: en or zh")
	flags.TextVar(&f.format, "format", toolguard.FormatJSON, "the `form` of the envelope: json or text")
}

func checkCommand(ctx context.Context, flags *flag.FlagSet, args []string, c *console) error {
	var f checkFlags
	f.declare(flags)
	if err := parse(flags, args); err != nil {
		return err
	}
	want := 2
	if f.lint {
		want = 1
	}
	if flags.NArg() != want {
		return usagef("%d files given, want a schema and arguments, or with -lint a schema; - is standard input", flags.NArg())
	}
	text, err := c.read(flags.Arg(0))
	if err != nil {
		return usageError{err}
	}
	tools, err := schemas.Read(text)
	if err != nil {
		return usagef("%s: %w", flags.Arg(0), err)
	}
	if f.lint {
		return f.lintTools(tools, c)
	}
	if text, err = c.read(flags.Arg(1)); err != nil {
		return usageError{err}
	}
	return f.check(ctx, tools, text, c)
}

func (c *console) read(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(c.in)
	}
	return os.ReadFile(name)
}

// lintTools prints the findings. It is a no if there are any.
func (f *checkFlags) lintTools(tools []schemas.Tool, c *console) error {
	found := lint.Tools(tools)
	if f.json {
		if found == nil {
			found = []lint.Finding{}
		}
		if err := json.NewEncoder(c.out).Encode(found); err != nil {
			return err
		}
	} else {
		for _, finding := range found {
			fmt.Fprintln(c.out, finding)
		}
	}
	if len(found) > 0 {
		return errNo
	}
	return nil
}

// check prints what a guard makes of the arguments. It is a no if it refuses them.
func (f *checkFlags) check(ctx context.Context, tools []schemas.Tool, args []byte, c *console) error {
	tool, err := f.pick(tools)
	if err != nil {
		return err
	}
	guards, err := mcpguard.New(&mcpguard.Options{Options: toolguard.Options{
		Render: toolguard.RenderPolicy{Locale: f.locale, Format: f.format},
	}})
	if err != nil {
		return usageError{err}
	}
	guards.Learn([]*mcp.Tool{{Name: tool.Name, Description: tool.Description, InputSchema: tool.InputSchema}})
	env := guards.Do(ctx, toolguard.Call{Tool: tool.Name, Args: args}, func(context.Context, json.RawMessage) (toolguard.Result, error) {
		return toolguard.Result{Text: "The tool would run."}, nil
	})
	if err := f.print(env, c); err != nil {
		return err
	}
	if !env.OK {
		return errNo
	}
	return nil
}

func (f *checkFlags) print(env toolguard.Envelope, c *console) error {
	if f.json {
		return json.NewEncoder(c.out).Encode(struct {
			Envelope  toolguard.Envelope `json:"envelope"`
			Arguments json.RawMessage    `json:"arguments,omitempty"`
		}{env, env.Args})
	}
	_, err := fmt.Fprintf(c.out, "%s\n", env.ForModel())
	if err == nil && env.Args != nil {
		_, err = fmt.Fprintf(c.out, "arguments: %s\n", env.Args)
	}
	return err
}

func (f *checkFlags) pick(tools []schemas.Tool) (schemas.Tool, error) {
	var names []string
	for _, t := range tools {
		if f.tool != "" && t.Name == f.tool {
			return t, nil
		}
		names = append(names, t.Name)
	}
	switch {
	case f.tool == "" && len(tools) == 1:
		if tools[0].Name == "" {
			tools[0].Name = "tool"
		}
		return tools[0], nil
	case f.tool != "" && len(tools) == 1 && tools[0].Name == "":
		tools[0].Name = f.tool
		return tools[0], nil
	}
	return schemas.Tool{}, usagef("-tool %q, want one of: %s", f.tool, strings.Join(names, ", "))
}
