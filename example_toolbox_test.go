package toolguard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/toolguard-go/toolguard"
)

type cityIn struct {
	City string `json:"city"`
}

func weather(_ context.Context, in cityIn) (string, error) { return "dry in " + in.City, nil }

func flights(context.Context, cityIn) (string, error) {
	return "", toolguard.Unavailable("The flight service is down for maintenance")
}

// travel is a toolbox of two tools that only read.
func travel() *toolguard.Toolbox {
	box, err := toolguard.NewToolbox(nil,
		toolguard.Func(toolguard.Info{Name: "weather", Effect: toolguard.ReadOnly}, weather),
		toolguard.With(
			toolguard.Func(toolguard.Info{Name: "flights", Effect: toolguard.ReadOnly}, flights),
			&toolguard.Options{Retry: toolguard.RetryPolicy{Off: true}},
		),
	)
	if err != nil {
		log.Fatal(err)
	}
	return box
}

// Every call gets an answer, also one to a tool that there is not.
func ExampleToolbox() {
	box := travel()
	env := box.Do(context.Background(), toolguard.Call{ID: "tc_1", Tool: "wether", Args: json.RawMessage(`{"city":"Ulm"}`)})
	fmt.Println(env.Error.Message)
	fmt.Println(env.Suggestion)

	// Output:
	// There is no tool named wether.
	// Did you mean weather? If not, use another tool that you have been given. If none fits, tell the user that you have no tool for this.
}

// The list of tools goes into the request to the model.
func ExampleToolbox_Tools() {
	list, err := travel().Tools(context.Background(), toolguard.ProviderAnthropic)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(list))

	// Output: [{"name":"weather","input_schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}},{"name":"flights","input_schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}}]
}

// The calls of one message are answered together, and each answer becomes the
// message its provider expects.
func ExampleToolbox_DoAll() {
	batch := travel().DoAll(context.Background(), []toolguard.Call{
		{ID: "tc_1", Tool: "weather", Args: json.RawMessage(`{"city":"Ulm"}`)},
		{ID: "tc_2", Tool: "flights", Args: json.RawMessage(`{"city":"Ulm"}`)},
	})
	for _, env := range batch.Envelopes {
		fmt.Println(env.CallID, env.OK)
	}
	fmt.Println(string(batch.Envelopes[0].ForProvider(toolguard.ProviderOpenAI)))
	fmt.Println(batch.Summary())

	// Output:
	// tc_1 true
	// tc_2 false
	// {"role":"tool","tool_call_id":"tc_1","content":"dry in Ulm"}
	// Calls: 2; succeeded: 1; failed: 1.
	// Succeeded: weather (tc_1).
	// - flights (tc_2): The flight service is down for maintenance. This does not mean the record is absent.
	// Do first what the suggestions of the failed calls say. Then answer from the calls that succeeded, say what is missing and why, and do not invent it.
}

// In a test of an agent, a tool gets another body and keeps its schema and gates.
func ExampleToolbox_Replace() {
	box := travel()
	down := toolguard.Text(toolguard.Info{Name: "down"}, func(context.Context, string) (string, error) {
		return "", toolguard.NotFound("There is no such city")
	})
	if err := box.Replace("weather", down); err != nil {
		log.Fatal(err)
	}
	env := box.Do(context.Background(), toolguard.Call{Tool: "weather", Args: json.RawMessage(`{"city":"Ulm"}`)})
	fmt.Println(env.Tool, env.Error.Code)

	// Output: weather not_found
}
