// Quickstart shows what a guard makes of tools that fail.
//
//	go run ./examples/quickstart [-locale zh] [-format text]
//
// It starts a small shop as a real HTTP service on a loopback port, gives it
// faults, wraps ordinary Go functions that call it, and plays a conversation.
// The conversation is scripted: there is no model here and no key is needed.
// Everything else is real, the waiting included; it takes about three seconds.
//
// Read the files in this order: tools.go is what you would write yourself,
// conversation.go is what happens, service.go is what misbehaves.
//
// A host also puts toolguard.SystemPrompt into its system prompt, so that a model
// knows how to read what is printed here as "reads".
//
// The exit code is 1 if anything did not go as it should.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/httpguard"
)

const usage = `Quickstart plays a scripted conversation with tools that fail, against a real
HTTP service on a loopback port, and prints for each call what was asked, what
really happened, and what the model reads.

	go run ./examples/quickstart [flags]

`

func main() {
	var render toolguard.RenderPolicy
	flag.StringVar(&render.Locale, "locale", "en", "language of what the model reads: en or zh")
	flag.TextVar(&render.Format, "format", toolguard.FormatJSON, "form of what the model reads: json or text")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	if _, err := run(os.Stdout, render); err != nil {
		fmt.Fprintf(os.Stderr, "\nquickstart: this did not go as it should:\n%v\n", err)
		os.Exit(1)
	}
}

// result is what a run came to.
type result struct {
	envelopes []toolguard.Envelope // one for each step of the conversation
	reads     []string             // what the model read of each
	ledger    ledger
	took      time.Duration
}

// run plays the conversation. Its error lists everything that went wrong.
func run(out io.Writer, render toolguard.RenderPolicy) (result, error) {
	began := time.Now()
	shop, err := openShop()
	if err != nil {
		return result{}, err
	}
	defer shop.close()
	client, err := httpguard.NewClient(httpguard.Options{})
	if err != nil {
		return result{}, err
	}
	defer client.CloseIdleConnections()
	watcher := newWatcher(shop)
	guards, err := newGuards(&backend{http: client, url: shop.url, mailURL: shop.mailURL},
		toolguard.Options{Render: render, Observer: watcher})
	if err != nil {
		return result{}, err
	}

	p := printer{out: out}
	p.intro(shop.url)
	r, err := play(&p, shop, guards)
	err = errors.Join(err, shutdown(shop, guards, watcher))
	r.ledger, r.took = shop.ledger, time.Since(began)
	err = errors.Join(err, r.ledger.check())
	p.summary(r, err)
	return r, err
}

// play goes through the conversation step by step.
func play(p *printer, shop *shop, guards map[string]*toolguard.Guard) (r result, err error) {
	for i, s := range conversation {
		shop.prepare(s)
		ctx := toolguard.WithScope(context.Background(), toolguard.Scope{Session: "demo", Principal: s.principal()})
		env := guards[s.tool].Do(ctx, toolguard.Call{ID: fmt.Sprintf("call_%d", i+1), Args: []byte(s.args)})
		reads, happened := env.ForModel(), shop.takeLog()
		p.step(i+1, s, happened, env)
		if wrong := errors.Join(s.want.check(env, shop.takeRequests()), unfit(reads, shop)); wrong != nil {
			err = errors.Join(err, fmt.Errorf("step %d, %s: %w", i+1, s.title, wrong))
		}
		r.envelopes, r.reads = append(r.envelopes, env), append(r.reads, reads)
	}
	return r, err
}

// unfit finds in a text for the model what no model should read. The shop puts
// all of these into its errors.
func unfit(text string, s *shop) error {
	for _, secret := range []string{strings.TrimPrefix(s.url, "http://"), "127.0.0.1", "goroutine", "db-7.internal", "<html"} {
		if strings.Contains(text, secret) {
			return fmt.Errorf("the model reads %q", secret)
		}
	}
	return nil
}

// shutdown closes the shop, which ends the attempt that was abandoned, and the
// guards, which complain if any attempt still runs.
func shutdown(shop *shop, guards map[string]*toolguard.Guard, w *watcher) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	shop.close()
	errs := []error{w.awaitLate(ctx)}
	for _, g := range guards {
		errs = append(errs, g.Shutdown(ctx))
	}
	return errors.Join(errs...)
}
