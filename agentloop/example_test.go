package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/agentloop"
)

type cityIn struct {
	City string `json:"city"`
}

func weather(_ context.Context, in cityIn) (string, error) { return "dry in " + in.City, nil }

func travel() *toolguard.Toolbox {
	box, err := toolguard.NewToolbox(nil, toolguard.Func(toolguard.Info{Name: "weather", Effect: toolguard.ReadOnly}, weather))
	if err != nil {
		log.Fatal(err)
	}
	return box
}

// A loop with a model that is made up.
func Example() {
	model := model(calls(`weather {"city":"Ulm"}`), "It is dry in Ulm.")
	// snippet: loop
	loop, err := agentloop.New(model, travel(), &agentloop.Options{System: "You plan journeys."})
	if err != nil {
		log.Fatal(err)
	}
	ctx := toolguard.WithScope(context.Background(), toolguard.Scope{Principal: "ann", Session: "chat-7"})
	conversation := []agentloop.Message{agentloop.User("Do I need an umbrella in Ulm?")}
	for event := range loop.Run(ctx, conversation) {
		switch event.Kind {
		case agentloop.KindReply, agentloop.KindAnswer:
			save(event.State) // plain data: json.Marshal does
		case agentloop.KindEnd:
			fmt.Println(event.Result.Stop, event.Result.Text, event.Result.Err)
		}
	}
	// end snippet

	// Output: answered It is dry in Ulm. <nil>
}

func save(agentloop.State) {}

// A run goes on where another process left it.
func ExampleLoop_Resume() {
	stored := []byte(`{"run":"r-1","turn":"t-1","step":"t-1","iteration":1,"messages":[
	  {"role":"user","text":"Do I need an umbrella in Ulm?"},
	  {"role":"assistant","calls":[{"id":"c1","tool":"weather","args":"{\"city\":\"Ulm\"}"}]}]}`)
	loop, err := agentloop.New(model("It is dry in Ulm."), travel(), nil)
	if err != nil {
		log.Fatal(err)
	}
	// snippet: resume
	var state agentloop.State
	if err := json.Unmarshal(stored, &state); err != nil {
		log.Fatal(err)
	}
	result := agentloop.Wait(loop.Resume(context.Background(), state))
	// end snippet
	fmt.Println(result.Text, result.State.Messages[1].Calls[0].Answer.Text)

	// Output: It is dry in Ulm. dry in Ulm
}

// reply is what ownLoop reads of a model's reply.
type reply struct {
	Text   string
	Finish string // finish_reason
	Calls  []struct{ ID, Name, Args string }
	Raw    json.RawMessage // the message as it came
}

type asks func(ctx context.Context, system string, messages []json.RawMessage, tools json.RawMessage) (reply, error)

var errNoAnswer = errors.New("no answer after 10 replies")

// ownLoop is a loop as many hosts have it, on OpenAI's Chat Completions.
func ownLoop(ctx context.Context, box *toolguard.Toolbox, ask asks, messages []json.RawMessage) (string, error) {
	// snippet: ownloop
	system := "You plan journeys.\n\n" + toolguard.SystemPrompt("en")
	for range 10 {
		tools, err := box.Tools(ctx, toolguard.ProviderOpenAI)
		if err != nil {
			return "", err
		}
		reply, err := ask(ctx, system, messages, tools)
		if err != nil {
			return "", err
		}
		messages = append(messages, reply.Raw)
		if len(reply.Calls) == 0 {
			return reply.Text, nil
		}
		calls := make([]toolguard.Call, len(reply.Calls))
		for i, c := range reply.Calls {
			calls[i] = toolguard.Call{ID: c.ID, Tool: c.Name, Args: json.RawMessage(c.Args)}
		}
		calls[len(calls)-1].Truncated = reply.Finish == "length"
		batch := box.DoAll(ctx, calls) // one answer for each, whatever happens
		for _, env := range batch.Envelopes {
			messages = append(messages, env.ForProvider(toolguard.ProviderOpenAI))
		}
		if summary := batch.Summary(); summary != "" {
			messages = append(messages, systemMessage(summary))
		}
	}
	return "", errNoAnswer
	// end snippet
}

func systemMessage(text string) json.RawMessage {
	m, err := json.Marshal(map[string]string{"role": "system", "content": text})
	if err != nil {
		log.Fatal(err)
	}
	return m
}

// A toolbox in a loop of one's own.
func Example_ownLoop() {
	asked := 0
	ask := func(_ context.Context, _ string, messages []json.RawMessage, _ json.RawMessage) (r reply, err error) {
		if asked++; asked > 1 {
			return reply{Text: string(messages[len(messages)-1])}, nil
		}
		r.Calls = append(r.Calls, struct{ ID, Name, Args string }{"c1", "weather", `{"city":"Ulm"}`})
		return r, nil
	}
	fmt.Println(ownLoop(context.Background(), travel(), ask, nil))

	// Output: {"role":"tool","tool_call_id":"c1","content":"dry in Ulm"} <nil>
}
