package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/client"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What every client of the tests sees: an answer, and a refusal in words.
func wantEcho(t *testing.T, text string)    { assert.Equal(t, "Echo: hi", text) }
func wantRefusal(t *testing.T, text string) { assert.Contains(t, text, `"schema_violation"`) }

func TestRealClientGoSDK(t *testing.T) {
	t.Parallel()
	command := proxied(t, npmServer(t, "everything", "stdio"))
	c := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	cs, err := c.Connect(t.Context(), &mcp.CommandTransport{Command: exec.Command(command[0], command[1:]...)}, nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, cs.Close()) }()
	call := func(args map[string]any) (string, bool) {
		r, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: args})
		require.NoError(t, err)
		return r.Content[0].(*mcp.TextContent).Text, r.IsError
	}
	text, isError := call(map[string]any{"message": "hi"})
	assert.False(t, isError)
	wantEcho(t, text)
	text, isError = call(map[string]any{"msg": "hi"})
	assert.True(t, isError)
	wantRefusal(t, text)
}

func TestRealClientMCPGo(t *testing.T) {
	t.Parallel()
	command := proxied(t, npmServer(t, "everything", "stdio"))
	c, err := mcpgo.NewStdioMCPClient(command[0], nil, command[1:]...)
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Initialize(t.Context(), mcpgotypes.InitializeRequest{Params: mcpgotypes.InitializeParams{
		ProtocolVersion: "2025-06-18", ClientInfo: mcpgotypes.Implementation{Name: "t", Version: "1"},
	}})
	require.NoError(t, err)
	call := func(args map[string]any) (string, bool) {
		r, err := c.CallTool(t.Context(), mcpgotypes.CallToolRequest{Params: mcpgotypes.CallToolParams{Name: "echo", Arguments: args}})
		require.NoError(t, err)
		return r.Content[0].(mcpgotypes.TextContent).Text, r.IsError
	}
	text, isError := call(map[string]any{"message": "hi"})
	assert.False(t, isError)
	wantEcho(t, text)
	text, isError = call(map[string]any{"msg": "hi"})
	assert.True(t, isError)
	wantRefusal(t, text)
}

// typescript is a client on the TypeScript SDK.
const typescript = `
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "t", version: "1" });
await client.connect(new StdioClientTransport({ command, args }));
const list = await client.listTools();
if (list.tools.length < 5) throw new Error("tools are missing");
for (const args of [{ message: "hi" }, { msg: "hi" }]) {
  const r = await client.callTool({ name: "echo", arguments: args });
  console.log(JSON.stringify([!!r.isError, r.content[0].text]));
}
const s = await client.callTool({ name: "get-structured-content", arguments: { location: "Chicago" } });
console.log(JSON.stringify(Object.keys(s.structuredContent).sort()));
await client.close();
`

func TestRealClientTypeScript(t *testing.T) {
	t.Parallel()
	command := proxied(t, npmServer(t, "everything", "stdio"))
	script, err := os.CreateTemp(filepath.Dir(npm(t)), "client-*.mjs") // it finds its modules from there
	require.NoError(t, err)
	defer os.Remove(script.Name())
	_, err = script.WriteString(typescript)
	require.NoError(t, err)
	require.NoError(t, script.Close())
	ctx, cancel := context.WithTimeout(t.Context(), realPatience)
	defer cancel()
	out, err := exec.CommandContext(ctx, node(t), append([]string{script.Name()}, command...)...).Output()
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, lines, 3, string(out))
	assert.Equal(t, `[false,"Echo: hi"]`, lines[0])
	assert.True(t, strings.HasPrefix(lines[1], "[true,"))
	assert.Contains(t, lines[1], `schema_violation`)
	assert.Equal(t, `["conditions","humidity","temperature"]`, lines[2])
}
