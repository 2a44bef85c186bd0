package proxy

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/adapters/mcpguard"
)

// Options say what is proxied and how.
type Options struct {
	// Command is the server's program and its arguments, unless Upstream is set.
	Command  []string
	Upstream *Upstream
	// Stderr is what the server logs to.
	Stderr io.Writer
	// Guards of the server's tools.
	Guards *mcpguard.Guards
	// Journal is that of the guards, nil if they have none.
	Journal toolguard.Journal
	// Session names the conversation of a client that has no session of its own.
	Session string
	// MaxMessage bounds a message, in bytes.
	MaxMessage int
	// Log hears of what happens to the connections.
	Log *slog.Logger
}

// Stdio serves one client by lines until it goes or ctx ends. It returns an error
// if the server cannot be started or ends before it has said anything.
func (o *Options) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	return o.relay(newLines(in, out, o.MaxMessage, func() {}), o.Session).run(ctx)
}

func (o *Options) relay(client link, session string) *relay {
	return &relay{
		client: client, guards: o.Guards, name: session, log: o.Log,
		open:   openCalls{journal: o.Journal, session: session, log: o.Log},
		server: &server{dial: o.dial, log: o.Log, prefix: "toolguard-" + rand.Text()[:6] + "-"},
	}
}

func (o *Options) dial(ctx context.Context) (link, error) {
	if o.Upstream != nil {
		return o.Upstream.dial(ctx, o.Guards, o.MaxMessage), nil
	}
	c := &child{command: o.Command, stderr: o.Stderr, limit: o.MaxMessage, log: o.Log}
	return c.dial(ctx)
}

// Probe starts the server, lets the guards learn its tools, and ends it again. It
// is for finding out what is wrong before anybody is served.
func (o *Options) Probe(ctx context.Context) error {
	r := o.relay(nil, "")
	r.server.deliver = func(*message) {}
	ctx, stop := context.WithCancel(ctx)
	if err := r.server.start(ctx); err != nil {
		stop()
		return err
	}
	defer r.server.end()
	defer stop()
	answer, err := r.server.ask(ctx, "initialize", introduction, "")
	if err != nil {
		return err
	}
	if e := answer.failed(); e != nil {
		return fmt.Errorf("the server refuses to be initialized: %s", e.Message)
	}
	if err := r.server.send(ctx, request(nil, "notifications/initialized", nil), nil); err != nil {
		return err
	}
	if !r.list(ctx, nil) {
		return errors.New("the server does not list its tools")
	}
	return nil
}

// introduction is what the proxy says of itself where it is a client.
var introduction = json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"toolguard","version":"1"}}`)
