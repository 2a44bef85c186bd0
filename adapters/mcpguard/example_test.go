package mcpguard_test

import (
	"context"
	"fmt"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/adapters/mcpguard"
	"github.com/toolguard-go/toolguard/httpguard"
)

func Example_server() {
	server := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "lookup"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		panic("a bug")
	})
	// snippet: mcpserver
	guards, err := mcpguard.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	server.AddReceivingMiddleware(guards.Server())
	server.AddSendingMiddleware(guards.Questions())
	// end snippet
	result := ask(server, bareClient(), "lookup")
	fmt.Println(result.IsError)
	// Output: true
}

func Example_client() {
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	endpoint := "https://mcp.example.com/mcp"
	// snippet: mcpclient
	guards, err := mcpguard.New(&mcpguard.Options{Source: "tracker"})
	if err != nil {
		log.Fatal(err)
	}
	httpClient, err := mcpguard.HTTPClient(httpguard.Options{})
	if err != nil {
		log.Fatal(err)
	}
	connect := func(ctx context.Context) (*mcp.ClientSession, error) {
		return client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: endpoint, HTTPClient: httpClient}, nil)
	}
	client.AddSendingMiddleware(guards.Client(&mcpguard.Redial{Connect: connect}))
	client.AddReceivingMiddleware(guards.Questions())
	// session, err := connect(ctx), and then session.CallTool as ever
	// end snippet
	server := mcp.NewServer(&mcp.Implementation{Name: "tracker", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "create_issue", InputSchema: anything}, saysError("The project is archived."))
	fmt.Println(ask(server, client, "create_issue").IsError, ask(server, client, "create_isue").IsError)
	// Output: true true
}

// ask calls a tool over a connection in memory.
func ask(server *mcp.Server, client *mcp.Client, tool string) *mcp.CallToolResult {
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(context.Background(), there, nil); err != nil {
		log.Fatal(err)
	}
	session, err := client.Connect(context.Background(), here, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: tool})
	if err != nil {
		log.Fatal(err)
	}
	return result
}

func ExampleTools() {
	server := mcp.NewServer(&mcp.Implementation{Name: "tracker", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "create_issue", InputSchema: anything}, saysError("The project is archived."))
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(context.Background(), there, nil); err != nil {
		log.Fatal(err)
	}
	session, err := bareClient().Connect(context.Background(), here, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	ctx := context.Background()
	refund := toolguard.Text(toolguard.Info{Name: "refund"}, func(_ context.Context, order string) (string, error) { return "refunded " + order, nil })
	// snippet: mcptoolbox
	tools, err := mcpguard.Tools(ctx, session, &mcpguard.Options{Source: "tracker"})
	if err != nil {
		log.Fatal(err)
	}
	box, err := toolguard.NewToolbox(nil, append(tools, refund)...) // your own beside them
	// end snippet
	if err != nil {
		log.Fatal(err)
	}
	for _, call := range []toolguard.Call{{Tool: "create_issue", Args: []byte(`{}`)}, {Tool: "refund", Args: []byte(`{"input":"A-17"}`)}} {
		env := box.Do(ctx, call)
		fmt.Println(env.Tool, env.OK)
	}
	// Output:
	// create_issue false
	// refund true
}
