package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"log/slog"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/adapters/mcpguard"
	"github.com/toolguard-go/toolguard/cmd/toolguard/internal/config"
	"github.com/toolguard-go/toolguard/cmd/toolguard/internal/proxy"
)

// proxyFlags are those of the command proxy.
type proxyFlags struct {
	config     string
	level      slog.Level
	trustHints bool
	maxMessage int

	url         string
	headers     headers
	listen      string
	tokenFile   string
	origins     list
	maxSessions int
	idle        time.Duration
}

// defaultMaxMessage bounds a message, in bytes.
const defaultMaxMessage = 64 << 20

func (f *proxyFlags) declare(flags *flag.FlagSet) {
	flags.StringVar(&f.config, "config", "", "read policies and declarations of tools from this `file`")
	flags.TextVar(&f.level, "log-level", slog.LevelWarn, "log to stderr from this `level` on: debug, info, warn or error")
	flags.BoolVar(&f.trustHints, "trust-hints", false, "let the server's annotations make tools repeatable")
	flags.StringVar(&f.url, "url", "", "the server is at this `address`, over streamable HTTP, in place of a command")
	flags.Var(&f.headers, "header", "send this `header` to the server, as \"Name: value\"; $NAME or ${NAME} in it is taken from the environment; may be given again")
	flags.StringVar(&f.listen, "listen", "", "serve streamable HTTP at this `host:port`, in place of stdio; port 0 is any that is free")
	flags.StringVar(&f.tokenFile, "token-file", "", "clients have to show the bearer token in this `file`")
	flags.Var(&f.origins, "allow-origin", "web pages of this `origin` may connect, beside those of this machine; may be given again")
	flags.IntVar(&f.maxSessions, "max-sessions", 64, "how many sessions there may be at a time, each with a server of its own")
	flags.DurationVar(&f.idle, "idle", time.Hour, "end sessions that were silent for this `long`")
	flags.IntVar(&f.maxMessage, "max-message", defaultMaxMessage, "refuse messages of more than this many `bytes`")
}

func proxyCommand(ctx context.Context, flags *flag.FlagSet, args []string, c *console) error {
	var f proxyFlags
	f.declare(flags)
	if err := parse(flags, args); err != nil {
		return err
	}
	o, err := f.options(ctx, flags.Args(), c)
	if err != nil {
		return err
	}
	if f.listen != "" {
		return f.serve(ctx, o, c)
	}
	return o.Stdio(ctx, c.in, c.out)
}

// options makes all that is needed to serve, so that whatever is wrong is said
// before.
func (f *proxyFlags) options(ctx context.Context, server []string, c *console) (*proxy.Options, error) {
	if err := f.check(server); err != nil {
		return nil, err
	}
	cfg, err := f.load()
	if err != nil {
		return nil, err
	}
	upstream, err := f.upstream(cfg)
	if err != nil {
		return nil, usageError{err}
	}
	log := slog.New(slog.NewTextHandler(c.err, &slog.HandlerOptions{Level: f.level}))
	guards, err := f.guards(cfg, log)
	if err != nil {
		return nil, usageError{err}
	}
	o := &proxy.Options{
		Command: server, Upstream: upstream, Stderr: c.err, Guards: guards, Session: "stdio " + rand.Text(), MaxMessage: f.maxMessage, Log: log,
	}
	if !cfg.Names() {
		return o, nil
	}
	if err := o.Probe(ctx); err != nil {
		return nil, err
	}
	if err := cfg.Check(guards.Tools()); err != nil {
		return nil, usagef("%s: %w", f.config, err)
	}
	return o, nil
}

func (f *proxyFlags) load() (*config.Config, error) {
	if f.config == "" {
		return config.Default(), nil
	}
	cfg, err := config.Load(f.config)
	if err != nil {
		return nil, usageError{err}
	}
	return cfg, nil
}

func (f *proxyFlags) guards(cfg *config.Config, log *slog.Logger) (*mcpguard.Guards, error) {
	o := cfg.Options()
	o.TrustHints = o.TrustHints || f.trustHints
	o.Logger = log
	o.Options = toolguard.Options{Observer: toolguard.LogObserver(log)}
	g, err := mcpguard.New(&o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.config, err)
	}
	return g, nil
}
