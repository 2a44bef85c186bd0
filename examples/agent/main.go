// Agent runs a small agent on a toolbox: a shop with an order to refund and a
// search that is flaky.
//
//	go run ./examples/agent
//	go run ./examples/agent -url https://api.example.com/v1 -model some-model -key-env API_KEY
//
// Without -url the model is scripted: nobody is asked, no key is needed, and it
// behaves as badly as models do, so that one can see what it reads in return.
// With -url any endpoint is asked that speaks OpenAI's Chat Completions.
//
// Read the files in this order: main.go puts the parts together, chat.go is the
// adapter between a provider and the loop, shop.go are the tools, script.go is
// the model that is none.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/agentloop"
	"github.com/toolguard-go/toolguard/policies"
)

// config is what the flags say.
type config struct {
	url, model, key, prompt string
	most                    int
	client                  *http.Client // for -url
}

const defaultPrompt = "Refund order A-17, please. And do you have a blue kettle?"

func main() {
	var c config
	var keyEnv string
	flag.StringVar(&c.url, "url", "", "base URL of an OpenAI-compatible API; if empty, the model is scripted")
	flag.StringVar(&c.model, "model", "", "name of the model, for -url")
	flag.StringVar(&keyEnv, "key-env", "", "environment variable with the API key, for -url")
	flag.StringVar(&c.prompt, "prompt", defaultPrompt, "what the user says")
	flag.IntVar(&c.most, "max", 10, "how often the model may reply with calls")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if c.key = os.Getenv(keyEnv); keyEnv != "" && c.key == "" {
		err = fmt.Errorf("the environment variable %s is empty", keyEnv)
	}
	if c.client, err = orClient(err); err == nil {
		_, err = run(ctx, os.Stdout, c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

// orClient returns a client with the limits that suit models, unless something
// is wrong already.
func orClient(err error) (*http.Client, error) {
	if err != nil {
		return nil, err
	}
	return policies.Default().HTTPClient("llm")
}

// run has one conversation and prints it. The error is why there is no answer.
func run(ctx context.Context, out io.Writer, c config) (agentloop.Result, error) {
	shop := newShop()
	box, err := newToolbox(shop)
	if err != nil {
		return agentloop.Result{}, err
	}
	defer shutdown(box)
	model, err := newModel(c)
	if err != nil {
		return agentloop.Result{}, err
	}
	loop, err := agentloop.New(model, box, &agentloop.Options{
		MaxIterations: c.most,
		System:        "You help the customers of a small shop. Amounts are in cents.",
	})
	if err != nil {
		return agentloop.Result{}, err
	}
	p := printer{out}
	p.intro(c)
	ctx = toolguard.WithScope(ctx, toolguard.Scope{Principal: "customer-1", Session: "demo"})
	var end agentloop.Result
	for event := range loop.Run(ctx, []agentloop.Message{agentloop.User(c.prompt)}) {
		p.event(event)
		end = event.Result
	}
	p.ledger(shop)
	return end, end.Err
}

// newModel returns the endpoint's model, or the scripted one.
func newModel(c config) (agentloop.Model, error) {
	switch {
	case c.url == "":
		return new(scripted), nil
	case c.model == "":
		return nil, errors.New("-url needs -model")
	default:
		return &chat{client: c.client, url: c.url, model: c.model, key: c.key}, nil
	}
}

func shutdown(box *toolguard.Toolbox) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = box.Shutdown(ctx) // what still runs ends with the process
}
